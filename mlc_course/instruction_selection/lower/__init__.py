"""How does a program on one cell fill whole registers?

Read ``layout`` first: which lane lies where. ``register_program`` is what comes out, and
``lowering`` makes it. ``simulation`` shows that every lane is the cell program, node for node, so
that nothing in ``lowering`` needs to be trusted.
"""

from mlc_course.instruction_selection.lower.lowering import lower
from mlc_course.instruction_selection.lower.register_program import (
    Load,
    OnHalf,
    RegisterOp,
    RegisterProgram,
    Shuffle,
    Splat,
    Step,
    is_arm,
)
from mlc_course.instruction_selection.lower.simulation import check_layout, simulate

__all__ = [
    "Load",
    "OnHalf",
    "RegisterOp",
    "RegisterProgram",
    "Shuffle",
    "Splat",
    "Step",
    "check_layout",
    "is_arm",
    "lower",
    "simulate",
]
