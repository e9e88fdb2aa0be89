"""A found program against LLVM's loops and NumPy: ratios, taken in turns, with their quartiles."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from math import prod
from types import MappingProxyType
from typing import Any

import numpy as np

from mlc_course import measure
from mlc_course.errors import WrongResult
from mlc_course.instruction_selection.compare.contestants import (
    MOVES,
    NUMPY,
    Array,
    Loop,
    llvm_loops,
    moves,
    numpy_programs,
)
from mlc_course.instruction_selection.compare.turns import in_turns, python_window, tvm_window
from mlc_course.instruction_selection.insert import VectorLoop, vector_instructions
from mlc_course.instruction_selection.isa import Level
from mlc_course.instruction_selection.spec import Specification
from mlc_course.machine import describe
from mlc_course.measure import Timing
from mlc_course.tensor_program.tir import shared_tensor

FOUND = "found"
OUTPUTS = 8192  # of a call: up to 208 KiB, in the first two caches
FEWEST_OUTPUTS = 512  # with fewer, the call itself is what takes time
COMMON_L1 = 32 << 10  # bytes, where the machine does not tell
ROUNDS = 31
NEAR = 0.87  # of the time: loads and stores that take more are what it is bound by
SMALL_SUMS = 1 << 20  # accumulators begin below this: LLVM is told that signed sums never overflow


@dataclass(frozen=True)
class LoopComparison:
    """Times of a found program and of those that it is compared with, on the same data.

    ``timings`` are in seconds for a call of ``outputs`` outputs; ``code`` is the hot loop of each
    that LLVM compiled. ``other_words`` are LLVM's loops that compute the same by another expression
    than the specification's, which somebody wrote for LLVM.
    """

    spec: str
    level: str
    outputs: int
    result_bytes: int
    timings: Mapping[str, Timing]
    code: Mapping[str, VectorLoop]
    other_words: frozenset[str] = frozenset()

    def over(self, name: str) -> measure.Comparison:
        """Return the ratio of another's time to the found program's, round by round."""
        return measure.Comparison(self.timings[FOUND], self.timings[name])

    @property
    def llvm(self) -> list[str]:
        """The names of LLVM's loops, those in other words among them."""
        names = (each for each in self.timings if each not in (FOUND, MOVES))
        return [each for each in names if not each.startswith(NUMPY)]

    @property
    def best_llvm(self) -> str:
        """The fastest of LLVM's loops that are the specification in some types, by its median."""
        return self._fastest([each for each in self.llvm if each not in self.other_words])

    @property
    def best_llvm_in_any_words(self) -> str:
        """The fastest of all of LLVM's loops, those in other words among them."""
        return self._fastest(self.llvm)

    @property
    def best_numpy(self) -> str:
        return self._fastest([each for each in self.timings if each.startswith(NUMPY)])

    def _fastest(self, names: list[str]) -> str:
        return min(names, key=lambda each: self.timings[each].median_s)

    @property
    def over_llvm(self) -> measure.Comparison:
        """The ratio to ``best_llvm``."""
        return self.over(self.best_llvm)

    @property
    def over_numpy(self) -> measure.Comparison:
        """The ratio to ``best_numpy``."""
        return self.over(self.best_numpy)

    def per_32_bytes(self, name: str = FOUND) -> float | None:
        """Return the vector instructions for 32 bytes of the result; ``None`` where there are none.

        LLVM may have found no vectors, and NumPy's code is not read.
        """
        return self.code[name].per_32_bytes if name in self.code else None

    @property
    def limit(self) -> float | None:
        """The ratio to ``best_llvm`` that loads and stores alone would have.

        No program can have a higher one on this machine, whatever its instructions. ``None`` where
        loads and stores were not timed.
        """
        if MOVES not in self.timings:
            return None
        return self.timings[self.best_llvm].median_s / self.timings[MOVES].median_s

    @property
    def bound(self) -> str:
        """A sentence that says what the time of the found program consists of."""
        counts = "".join(f"; {each} {self._counted(each)}" for each in (FOUND, self.best_llvm))
        counts = counts if self.code else ""
        if MOVES not in self.timings:
            return f"bound by instructions{counts}"
        share = self.timings[MOVES].median_s / self.timings[FOUND].median_s
        words = f"loads and stores alone take {min(share, 1):.0%} of its time"
        kind = "loads and stores" if share >= NEAR else "instructions"
        return f"bound by {kind}: {words}{counts}"

    def _counted(self, name: str) -> str:
        count = self.per_32_bytes(name)
        if count is None:
            return "has no vectors"
        if not count:
            return "has none for 32 bytes"
        code = self.code[name]
        factor = count / sum(code.instructions.values())
        most = (f"{n * factor:.3g} {each}" for each, n in code.instructions.most_common(3))
        return f"has {count:.3g} for 32 bytes ({', '.join(most)})"

    def to_dict(self) -> dict[str, Any]:
        """Return all figures as JSON's types; ratios as first quartile, median, third quartile."""
        return {
            "spec": self.spec,
            "level": self.level,
            "outputs": self.outputs,
            "found_us": 1e6 * self.timings[FOUND].median_s,
            "best_llvm": self.best_llvm,
            "over_best_llvm": _with_quartiles(self.over_llvm),
            "best_llvm_in_any_words": self.best_llvm_in_any_words,
            "over_best_llvm_in_any_words": _with_quartiles(self.over(self.best_llvm_in_any_words)),
            "over_numpy": _with_quartiles(self.over_numpy),
            "over": {name: _with_quartiles(self.over(name)) for name in self.others},
            "instructions_per_32_bytes": {name: self.per_32_bytes(name) for name in self.code},
            "limit": self.limit,
            "warning": self.over_llvm.warning,
            "bound": self.bound,
        }

    @property
    def others(self) -> list[str]:
        return [name for name in self.timings if name != FOUND]

    def __str__(self) -> str:
        """A table with a line for each: its time, the found program's ratio, its instructions."""
        lines = [
            f"{self.spec}, {self.level}, {self.outputs} outputs, one thread",
            f"{'':<34}{'us':>9}{'ratio':>9}  {'quartiles':<14}{'instructions / 32 bytes':>24}",
        ]
        for name, timing in self.timings.items():
            count = self.per_32_bytes(name)
            counted = "" if count is None else f"{count:.3g}"
            ratio = quartiles = ""
            if name != FOUND:
                found = self.over(name)
                low, high = found.ratio_iqr
                ratio, quartiles = f"{found.ratio:.3g}", f"{low:.3g} to {high:.3g}"
            best = "  best of LLVM" if name == self.best_llvm else ""
            best = best or ("  in other words" if name in self.other_words else "")
            us = f"{1e6 * timing.median_s:.3f}"
            lines.append(f"{name:<34}{us:>9}{ratio:>9}  {quartiles:<14}{counted:>24}{best}")
        lines.append(self.bound)
        lines += measure.warning_lines([self.over_llvm.warning])
        return "\n".join(lines)


