"""How can a program be compiled once for sizes that are known only when it runs?

Part III. Read ``ir`` first, symbolic dimensions and their constraints, with ten ``programs``, then
``solve``: what follows from these. ``importers`` bring models in.
"""
