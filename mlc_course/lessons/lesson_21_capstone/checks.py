"""Demands of the exercises of lesson 21, one function for each graded cell."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

from mlc_course.errors import CourseError, UnmetCheck
from mlc_course.exercise import (
    breaks,
    called,
    check,
    check_parts,
    given,
    holds,
    moves,
    optimized,
    same_graph,
    shown,
)
from mlc_course.grading.checks import (
    Examined,
    check_returned,
    least_bytes,
    operators,
    read,
    same_border,
)
from mlc_course.lessons.lesson_21_capstone.families import drawn, practice
from mlc_course.lessons.lesson_21_capstone.plain_programs import (
    measured,
    read_program,
)
from mlc_course.lessons.lesson_21_capstone.tiled_by_a_colleague import colleague
from mlc_course.mugraph.ir import BlockGraph, parse
from mlc_course.mugraph.verify import verify

REDUCING = ("matmul", "sum")
MOST_TEXTS = 40
PREDICTED = ("chain", "linear", "norm_linear")
WITHIN = 1.5  # times the least share of bytes that is possible
TIME = ("less", "the same")


def late(answer: Any) -> None:
    """Check a rewriting: its programs are equal, and one has its division behind the matmul."""
    check(called(answer), rewrites(lambda seed: practice("norm_linear", seed)))


def tiled(answer: Any) -> None:
    """Check a tiling of the program whose product has to be added up."""
    check(called(answer), tiles(lambda seed: practice("linear", seed)))


def hunted(answer: Any) -> None:
    """Check a program of which the colleague's graph is wrong."""
    check(given(answer), breaks("the parts can be added up at the very end", _stands))


def predicted(answer: Any) -> None:
    """Check predictions of launches and of bytes for the three families to practise on."""
    check(given(answer), holds(_close, kind="prediction"))


def superoptimizer(answer: Any) -> None:
    """Check a superoptimizer on a program of a family to practise on."""
    check(
        optimized(answer, lambda seed: practice("norm_linear", seed)),
        same_graph(),
        moves(1, left=0.15),  # 0.02 to 0.1 with the division behind, 0.19 or more without
        worth=0,
    )


def pattern(text: str) -> Callable[[int], str]:
    """Return what draws a program of this pattern from a seed."""
    return lambda seed: drawn(text, seed)


@dataclass(frozen=True)
class Rewrites:
    """The function returns texts of programs that equal its argument, one of them rewritten.

    In one of them, no matmul and no sum reads a quotient, or what was computed from one by
    operators on single elements. None has an operator that the argument does not have.
    """

    draw: Callable[[int], str]
    kind: ClassVar[str] = "correctness"

    def judge(self, answer: Examined) -> str:
        assert answer.call is not None
        text = self.draw(answer.seed)
        found = answer.call(text)
        check_returned(found)
        if type(found) is not list or not all(type(each) is str for each in found):
            raise UnmetCheck("not a list of texts", expected='["...", "..."]', got=shown(found))
        if len(found) > MOST_TEXTS:
            raise UnmetCheck("too many texts", expected=f"at most {MOST_TEXTS}", got=len(found))
        for each in found:
            _same(text, each)
            _no_new_operators(text, each)
        late = [each for each in found if not _divided_early(each)]
        if not late:
            raise UnmetCheck(
                "in every text, a matmul or a sum still waits for a division",
                expected="one in which the division comes after it",
                got="\n".join(found[-1].splitlines()[:9]) if found else "no text at all",
            )
        return f"{len(found)} equal programs, {len(late)} of them with the division at the end"


@dataclass(frozen=True)
class Tiles:
    """The function makes one block graph of a program, cut by a grid and a loop as it is told.

    It is called with the text, ``{"x": (dimension, blocks)}`` and ``{"k": (dimension, turns)}``.
    """

    draw: Callable[[int], str]
    kind: ClassVar[str] = "correctness"

    def judge(self, answer: Examined) -> str:
        assert answer.call is not None
        text = self.draw(answer.seed)
        program = read_program(text)
        rows = program.dims[program.outputs[0]][0]
        deep = next(d for line in program.lines if (d := program.summed(line)) is not None)
        said = ""
        for blocks, turns in ((8, 4), (16, 8)):
            graph = answer.call(text, {"x": (rows, blocks)}, {"k": (deep, turns)})
            check_returned(graph)
            _same(text, graph)
            found = [block for _, block in parse(graph).blocks]
            if len(found) != 1 or len(parse(graph).equations) != 1:
                raise UnmetCheck("not one kernel", expected="one block graph", got=len(found))
            for what, got, wanted in (
                ("grid", dict(found[0].grid), {"x": blocks}),
                ("loop", dict(found[0].loops), {"k": turns}),
            ):
                if got != wanted:
                    raise UnmetCheck(f"another {what}", expected=wanted, got=got)
            _check_cut(found[0])
            moved = measured(graph)
            said = f"one kernel, equal: a block holds {moved.shared:,} bytes"
        return said


