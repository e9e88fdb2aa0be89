"""Which loop is to be computed? A specification in TensorIR, read as a formula.

Read ``cell`` first: what one output is. ``line`` reads a specification of one line, ``tile`` says
where the lanes of many outputs lie in memory and writes the loop in TensorIR, ``reading`` runs that
loop on formulas, and ``loop`` is all of it together. ``blocks`` recognises a specification in a
schedule, ``script`` admits a file, and ``catalogue`` has the course's own.
"""

from mlc_course.instruction_selection.spec.blocks import block_specification
from mlc_course.instruction_selection.spec.catalogue import CATALOGUE, Entry, Wording, entry
from mlc_course.instruction_selection.spec.cell import Cell, CellOperand
from mlc_course.instruction_selection.spec.loop import Specification, check_inputs, check_ranges
from mlc_course.instruction_selection.spec.reading import Memory, run
from mlc_course.instruction_selection.spec.sources import (
    file_specification,
    named_specification,
    specification,
)
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
    "block_specification",
    "check_inputs",
    "check_ranges",
    "entry",
    "file_specification",
    "named_specification",
    "run",
    "specification",
]
