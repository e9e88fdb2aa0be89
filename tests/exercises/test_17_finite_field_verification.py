"""Lesson 17's exercises: what typical answers are told, and which ones earn the points."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from answers import Complain, both_tests

from mlc_course.errors import Undecided
from mlc_course.lessons.lesson_17_finite_field_verification import accepts
from mlc_course.mugraph.ir import KernelGraph, parse
from mlc_course.mugraph.verify import verify

ASSIGNMENT = "17_finite_field_verification"


def mish(*lines: str) -> str:
    body = "".join(f"    {line}\n" for line in lines)
    return f'def mish(m, x):\n{body}\n\nmy_mish = written_as(mish, "mish")'


def text(name: str, body: str, inputs: str = "X[n=4]") -> str:
    return f"{name}({inputs}):\n  " + body.replace("; ", "\n  ") + "\n  return F"


def pair(left: str, right: str, inputs: str = "X[n=4]") -> str:
    made = {"left": text("left", left, inputs), "right": text("right", right, inputs)}
    return f"my_pair = {made!r}"


SEVENTH = "a = mul(X, X); b = mul(a, a); c = mul(a, b); F = mul(c, X)"
SAME = "z = sub(X, X); F = add(X, z)"

FORMULA = "math.comb(k, 2) * g / q + math.log(W) / (N * math.log(r)) + d / r"


def needed(one: str = FORMULA, miss: str = "1 - c * (1 - one)", *rest: str) -> str:
    count = "max(1, math.ceil(math.log(error) / math.log(miss)))"
    lines = [f"one = {one}", f"miss = {miss}", *(rest or ("if miss >= 1: return None",))]
    body = "".join(f"    {line}\n" for line in (*lines, f"return {count}"))
    return f"def tests_needed(k, g, d, W, q, N, r, c, error):\n{body}"


RIGHT_REASONS = {
    "A": "same inputs",
    "B": "accepted, rightly",
    "C": "same root",
    "D": "second exp",
    "E": "one over zero",
    "F": "refused, rightly",
    "G": "small prime",
    "H": "refused, rightly",
}


def reasons(**changed: str) -> str:
    return f"my_reasons = {RIGHT_REASONS | changed!r}"


CASE = {"xs": [0, 0, 0], "left": [[1], [0, 1]], "right": [[2], [0, 1]], "p": 7}


def hunt(*lines: str, **changed: object) -> str:
    body = "".join(f"        {line}\n" for line in lines or CAREFUL)
    return f"""
my_case = {CASE | changed!r}


