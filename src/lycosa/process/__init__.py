"""The processes of a crawl on one machine: one that owns the frontier, and its workers."""
