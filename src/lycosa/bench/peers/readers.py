# mypy: ignore-errors
"""Other extractors and detectors, one question at a time: `python readers.py NAME`, JSON lines in and out.

Asked {"html", "url"} it answers with the main text, asked {"body"} (base64) with the name of a charset; always with the
seconds of CPU that took. Runs in an environment where the peers are installed; knows nothing of lycosa.
"""

import base64
import json
import logging
import os
import signal
import sys
import warnings
from importlib.metadata import version
from time import process_time

# Of one page, by the clock on the wall: while a timer of CPU runs, the kernel counts CPU by ticks of some ms.
MAX_SECONDS = 30.0


def load_trafilatura():
    import trafilatura

    return lambda html, url: trafilatura.extract(html, url=url or None)


def load_resiliparse():
    from resiliparse.extract.html2text import extract_plain_text

    return lambda html, url: extract_plain_text(html, main_content=True, alt_texts=False)


def load_readability():
    import lxml.html
    from readability import Document

    return lambda html, url: "\n".join(lxml.html.fromstring(Document(html).summary()).itertext())


def load_justext():
    import justext

    # Its mode for any language: the sets have dozens, and one list of stop words would fail all but its own.
    def run(html, url):
        parts = justext.justext(html, frozenset(), stopwords_low=0, stopwords_high=0)
        return "\n".join(part.text for part in parts if not part.is_boilerplate)

    return run


def load_boilerpy():
    from boilerpy3.extractors import ArticleExtractor

    extractor = ArticleExtractor(raise_on_failure=False)
    return lambda html, url: extractor.get_content(html)


def load_newspaper():
    import newspaper

    def run(html, url):
        article = newspaper.Article(url or "http://example.org/", fetch_images=False)
        article.download(input_html=html)
        article.parse()
        return article.text

    return run


def load_turbohtml():
    import turbohtml

    return lambda html, url: turbohtml.parse(html).main_text()


def load_chardet():
    import chardet

    return lambda body: chardet.detect(body)["encoding"]


def load_charset_normalizer():
    from charset_normalizer import from_bytes

    def run(body):
        best = from_bytes(body).best()
        return best and best.encoding

    return run


def load_cchardet():
    import cchardet

    return lambda body: cchardet.detect(body)["encoding"]


def load_chardetng():
    import chardetng_py

    return chardetng_py.detect


def load_resiliparse_charset():
    from resiliparse.parse.encoding import detect_encoding

    return detect_encoding


LOADERS = {
    "trafilatura": load_trafilatura,
    "resiliparse": load_resiliparse,
    "readability-lxml": load_readability,
    "jusText": load_justext,
    "boilerpy3": load_boilerpy,
    "newspaper4k": load_newspaper,
    "turbohtml main_text": load_turbohtml,
    "chardet": load_chardet,
    "charset-normalizer": load_charset_normalizer,
    "faust-cchardet": load_cchardet,
    "chardetng-py": load_chardetng,
    "resiliparse detect_encoding": load_resiliparse_charset,
}


def answer(run, question):
    body = base64.b64decode(question["body"]) if "body" in question else None
    signal.setitimer(signal.ITIMER_REAL, MAX_SECONDS)
    started = process_time()
    try:
        found = run(body) if body is not None else run(question["html"], question["url"])
    except Exception:  # a peer's failure is its result
        found = ""
    seconds = process_time() - started
    signal.setitimer(signal.ITIMER_REAL, 0)
    return {"found": found or "", "seconds": seconds}


def give_up(signal_number, frame):
    raise TimeoutError


def main(name):
    # What a peer prints must not stand among the answers; what it complains of are pages, not us.
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    logging.disable(logging.CRITICAL)
    warnings.simplefilter("ignore")
    signal.signal(signal.SIGALRM, give_up)
    try:
        run = LOADERS[name]()
    except ImportError as error:
        print(json.dumps({"missing": str(error)}), file=answers, flush=True)
        return
    print(json.dumps({"missing": "", "version": version(name.split()[0])}), file=answers, flush=True)
    for line in sys.stdin:
        print(json.dumps(answer(run, json.loads(line))), file=answers, flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
