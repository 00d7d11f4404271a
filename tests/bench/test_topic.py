from __future__ import annotations

from pathlib import Path

import pytest

from lycosa.bench.topic.run import TopicResult, TopicRow, cells, compare, markdown
from lycosa.bench.topic.webs import DOCUMENT_TOPICS, FoundPage, by_words, documents_web
from lycosa.errors import SettingsError
from lycosa.simweb import WebPlan
from lycosa.simweb.layout import Layout, PageRef
from lycosa.simweb.render import Renderer
from lycosa.simweb.words import topic_words

PLAN = WebPlan.named("topics", hosts=12, pages_per_host=30, topics=4)


def test_pages_of_a_topic_link_to_each_other_more_often_and_have_its_words() -> None:
    layout = Layout(PLAN)
    about = [ref for host in range(12) for page in range(30) if layout.topic(ref := PageRef(host, page)) == 1]
    assert 20 < len(about) < 120
    linked = [layout.topic(link.to) == 1 for ref in about for link in layout.links(ref)]
    elsewhere = [
        layout.topic(link.to) == 1 for host in range(12) for link in layout.links(PageRef(host, 0)) if link.to.page
    ]
    assert sum(linked) / len(linked) > 1.5 * sum(elsewhere) / len(elsewhere)
    words = set(topic_words(layout.draws, 1))
    others = set(topic_words(layout.draws, 2)) - words
    body = b"".join(Renderer(layout, 80).page(about[0], 0)).decode()
    assert sum(map(body.count, words)) > 10 * sum(map(body.count, others))


def test_a_web_without_topics_is_as_it_was() -> None:
    layout = Layout(WebPlan.named("clean", hosts=3))
    assert {layout.topic(PageRef(host, page)) for host in range(3) for page in range(20)} == {0}


def test_a_pattern_must_be_in_the_title_or_often_in_the_text() -> None:
    is_on_topic = by_words(DOCUMENT_TOPICS["regular expressions"])
    assert is_on_topic(FoundPage("", "Regular expressions", ""))
    assert is_on_topic(FoundPage("", "", "A regexp here. " * 5))
    assert not is_on_topic(FoundPage("", "", "A regexp here. " * 4))
    assert not is_on_topic(FoundPage("", "", "A regexp here. " * 5 + "and nothing more " * 2000))


def test_tables_tell_the_gain_of_each_topic_and_of_all() -> None:
    result = TopicResult("a web", 100, [TopicRow("x", 9, 1, 4, 20), TopicRow("y", 9, 3, 4, 20)])
    assert (result.rows[0].gain, result.gain) == (4.0, 2.0)
    assert cells(result)[1][0] == ["x", "9", "20", "1 (5.0%)", "4 (20.0%)", "4.0"]
    assert "| all |" in markdown(result)


def test_a_folder_without_documents_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="holds none of"), documents_web(tmp_path):
        pass


@pytest.mark.process
def test_documentation_is_crawled_by_the_command_in_both_orders(tmp_path: Path) -> None:
    documents = tmp_path / "docs"
    manual, handbook = documents / "apache2-doc" / "manual" / "en", documents / "debian-handbook" / "html" / "en-US"
    for folder in (manual, handbook):
        folder.mkdir(parents=True)
        pages = [(f"{number}.html", f"Part {number}") for number in range(12)]
        for name, title in pages:
            (folder / name).write_text(
                f"<title>{title}</title><p>Water flows in {folder.name} {title}. " * 5, encoding="utf-8"
            )
        links = "".join(f'<a href="{name}">{title}</a>' for name, title in [*pages, ("good.html", "Standby servers")])
        (folder / "index.html").write_text(f"<title>Index of {folder.name}</title>{links}", encoding="utf-8")
    text = "Replication keeps standby servers alike. " * 20
    (manual / "good.html").write_text(f"<title>Standby servers</title><p>{text}", encoding="utf-8")
    said: list[str] = []
    with documents_web(documents) as web:
        topic = "replication to standby servers"
        result = compare(web._replace(topics={topic: web.topics[topic]}), 5, tmp_path / "crawls", said.append)
    (row,) = result.rows
    assert (result.pages, row.on_topic, row.breadth, row.focused, row.pages) == (27, 1, 0, 1, 5)
    assert topic in said[-1]
