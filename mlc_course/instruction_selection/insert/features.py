"""Does a processor, or the machine that code is generated for, have the instructions?

LLVM ends the process where a target lacks an instruction, so this is asked before it compiles.
"""

from __future__ import annotations

from collections.abc import Sequence

from mlc_course.errors import MachineError
from mlc_course.instruction_selection.isa import LEVELS, Level, level_of
from mlc_course.machine import features
from mlc_course.tensor_program.tir import Target, has_features, level_target


def processor_has(level: str) -> bool:
    """Return whether this processor runs programs of a level; raises ``UsageError`` for no level.

    It has not what a narrower one lacks that it stands in for.
    """
    return not _missing(level_of(level).features)


def check_level(level: str) -> Level:
    """Return the level of that name, which this processor has.

    Raises:
        UsageError: there is no such level.
        MachineError: this processor lacks its instructions.
    """
    found = level_of(level)
    if missing := _missing(found.features):
        here = [name for name in LEVELS if processor_has(name)]
        raise MachineError(
            f"this processor has not the instructions of {level}",
            expected=", ".join(found.features),
            got=f"no {', '.join(missing)}",
            hint=f"it has {', '.join(here)}" if here else None,
        )
    return found


def _missing(wanted: Sequence[str]) -> list[str]:
    has = features()
    return [each for each in wanted if each not in has]


def target_of(level: Level, *attributes: str) -> Target:
    """Return the machine that a level is compiled for, whatever this processor has.

    ``attributes`` are more of LLVM's, such as ``-prefer-256-bit``.
    """
    return level_target(dict(level.target), attributes=attributes)


def check_target(needed: Sequence[str], target: Target) -> None:
    """Check that the machine that code is generated for has features, before LLVM sees them.

    Raises:
        MachineError: it lacks one, and LLVM would end the process.
    """
    if not has_features(target, needed):
        settings = target.export()
        raise MachineError(
            "the target has not the instructions of the program",
            expected=", ".join(needed),
            got=str(settings.get("mcpu") or settings.get("mattr") or "a machine without features"),
            hint="compile it for the target of its level",
        )
