"""placeholder"""

from lycosa.store.folder import CrawlFolder


def write_report(folder: CrawlFolder) -> None:
    pass
