"""Scripts that run in a process of their own, to see what they need; see ``deployment``."""
