"""The text form of a module: an exact round trip, and errors with line and column."""

from __future__ import annotations

import random
import re
from itertools import product

import pytest
from shape_claims import drawn_constraint

from mlc_course.dynamic_shape.ir import (
    BY_NAME,
    AffineEq,
    Equation,
    Function,
    Input,
    Module,
    MulEq,
    SymbolicDim,
    Type,
    holds,
    parse,
    parse_constraint,
    said,
    text,
)
from mlc_course.errors import CourseError, ShapeError, TextError, UsageError

RESIDUAL = """\
func @add(%x: tensor<?x?xf32, [@T, @H]>, %b: tensor<64xf32>, %r: tensor<?x?x64xf32, [@B, @S, 64]>) {
  %0 = reshape(%x) : tensor<?x?x64xf32, [@B, @S, 64]>
  %1 = broadcast(%b) {dims = [2]} : tensor<?x?x64xf32, [@B, @S, 64]>
  %2 = add(%0, %1) : tensor<?x?x64xf32, [@B, @S, 64]>
  %3 = add(%2, %r) : tensor<?x?x64xf32, [@B, @S, 64]>
  %4 = reduce_sum(%3) {axes = [2]} : tensor<?x?xf32, [@B, @S]>
  %5 = constant() {value = 0.5} : tensor<f32>
  %6 = mul(%4, %5) : tensor<?x?xf32, [@B, @S]>
  return %3, %6
}
SymbolicDim @T {
  range list: [[1, 512], [1024, ?]]
  symbolic_shape_graph: @shape_constraint_graph
}
SymbolicDim @H {
  likely_values: [64, 128]
  symbolic_shape_graph: @shape_constraint_graph
}
SymbolicDim @B {
  symbolic_shape_graph: @shape_constraint_graph
}
SymbolicDim @S {
  symbolic_shape_graph: @shape_constraint_graph
}
func @shape_constraint_graph() {
  %0 = bind_dim(%x, 0) {ref: @T} : index
  %1 = bind_dim(%x, 1) {ref: @H} : index
  %2 = bind_dim(%r, 0) {ref: @B} : index
  %3 = bind_dim(%r, 1) {ref: @S} : index
  tie_predicate_eq(%1, 64)
  tie_predicate_divisible([%1], [4])
  tie_predicate_lt(%2, %3)
  tie_predicate_mul_eq(%0, %2, %3)
  tie_predicate_product_eq([%0, %1], [%2, %3, 64])
  tie_predicate_affine_eq(%0, %2, %3) {affine = [2, -1] + 3}
}
"""


def test_a_module_is_written_as_it_was_read() -> None:
    assert text(parse(RESIDUAL)) == RESIDUAL


def test_what_is_written_otherwise_is_read_too() -> None:
    other = RESIDUAL.replace("  tie_", "// a comment\n\n  disc_shape.tie_").replace(
        "([%1], [4])", "(%1, 4)"
    )
    assert parse(other.replace(" {", "\n{")) == parse(RESIDUAL)


def test_any_constraints_come_back() -> None:
    rng = random.Random(0)
    module = parse(RESIDUAL)
    names = [dim.name for dim in module.dims]
    for _ in range(300):
        drawn = tuple(drawn_constraint(rng, names, asked=True) for _ in range(3))
        changed = Module(module.function, module.dims, drawn)
        assert parse(text(changed)) == changed


@pytest.mark.parametrize(
    ("old", "new", "place", "expected"),
    [
        ("reshape(%x)", "reshap(%x)", "line 2, column 8", "did you mean reshape?"),
        ("(%2, %r)", "(%2, %q)", "line 5, column 16", "one of %x, %b, %r, %0, %1, %2"),
        ("(%2, %r)", "(%2)", "line 5, column 8", "add of 2 operands"),
        ("[@T, @H]", "[@T]", "line 1, column 31", "2 sizes, a symbol for each ?"),
        ("[@T, @H]", "[@T, @Q]", "line 1, column 36", "SymbolicDim @Q {"),
        ("?x?xf32, [@T, @H]", "?x?xf32", "line 1, column 29", "a symbol for each ?"),
        ("<64xf32>", "<64xf33>", "line 1, column 56", "an element type"),
        ("{axes = [2]} ", "", "line 6, column 23", "{axes = ..}"),
        ("%6 = mul", "%5 = mul", "line 8, column 3", "a name that no other value has"),
        ("return", "retrun", "line 9, column 3", "a value such as %0"),
        ("(%x, 1)", "(%x, 0)", "line 27, column 8", "an input's axis of size @H"),
        ("(%2, %3)\n", "(%2, %7)\n", "line 32, column 24", "one of %0, %1, %2, %3"),
        ("tie_predicate_lt", "tie_predicate_le", "line 32, column 3", "tie_predicate_lt"),
        ("[2, -1]", "[2]", "line 35, column 49", "2 factors"),
        ("{affine = [2, -1] + 3}\n}", "", "line 36, column 1", "{"),
    ],
)
def test_an_error_says_where_and_what_was_expected(
    old: str, new: str, place: str, expected: str
) -> None:
    assert old in RESIDUAL
    with pytest.raises(TextError) as refused:
        parse(RESIDUAL.replace(old, new, 1))
    assert refused.value.what == place
    assert expected in str(refused.value.expected)


