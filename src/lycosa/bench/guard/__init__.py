"""The guard: what each stage of the work on a page costs, against the figures that were kept; without a network."""