def _with_quartiles(found: measure.Comparison) -> list[float]:
    low, high = found.ratio_iqr
    return [low, found.ratio, high]


def geometric_mean(values: list[float]) -> float:
    """Return the geometric mean of positive numbers."""
    return math.exp(sum(map(math.log, values)) / len(values))


def compare(
    spec: Specification,
    level: Level,
    kernel: Any,
    *,
    outputs: int = OUTPUTS,
    rounds: int = ROUNDS,
    seed: int = 0,
) -> LoopComparison:
    """Time a found program against LLVM's loops, NumPy, and its loads and stores alone.

    ``kernel`` is TVM's compiled module of the found program: its ``main`` takes the buffers of
    ``spec.prim_func(outputs)``. This processor must have the level. All are checked on exact
    integers before they are timed.

    Raises:
        WrongResult: one of them computes something else than the specification.
    """
    arrays = inputs(spec, outputs, seed)
    wanted = spec.evaluate(arrays)
    loops = [Loop(FOUND, "", kernel), *llvm_loops(spec, level, outputs)]
    for each in loops:
        held = _buffers(spec, arrays, outputs)
        each.kernel["main"](*map(shared_tensor, held.values()))
        check(spec, each.name, held[spec.result.buffer], wanted)
    in_numpy = numpy_programs(spec, arrays, outputs)
    for name, run in in_numpy.items():
        check_values(spec.name, name, run(), wanted)
    alone = moves(spec, level, outputs)
    # All share the same buffers: at other addresses, loads may meet stores in the cache.
    shared = _buffers(spec, arrays, outputs).values()
    buffers, flat = list(shared), [each.reshape(-1) for each in shared]
    windows = {each.name: tvm_window(each.kernel, buffers) for each in loops}
    windows |= {name: python_window(run) for name, run in in_numpy.items()}
    if alone is not None:
        windows[MOVES] = tvm_window(alone.kernel, flat)
    timings = in_turns(windows, rounds)
    listings = {each.name: each.kernel.mod.inspect_source("asm") for each in loops}
    return LoopComparison(
        spec=spec.name,
        level=level.name,
        outputs=outputs,
        result_bytes=spec.cell.result.bytes,
        timings=MappingProxyType(timings),
        code=MappingProxyType({k: vector_instructions(text) for k, text in listings.items()}),
        other_words=frozenset(each.name for each in loops if each.other_words),
    )


