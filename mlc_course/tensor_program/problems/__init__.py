"""What the course computes: problems of given sizes, with their NumPy and their TensorIR."""
