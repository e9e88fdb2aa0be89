"""The loops that a found program is raced against: LLVM's in several wordings, and NumPy's."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from mlc_course.errors import SizeError, UsageError
from mlc_course.instruction_selection.compare.loads_and_stores import data_movement
from mlc_course.instruction_selection.compare.narrow_loop import narrowed
from mlc_course.instruction_selection.insert import target_of
from mlc_course.instruction_selection.integers import compiled
from mlc_course.instruction_selection.isa import Level
from mlc_course.instruction_selection.spec import CATALOGUE, Entry, Place, Specification
from mlc_course.tensor_program.tir import (
    PrimFunc,
    Schedule,
    ScheduleError,
    Target,
    tvm,
)

Array: TypeAlias = "npt.NDArray[np.signedinteger | np.unsignedinteger]"
NUMPY, MOVES = "NumPy", "loads and stores"
WIDE_VECTORS = "-prefer-256-bit"  # LLVM prefers 256-bit registers on processors with 512 bits


@dataclass(frozen=True)
class Loop:
    """A wording of the loop for LLVM, compiled: its name, and the reason why it is compared.

    ``other_words`` says that somebody has written the loop as another expression, in the hope that
    LLVM does better on it: it is no reading of the specification in other types.
    """

    name: str
    why: str
    kernel: Any
    other_words: bool = False


def llvm_loops(spec: Specification, level: Level, outputs: int) -> Iterator[Loop]:
    """Compile the loop in the wordings that LLVM may do well on.

    ``vectorize`` is left out where TVM refuses it, as it does for sums over lanes, and the narrow
    types where the loop has no such wording.
    """
    plain, wide = target_of(level), target_of(level, WIDE_VECTORS)
    for prefix, each, why, other_words in _wordings(spec):
        function = each.prim_func(outputs)
        if level.width == 512:
            wider = _compiled(function, wide)
            yield Loop(f"{prefix}loop, 512 bits", f"{why}; vectors of 512 bits", wider, other_words)
        yield Loop(
            f"{prefix}loop", f"{why}; LLVM's own vectors", _compiled(function, plain), other_words
        )
        try:
            vectors = vectorized(function, level.width // spec.cell.result.bits)
        except ScheduleError:
            continue
        kernel = _compiled(vectors, wide if level.width == 512 else plain)
        yield Loop(f"{prefix}vectorize", f"{why}; the schedule's vectors", kernel, other_words)


def _wordings(spec: Specification) -> Iterator[tuple[str, Specification, str, bool]]:
    """Yield the specification, and the same in other types and words: prefix, loop, reason."""
    yield "", spec, "in the types of the specification", False
    with suppress(SizeError, UsageError):
        yield "narrow ", narrowed(spec), "in the narrowest right types", False
    known = _known(spec)
    if known is not None:
        for each in known.wordings:
            same = each.specification.line == spec.line
            yield f"{each.name}: ", each.specification, "by hand", not same


def _known(spec: Specification) -> Entry | None:
    """Return the loop of the catalogue that says the same of the same operands, if there is one."""
    for each in CATALOGUE.values():
        other = each.specification
        if other.line == spec.line and other.cell.operands == spec.cell.operands:
            return each
    return None


def vectorized(function: PrimFunc, lanes: int) -> Schedule:
    """Return the schedule in which so many neighbouring outputs are a vector.

    Raises:
        ScheduleError: TVM refuses, as it does where an output adds over lanes.
    """
    sch = Schedule(function)
    outer, *rest = sch.get_loops(sch.get_sblock("cell"))
    outer, inner = sch.split(outer, [None, lanes])
    if rest:
        sch.reorder(outer, *rest, inner)
    sch.vectorize(inner)
    return sch


def moves(spec: Specification, level: Level, outputs: int) -> Loop | None:
    """Compile the loads and stores alone; ``None`` where lanes do not lie side by side."""
    try:
        function = data_movement(spec, outputs, level.width)
    except (SizeError, UsageError):
        return None
    return Loop(
        MOVES, "no arithmetic: what any program must do", _compiled(function, target_of(level))
    )


def _compiled(program: PrimFunc | Schedule, target: Target) -> Any:
    return tvm.compile_module(program.mod if isinstance(program, Schedule) else program, target)


def numpy_programs(
    spec: Specification, arrays: Mapping[str, Array], outputs: int
) -> dict[str, Callable[[], Array]]:
    """Return the specification in NumPy on whole arrays, each value in the narrowest right type.

    One program is read from the formula; a loop of the catalogue has one by hand, too.
    """
    variables, columns = [], []
    for each in spec.cell.operands:
        for lane, variable in enumerate(spec.cell.inputs[each.name]):
            variables.append(variable)
            place = spec.places[each.name]
            columns.append(arrays[place.buffer][_slices(place, lane, outputs)])
    run = compiled((spec.cell.goal,), tuple(variables))
    result = spec.cell.result.numpy
    first = run(*columns)[0]
    view = any(np.may_share_memory(first, each) for each in columns)
    found = {NUMPY: lambda: run(*columns)[0].astype(result, copy=view)}  # outputs are stored
    if first.shape != (outputs,):  # one number for all outputs
        found = {NUMPY: lambda: np.full(outputs, run(*columns)[0], result)}
    known = _known(spec)
    if known is not None:
        found[f"{NUMPY}, by hand"] = lambda: known.numpy(arrays)
    return found


def _slices(place: Place, lane: int, outputs: int) -> tuple[slice | int, ...]:
    """Return the index of one lane of all outputs, as a view."""
    return tuple(
        slice(first, first + step * (outputs - 1) + 1, step) if step else first
        for first, step in zip(place.at(0, lane), place.per_output, strict=True)
    )
