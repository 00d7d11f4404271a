"""What is crawled, and who says whether a page is on topic: not the crawler, but a rule or the plan of the web."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

from lycosa.bench.search.sites import serving
from lycosa.errors import SettingsError
from lycosa.simweb import WebPlan
from lycosa.simweb.layout import Layout
from lycosa.simweb.process import SimWebProcess
from lycosa.simweb.words import topic_words

# Documentation of Debian packages: four sites, each with an address of its own, and where its reader begins.
SITES = (
    ("apache2-doc/manual", "en/index.html"),
    ("debian-handbook/html", "en-US/index.html"),
    ("postgresql-doc-*/html", "index.html"),
    ("python3*-doc/html", "index.html"),
)
_ADDRESSES = "127.0.1.{}"
# A page is on topic if its title says so, or its main text, so often and so densely.
_LEAST_TIMES, _LEAST_SHARE = 5, 0.004
# Each topic as an operator would put it, and what tells that a page is about it.
DOCUMENT_TOPICS = {
    "regular expressions": r"regular expressions?|\bregexp?s?\b",
    "SSL certificates": r"\b(ssl|tls)\b|\bcertificates?\b",
    "password authentication": r"authenticat|\bpasswords?\b",
    "full text search": r"full.text|text search|\bts(vector|query)",
    "threads and processes": r"\b(multi|sub)?-?(thread(s|ed|ing)?|process(es)?)\b",
    "replication to standby servers": r"replicat|\bstandby\b",
}
SIMWEB_TOPICS = (1, 2, 3)
NAMED_WORDS = 3


class FoundPage(NamedTuple):
    """A page as a crawl has it."""

    url: str
    title: str
    content: str


class TopicWeb(NamedTuple):
    """A web on loopback, and the topics that are looked for in it."""

    name: str
    seeds: list[str]
    options: list[str]  # of the command, to reach it
    topics: dict[str, Callable[[FoundPage], bool]]


@contextmanager
def documents_web(documents: Path) -> Iterator[TopicWeb]:
    """The documentation below a folder."""
    with ExitStack() as stack:
        seeds = []
        for number, (pattern, start) in enumerate(SITES, 1):
            for folder in sorted(documents.glob(pattern))[:1]:
                origin = stack.enter_context(serving(folder, _ADDRESSES.format(number)))
                seeds.append(f"{origin}/{start}")
        if not seeds:
            raise SettingsError(f"{documents}: holds none of {', '.join(pattern for pattern, _ in SITES)}")
        topics = {topic: by_words(pattern) for topic, pattern in DOCUMENT_TOPICS.items()}
        yield TopicWeb("documentation of Debian packages", seeds, ["--open-network", "127.0.0.0/8"], topics)


def by_words(pattern: str) -> Callable[[FoundPage], bool]:
    """Whether a page is about what a pattern finds."""
    looked_for = re.compile(pattern, re.IGNORECASE)

    def is_on_topic(page: FoundPage) -> bool:
        times = len(looked_for.findall(page.content))
        is_dense = times >= _LEAST_TIMES and times >= _LEAST_SHARE * len(page.content.split())
        return is_dense or looked_for.search(page.title) is not None

    return is_on_topic


@contextmanager
def planned_web(seed: int) -> Iterator[TopicWeb]:
    """A simulated web of topics; who knows what a page is about is its plan."""
    plan = WebPlan.named("topics", seed=seed, is_named=False)
    layout = Layout(plan)
    words = {number: topic_words(layout.draws, number) for number in SIMWEB_TOPICS}
    with SimWebProcess(plan) as web:
        numbers = {layout.host(number).name: number for number in range(plan.hosts)}

        def is_about(topic: int) -> Callable[[FoundPage], bool]:
            def is_on_topic(page: FoundPage) -> bool:
                parts = urlsplit(page.url)
                path = parts.path + (f"?{parts.query}" if parts.query else "")
                ref = layout.page_at(numbers[parts.hostname or ""], path)
                return ref is not None and layout.topic(ref) == topic

            return is_on_topic

        # An operator knows a few of the words.
        topics = {" ".join(own[:NAMED_WORDS]): is_about(number) for number, own in words.items()}
        options = ["--scope", "any", "--open-network", "127.0.0.0/8"]
        yield TopicWeb("simulated web of topics", list(web.seeds), options, topics)
