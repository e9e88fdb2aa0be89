"""Which vector instructions compute the inner loop of a program, and how do we know?

A specification is an inner loop in TensorIR over exact integers. A search finds instructions that
compute it, a proof shows that they do for all inputs at full width, and tensorizing puts them into
a schedule. Read ``integers`` and ``isa`` first, then ``spec``, ``prove``, ``search``, ``lower`` and
``insert``; ``compare`` measures, ``tvm_intrinsics`` checks what TVM ships, and ``semantics`` asks
others whether the table of instructions is true.
"""
