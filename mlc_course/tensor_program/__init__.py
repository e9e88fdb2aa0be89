"""Part I: loop programs on a CPU, in TVM's TensorIR, from three naive loops past NumPy.

Read the rooms in this order: ``tir`` (what a program is), ``problems`` (what is computed),
``legality`` (what keeps the meaning), ``schedule`` (steps that transform), ``memory`` and
``processor`` (what a program costs), ``ladders`` (steps put together, and measured), ``plots``,
``networks`` (graphs of operators), ``search`` (steps chosen by the machine).
"""
