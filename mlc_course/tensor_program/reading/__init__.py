"""A program read without running it: its loops, its accesses, where its buffers stand."""