def outputs_in_l1(spec: Specification, l1_bytes: int | None = None) -> int:
    """Return the most outputs, up to ``OUTPUTS``, whose buffers fill 3/4 of the first cache.

    It is a power of two. With more, programs of many operands wait for the second cache, whatever
    their instructions. ``l1_bytes`` is the size of the cache, this machine's unless it is given.
    """
    room = 3 * (l1_bytes or describe().l1d_bytes or COMMON_L1) // 4
    outputs = OUTPUTS
    while outputs > FEWEST_OUTPUTS and _bytes_of(spec, outputs) > room:
        outputs //= 2
    return outputs


def _bytes_of(spec: Specification, outputs: int) -> int:
    return sum(prod(each.shape(outputs)) * each.type.bytes for each in spec.tile.buffers)


def inputs(spec: Specification, outputs: int, seed: int = 0) -> dict[str, Array]:
    """Return aligned arrays within the promised ranges, with small numbers in the accumulator."""
    found = spec.sample(outputs, seed)
    if spec.cell.accumulator is not None:
        name = spec.places[spec.cell.accumulator].buffer
        of = spec.tile.buffer(name).type
        found[name] = _small(found[name], *spec.ranges.get(name, (of.lo, of.hi)))
    return {name: aligned(array) for name, array in found.items()}


def _small(values: Array, lo: int, hi: int) -> Array:
    """Return numbers of ``lo..hi`` that are near 0, or near the end of the range next to it."""
    if lo >= -SMALL_SUMS and hi <= SMALL_SUMS:
        return values
    near = min(max(lo, 0), hi)
    steps = values.astype(np.int64) % SMALL_SUMS
    found: Array = np.clip(near + steps if near < hi else near - steps, lo, hi)
    return found.astype(values.dtype)


def aligned(array: Array) -> Array:
    """Return a copy that begins at a multiple of 64 bytes, as TVM's generated code assumes."""
    room = np.empty(array.nbytes + 64, np.uint8)
    skip = -room.ctypes.data % 64
    copy = room[skip : skip + array.nbytes].view(array.dtype).reshape(array.shape)
    copy[...] = array
    return copy


def _buffers(spec: Specification, arrays: Mapping[str, Array], outputs: int) -> dict[str, Array]:
    """Return a copy of each input, and zeros for the output, in the order of the parameters."""
    return {
        each.name: aligned(
            arrays[each.name]
            if each.name in arrays
            else np.zeros(each.shape(outputs), each.type.numpy)
        )
        for each in spec.tile.buffers
    }


def check(spec: Specification, name: str, buffer: Array, wanted: Array) -> None:
    """Check the outputs in a buffer; raises ``WrongResult`` that names the first wrong one."""
    at = [spec.result.at(o) for o in range(len(wanted))]
    check_values(spec.name, name, buffer[tuple(map(np.array, zip(*at, strict=True)))], wanted)


def check_values(spec: str, name: str, got: Array, wanted: Array) -> None:
    """Check outputs; raises ``WrongResult`` that names the first wrong one."""
    wrong = np.flatnonzero(got != wanted)
    if len(wrong):
        first = int(wrong[0])
        raise WrongResult(
            f"{spec}: {name} computes something else",
            expected=f"output {first} is {wanted[first]}",
            got=f"{got[first]}; {len(wrong)} of {len(wanted)} outputs differ",
        )
