"""Which program computes a cell? A search by cost, whose answers are proved.

Read ``events`` first: what a search says while it runs. ``bank`` keeps values, told apart by tests;
``direct`` searches for one goal; ``parts`` says how to take a goal apart, and ``solver`` puts it
together.
"""

from mlc_course.instruction_selection.search.direct import Limits, weight_of
from mlc_course.instruction_selection.search.events import (
    Covered,
    Event,
    Found,
    Refuted,
    Tried,
    Undecided,
)
from mlc_course.instruction_selection.search.solver import Solver

__all__ = [
    "Covered",
    "Event",
    "Found",
    "Limits",
    "Refuted",
    "Solver",
    "Tried",
    "Undecided",
    "weight_of",
]
