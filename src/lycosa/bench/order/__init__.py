"""`lycosa bench order`: in which order a web is best crawled, tried on a graph."""
