"""What a crawl leaves behind: WARC files, Parquet tables, and the way back from them.

`folder` knows the layout, `folder_store` keeps visits, `recover` puts a folder in order after a crash,
`read` answers questions. Nothing here knows how a page was fetched or parsed.
"""
