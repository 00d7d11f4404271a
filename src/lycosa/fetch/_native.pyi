"""The compiled part: see native/module.c."""

def plain_head(
    lines: list[bytes], max_lines: int, max_bytes: int, max_line_bytes: int, /
) -> tuple[int, list[tuple[str, str]], bytes] | None: ...
