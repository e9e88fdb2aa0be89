"""What does Intel's Intrinsics Guide say that an instruction does? Its pseudocode as formulas.

Read ``pseudocode`` first: the language, and its parser. ``bit_strings`` are what its registers
hold, ``meaning`` runs a text on formulas, and ``guide`` reads the file, which the user brings.
"""

from mlc_course.instruction_selection.intel_guide.bit_strings import Bits, of_lanes
from mlc_course.instruction_selection.intel_guide.guide import (
    Entry,
    Guide,
    Parameter,
    read_guide,
)
from mlc_course.instruction_selection.intel_guide.meaning import result_of
from mlc_course.instruction_selection.intel_guide.pseudocode import parsed

__all__ = [
    "Bits",
    "Entry",
    "Guide",
    "Parameter",
    "of_lanes",
    "parsed",
    "read_guide",
    "result_of",
]
