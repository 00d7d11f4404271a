"""URLs: parsing, canonical form, scope, fingerprints. Pure: no clock, no network, no disk."""
