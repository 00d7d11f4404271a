"""What a crawl leaves behind: WARC files and Parquet tables, written, repaired and read back."""
