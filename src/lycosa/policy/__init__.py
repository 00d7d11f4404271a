"""Decisions as functions of values and `now`: politeness, robots rules, retries, priority, assignment."""
