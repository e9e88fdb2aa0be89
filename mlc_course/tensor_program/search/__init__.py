"""Automatic search for a schedule: random, evolutionary, and among packed micro-kernels."""
