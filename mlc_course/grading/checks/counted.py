"""Checks that count axes, strides, cache misses and instructions: the same on every run."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any, ClassVar

from mlc_course.errors import UnmetCheck, UsageError
from mlc_course.grading.checks.checking import Examined
from mlc_course.grading.process import Program
from mlc_course.tensor_program.memory import Cache, count, jumps
from mlc_course.tensor_program.schedule import lookup as names
from mlc_course.tensor_program.tir import (
    REDUCTION,
    Access,
    Schedule,
    Touch,
    accesses,
    every_step,
    main_function,
    variables,
    walk,
)
from mlc_course.words import tr


@dataclass(frozen=True)
class _OnBench:
    """A check that needs only ``inspect``, which looks at the program on its bench."""

    def judge(self, answer: Examined) -> str:
        return answer.bench.inspect(self)

    def inspect(self, subject: Any) -> str:
        raise NotImplementedError


# Of one buffer, for each operation of the problem. In a good order there is a jump for each row of
# the inner loop: 0.10 where rows have 5 elements, the shortest that are asked about. In a bad order
# each multiply-add jumps: 0.25, where one of two products is in a bad order.
MOST_JUMPS = 1 / 8
# Of the numbers that a loop computes on. Programs without scalars beside their vectors have 100 %,
# and 80 % where LLVM writes sums of 256 terms out and adds their lanes in the same loop; 13 scalars
# for each vector of 16 lanes leave 55 %.
IN_VECTORS = 0.7


@dataclass(frozen=True)
class InnerStride(_OnBench):
    """A program walks along rows: hardly any address moves by more than ``at_most`` elements.

    Along the innermost loop of ``block`` that has more than one turn, no address does; without a
    block, along no innermost loop of the program. In the whole run, conditions, other blocks and
    repeated work included, few do.
    """

    block: str = ""
    at_most: int = 1
    kind: ClassVar[str] = "structure"

    def inspect(self, subject: Program) -> str:
        loop = self._along_loops(accesses(subject.module))
        self._in_the_run(subject)
        return tr(
            "along {loop} every address moves by {most} element or less",
            loop=loop,
            most=self.at_most,
        )

    def _along_loops(self, found: tuple[Access, ...]) -> str:
        """Name the inner loop; raises ``UnmetCheck`` where an address moves by more along it."""
        known = sorted({each.block for each in found})
        if self.block:
            names = (self.block, f"{self.block}_update")  # the second one after hoist_init
            found = tuple(each for each in found if each.block in names)
        if not found:
            raise UnmetCheck(
                tr("no block {name}", name=self.block),
                expected=tr("a block named {name}", name=self.block),
                got=", ".join(known),
                hint=tr("keep the block that the exercise names"),
            )
        for each in found:
            loop, stride = each.turning[-1] if each.turning else (None, 0)
            if loop and (stride is None or abs(stride) > self.at_most):
                here = {"loop": loop.name, "buffer": each.buffer}
                raise UnmetCheck(
                    tr("the inner loop {loop} strides in no fixed steps in {buffer}", **here)
                    if stride is None
                    else tr(
                        "the inner loop {loop} strides by {stride} elements in {buffer}",
                        **here,
                        stride=stride,
                    ),
                    expected=tr("at most {most}", most=self.at_most),
                    got=tr("no constant") if stride is None else stride,
                    hint=tr("which loop moves the last index by one? That one belongs inside"),
                )
        if not self.block:
            return tr("every inner loop")
        inner = found[0].turning[-1][0].name if found[0].turning else "(none)"
        return tr("the inner loop {loop}", loop=inner)

    def _in_the_run(self, subject: Program) -> None:
        """Raise ``UnmetCheck`` where the addresses of a buffer jump as in a bad order."""
        totals: Counter[tuple[str, bool]] = Counter()
        for place in jumps(subject.module, self.at_most):
            totals[place.buffer, place.writes] += place.jumps
        most = int(subject.problem.flops * MOST_JUMPS)
        (buffer, writes), worst = max(totals.items(), key=lambda each: each[1])
        if worst > most:
            raise UnmetCheck(
                tr("the addresses at which {buffer} is written jump", buffer=buffer)
                if writes
                else tr("the addresses at which {buffer} is read jump", buffer=buffer),
                expected=tr(
                    "at most {count:,} times by more than {most} element in the run",
                    count=most,
                    most=self.at_most,
                ),
                got=tr("{count:,} times", count=worst),
                hint=tr("which loop moves the last index by one? That one belongs inside"),
            )


@dataclass(frozen=True)
class AxisKinds(_OnBench):
    """The axes of a block are spatial (S) and reduction (R) axes, as many of each as in "SSR".

    Raises ``UsageError`` for other letters.
    """

    block: str
    kinds: str
    kind: ClassVar[str] = "structure"

    def __post_init__(self) -> None:
        if not self.kinds or set(self.kinds) - {"S", "R"}:
            raise UsageError(
                "axis_kinds: not kinds of axes", expected="letters S and R", got=self.kinds
            )

    def inspect(self, subject: Program) -> str:
        sch = Schedule(subject.module)
        known = names.blocks(sch)
        name = self.block if self.block in known else f"{self.block}_update"
        if name not in known:
            raise UnmetCheck(
                f"no block {self.block!r}",
                expected=f'with T.sblock("{self.block}"): ...',
                got=", ".join(known) or "loops alone",
                hint="keep the block that the exercise names",
            )
        block = sch.get(sch.get_sblock(name))
        kinds = "".join(map(_letter, block.iter_vars))
        if sorted(kinds) != sorted(self.kinds):
            raise UnmetCheck(
                f"the axes of block {self.block} have other kinds",
                expected="S for each axis that indexes what it writes, R for one that it sums over",
                got=kinds or "no axis",
                hint="move one axis and hold the others: is another element written, or the same?",
            )
        self._are_used(subject, name, block)
        return f"the axes of block {self.block} are {kinds}"

    def _are_used(self, subject: Program, name: str, block: Any) -> None:
        """Raise ``UnmetCheck`` unless the block does the work, and each axis what its kind says."""
        touches = [t for t in every_step(walk(subject.module)) if isinstance(t, Touch)]
        *inputs, result = main_function(subject.module).params
        elsewhere = [t.block for t in touches if t.buffer in inputs and t.block != name]
        if elsewhere:
            given = ", ".join(str(each.name) for each in inputs)
            raise UnmetCheck(
                f"block {self.block} does not do the work",
                expected=f"{given} read in block {self.block} alone",
                got=f"read in {elsewhere[0]}",
            )
        indices = [
            index
            for t in touches
            if t.writes and t.block == name and t.buffer.same_as(result)
            for index in t.indices
        ]
        used = {var for index in indices for var in variables(index)}
        for axis in block.iter_vars:
            if (axis.var in used) != (_letter(axis) == "S"):
                raise UnmetCheck(
                    f"axis {axis.var.name} of block {self.block} is declared {_letter(axis)}",
                    expected="S for each axis that indexes what it writes, R for one that it sums "
                    "over",
                    got=f"{axis.var.name} {'moves' if axis.var in used else 'does not move'} "
                    f"{result.name}",
                    hint="move one axis and hold the others: is another element written, or the "
                    "same?",
                )


def _letter(axis: Any) -> str:
    return {0: "S", REDUCTION: "R"}.get(int(axis.iter_type), "?")


@dataclass(frozen=True)
class Misses(_OnBench):
    """At most so many misses in a simulated cache, by default 32 KiB with 8 ways."""

    at_most: int
    cache: Cache = Cache()
    kind: ClassVar[str] = "counted"

    def inspect(self, subject: Program) -> str:
        # A private copy counts as memory wherever the program says it is: a whole matrix that is
        # called local does not fit into the registers.
        found = count(subject.module, self.cache, registers=())[0]
        size = f"{self.cache.bytes // 1024} KiB, {self.cache.ways}-way"
        if found.misses > self.at_most:
            raise UnmetCheck(
                tr("too many cache misses ({size})", size=size),
                expected=tr("at most {most:,}", most=self.at_most),
                got=tr(
                    "{misses:,} of {accesses:,} accesses",
                    misses=found.misses,
                    accesses=found.accesses,
                ),
                hint=tr("what is read again before it has left the cache costs nothing"),
            )
        return tr(
            "{misses:,} cache misses ({size}); asked: {most:,} or fewer",
            misses=found.misses,
            size=size,
            most=self.at_most,
        )


@dataclass(frozen=True)
class Lanes(_OnBench):
    """The busy loops multiply and add at least so many float32 at once."""

    at_least: int
    kind: ClassVar[str] = "counted"

    def inspect(self, subject: Program) -> str:
        found = min(subject.busy_loops, key=lambda loop: loop.lanes)
        if found.lanes < self.at_least:
            loop = "the hot loop" if found is subject.busy_loops[0] else "a loop with much work"
            raise UnmetCheck(
                f"{loop} is not vector code" if found.lanes == 1 else "the vectors are short",
                expected=f"{self.at_least} float32 in each instruction",
                got=f"{found.lanes} ({found.vector_bits} bits)",
                hint="vectorize a loop along which all addresses move by 0 or 1",
            )
        mixed = min(subject.busy_loops, key=lambda loop: loop.vector_share)
        if mixed.vector_share < IN_VECTORS:
            raise UnmetCheck(
                "much of the work in a loop is not in its vectors",
                expected=f"{IN_VECTORS:.0%} of the numbers in vectors of {mixed.lanes} float32",
                got=f"{mixed.vector_share:.0%}",
                hint="what is computed beside the vectors, one number after the other?",
            )
        return f"the hot loop computes on {found.lanes} float32 at once"


@dataclass(frozen=True)
class Spills(_OnBench):
    """At most so many vector instructions of the program move registers to the stack or back."""

    at_most: int = 0
    hint: str = "rows x vectors of sums, a vector of B and one of A: count them"
    kind: ClassVar[str] = "counted"

    def inspect(self, subject: Program) -> str:
        found = subject.busy_loops[0]
        if found.spills > self.at_most:
            raise UnmetCheck(
                "sums do not fit into the registers",
                expected=f"at most {self.at_most} vector instructions on the stack",
                got=found.spills,
                hint=self.hint,
            )
        return f"{found.spills} vector instructions on the stack"


# Checks as exercises spell them: ``check(given(x), equals(3))``.
inner_stride = InnerStride
axis_kinds = AxisKinds
misses = Misses
lanes = Lanes
spills = Spills
