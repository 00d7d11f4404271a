"""How the reasons of a crawl are told to people: the one place with sentences for their codes.

Nothing reads these sentences back, so they may be worded anew at any time: what is kept and compared is the code.
"""

from __future__ import annotations

from lycosa.model import Crash, Failure, Note, Refusal, RenderCause, RenderEnd

SENTENCES: dict[str, str] = {
    Refusal.ROBOTS: "robots.txt disallows it",
    Refusal.ROBOTS_UNREACHABLE: "robots.txt could not be read, so nothing may be fetched",
    Refusal.NAME: "its name does not resolve",
    Refusal.ADDRESS: "its address is in a network that is not open to this crawl",
    Refusal.VARIANT: "it differs from another URL only in what changes nothing on its site",
    Refusal.MIRROR: "its host shows the same pages as another",
    Refusal.ENDLESS: "pages of its kind lead to ever new ones, and it seems without an end",
    Refusal.BARREN: "pages of its kind have brought nothing new for long",
    Refusal.ALIKE: "pages of its kind hardly differ, but now and then one says something new",
    Refusal.HOOK: "a hook of the operator did not want it",
    Refusal.LOGOUT: "to visit it would end the session in which we are logged in",
    Refusal.SCHEME: "its scheme is not open to this crawl (setting schemes)",
    Refusal.ROOTS: "it lies in no folder that is open to this crawl (setting file_roots)",
    Failure.LOGIN: "nobody could log in to its site",
    Failure.DNS: "its name could not be looked up",
    Failure.CONNECT: "no connection could be made",
    Failure.TLS: "no encrypted connection could be made",
    Failure.TIMEOUT: "the answer took too long",
    Failure.SLOW: "the answer came too slowly",
    Failure.RESET: "the connection ended before the answer did",
    Failure.PROTOCOL: "the answer breaks the rules of HTTP",
    Failure.HEADERS: "the answer has too many or too long headers",
    Failure.CODING: "the answer is compressed in a way that cannot be undone",
    Failure.STATUS: "the answer has an error status",
    Failure.BANNED: "the host told us to go away",
    Failure.NO_LOCATION: "the answer redirects to nowhere",
    Failure.REDIRECTS: "it is the end of more redirects in a row than are followed",
    Failure.ADDRESS: "the address it has now is in a network that is not open to this crawl",
    Failure.SOFT_404: "the page is the same as for a URL that cannot exist",
    Crash.CRASHED: "our own code failed",
    Crash.HOOK: "a hook of the operator failed",
    Crash.MEMORY: "to read it takes more memory than a page may take",
    Crash.CPU: "to read it takes more CPU time than a page may take",
    Crash.KILLED: "the worker that read it was killed",
    Crash.EXITED: "the worker that read it ended by itself",
    Note.MOVED: "it redirects to another URL",
    Note.PROBE: "it was asked for since it cannot exist",
    Note.REQUISITE: "a page that is kept needs it to be shown",
    Note.ROBOTS_REDIRECTS: "robots.txt redirects without an end, as if there were none",
    Note.ROBOTS_REDIRECTED: "robots.txt is on another host, whose turn is waited for",
    Note.ROBOTS_LOST: "the visit of its robots.txt got lost",
    Note.ROBOTS_PENDING: "its robots.txt could not be read",
    Note.ORIGIN_RESTS: "it failed again and again",
    Note.SITEMAP_NESTING: "its sitemaps are nested too deep",
    Note.SITEMAP_DAMAGED: "the sitemap is damaged",
    Note.SITEMAP_CUT: "the sitemap ends too early",
    Note.SITEMAP_EMPTY: "there is no URL in the text",
    Note.SITEMAP_UNKNOWN: "it is neither a sitemap nor a feed",
    Note.CODING_DAMAGED: "its content coding is damaged, and what could be read of it is kept",
    RenderCause.ALWAYS: "all pages of its site are rendered",
    RenderCause.EMPTY_ROOT: "its HTML has an empty element where scripts put the page",
    RenderCause.NOSCRIPT: "it says that it needs scripts",
    RenderCause.NO_TEXT: "there is hardly any text in its HTML",
    RenderCause.SCRIPTS: "its HTML is scripts for the most part",
    RenderCause.LEARNT: "a browser has made more of other pages of its kind",
    RenderCause.STATIC: "not rendered although it looks empty: a browser made no more of other pages of its kind",
    RenderEnd.WHOLE: "a browser has shown it",
    RenderEnd.NOTHING_NEW: "a browser has shown it, and it has no more than its HTML",
    RenderEnd.REQUESTS: "a browser has shown it as far as it came: it asked for more than a page may",
    RenderEnd.TIME: "a browser has shown it as far as it came: it took longer than a page may",
    RenderEnd.MEMORY: "it takes more memory than a page may have in the browser, and is kept as it was fetched",
    RenderEnd.CRASHED: "the browser failed on it, and it is kept as it was fetched",
    RenderEnd.LEFT: "its scripts put another document in its place, and it is kept as it was fetched",
    RenderEnd.NO_PLACE: "the browser was busy with others for too long, and it is kept as it was fetched",
}
# Behind these stands the reason for them, which may be a bare code.
_NESTED = frozenset({Refusal.ROBOTS_UNREACHABLE, Note.ROBOTS_PENDING, Note.ORIGIN_RESTS})


def sentence_of(code: str, detail: str = "") -> str:
    """A reason for people: what its code means, then its detail. A code that is not known is shown as it is."""
    sentence = SENTENCES.get(code, code)
    if code in _NESTED:
        detail = SENTENCES.get(detail, detail)
    return f"{sentence} ({detail})" if detail else sentence
