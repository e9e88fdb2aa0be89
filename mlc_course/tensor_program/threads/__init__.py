"""Loops that several cores share: who runs what, who waits, who writes the same line."""
