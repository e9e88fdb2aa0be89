"""Tensor programs at kernel, block and thread level: mu-graphs, as in Mirage (OSDI 2025)."""
