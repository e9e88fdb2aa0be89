"""Lesson 21's exercises: what typical answers are told, and which ones earn the points."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from answers import Complain, both_tests, no_races  # noqa: F401

from mlc_course.grading.checks import UNFUSED, Demand, Faster, findings_here, moves, same_graph
from mlc_course.grading.process import Verdict, optimized
from mlc_course.lessons.lesson_21_capstone import PRACTICE, drawn, measured, practice
from mlc_course.mugraph.ir import parse
from mlc_course.mugraph.search import Found, superoptimize
from mlc_course.mugraph.verify import verify

pytestmark = pytest.mark.usefixtures("no_races")

ASSIGNMENT = "21_capstone"
SOLVED = Path(__file__).parents[2] / "solutions" / ASSIGNMENT / f"{ASSIGNMENT}.ipynb"
CELLS = {
    cell["id"]: "".join(cell["source"])
    for cell in json.loads(SOLVED.read_text(encoding="utf-8"))["cells"]
}
LATE, TILED, WHOLE = CELLS["late"], CELLS["tiled"], CELLS["whole"]
Solution = Callable[[str, str], str]


def function(head: str, *lines: str) -> str:
    return "\n".join([f"def {head}:", *(f"    {line}" for line in lines)])


def changed(source: str, before: str, after: str) -> str:
    assert before in source
    return source.replace(before, after, 1)


def whole(*lines: str) -> str:
    return f"{LATE}\n\n{TILED}\n\n{WHOLE}\n\n\n{function('superoptimize(text)', *lines)}"


def program(*lines: str, head: str = "mine(X[b=64, d=32], W[d, n=16])") -> str:
    body = "\n".join([f"{head}:", *(f"  {line}" for line in lines)])
    return f'my_program = """\n{body}\n"""'


RIGHT_GUESSES = {
    "chain": {"launches": 1, "share": 0.3, "time": "less"},
    "linear": {"launches": 1, "share": 0.65, "time": "less"},
    "norm_linear": {"launches": 1, "share": 0.2, "time": "the same"},
}


def guesses(**changed: object) -> str:
    return f"my_predictions = {RIGHT_GUESSES | changed!r}"


SEARCH = "from mlc_course.mugraph.search import superoptimize as search"
WRONG = [
    # 1. Divide late
    ("late-test", "late = ['a']", "an answer of another kind"),
    ("late-test", function("late(text)", "return text"), "not a list of texts"),
    ("late-test", function("late(text)", "return [text]"), "still waits for a division"),
    ("late-test", function("late(text)", "return []"), "no text at all"),
    (
        "late-test",  # forgets to divide
        changed(
            LATE,
            "return [behind, Line(line.name, \"div\", (behind.name, below))]",
            "return [Line(line.name, *behind[1:])]",
        ),
        "computes something else",
    ),
    (
        "late-test",  # hides the division in an operator that has it inside
        function(
            "late(text)",
            "program = read_program(text)",
            "(div,) = (each for each in program.lines if each.op == 'div')",
            "norm = Line(div.name, 'rms_norm', div.operands[:1], 'axis=1')",
            "return [text, str(program.with_lines([norm, program.lines[-1]]))]",
        ),
        "an operator that the program does not have",
    ),
    # 2. Tile it
    ("tiled-test", function("tiled(text, grid, loop)", "return text"), "not one kernel"),
    (
        "tiled-test",  # the sums of one iteration
        changed(TILED, "t_{line.name} = accumulate(p_{line.name})", "t_{line.name} = neg(p_{line.name})"),
        "accumulator",
    ),
    (
        "tiled-test",  # another loop
        changed(TILED, '''f" loop({sizes(loop)})"''', 'f" loop(k=2)"'),
        "another loop",
    ),
    # 3. A bug hunt
    ("hunt-test", program("Y = matmul(X, W)", "return Y"), "graph of this program is equal"),
    (
        "hunt-test",
        program("Z = matmul(X, W)", "Y = scale(Z, by=2)", "return Y"),
        "graph of this program is equal",
    ),
    ("hunt-test", program("Y = relu(X)", "return Y"), "begin with a matmul"),
    (
        "hunt-test",
        program("Y = matmul(X, W)", "return Y", head="mine(X[rows=64, d=32], W[d, n=16])"),
        "have to be the dimension b",
    ),
    (
        "hunt-test",
        program("Z = matmul(X, W)", "Y = relu(Z)", "return Y", head="mine(X[b=60, d=32], W[d, n=16])"),
        "8 has to divide its rows",
    ),
    ("hunt-test", "my_program = 3", "an answer of another kind"),
    # 4. Predict
    ("predict-test", "my_predictions = {}", "not an answer to every part"),
    (
        "predict-test",
        guesses(chain={"launches": 1, "share": 1.0, "time": "less"}),
        "2 of 3 predictions are close",
    ),
    (
        "predict-test",
        guesses(linear={"launches": 2, "share": 0.65, "time": "less"}),
        "2 of 3 predictions are close",
    ),
    ("predict-test", guesses(chain={"launches": 1, "share": 30, "time": "less"}), "no share"),
    ("predict-test", guesses(chain={"launches": 1, "share": 0.3, "time": "?"}), "less | the same"),
    # 5. The whole
    ("whole-test", whole("return text"), "too many kernels"),
    ("whole-test", whole("return None"), "an answer of another kind"),
    ("whole-test", whole("return fused(read_program(text))"), "an answer of another kind"),
    (
        "whole-test",  # without moving the division, the loop has nothing to wait for
        whole("program = read_program(text)", "return written(program, fused(program))"),
        "too many",
    ),
    ("whole-test", f"{SEARCH}\n\n\n" + whole("return search(text)"), "which a page cannot have"),
    (
        "whole-test",
        "import mlc_course\n\n\n" + whole("return mlc_course.mugraph.search"),
        "which a page cannot have",
    ),
    ("whole-test", whole("from os import listdir", "return listdir()"), "no such thing"),
    ("whole-test", whole("return open(text)"), "a page cannot have"),
    (
        "whole-test",  # a superoptimizer by another name is judged all the same
        whole("return text").replace("superoptimize(text)", "mine(text)") + "\n\n\nsuperoptimize = mine",
        "too many kernels",
    ),
    ("whole-test", whole("return text.__class__"), "no such thing"),
]
RIGHT = [
    ("late-test", LATE),
    ("tiled-test", TILED),
    ("hunt-test", CELLS["hunt"]),
    ("hunt-test", program("Z = matmul(X, W)", "Y = exp(Z)", "return Y")),
    ("hunt-test", program("Z = matmul(X, W)", "Y = square(Z)", "return Y")),
    ("predict-test", CELLS["predict"]),
    ("predict-test", guesses()),
]

test_wrong_answers, test_right_answers = both_tests(ASSIGNMENT, WRONG, RIGHT)


@pytest.mark.slow
def test_the_solution_earns_everything(complain: Complain) -> None:
    assert complain(ASSIGNMENT, "whole-test", LATE, TILED, WHOLE) == ""


def patterns() -> dict[str, tuple[str, int, float]]:
    """The hidden programs: their pattern, kernels and bytes that may be left."""
    hidden = CELLS["whole-test"].partition("### BEGIN HIDDEN TESTS")[2]
    rows = re.findall(r'"""\n(.*?)"""\s*,\s*(\d),\s*([\d.]+),', hidden, re.DOTALL)
    return {text.split("(")[0].strip(): (text, int(n), float(left)) for text, n, left in rows}


def test_hidden_programs_are_of_more_families_than_those_to_practise_on() -> None:
    assert len(patterns()) == 8
    assert len(patterns().keys() - PRACTICE.keys()) >= 5


@pytest.mark.parametrize("name", patterns())
def test_drawn_programs_differ_and_keep_their_pattern(name: str) -> None:
    text, _, _ = patterns()[name]
    found = [drawn(text, seed) for seed in range(20)]
    assert len({*found}) == 20
    assert len({tuple(e.op.name for e in parse(each).equations) for each in found}) <= 4
    assert drawn(text, 3) == drawn(text, 3)


@pytest.mark.slow
@pytest.mark.fuzz
@pytest.mark.parametrize("name", patterns())
def test_bars_lie_between_the_program_and_the_solution(
    name: str, full: bool, seed: int, tried: Callable[[str, int], None]
) -> None:
    text, kernels, left = patterns()[name]
    names: dict[str, object] = {"__name__": "__main__"}
    exec(CELLS["setup"], names)
    exec(f"{LATE}\n{TILED}\n{WHOLE}", names)
    solved = names["superoptimize"]
    assert callable(solved)
    count = 200 if full else 3
    for number in range(seed, seed + count):
        asked = drawn(text, number)
        found = solved(asked)
        assert verify(parse(asked), parse(found)).equal
        assert moves(kernels, left).inspect(_Made(found, asked))
        assert measured(found).launches <= kernels < measured(asked).launches
    tried("programs superoptimized", count)


class _Made:
    def __init__(self, graph: str, program: str) -> None:
        self.graph, self.program = graph, program


@pytest.mark.slow
def test_what_the_search_finds_is_no_better_than_the_bars_ask() -> None:
    """A block may hold 160 KiB, and the search for an A100 fits: but no page can call it."""
    asked = practice("linear")
    graphs = [each.graph for each in superoptimize(parse(asked)) if isinstance(each, Found)]
    assert graphs and all(verify(parse(asked), each).equal for each in graphs[:2])
    (found,) = findings_here(
        Demand(optimized(superoptimize, lambda seed: asked), (same_graph(),))  # type: ignore
    )
    assert found.verdict is Verdict.UNMET


def test_every_hidden_program_is_raced_against_itself_unfused(notebook: Callable[..., object]) -> None:
    (test,) = (each for each in notebook(ASSIGNMENT).exam.tests if each.grade_id == "whole-test")  # type: ignore
    for demand in test.hidden:
        assert demand.worth
        (raced,) = (each for each in demand.checks if isinstance(each, Faster))
        assert raced.than == UNFUSED
