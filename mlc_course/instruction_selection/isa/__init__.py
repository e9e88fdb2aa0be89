"""Which instructions does a vector unit have, and what does each compute?

Read ``instruction`` first: what one row says. ``x86`` and ``neon`` are the rows, ``levels`` the
sets of them that processors have, ``as_tir`` one instruction as an expression of TIR, and
``cell_program`` is a program made of them.
"""

from mlc_course.instruction_selection.isa.as_tir import (
    BLOCK,
    in_turns,
    register_dtype,
    register_types,
    registers_of_result,
    tir_text,
)
from mlc_course.instruction_selection.isa.cell_program import (
    CellOp,
    CellProgram,
    Constant,
    Equation,
    Input,
    program_of,
    shortest_pattern,
)
from mlc_course.instruction_selection.isa.instruction import (
    SUFFIXES,
    WIDTHS,
    Instruction,
    Kind,
    Meaning,
    Read,
    family,
)
from mlc_course.instruction_selection.isa.levels import LEVELS, Level, level_of
from mlc_course.instruction_selection.isa.neon import NEON
from mlc_course.instruction_selection.isa.x86 import AVX2, AVX512, VNNI

__all__ = [
    "AVX2",
    "AVX512",
    "BLOCK",
    "LEVELS",
    "NEON",
    "SUFFIXES",
    "VNNI",
    "WIDTHS",
    "CellOp",
    "CellProgram",
    "Constant",
    "Equation",
    "Input",
    "Instruction",
    "Kind",
    "Level",
    "Meaning",
    "Read",
    "family",
    "in_turns",
    "level_of",
    "program_of",
    "shortest_pattern",
    "register_dtype",
    "register_types",
    "registers_of_result",
    "tir_text",
]
