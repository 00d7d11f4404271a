"""Settings to parts: the only room that chooses implementations."""
