"""Which program computes a cell? A search by cost, whose answers are proved.

Read ``events`` first: what a search says while it runs. ``bank`` keeps values, told apart by tests
(``examples``); ``direct`` searches for one goal, among rows of ``relevance``; ``parts`` takes goals
apart, and ``solver`` puts programs together by ``rewriting``. ``selection`` is what others ask;
``rules`` are what was found before, and ``record`` finds those that the course ships.
"""

from mlc_course.instruction_selection.search.bank import Bank, Batch, Plan
from mlc_course.instruction_selection.search.direct import DirectSearch, Limits
from mlc_course.instruction_selection.search.events import (
    Covered,
    Event,
    Found,
    Refuted,
    Tried,
    Undecided,
)
from mlc_course.instruction_selection.search.rewriting import weight_of
from mlc_course.instruction_selection.search.rules import (
    RULES_FILE,
    Rule,
    Rules,
    decoded,
    encoded,
)
from mlc_course.instruction_selection.search.selection import (
    Selecting,
    Selection,
    select_program,
)
from mlc_course.instruction_selection.search.solver import Solver

__all__ = [
    "Bank",
    "Batch",
    "Covered",
    "DirectSearch",
    "Event",
    "Found",
    "Limits",
    "Plan",
    "RULES_FILE",
    "Refuted",
    "Rule",
    "Rules",
    "Selecting",
    "Selection",
    "Solver",
    "Tried",
    "Undecided",
    "decoded",
    "encoded",
    "select_program",
    "weight_of",
]
