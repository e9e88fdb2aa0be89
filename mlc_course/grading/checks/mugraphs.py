"""A check of mu-graphs: an answer is a graph's text, or the maps of a graph that is given.

Nobody vouches for the text, so its length, its numbers and its amount of work are limited before
anything is computed.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from textwrap import dedent
from typing import Any, ClassVar

from mlc_course.errors import CourseError, UnmetCheck, check_known
from mlc_course.grading.checks.checking import Examined
from mlc_course.grading.process import shown as value_shown
from mlc_course.mugraph.cost import total, traffic
from mlc_course.mugraph.ir import (
    BlockGraph,
    Equation,
    KernelGraph,
    Shape,
    ThreadGraph,
    ops,
    parse,
)
from mlc_course.mugraph.verify import Verdict, difference, verify
from mlc_course.words import listed, tr

MOST_CHARACTERS, MOST_LINES = 6000, 120
MOST_ELEMENTS = 1 << 20  # of one tensor
MOST_STEPS = 20_000  # blocks times iterations
MOST_WORK = 1 << 28  # operations on numbers in all of them
LONGEST_LINE = 100  # of what an error repeats
MOST_OPERATORS = 60
MOST_HARD = 6  # operators that are not PLAIN: each may square the time of the verifier
PLAIN = frozenset(
    op.name
    for op in (
        *(ops.matmul, ops.add, ops.sub, ops.mul, ops.div, ops.neg, ops.scale, ops.shift),
        *(ops.square, ops.sqrt, ops.reduce_sum, ops.reduce_mean, ops.rms_norm, ops.accumulate),
        *(ops.repeat, ops.reshape, ops.transpose, ops.concat, ops.split),
    )
)
LONG_NUMBER = re.compile(r"\d{8,}|\d[eE][-+]?\d")  # 1e999999999 takes for ever to read
HOLE = re.compile(r"^\s*(\w+) = (load|store)\((\w+), \.\.\.\)$", re.MULTILINE)
KINDS = {"load": ("imap", "fmap"), "store": ("omap",)}


# --- a text becomes a graph, within limits --------------------------------------------------------


def read(text: object) -> KernelGraph:
    """The graph of a text that nobody vouches for.

    Raises ``UnmetCheck`` with the line of the error, and for a graph that is too large to run.
    """
    _readable(text)
    assert isinstance(text, str)
    try:
        graph = parse(text)
    except CourseError as error:
        raise _located(error) from None
    except (ArithmeticError, LookupError, RecursionError, TypeError, ValueError) as error:
        raise UnmetCheck("a graph that cannot be read", got=str(error)[:200]) from None
    _small(graph)
    return graph


def _readable(text: object) -> None:
    if type(text) is not str:
        raise UnmetCheck(
            "an answer of another kind",
            expected='the text of a mu-graph, """..."""',
            got=value_shown(text),
        )
    if len(text) > MOST_CHARACTERS or text.count("\n") > MOST_LINES:
        raise UnmetCheck(
            "a text that is too long for this exercise",
            expected=f"at most {MOST_CHARACTERS} characters on {MOST_LINES} lines",
            got=f"{len(text)} characters, {text.count(chr(10)) + 1} lines",
        )
    number = LONG_NUMBER.search(text)
    if number:
        raise UnmetCheck(
            "a number that no graph here needs",
            expected="at most seven digits, no exponent",
            got=text[number.start() :][:20],
        )


def _located(error: CourseError) -> UnmetCheck:
    """Return the error as ``UnmetCheck``, with the line that ``parse`` noted."""
    notes = [note for note in getattr(error, "__notes__", ()) if note.startswith("in line ")]
    where = f" ({notes[-1][:LONGEST_LINE]})" if notes else ""
    return UnmetCheck(
        f"{error.what[:LONGEST_LINE]}{where}",
        expected=error.expected,
        got=None if error.got is None else str(error.got)[:LONGEST_LINE],
        hint=error.hint,
    )


def _small(graph: KernelGraph) -> None:
    """Raises ``UnmetCheck`` unless it can be run in a moment."""
    steps, work = 0, _work(graph.equations, graph.shapes, len(graph.inputs))
    _all_small(graph.shapes)
    for place, block in graph.blocks:
        tiles = graph.tiles(place).shapes
        _all_small(tiles)
        iterations = math.prod(extent for _, extent in (*block.grid, *block.loops))
        steps += iterations
        work += iterations * _work(block.equations, tiles, len(block.loads))
    for what, found, most in (
        ("iterations in all blocks together", steps, MOST_STEPS),
        ("operations on numbers", work, MOST_WORK),
    ):
        if found > most:
            raise UnmetCheck(
                f"too many {what} for this exercise", expected=f"at most {most:,}", got=f"{found:,}"
            )


def _work(equations: Sequence[Equation], shapes: Sequence[Shape], first: int) -> int:
    """Operations of one run of these equations, whose results begin with value ``first``."""
    work, made = 0, first
    for each in equations:
        results = shapes[made : made + len(each.names)]
        made += len(each.names)
        times = len(each.op.equations) if isinstance(each.op, ThreadGraph) else 1
        if each.op is ops.matmul:
            times = shapes[each.operands[0]][-1]
        work += times * sum(math.prod(shape) for shape in results)
        work += sum(math.prod(shapes[number]) for number in each.operands)
    return work


def operators(graph: KernelGraph) -> Iterator[str]:
    """The names of all operators, those inside block graphs and thread graphs among them."""
    yield from _operators(graph.equations)


def _operators(equations: Sequence[Equation]) -> Iterator[str]:
    for equation in equations:
        if isinstance(equation.op, BlockGraph | ThreadGraph):
            yield from _operators(equation.op.equations)
        else:
            yield equation.op.name


def familiar(graph: KernelGraph, program: KernelGraph) -> None:
    """Raises ``UnmetCheck`` for operators that neither the program nor plain arithmetic has.

    They cannot help, and a verifier may need for ever to find that out.
    """
    found, known = list(operators(graph)), PLAIN | set(operators(program))
    hard = [name for name in found if name not in PLAIN]
    for name in hard:
        check_known(
            f"an operator that {program.name} does not need:", name, sorted(known), UnmetCheck
        )
    if len(found) > MOST_OPERATORS or len(hard) > MOST_HARD:
        raise UnmetCheck(
            "more operators than this exercise needs",
            expected=f"at most {MOST_OPERATORS}, of which {MOST_HARD} are not plain arithmetic",
            got=f"{len(found)}, of which {len(hard)} are not",
        )


def _all_small(shapes: Sequence[Shape]) -> None:
    for shape in shapes:
        if math.prod(shape) > MOST_ELEMENTS:
            raise UnmetCheck(
                "a tensor that is too large for this exercise",
                expected=f"at most {MOST_ELEMENTS:,} elements",
                got=f"shape {shape}",
            )


# --- maps fill the holes of a frame ---------------------------------------------------------------


def filled(frame: str, maps: object) -> str:
    """The frame with maps in its holes; raises ``UnmetCheck`` for maps of another form."""
    holes = {name: KINDS[kind] for name, kind, _ in HOLE.findall(frame)}
    if type(maps) is not dict or maps.keys() != holes.keys():
        form = ", ".join(f'"{name}": ...' for name in holes)
        raise UnmetCheck(
            tr("not maps for every tensor"), expected=f"{{{form}}}", got=value_shown(maps)
        )
    for name, kinds in holes.items():
        _check_maps(name, maps[name], kinds)

    def put(found: re.Match[str]) -> str:
        given = [f"{kind}={_written(maps[found[1]][kind])}" for kind in maps[found[1]]]
        return found[0].replace("...", ", ".join(given)).replace(", )", ")")

    return HOLE.sub(put, frame)


def _check_maps(name: str, maps: object, kinds: tuple[str, ...]) -> None:
    if type(maps) is not dict or not maps.keys() <= set(kinds):
        raise UnmetCheck(
            tr("{name}: not its maps", name=name),
            expected=tr("a dict with {keys}", keys=listed(kinds)),
            got=value_shown(maps),
        )
    for kind, cuts in maps.items():
        pairs = cuts.items() if type(cuts) is dict else [("", "")]
        if not all(re.fullmatch(r"[a-z]\w{0,7}", axis) and type(d) is int for axis, d in pairs):
            raise UnmetCheck(
                tr("{name}: {kind} is no map", name=name, kind=kind),
                expected=tr("axes and dimensions, such as {'x': 0}"),
                got=value_shown(cuts),
            )


def _written(cuts: Mapping[str, int]) -> str:
    return "{" + ", ".join(f"{axis}: {dim}" for axis, dim in cuts.items()) + "}"


# --- the check ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class SameProgram:
    """The graph computes what ``program``, a text, does, within these inclusive limits.

    ``kernels`` counts them, the others are bytes of float16: of shared memory in one block, loaded
    by all blocks of all kernels, and loaded by a single block of any kernel.

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
        """Read the answer, check its limits and compare it with the program."""
        program = parse(self.program)
        text = filled(dedent(self.frame), subject) if self.frame else subject
        graph = read(text)
        same_border(graph, program)
        familiar(graph, program)
        seen = self._within_limits(graph)
        _same(graph, program)
        return tr("computes what {program} does", program=program.name) + seen

    def _within_limits(self, graph: KernelGraph) -> str:
        kernels = traffic(graph)
        whole = total(kernels)
        busiest = max(kernels, key=lambda each: each.loaded_by_block)
        limits = (
            ("many kernels", "kernels", len(kernels), self.kernels, str),
            ("much shared memory of a block", "shared memory", whole.shared, self.shared, exactly),
            ("many bytes loaded", "loaded", whole.loaded, self.loaded, exactly),
            (
                f"many bytes that one block loads, in kernel {busiest.name!r}",
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
                raise UnmetCheck(f"too {what}", expected=f"at most {shown(most)}", got=shown(found))
            seen.append(f"{short} {shown(found)}")
        return ": " + ", ".join(seen) if seen else ""


same_program = SameProgram


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
            tr("the graph computes something else"),
            expected=tr("what {program} computes", program=program.name),
            got=shown or said,
        )


def _exactly(graph: KernelGraph, program: KernelGraph) -> str:
    """Return what the verifier says when it can tell the graphs apart, else nothing."""
    verdict = verify(program, graph)
    return "" if _equal(verdict) else str(verdict)


def _equal(verdict: Verdict) -> bool:
    """Tell whether the graphs are equal, with every output in the program's place."""
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
