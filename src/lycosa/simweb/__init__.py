"""A simulated internet with known truth, on loopback."""
