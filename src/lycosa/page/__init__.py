"""Pages: bytes to text, links and metadata. Knows no network and no disk."""
