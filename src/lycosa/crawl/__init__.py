"""The life of a crawl and of each of its URLs, from lease to settlement."""
