"""Does a transformed program still do the same? The two iterations that conflict, or a proof.

Read ``dependence`` first: ``compare`` runs two small programs on paper. ``soundness`` proves that
a program of any size computes what its blocks say; every schedule step is checked by it.
``unchecked`` makes the illegal programs that are to be refused; ``inspection`` shows one block,
iteration by iteration.
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
from mlc_course.tensor_program.legality.soundness import sound
from mlc_course.tensor_program.legality.unchecked import reordered, run_as
from mlc_course.tensor_program.legality.verdicts import Illegal, Legal, Unknown, Verdict, place

__all__ = [
    "ALL",
    "Access",
    "Element",
    "Illegal",
    "Inspection",
    "Legal",
    "Moment",
    "READ",
    "Run",
    "UPDATE",
    "Unknown",
    "Verdict",
    "axis_kinds",
    "blocks",
    "compare",
    "inspected",
    "place",
    "races",
    "reordered",
    "run_as",
    "sound",
    "touched",
    "tried",
    "verdicts",
]
