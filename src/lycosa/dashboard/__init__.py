"""A crawl as one sees it in a browser: pages, figures that move, `/metrics`. Only reads; what it changes, it orders."""
