"""`lycosa bench topic`: how many of the pages that a crawl with a topic fetches are on topic."""
