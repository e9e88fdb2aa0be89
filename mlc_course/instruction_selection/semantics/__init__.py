"""Is it true what the table says of an instruction? Each row is held against sources of its own.

Read ``checks`` first: sources and their verdicts. ``inputs`` chooses what to try, ``processor``,
``emulator`` and ``symbolic`` are sources, ``mutants`` asks whether a check would notice.
"""

from mlc_course.instruction_selection.semantics.checks import (
    EVERY_ROW,
    SOURCES,
    BrokenCount,
    Finding,
    RowCheck,
    check_rows,
    left_out,
)
from mlc_course.instruction_selection.semantics.emulator import (
    run_in_emulator,
    run_library_in_emulator,
)
from mlc_course.instruction_selection.semantics.inputs import Trials, immediates, trials, values_of
from mlc_course.instruction_selection.semantics.mutants import (
    Broken,
    broken_meanings,
    differs,
)
from mlc_course.instruction_selection.semantics.one_instruction import mnemonics
from mlc_course.instruction_selection.semantics.processor import host_features, lacking

__all__ = [
    "EVERY_ROW",
    "SOURCES",
    "Broken",
    "BrokenCount",
    "Finding",
    "RowCheck",
    "Trials",
    "broken_meanings",
    "check_rows",
    "differs",
    "host_features",
    "immediates",
    "lacking",
    "left_out",
    "mnemonics",
    "run_in_emulator",
    "run_library_in_emulator",
    "trials",
    "values_of",
]
