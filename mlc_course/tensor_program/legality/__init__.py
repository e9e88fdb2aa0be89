"""Does a transformed program still do the same? The two iterations that conflict, or a proof.

Read ``dependence`` first: ``compare`` runs two small programs on paper. ``unchecked`` makes the
illegal programs that are to be refused; ``inspection`` shows one block, iteration by iteration.
"""

from mlc_course.tensor_program.legality import verdicts
from mlc_course.tensor_program.legality.dependence import axis_kinds, compare, races, tried
from mlc_course.tensor_program.legality.inspection import (
    ALL,
    Access,
    Element,
    Inspection,
    Moment,
    blocks,
    inspected,
    touched,
)
from mlc_course.tensor_program.legality.runs import READ, UPDATE, Run
from mlc_course.tensor_program.legality.unchecked import reordered, run_as
from mlc_course.tensor_program.legality.verdicts import Illegal, Verdict, place

__all__ = [
    "ALL",
    "Access",
    "Element",
    "Illegal",
    "Inspection",
    "Moment",
    "READ",
    "Run",
    "UPDATE",
    "Verdict",
    "axis_kinds",
    "blocks",
    "compare",
    "inspected",
    "place",
    "races",
    "reordered",
    "run_as",
    "touched",
    "tried",
    "verdicts",
]
