"""Ask an installed lycosa whether it is whole: its compiled readers are there, and find what a page is about."""

from lycosa.dedupe import _native as signatures
from lycosa.page import _native as pages
from lycosa.page.content import extract
from lycosa.site import _native as sites
from lycosa.url import _native as links

SENTENCE = "The spider waits at the edge of her burrow until the ground tells her that something walks there. "
PAGE = f"""<!doctype html><title>Wolf spiders</title><nav><a href="/">Home</a> <a href="/all">All spiders</a></nav>
<article><h1>Wolf spiders</h1><p>{SENTENCE * 4}</p><p>{SENTENCE * 3}</p></article>
<footer><a href="/imprint">Imprint</a> <a href="/terms">Terms</a></footer>"""

content = extract(PAGE)
assert SENTENCE.strip() in content.text, "the text of the article is not found"
assert "Imprint" not in content.text, "what surrounds the article is taken for a part of it"
print(f"whole: {pages.__file__}, {signatures.__file__}, {links.__file__}, {sites.__file__}")
