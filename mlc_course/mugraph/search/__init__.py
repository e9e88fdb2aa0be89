"""The superoptimizer: from a program to fused mu-graphs that are proved equal to it, ranked."""
