"""Fetching: names to addresses, the address gate, one HTTP exchange at a time. Knows no frontier and no page."""
