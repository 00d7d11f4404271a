from __future__ import annotations

from pathlib import Path

import pytest

from lycosa.bench.search.contestants import CONTESTANTS
from lycosa.bench.search.run import cells, compare_searches
from lycosa.bench.search.sites import crawl_documents
from lycosa.cli.main import main
from lycosa.errors import SettingsError
from lycosa.store.folder import CrawlFolder

SUBJECTS = ("kettles", "teapots", "lanterns", "bridges", "violins", "harbours")


@pytest.fixture(scope="module")
def crawl(tmp_path_factory: pytest.TempPathFactory) -> CrawlFolder:
    place = tmp_path_factory.mktemp("documents")
    documents = place / "documents"
    documents.mkdir()
    links = "".join(f"<li><a href={each}.html>{each}</a>" for each in SUBJECTS)
    documents.joinpath("index.html").write_text(f"<title>All</title><h1>Contents</h1><ul>{links}</ul>")
    for each in SUBJECTS:
        # Every page speaks of the others, so that words alone do not tell.
        text = " ".join(f"How to mend {other} is told elsewhere." for other in SUBJECTS * 3)
        documents.joinpath(f"{each}.html").write_text(
            f"<title>{each}</title><h1>{each}</h1><p>{text}<h2>How to mend {each}</h2><p>With care."
        )
    crawl_documents(documents, place / "crawl")
    return CrawlFolder(place / "crawl")


def test_known_pages_are_asked_of_everybody(crawl: CrawlFolder) -> None:
    result = compare_searches(crawl, list(CONTESTANTS), 10, 1, lambda _: None)
    assert (result.pages, result.questions) == (7, 10)
    scores = {score.name: score.mrr for score in result.scores}
    assert scores["lycosa"] == 1
    assert all(0 < mrr <= 1 for mrr in scores.values())
    assert len(cells(result)[1]) == len(CONTESTANTS)


def test_the_questions_of_a_seed_stay_the_same(crawl: CrawlFolder, capsys: pytest.CaptureFixture[str]) -> None:
    command = ["bench", "search", "--folder", str(crawl.path), "--only", "SQLite FTS5", "--questions", "3", "--json"]
    runs = []
    for _ in range(2):
        assert main(command) == 0
        runs.append(capsys.readouterr().out.partition("cpu_seconds")[0])
    assert runs[0] == runs[1]


def test_what_cannot_be_compared_is_told(tmp_path: Path) -> None:
    assert main(["bench", "search", "--only", "grep"]) == 2
    with pytest.raises(SettingsError, match="begin with an index"):
        crawl_documents(tmp_path, tmp_path / "crawl")
