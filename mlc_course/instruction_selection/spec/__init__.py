"""Which loop is to be computed? A specification in TensorIR, read as a formula.

Read ``cell`` first: what one output is. ``line`` reads a specification of one line, ``tile`` says
where the lanes of many outputs lie in memory and writes the loop in TensorIR, ``reading`` runs that
loop on formulas. ``loop`` is all of it together, ``catalogue`` the course's own.
"""

from mlc_course.instruction_selection.spec.catalogue import CATALOGUE, Entry, Wording, entry
from mlc_course.instruction_selection.spec.cell import Cell, CellOperand
from mlc_course.instruction_selection.spec.loop import Specification, check_inputs
from mlc_course.instruction_selection.spec.reading import Memory, run
from mlc_course.instruction_selection.spec.sources import specification
from mlc_course.instruction_selection.spec.tile import Place, Tile, TileBuffer

__all__ = [
    "CATALOGUE",
    "Cell",
    "CellOperand",
    "Entry",
    "Memory",
    "Place",
    "Specification",
    "Tile",
    "TileBuffer",
    "Wording",
    "check_inputs",
    "entry",
    "run",
    "specification",
]
