"""Pages as a browser shows them: which need it, what it may ask for, and the browser itself.

It never sends a request: whatever it asks for is answered by the crawl's own fetcher, or refused. Knows neither the
frontier nor the store.
"""