def test_any_cut_or_changed_letter_is_read_or_refused_with_an_error_of_the_course() -> None:
    rng = random.Random(1)
    for _ in range(400):
        at = rng.randrange(len(RESIDUAL))
        changed = RESIDUAL[:at] + rng.choice(["", "%", "[", "9", "@", "x"]) + RESIDUAL[at + 1 :]
        try:
            assert parse(text(parse(changed))) == parse(changed)
        except CourseError as error:
            assert str(error)


def test_an_operator_that_cannot_take_its_operands_names_the_line() -> None:
    with pytest.raises(ShapeError) as refused:
        parse(RESIDUAL.replace("axes = [2]", "axes = [3]"))
    assert refused.value.__notes__ == ["in line 6: %4 = reduce_sum(...)"]


def test_a_module_refuses_names_and_values_that_it_does_not_have() -> None:
    kind = Type("f32", ("A",))
    given = (Input("x", kind),)
    add = Equation(BY_NAME["add"], (0, 1), kind)
    with pytest.raises(UsageError, match="no symbolic dimension 'A'"):
        Module(Function("main", given, (), (0,)), ())
    with pytest.raises(UsageError, match="no symbolic dimension 'Z'"):
        Module(Function("main", given, (), (0,)), (SymbolicDim("A"),), (MulEq("Z", ("A",)),))
    with pytest.raises(CourseError, match="not computed yet"):
        Module(Function("main", given, (add,), (0,)), (SymbolicDim("A"),))
    with pytest.raises(CourseError, match="declared twice"):
        Module(Function("main", given, (), (0,)), (SymbolicDim("A"), SymbolicDim("A")))


@pytest.mark.parametrize(
    "formula",
    ["B*S == T", "T == B*S", "H % 64 == 0", "B*S % (4*P) == 0", "A == B", "A < B", "A < 7",
     "K == P + S", "K == 2*P - S - 3", "K == -P + 9", "A*B <= 4096", "A == 8"],
)  # fmt: skip
def test_a_formula_is_said_as_it_was_typed(formula: str) -> None:
    assert said(parse_constraint(formula)) == formula


def test_other_forms_of_a_formula() -> None:
    assert parse_constraint("P + S == K") == parse_constraint("K == P + S")
    assert parse_constraint("B > A") == parse_constraint("A < B")
    assert parse_constraint("K == 2*(3)*P - 4*2") == AffineEq("K", ((6, "P"),), -8)


@pytest.mark.parametrize(
    ("formula", "same"),
    [
        ("P + S == Q + S", "P == Q"),
        ("P - Q == 0", "P == Q"),
        ("0 == K - S - P", "K == S + P"),
        ("2*A == B + C", "B == 2*A - C"),
        ("2*A == 2*B + 2*C", "A == B + C"),
        ("A + B == C + D", "A == -B + C + D"),
        ("K + 3 == L + 4", "K == L + 1"),
        ("A - 3 == 0", "A == 3"),
        ("A + B == B + A", "A == A"),
        ("A + 1 == A + 2", "A == A - 1"),
    ],
)
def test_a_formula_with_sums_on_both_sides_is_one_size_that_is_a_sum(
    formula: str, same: str
) -> None:
    found = parse_constraint(formula)
    assert said(found) == same
    names = sorted({*re.findall("[A-Z]", formula)})
    for values in product(range(1, 5), repeat=len(names)):
        sizes = dict(zip(names, values, strict=True))
        left, right = (eval(side, {}, sizes) for side in formula.split("=="))
        assert holds(found, sizes) == (left == right), sizes


@pytest.mark.parametrize(
    ("formula", "column"),
    [("", 1), ("A", 1), ("A = B", 3), ("A == B*(C + D)", 9), ("A < B < C", 1), ("A % 4 == 1", 10),
     ("A == 2.5", 6), ("A == f(B)", 6), ("A != B", 1), ("A*B < C", 1), ("A <= B", 6),
     ("A == B*C + 1", 6), ("A == B +", 9), ("A + B*D == C + D", 5), ("A*B == C + D", 1),
     ("1 + 2 == 0", 1), ("A == True", 6)],
)  # fmt: skip
def test_what_is_no_formula_is_refused_with_its_column(formula: str, column: int) -> None:
    with pytest.raises(TextError, match=f"column {column} of a formula"):
        parse_constraint(formula)
