"""Are two lists of lanes equal for all inputs, and how do we know?

Read ``verdict`` first: the three answers. ``proof`` has the methods in order: ``normal_form``, made
of ``polynomials`` and ``piecewise`` linear functions; ``differences``, part by part; ``tables`` of
small sub-formulas; and ``inputs``, all or some. ``exact`` replays what refutes, ``classes`` asks
each question once, and ``reasons`` puts a proof into words.
"""

from mlc_course.instruction_selection.prove.proof import prove_cell, prove_equal
from mlc_course.instruction_selection.prove.verdict import (
    METHODS,
    Certificate,
    Method,
    Proved,
    Refuted,
    Unknown,
    Verdict,
)

__all__ = [
    "METHODS",
    "Certificate",
    "Method",
    "Proved",
    "Refuted",
    "Unknown",
    "Verdict",
    "prove_cell",
    "prove_equal",
]
