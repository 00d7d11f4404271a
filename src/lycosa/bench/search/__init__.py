"""How well pages are found: known pages of real documentation, asked for by a heading that only one of them has."""
