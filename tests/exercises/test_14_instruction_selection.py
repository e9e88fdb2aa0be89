"""Lesson 14's exercises: what typical answers are told, and which ones earn the points."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from answers import Complain, both_tests

from mlc_course.instruction_selection.spec import specification
from mlc_course.lessons.lesson_14_instruction_selection import TO_REFUTE, TO_WRITE
from mlc_course.lessons.lesson_14_instruction_selection.rows import check_row

ASSIGNMENT = "14_instruction_selection"
ROWS: dict[str, dict[str, object]] = {
    "vphsubsw": {"reads": "s16*2", "result": "s16", "lane": "saturate(s16, a[0] - a[1])"},
    "vpshldw #5": {"reads": "u16, u16", "result": "u16", "lane": "wrap(u16, a << 5 | b >> 11)"},
    "vpdpwssds": {
        "reads": "s32, s16*2, s16*2",
        "result": "s32",
        "lane": "saturate(s32, a + b[0] * c[0] + b[1] * c[1])",
    },
}
INPUTS: dict[str, object] = {
    "scale": {"A": 32767},
    "size": {"A": -32768},
    "blur": {"A": 0, "B": 255, "D": 255},
    "dot": {"C": 0, "A": [205, 205, 0, 0], "B": [80, 80, 0, 0]},
}
LOW = "pmaddwd({1}, pmaddubsw(pand(A, {127}), B))"
TOP = "pmaddwd({1}, pmaddubsw(pand(A, {128}), B))"
EVEN = "pmaddwd(pand:u16(A, {255}), pmaddubsw({1, 0}, B))"
ODD = "pmaddwd(psrlw #8(A), psraw #8(B))"
SEARCHED = (
    "paddd(C, paddd(pmaddwd(pand:u8(A, {255, 0}), pmaddubsw({1, 0}, B)), "
    "pmaddwd({1}, pmaddubsw(A, pand:u8(B, {0, 255})))))"
)
MENDED = f"paddd(paddd(C, {LOW}), {TOP})"
PLACES = list(range(8, 24))


def row(name: str, **changed: object) -> str:
    return f"my_rows = {ROWS | {name: ROWS[name] | changed}!r}"


def inputs(**changed: object) -> str:
    return f"my_inputs = {INPUTS | changed!r}"


def promise(value: object) -> str:
    return f"my_promise = {value!r}\nmy_program = {MENDED!r}"


def program(text: object) -> str:
    return f"my_promise = {{'A': [0, 128]}}\nmy_program = {text!r}"


def places(value: object) -> str:
    return f"my_places = {value!r}"


def order(line: str) -> str:
    return f"def order(held):\n    {line}"


INVERSE = "return [held.index(i) for i in range(len(held))]"
WRONG = [
    # 1. Rows: a sign, an order, a wrap for a saturation, a saturation too many
    ("rows-test", "my_rows = {}", "not an answer to every part"),
    ("rows-test", f"my_rows = {ROWS | {'vphsubsw': 'a - b'}!r}", "vphsubsw: not a row"),
    ("rows-test", row("vphsubsw", lane=3), "vphsubsw: lane is no text"),
    ("rows-test", row("vphsubsw", reads="16 bits"), "vphsubsw: types that cannot be read"),
    ("rows-test", row("vphsubsw", reads="s16*3"), "vphsubsw: types that cannot be read"),
    ("rows-test", row("vphsubsw", lane="a[0] - a[1]"), "a lane of s16 cannot hold this"),
    ("rows-test", row("vphsubsw", lane="saturate(s16, a[1] - a[0])"), "computes something else"),
    ("rows-test", row("vphsubsw", lane="wrap(s16, a[0] - a[1])"), "computes something else"),
    ("rows-test", row("vphsubsw", lane="saturate(u16, a[0] - a[1])"), "cannot hold this"),
    (
        "rows-test",
        row("vphsubsw", reads="s16, s16", lane="saturate(s16, a - b)"),
        "it reads or writes other lanes",
    ),
    ("rows-test", row("vphsubsw", lane="saturate(s16, a[0] - b)"), "this is no part of a lane"),
    ("rows-test", row("vphsubsw", lane="saturate(s16, a[0] - a)"), "a is 2 lanes"),
    ("rows-test", row("vphsubsw", lane="saturate(s16, a[0] - a[2])"), "no such lane"),
    ("rows-test", row("vphsubsw", lane="saturate(s16, a[0]"), "the lane cannot be read"),
    ("rows-test", row("vphsubsw", lane="saturate(s17, a[0])"), "no type of an integer lane"),
    ("rows-test", row("vphsubsw", lane="sat(a[0] - a[1])"), "no such function"),
    ("rows-test", row("vphsubsw", lane="a[0] / a[1]"), "no such operator"),
    ("rows-test", row("vpshldw #5", lane="wrap(u16, a << b)"), "a shift by no number"),
    ("rows-test", row("vphsubsw", lane="-saturate(s16, a[1] - a[0])"), "32,768 at a[0] = 32767"),
    (
        "rows-test",
        row("vpshldw #5", reads="s16, s16", result="s16", lane="wrap(s16, a << 5 | b >> 11)"),
        "computes something else",
    ),
    ("rows-test", row("vpshldw #5", lane="a << 5 | b >> 11"), "a lane of u16 cannot hold this"),
    ("rows-test", row("vpshldw #5", lane="wrap(u16, a << 5)"), "computes something else"),
    ("rows-test", row("vpshldw #5", lane="wrap(u16, b << 5 | a >> 11)"), "computes something"),
    (
        "rows-test",
        row("vpdpwssds", lane="saturate(s32, a + wrap(s32, b[0] * c[0] + b[1] * c[1]))"),
        "computes something else",
    ),
    (
        "rows-test",
        row("vpdpwssds", lane="saturate(s32, saturate(s32, a + b[0] * c[0]) + b[1] * c[1])"),
        "computes something else",
    ),
    (
        "rows-test",
        row("vpdpwssds", lane="wrap(s32, a + b[0] * c[0] + b[1] * c[1])"),
        "computes something else",
    ),
    ("rows-test", row("vpdpwssds", reads="s16*2, s16*2"), "it reads or writes other lanes"),
    # 2. Inputs: right ones, of another type, of another form
    ("refute-test", "my_inputs = []", "not an answer to every part"),
    ("refute-test", inputs(scale={"A": 32735}), "scale: the candidate is right at this input"),
    ("refute-test", inputs(scale={"A": 40000}), "scale: A has no such value"),
    ("refute-test", inputs(scale=32767), "scale: not an input"),
    ("refute-test", inputs(size={"A": -32767}), "size: the candidate is right at this input"),
    ("refute-test", inputs(size={"A": 32768}), "size: A has no such value"),
    ("refute-test", inputs(blur={"A": 0, "B": 0, "D": 0}), "blur: the candidate is right"),
    ("refute-test", inputs(blur={"A": 0, "B": 255}), "blur: not an input"),
    (
        "refute-test",
        inputs(dot={"C": 0, "A": [205, 204, 205, 204], "B": [80] * 4}),
        "dot: the candidate is right at this input",
    ),
    (
        "refute-test",
        inputs(dot={"C": 0, "A": [255] * 4, "B": [80] * 4}),
        "dot: A has no such value",
    ),
    # 3a. Promises
    ("mend-test", promise(...), "there is no answer yet"),
    ("mend-test", promise({}), "not a promise"),
    ("mend-test", promise({"C": [0, 1]}), "not a promise"),
    ("mend-test", promise({"A": 128}), "A: not a range of u8"),
    ("mend-test", promise({"A": [0, 256]}), "A: not a range of u8"),
    ("mend-test", promise({"A": [0, 255]}), "under this promise: it computes something else"),
    ("mend-test", promise({"A": [0, 129]}), "under this promise: it computes something else"),
    ("mend-test", promise({"A": [0, 127]}), "narrower than it has to be"),
    ("mend-test", promise({"A": [1, 128]}), "narrower than it has to be"),
    ("mend-test", promise({"B": [-63, 64]}), "narrower than it has to be"),
    # 3b. Programs: TVM's own, one part, a sum in 16 bits, the search's way, one too long
    ("mend-test", program("paddd(C, pmaddwd({1}, pmaddubsw(A, B)))"), "computes something else"),
    ("mend-test", program(f"paddd(C, {LOW})"), "computes something else"),
    (
        "mend-test",
        program(
            "paddd(C, pmaddwd({1}, paddw(pmaddubsw(pand(A, {127}), B), "
            "pmaddubsw(pand(A, {128}), B))))"
        ),
        "computes something else",
    ),
    ("mend-test", program(f"paddd(C, paddd({EVEN}, {ODD}))"), "reads A as lanes of 16 bits"),
    # what ``mlc-course select dot4_u8s8`` prints
    ("mend-test", program(SEARCHED), "{255, 0} is not the same in every lane"),
    ("mend-test", program(f"paddd({MENDED}, {{0}})"), "too many instructions"),
    ("mend-test", program("paddd(C, vpdpbusd(C, A, B))"), "no instruction of the table"),
    ("mend-test", program("paddd(C, A"), "goes on in another way"),
    ("mend-test", program("C"), "computes something else"),
    ("mend-test", program(8), "not a program"),
    # 4. Places and orders
    ("places-test", places(...), "there is no answer yet"),
    ("places-test", places(list(range(8, 16))), "8 missing, 0 too many"),
    ("places-test", places(list(range(32))), "0 missing, 16 too many"),
    ("hunt-test", order("return held"), "outputs are in other places"),
    ("hunt-test", order("return [0, 2, 1, 3]"), "not an order of all lanes"),
    ("hunt-test", order("return sorted(held)"), "outputs are in other places"),
    ("hunt-test", order("return held[::-1]"), "outputs are in other places"),
    ("hunt-test", order("return 3"), "not an order"),
    # of two packs at 256 bits, and of nothing else
    (
        "hunt-test",
        order("return [0, 2, 1, 3] if len(held) == 4 else [0, 4, 1, 5, 2, 6, 3, 7]"),
        "512 bits",
    ),
]

RIGHT = [
    ("rows-test", row("vpshldw #5", lane="wrap(u16, ((a * 65536 + b) << 5) >> 16)")),
    ("rows-test", row("vpshldw #5", lane="((a & 2047) << 5) + (b >> 11)")),
    (
        "rows-test",
        row("vpshldw #5", reads="s16, u16", result="s16", lane="wrap(s16, (a << 5) | (b >> 11))"),
    ),
    (
        "rows-test",
        row("vphsubsw", lane="maximum(-32768, minimum(32767, a[0] - a[1]))"),
    ),
    (
        "rows-test",
        row(
            "vphsubsw",
            lane="where(greater(a[0] - a[1], 32767), 32767, "
            "where(greater(-32768, a[0] - a[1]), -32768, a[0] - a[1]))",
        ),
    ),
    (
        "rows-test",
        row("vpdpwssds", lane="saturate(s32, b[1] * c[1] + (a + c[0] * b[0]))"),
    ),
    ("refute-test", inputs(scale={"A": 32736}, blur={"A": 0, "B": 0, "D": 1})),
    (
        "refute-test",
        inputs(dot={"C": 7, "A": [0, 0, 205, 205], "B": (0, 0, -80, -80)}),
    ),
    (
        "refute-test",
        f"import numpy as np\n\n{inputs()}\n"
        "my_inputs['dot']['A'] = np.array([205, 205, 0, 0], np.uint8)",
    ),
    ("mend-test", promise({"B": [-64, 64]})),
    ("mend-test", promise({"A": [0, 202], "B": (-81, 81)})),
    ("mend-test", program(f"paddd({LOW}, paddd({TOP}, C))")),
    (
        "mend-test",
        program(
            "paddd(paddd(C, pmaddwd({1}, pmaddubsw(pavgb(A, {0}), B))), "
            "pmaddwd({1}, pmaddubsw(psubb(A, pavgb(A, {0})), B)))"
        ),
    ),
    (
        "mend-test",
        "import numpy as np\n\n" + program(MENDED) + "\nmy_promise = {'A': np.array([0, 128])}",
    ),
    ("mend-test", program(f"paddd({TOP}, paddd({LOW}, C))")),
    ("hunt-test", order("return sorted(range(len(held)), key=held.__getitem__)")),
    ("hunt-test", order("import numpy as np\n    return np.argsort(held).tolist()")),
    ("hunt-test", order("import numpy as np\n    return np.argsort(held)")),
    ("hunt-test", order(INVERSE)),
    ("places-test", places(PLACES[::-1])),
    ("places-test", "import numpy as np\n\nmy_places = np.arange(8, 24)"),
]

test_a_wrong_answer_is_told_why, test_other_right_answers_earn_the_points = both_tests(
    ASSIGNMENT, WRONG, RIGHT
)


def test_the_solutions_earn_the_points(
    complain: Complain, solution: Callable[[str, str], str]
) -> None:
    for cell in ("rows", "refute", "mend", "places", "hunt"):
        assert complain(ASSIGNMENT, f"{cell}-test", solution(ASSIGNMENT, cell)) == ""


def test_no_wrong_answer_gets_a_tick_from_the_visible_part(complain: Complain) -> None:
    judged: dict[str, int] = {}
    for test, answer, words in WRONG:
        if words != "512 bits":  # what the hidden part is for
            assert complain(ASSIGNMENT, test, answer, hidden=False), (test, answer)
            judged[test] = judged.get(test, 0) + 1
    assert len(judged) == 5
    assert min(judged.values()) >= 3


def test_a_promise_does_not_tell_how_wide_it_could_be(complain: Complain) -> None:
    said = complain(ASSIGNMENT, "mend-test", promise({"A": [0, 127]}))
    assert "128" not in said.replace("-128", "")


@pytest.mark.parametrize("name", TO_REFUTE)
def test_a_candidate_is_wrong_on_few_inputs(name: str) -> None:
    candidate = TO_REFUTE[name]
    assert specification(candidate.line).cell == candidate.spec.cell
    given = {x.name: [1] * x.lanes for x in candidate.spec.cell.operands}
    wanted, found = candidate.values(given)
    assert wanted == found


def test_a_row_that_is_shown_does_not_tell_its_answer() -> None:
    for name, each in TO_WRITE.items():
        assert name in repr(each)
        assert str(ROWS[name]["reads"]) not in repr(each)


def test_every_row_says_whether_an_answer_is_it() -> None:
    for name, each in TO_WRITE.items():
        assert check_row(each, {k: str(v) for k, v in ROWS[name].items()}).endswith("proved")
