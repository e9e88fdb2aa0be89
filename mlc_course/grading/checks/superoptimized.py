"""Checks of superoptimizers: the graph that one has made of a program, and what it moves."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from mlc_course.errors import UnmetCheck
from mlc_course.grading.checks.checking import Examined
from mlc_course.grading.checks.mugraphs import SameProgram, exactly, read
from mlc_course.mugraph.cost import total, traffic
from mlc_course.mugraph.ir import KernelGraph, parse
from mlc_course.units import plural

ITEMSIZE = 4  # bytes: a CPU computes in float32


@dataclass(frozen=True)
class SameGraph:
    """The graph computes what its program does, by the verifier's word."""

    kind: ClassVar[str] = "correctness"

    def judge(self, answer: Examined) -> str:
        return answer.bench.inspect(self)

    def inspect(self, subject: Any) -> str:
        """Read the graph within limits, and verify it."""
        return SameProgram(subject.program).inspect(subject.graph)


@dataclass(frozen=True)
class Moves:
    """The graph launches at most ``kernels``, and moves few of the bytes that can be avoided.

    A program has to load its inputs and store its outputs once; what it moves besides could be
    avoided. ``left`` is the share of that which the graph may still move. A block may hold
    ``shared`` bytes.
    """

    kernels: int
    left: float
    shared: int = 160 * 1024
    kind: ClassVar[str] = "counted"

    def judge(self, answer: Examined) -> str:
        return answer.bench.inspect(self)

    def inspect(self, subject: Any) -> str:
        """Count kernels and bytes."""
        program, graph = parse(subject.program), read(subject.graph)
        before, after = (traffic(each, ITEMSIZE) for each in (program, graph))
        was, now = _bytes(before), _bytes(after)
        held = total(after).shared
        least = least_bytes(program)
        most = least + self.left * (was - least)
        for what, found, bound, shown in (
            ("kernels", len(after), self.kernels, str),
            ("bytes held by a block", held, self.shared, exactly),
            ("bytes loaded and stored", now, int(most), exactly),
        ):
            if found > bound:
                raise UnmetCheck(
                    f"equal, but too many {what}",
                    expected=f"at most {shown(bound)}",
                    got=f"{shown(found)}, in the graph made of {program.name}",
                )
        return (
            f"{plural(len(before), 'kernel')} became {len(after)}; "
            f"{now / was:.2f} of the bytes are moved"
        )


def least_bytes(program: KernelGraph) -> int:
    """Return the bytes of all inputs and outputs: no graph moves fewer."""
    shapes = [*program.input_shapes.values(), *program.output_shapes]
    return ITEMSIZE * sum(math.prod(shape) for shape in shapes)


def _bytes(kernels: Sequence[Any]) -> int:
    whole = total(kernels)
    return whole.loaded + whole.stored


# Checks as exercises spell them: ``check(optimized(f, draw), same_graph(), moves(1, left=0.3))``.
same_graph = SameGraph
moves = Moves
