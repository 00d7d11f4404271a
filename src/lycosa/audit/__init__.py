"""The oracle: did a crawl keep its promises? Joins what the server saw, what lies on disk and what is true.

It only reads, and shares as little code as it can with what it judges: WARC files are read with zlib and fastwarc,
tables with pyarrow. Its own tests plant bugs and count how many it finds.
"""

from lycosa.audit.oracle import Question, audit
from lycosa.audit.report import AuditReport, Finding, Rule

__all__ = ["AuditReport", "Finding", "Question", "Rule", "audit"]
