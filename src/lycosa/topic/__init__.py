"""What a crawl is about: the terms of its topic, how relevant pages are, and what their links promise."""
