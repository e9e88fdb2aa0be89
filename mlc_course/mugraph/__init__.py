"""Part II: tensor programs at kernel, block and thread level, as in Mirage (OSDI 2025).

Read the rooms in this order: ``ir`` (what a graph is), ``programs`` (the known ones), ``cost``,
``verify`` (are two graphs equal?), ``mutants`` (is that answer good?), ``expressions`` (could this
be a part of that?), ``search`` (the superoptimizer), ``enumeration`` (why it searches values and
not graphs), ``picture``. Then from a graph to its kernels: ``kernels`` (their language),
``codegen`` (lowering), ``kernel_checks`` (is a kernel right?), ``cpu_kernels``, ``thread_kernels``,
and ``runtime`` (compiled graphs as functions).
"""