rewrites = Rewrites
tiles = Tiles


def _check_cut(block: BlockGraph) -> None:
    """Raises ``UnmetCheck`` where the loop, or the grid, cuts nothing."""
    for axis, cuts in (
        ("x", [load.imap for load in block.loads]),
        ("k", [load.fmap for load in block.loads]),
    ):
        if not any(axis in dict(each) for each in cuts):
            raise UnmetCheck(f"{axis} cuts no input", expected="tiles, not the whole tensor")


def _same(program: str, text: object) -> None:
    """Raises ``UnmetCheck`` unless a text is that of a graph that equals the program."""
    known, graph = parse(program), read(text)
    same_border(graph, known)
    try:
        verdict = verify(known, graph)
    except CourseError as error:
        raise UnmetCheck("a graph that cannot be compared", got=error.what) from None
    if not verdict.equal:
        raise UnmetCheck(
            "a text computes something else", expected=f"what {known.name} computes", got=verdict
        )


def _no_new_operators(program: str, text: str) -> None:
    """Raises ``UnmetCheck`` for an operator that may have the division inside, as softmax has."""
    known = {*operators(parse(program))}
    for name in operators(parse(text)):
        if name not in known:
            raise UnmetCheck(
                "a text has an operator that the program does not have",
                expected=", ".join(sorted(known)),
                got=name,
                hint="the division moves: no other operator is needed",
            )


def _divided_early(text: str) -> bool:
    """Tell whether some matmul or sum reads what was made with a division before any sum."""
    program, quotients = read_program(text), set[str]()
    for line in program.lines:
        reads = quotients & {*line.operands}
        if reads and line.op in REDUCING:
            return True
        if reads or line.op == "div":
            quotients.add(line.name)
    return False


def _stands(text: Any) -> str | None:
    """Return why the colleague's claim still stands for a program, or None."""
    program = read(text)
    if [*operators(program)][:1] != ["matmul"] or any(program.blocks):
        return "the colleague takes programs of predefined operators that begin with a matmul"
    try:
        graph = parse(colleague(str(program)))
    except (CourseError, LookupError, ValueError):
        return (
            "of this program the colleague makes no graph at all: 8 has to divide its rows, 4 what "
            "the matmul adds up, and it returns one value"
        )
    if graph.output_shapes != program.output_shapes:
        return "the colleague cuts the rows of the result, and they have to be the dimension b"
    if verify(program, graph).equal:
        return "the colleague's graph of this program is equal"
    return None


def _close(value: Any) -> str:
    check_parts(value, PREDICTED)
    right = 0
    for name in PREDICTED:
        check_parts(value[name], ("launches", "share", "time"))
        guess, text = value[name], practice(name)
        least = least_bytes(parse(text)) / measured(text).bytes
        if type(guess["share"]) not in (int, float) or not 0 < guess["share"] <= 1:
            raise UnmetCheck(
                f"{name}: no share", expected="a number above 0, at most 1", got=guess["share"]
            )
        if guess["time"] not in TIME:
            raise UnmetCheck(f"{name}: time", expected=" | ".join(TIME), got=shown(guess["time"]))
        apart = max(guess["share"] / least, least / guess["share"])
        right += guess["launches"] == 1 and apart <= WITHIN
    if right < len(PREDICTED):
        raise UnmetCheck(
            f"{right} of {len(PREDICTED)} predictions are close",
            expected=f"the launches, and the share within a factor of {WITHIN}",
            hint="a perfect kernel loads each input once, and stores the output once",
        )
    return "all three are close; whether time follows, the race will tell"
