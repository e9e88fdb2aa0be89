"""Which loop is to be computed? A specification in TensorIR, read as a formula.

Read ``cell`` first: what one output is.
"""

from mlc_course.instruction_selection.spec.cell import Cell, CellOperand

__all__ = ["Cell", "CellOperand"]
