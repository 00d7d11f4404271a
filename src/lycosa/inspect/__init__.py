"""What a crawl knows, for commands, report, audit and programs: everything here only reads."""
