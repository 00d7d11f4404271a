"""Main content: what a page is about, without what surrounds it on every page of its site.

`extract` is the whole of it. The blocks of a page, their features and the forests that judge them are in C (`native/`);
how the model is made and how good it is: docs/quality.md. Knows nothing of links, of fetching or of the crawl.
"""

from lycosa.page.content.extract import Block, Content, FoundContent, content_of, explain, extract, model

__all__ = ["Block", "Content", "FoundContent", "content_of", "explain", "extract", "model"]
