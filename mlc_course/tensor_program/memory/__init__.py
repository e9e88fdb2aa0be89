"""What memory costs: counted on simulated caches, and measured on this machine."""
