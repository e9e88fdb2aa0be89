"""Scripts that run in a process of their own, to see what a form of the network needs to run."""
