"""The compiled part: see native/html.h."""

from lycosa.model import RawLink

def read(
    html: str,
    agent: str,
    link_type: type[RawLink],
    max_links: int,
    max_depth: int,
    max_elements: int,
    max_anchor_chars: int,
    /,
) -> tuple[tuple[str, str, str, str, list[str], str, str], list[RawLink], str, bool]:
    """Title, description, base, canonical, refreshes, language, robots; links, text, whether it is past the limits."""
