"""Pages: bytes to text, links and metadata. Knows no network and no disk.

`parser.PageParser` is the way in: `media` says what a body is, `encoding` reads its bytes, `html` or `feed` the rest.
"""
