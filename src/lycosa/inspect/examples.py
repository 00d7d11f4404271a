"""The questions that people ask a crawl first, as SQL for `lycosa query`."""

from __future__ import annotations

EXAMPLES: dict[str, str] = {
    "How did the visits end?": """
SELECT outcome, count(*) AS visits FROM pages GROUP BY ALL ORDER BY visits DESC""",
    "Why did visits give no page?": """
SELECT reason, any_value(detail) AS for_example, count(*) AS visits FROM pages
WHERE outcome IN ('failed', 'refused', 'crashed') GROUP BY reason ORDER BY visits DESC""",
    "Which hosts have the most pages?": """
SELECT host, count(DISTINCT url) AS pages, sum(body_bytes) AS bytes FROM pages
WHERE outcome IN ('stored', 'duplicate') GROUP BY host ORDER BY pages DESC LIMIT 20""",
    "Which links are broken, and where do they stand?": """
SELECT pages.url, pages.status, links.source, links.anchor FROM pages JOIN links ON links.target = pages.url
WHERE pages.outcome = 'failed' AND pages.status IN (404, 410) ORDER BY ALL LIMIT 100""",
    "Which pages are linked most?": """
SELECT target, count(DISTINCT source) AS linked_from FROM links GROUP BY target ORDER BY linked_from DESC LIMIT 20""",
    "What is said twice or more (near duplicates)?": """
SELECT group_id, count(DISTINCT url) AS pages, min(url) AS one_of_them FROM pages
WHERE group_id <> '' GROUP BY group_id HAVING pages > 1 ORDER BY pages DESC LIMIT 20""",
    "In which languages are the pages?": """
SELECT language, count(DISTINCT url) AS pages FROM pages
WHERE outcome IN ('stored', 'duplicate') GROUP BY language ORDER BY pages DESC""",
    "Which pages are the slowest, and the largest?": """
SELECT url, fetch_seconds, body_bytes FROM pages WHERE outcome IN ('stored', 'duplicate')
ORDER BY fetch_seconds DESC, body_bytes DESC LIMIT 20""",
    "Which pages changed between two visits?": """
SELECT url, count(*) AS visits, count(DISTINCT text_digest) AS versions FROM pages
WHERE outcome IN ('stored', 'duplicate') GROUP BY url HAVING versions > 1 ORDER BY versions DESC, url LIMIT 20""",
    "What still waits, and for how long?": """
SELECT host, queued, free_at, ban FROM hosts WHERE queued > 0 ORDER BY queued DESC LIMIT 20""",
}


def examples_text() -> str:
    """All of them, each below its question, ready to be copied."""
    return "\n".join(f'-- {question}\nlycosa query "{sql.strip()}"\n' for question, sql in EXAMPLES.items())