def repaired(xs, left, right, p):
    said = 0
    for x in xs:
        (a, b), (c, d) = (
            [sum(n * x**i for i, n in enumerate(each)) % p for each in side]
            for side in (left, right)
        )
{body}    return said
"""


def hide(
    eps: str = "1/2", steps: int = 8, inputs: str = "X[b=16, d=64]", catch: str = "as many"
) -> str:
    graph = f"""parts({inputs}):
  block grid(x=16) loop(k={steps}):
    x = load(X, imap={{x: 0}}, fmap={{k: 1}})
    s = sum(x, axis=1)
    m = scale(s, by=1/d)
    p = shift(m, by={eps})
    a = accumulate(p)
    F = store(a, omap={{x: 0}})
  return F"""
    said = {"as many": "as many steps as the loop has"}.get(catch, catch)
    return f"my_graph = {graph!r}\nmy_catch = {said!r}"


LOOPLESS = f"my_graph = {text('f', 'F = mean(X, axis=1)', 'X[b=16, d=64]')!r}\nmy_catch = ''"

CAREFUL = (
    "if b == 0 or d == 0: continue",
    "if (a * d - c * b) % p: return 'different'",
    "said += 1",
)

WRONG = [
    # 1. The meaning of an operator
    ("mish-test", mish("return x / (1 + m.exp(-x))"), "at x = -5"),
    ("mish-test", mish("u = 1 + m.exp(x)", "return (u * u - 1) / (u * u + 1)"), "at x = -5"),
    ("mish-test", mish("return x * x * x / 6 + x / 2"), "at x = -5"),
    (
        "mish-test",
        mish("u = 1 + m.exp(x)", "return x * (u - 1 / u) / (u + 1 / u) + x / 1000000"),
        "at x = -5",
    ),
    (
        "mish-test",
        f"my_mish = {text('mish', 'e = exp(X); s = shift(e, by=1); l = log(s); F = tanh(l)')!r}",
        "log is more than a field has",
    ),
    ("mish-test", mish("return np.tanh(x)"), "np.tanh is more than a field has"),
    (
        "mish-test",
        mish("return x * m.tanh(m.log(1 + m.exp(x)))"),
        "m.tanh is more than a field has",
    ),
    ("mish-test", mish("return 0.5 * x"), "numbers are whole here"),
    ("mish-test", mish("return math.exp(x)"), "mish fails"),
    ("mish-test", mish("return math.exp(x)"), "x stands for a formula here"),
    ("mish-test", mish("return x if x > 0 else 0"), "x stands for a formula here"),
    ("mish-test", mish("return m.exp(x) ** x"), "** a formula is more than a field has"),
    ("mish-test", mish("return m.exp"), "got       a function, without (...)"),
    ("mish-test", mish("return 3"), "mish returns no formula of x"),
    ("mish-test", mish("return x * (1 + m.exp(x)) ** 2.5"), "powers are whole numbers"),
    (
        "mish-test",
        f"my_mish = {text('mish', 'F = add(X, X)', 'Z[n=8], X[n]')!r}",
        "other inputs",
    ),
    ("mish-test", "my_mish = 'x * tanh(log(1 + exp(x)))'", "cannot be read"),
    ("mish-test", "my_mish = 3", "an answer of another kind"),
    # 2. A pair that always passes
    ("pair-test", pair("F = mul(X, X)", "F = add(X, X)"), "the tester notices the difference"),
    ("pair-test", pair("a = mul(X, X); F = mul(a, X)", SAME), "the tester notices the difference"),
    ("pair-test", pair(SAME, "F = sub(X, z); z = sub(X, X)"), "nothing is called 'z'"),
    ("pair-test", pair("a = add(X, X); F = sub(a, X)", SAME), "they are the same function"),
    ("pair-test", pair("F = scale(X, by=8)", SAME), "left: an operator too many"),
    ("pair-test", pair(SEVENTH, "F = exp(X)"), "right: an operator too many"),
    ("pair-test", pair(SEVENTH, SAME, "X[n=1]"), "left: other inputs"),
    ("pair-test", pair(SEVENTH, SAME, "X[n=4], Y[n]"), "left: other inputs"),
    ("pair-test", f"my_pair = [{text('l', SEVENTH)!r}, {text('r', SAME)!r}]", "not a pair"),
    ("pair-test", 'my_pair = {"left": "x**7", "right": "x"}', "cannot be read"),
    # 3. How many tests?
    ("needed-test", needed(FORMULA.replace("math.comb(k, 2)", "k")), "a wrong result for (2, 1"),
    ("needed-test", needed(FORMULA.replace("math.comb(k, 2)", "k**2")), "a wrong result"),
    ("needed-test", needed(FORMULA.replace("math.log(W)", "W")), "a wrong result"),
    ("needed-test", needed(FORMULA, "c * one"), "a test learns nothing"),
    ("needed-test", needed(FORMULA, "1 - c * (1 - one)", "pass"), "36 pairs, and only 31"),
    (
        "needed-test",
        needed().replace("math.ceil(math.log(error) / math.log(miss))", "math.log(miss)"),
        "a wrong result",
    ),
    ("needed-test", "tests_needed = 28", "an answer of another kind"),
    # 4. Why did it pass?
    ("reasons-test", "my_reasons = ['same inputs'] * 8", "not an answer to every part"),
    ("reasons-test", reasons(A="inputs"), "not one of the choices"),
    ("reasons-test", reasons(A="same root"), "with apart=True, which inputs matter"),
    ("reasons-test", reasons(D="small prime"), "with apart=True, which inputs matter"),
    ("reasons-test", reasons(B="same inputs", C="small prime"), "with apart=True"),
    ("reasons-test", reasons(E="accepted, rightly"), "with apart=True"),
    # 6. What two steps hide
    ("hide-test", hide(eps="1/8"), "small sizes show the difference"),
    ("hide-test", hide(steps=2), "its loops are too short"),
    ("hide-test", hide(inputs="X[b=16, d=32]"), "other inputs"),
    ("hide-test", hide(eps="1/k"), "no size 'k'"),
    ("hide-test", LOOPLESS, "its loops are too short"),
    ("hide-test", hide(catch="luck"), "not one of the choices"),
    ("hide-test", hide(catch="larger primes"), "which sizes does screen test?"),
    # 5. Bug hunt
    ("hunt-test", hunt(xs=[0, 0]), "xs is not a list of 3 to 100 whole numbers"),
    ("hunt-test", hunt(xs=[0, 0, 3]), "at x = 3 the colleague's tester says"),
    ("hunt-test", hunt(right=[[3], [0, 3]]), "the two functions agree wherever both have a value"),
    ("hunt-test", hunt(right=[[2], []]), "a polynomial is not a list of 1 to 40"),
    ("hunt-test", hunt(p=8), "p is not one of the primes"),
    ("hunt-test", "my_case = [0, 0, 0]\n" + hunt().split("\n\n\n")[1], "not a dict with the keys"),
    ("hunt-test", hunt("if (a * d - c * b) % p: return 'different'", "said += 1"), "1 + 6 = 0"),
    (
        "hunt-test",
        hunt("if b == 0 or d == 0: return 'different'", *CAREFUL[1:]),
        "'different'",
    ),
    (
        "hunt-test",
        hunt("if b == 0: continue", *CAREFUL[1:]),
        "at 6, the right has none",
    ),
    ("hunt-test", hunt("if b and d and a * d != c * b: return 'different'", "said += b > 0"), "✘"),
]


RIGHT = [
    ("mish-test", mish("u = 1 + m.exp(x)", "return x * (u - 1 / u) / (u + 1 / u)")),
    ("mish-test", mish("e = m.exp(x)", "n = e * (e + 2)", "return x * n / (n + 2)")),
    ("mish-test", mish("u = 1 + m.exp(x)", "return x * (u**2 - 1) / (u**2 + 1)")),
    ("mish-test", mish("u = 1 + m.exp(x)", "return x - 2 * x / (u * u + 1)")),
    ("pair-test", pair(SAME, SEVENTH)),
    ("pair-test", pair("a = add(X, X); b = add(a, a); F = add(b, b)", SAME)),
    (
        "pair-test",
        pair("a = add(X, X); b = add(a, X); c = add(b, b); F = add(c, X)", "F = sub(X, X)"),
    ),
    (
        "needed-test",
        needed(FORMULA, "1 - c + c * one").replace("math.comb(k, 2)", "k * (k - 1) / 2"),
    ),
    ("hunt-test", hunt(left=[[1, 0, 0], [7, 1]], xs=[0, 7, 14])),
    ("hunt-test", hunt(xs=[2, 2, 2], left=[[3], [5, 1]], right=[[1, 1], [3, 2]])),
    (
        "hunt-test",
        hunt(
            "if not b * d % p: continue",
            "if a * pow(b, -1, p) % p != c * pow(d, -1, p) % p: return 'different'",
            "said += 1",
        ),
    ),
]


test_a_wrong_answer_is_told, test_other_right_answers_earn_the_points = both_tests(
    ASSIGNMENT, WRONG, RIGHT
)


def test_the_visible_part_tells_how_many_reasons_are_right_and_not_which(
    complain: Complain,
) -> None:
    wrong = reasons(A="same root", C="same inputs", G="second exp")
    said = complain(ASSIGNMENT, "reasons-test", wrong, hidden=False)
    assert said.startswith("✘ 5 of 8 are right")
    assert "same inputs" not in said


PAIRS = {
    "A": ("e = exp(X); F = mul(e, Y)", "e = exp(Y); F = mul(e, X)"),
    "B": ("a = exp(X); b = exp(Y); F = mul(a, b)", "s = add(X, Y); F = exp(s)"),
    "C": ("s = shift(X, by=2); F = exp(s)", "e = exp(X); F = scale(e, by=9)"),
    "D": ("a = exp(X); F = exp(a)", "a = exp(X); b = mul(a, a); F = exp(b)"),
    "E": ("d = sub(X, X); a = div(Y, d); F = exp(a)", "F = exp(Y)"),
    "F": ("F = add(X, Y)", "F = mul(X, Y)"),
    "G": ("s = scale(X, by=167); e = exp(s); F = mul(e, Y)", "e = exp(X); F = mul(e, Y)"),
    "H": ("g = silu(X); F = mul(g, Y)", "g = sigmoid(X); F = mul(g, Y)"),
}


def graphs(name: str) -> tuple[KernelGraph, KernelGraph]:
    left, right = (parse(text("f", body, "X[n=8], Y[n]")) for body in PAIRS[name])
    return left, right


@pytest.mark.parametrize("name", PAIRS)
def test_the_pairs_of_exercise_4_are_in_the_notebook_and_behave_as_said(
    solution: Callable[[str, str], str], name: str
) -> None:
    left, right = PAIRS[name]
    assert left in solution(ASSIGNMENT, "reasons-see")
    assert right in solution(ASSIGNMENT, "reasons-see")
    reason = RIGHT_REASONS[name]
    assert accepts(*graphs(name)) == (reason != "refused, rightly")
    assert accepts(*graphs(name), apart=True) == (reason not in ("refused, rightly", "same inputs"))
    try:
        equal = verify(*graphs(name)).equal
    except Undecided:  # something has no value
        equal = False
    assert equal == (reason == "accepted, rightly")


def test_no_wrong_answer_gets_a_tick_from_the_visible_part(complain: Complain) -> None:
    """Three of each exercise at least; what is wrong is said before anything is handed in."""
    judged = dict.fromkeys((test for test, _, _ in WRONG), 0)
    for test, answer, _ in WRONG:
        assert complain(ASSIGNMENT, test, answer, hidden=False), (test, answer)
        judged[test] += 1
    assert len(judged) == 6
    assert min(judged.values()) >= 3


def test_a_formula_that_cannot_be_written_replaces_the_one_before(complain: Complain) -> None:
    first = mish("u = 1 + m.exp(x)", "return x * (u * u - 1) / (u * u + 1)")
    assert not complain(ASSIGNMENT, "mish-test", first)
    assert "np.tanh" in complain(ASSIGNMENT, "mish-test", f"{first}\n{mish('return np.tanh(x)')}")
