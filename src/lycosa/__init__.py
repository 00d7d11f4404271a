"""lycosa: a search-engine web crawler."""
