"""Computational graphs in Relax: read as values, fused, drawn, raced."""
