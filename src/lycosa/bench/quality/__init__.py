"""How good what is read from pages is, next to others: main content, encodings, near duplicates."""
