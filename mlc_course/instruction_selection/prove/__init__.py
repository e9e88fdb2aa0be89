"""Are two lists of lanes equal for all inputs, and how do we know?

Read ``verdict`` first, the three answers, then ``proof``, the methods in order: ``normal_form``,
made of ``polynomials`` and ``piecewise`` linear functions; ``differences``, part by part; ``sums``
and what is ``shared`` as variables; ``tables`` of small sub-formulas; ``inputs``, all or some; and
``cases``. ``exact`` replays what refutes, ``classes`` asks each question once, and ``reasons`` puts
a proof into words.
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
