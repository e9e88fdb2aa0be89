"""A check of mu-graphs: an answer is a graph's text, or the maps of a graph that is given."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from textwrap import dedent
from typing import Any, ClassVar

from mlc_course.errors import Undecided, UnmetCheck
from mlc_course.grading.examined import Examined
from mlc_course.grading.mugraph_text import familiar, filled, read
from mlc_course.mugraph.constants import Constant
from mlc_course.mugraph.difference import difference
from mlc_course.mugraph.ir import BlockGraph, Equation, ThreadGraph
from mlc_course.mugraph.kernel import KernelGraph
from mlc_course.mugraph.text import parse
from mlc_course.mugraph.traffic import total, traffic
from mlc_course.mugraph.verify import Verdict, verify


@dataclass(frozen=True)
class SameProgram:
    """The graph computes what ``program`` does, within these limits.

    With a ``frame``, the answer holds the maps that its lines ``a = load(A, ...)`` leave open, as
    ``{"a": {"imap": {"x": 0}, "fmap": {"k": 1}}, "C": {"omap": {"x": 0}}}``.
    """

    program: str
    frame: str = ""
    kernels: int | None = None
    shared: int | None = None
    loaded: int | None = None
    loaded_by_block: int | None = None
    kind: ClassVar[str] = "correctness"

    def judge(self, answer: Examined) -> str:
        return answer.bench.inspect(self)

    def inspect(self, subject: Any) -> str:
        """Reads, limits, compares; every error is one of the course's."""
        program = parse(self.program)
        text = filled(self.frame, subject) if self.frame else subject
        graph = read(text)
        same_border(graph, program)
        familiar(graph, program)
        seen = self._within_limits(graph)
        _same(graph, program)
        return f"computes what {program.name} does{seen}"

    def _within_limits(self, graph: KernelGraph) -> str:
        kernels = traffic(graph)
        whole = total(kernels)
        busiest = max(kernels, key=lambda each: each.loaded_by_block)
        limits = (
            ("kernels", "kernels", len(kernels), self.kernels, str),
            ("shared memory of a block", "shared memory", whole.shared, self.shared, exactly),
            ("bytes loaded", "loaded", whole.loaded, self.loaded, exactly),
            (
                f"bytes that one block loads, in kernel {busiest.name!r}",
                "loaded by a block",
                busiest.loaded_by_block,
                self.loaded_by_block,
                exactly,
            ),
        )
        seen = []
        for what, short, found, most, shown in limits:
            if most is None:
                continue
            if found > most:
                raise UnmetCheck(what, expected=f"at most {shown(most)}", got=shown(found))
            seen.append(f"{short} {shown(found)}")
        return ": " + ", ".join(seen) if seen else ""


def same_program(
    program: str,
    *,
    frame: str = "",
    kernels: int | None = None,
    shared: int | None = None,
    loaded: int | None = None,
    loaded_by_block: int | None = None,
) -> SameProgram:
    """A mu-graph that computes what ``program`` (a text, too) does; the limits are inclusive.

    ``kernels`` counts them, the others are bytes of float16: of shared memory in one block, loaded
    by all blocks of all kernels, and loaded by a single block of any kernel.
    """
    return SameProgram(dedent(program), dedent(frame), kernels, shared, loaded, loaded_by_block)


def exactly(size: int) -> str:
    """``1,024 bytes``: next to a limit of 1,000, kilobytes would look the same."""
    return f"{size:,} bytes"


def _same(graph: KernelGraph, program: KernelGraph) -> None:
    """Raises ``UnmetCheck`` unless they compute the same; random numbers first, as they explain."""
    try:
        shown = difference(graph, program)
        said = "" if shown else _exactly(graph, program)
    except ArithmeticError as error:
        raise UnmetCheck("numbers that cannot be computed with", got=error) from None
    if shown or said:
        raise UnmetCheck(
            "the graph computes something else",
            expected=f"what {program.name} computes",
            got=shown or said,
        )


def _exactly(graph: KernelGraph, program: KernelGraph) -> str:
    """What the verifier says of them when it can tell them apart; else nothing.

    It looks at small sizes, where ``1/d`` is not ``1/512``. So it may also read both graphs with
    numbers in place of names. (A wrong name that gives a wrong number shows in floats.)
    """
    try:
        verdict = verify(program, graph)
    except Undecided as undecided:
        try:
            verdict = verify(with_numbers(program), with_numbers(graph))
        except Undecided:
            raise undecided from None
    return "" if _equal(verdict) else str(verdict)


def with_numbers(graph: KernelGraph) -> KernelGraph:
    """The graph with ``1/512`` for ``1/d`` wherever d is 512."""
    return replace(graph, equations=tuple(_numbered(graph.equations, graph.size_of)))


def _numbered(equations: Sequence[Equation], sizes: Mapping[str, int]) -> Iterator[Equation]:
    for each in equations:
        if isinstance(each.op, BlockGraph | ThreadGraph):
            inner = tuple(_numbered(each.op.equations, sizes))
            yield replace(each, op=replace(each.op, equations=inner))
        else:
            given = ((name, _number(value, sizes)) for name, value in each.attributes)
            yield replace(each, attributes=tuple(given))


def _number(value: Any, sizes: Mapping[str, int]) -> Any:
    if not isinstance(value, Constant) or value.number(sizes).roots:
        return value
    return Constant(value.number(sizes).coefficient)


def _equal(verdict: Verdict) -> bool:
    """Each output where the program has it, too."""
    return verdict.equal and list(verdict.outputs) == sorted(verdict.outputs)


def same_border(graph: KernelGraph, program: KernelGraph) -> None:
    """Raises ``UnmetCheck`` unless inputs and outputs are those of the program."""
    for what, found, wanted in (
        ("inputs", _inputs(graph), _inputs(program)),
        ("shapes of what is returned", list(graph.output_shapes), list(program.output_shapes)),
    ):
        if found != wanted:
            raise UnmetCheck(
                f"other {what} than those of {program.name}",
                expected=", ".join(map(str, wanted)),
                got=", ".join(map(str, found)) or "none",
            )


def _inputs(graph: KernelGraph) -> list[str]:
    return [f"{i.name}{list(shape)}" for i, shape in zip(graph.inputs, graph.shapes, strict=False)]
