"""Duplicates: has this content been seen before, and where."""
