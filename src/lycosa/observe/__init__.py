"""Seeing what a crawl does: events, progress, summary, report."""
