"""`report.html`: what happened in a crawl, as one page that opens anywhere, offline and without scripts."""

from __future__ import annotations

import time

import duckdb

from lycosa.errors import LycosaError
from lycosa.store.files import replace_file
from lycosa.store.folder import CrawlFolder


def write_report(folder: CrawlFolder) -> None:
    """Write the report of a crawl into its folder, all at once. Raises `LycosaError`."""
    from lycosa.inspect.link_graph import host_graph
    from lycosa.observe.report_figures import gather
    from lycosa.observe.report_page import render

    try:
        page = render(gather(folder.whole, time.time()), host_graph(folder.whole))
        replace_file(folder.report, page, folder.home)
    except (duckdb.Error, OSError) as error:
        raise LycosaError(f"{folder.report}: the report cannot be written: {error}") from error
