"""The benchmark: lycosa and other crawlers on the same simulated pages, one after the other."""
