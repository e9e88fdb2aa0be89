"""Which programs from elsewhere may run here: a closed list, and proofs of bounds."""
