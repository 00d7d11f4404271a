"""The frontier: which target is visited next, by whom, and when. Politeness lives here and nowhere else."""
