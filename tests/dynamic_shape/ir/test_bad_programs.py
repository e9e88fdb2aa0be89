"""Programs that an attack has found are refused where they are wrong, and none crashes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from shape_programs import program_of

from mlc_course.dynamic_shape.ir import (
    BY_NAME,
    Divisible,
    Equation,
    Function,
    Input,
    Module,
    SymbolicDim,
    Type,
    parse,
    parse_constraint,
    run,
)
from mlc_course.errors import ShapeError, TextError, UsageError

LINES = {
    "%0 = slice(%x) {axis = 0, start = 0, drop = 0} : tensor<2xf32>": "slice: rank",
    "%0 = slice(%x) {axis = 2, start = 0, drop = 0} : tensor<?x?x5xf32, [@A, @B, 5]>": "rank",
    "%0 = split(%x) {axis = 0, parts = 2, part = 0} : tensor<2xf32>": "split: rank",
    "%0 = pad(%x) {axis = 0, low = -1, high = 0, value = 0} : tensor<?x?xf32, [@A, @B]>": "low",
    "%0 = slice(%x) {axis = 0, start = 0.5, drop = 0} : tensor<?x?xf32, [@A, @B]>": "start",
    "%0 = reduce_sum(%x) {axes = 1} : tensor<?xf32, [@A]>": "axes",
    "%0 = transpose(%x) {perm = 1} : tensor<?x?xf32, [@A, @B]>": "perm",
    "%0 = concat(%x) {axis = [0]} : tensor<?x?xf32, [@A, @B]>": "axis",
    "%0 = concat(%x) {axis = 0.0} : tensor<?x?xf32, [@A, @B]>": "axis",
    "%0 = iota() {axis = 5} : tensor<?xi64, [@A]>": "iota: axis",
    "%0 = constant() {value = [1, 2]} : tensor<f32>": "value",
    "%0 = reshape(%x) : tensor<?x?xi8, [@A, @B]>": "element types",
    "%0 = neg(%x) : memref<?x?xf32, [@A, @B]>": "all tensors, or all buffers",
    "%0 = gather(%x, %x) : tensor<?x?x?xf32, [@A, @B, @B]>": "element types",
    "%0 = less(%x, %x) : tensor<?x?xf32, [@A, @B]>": "element types",
    "%0 = add(%s, %s) : tensor<?x?xf32, [@A, @B]>": "an elementwise operator: rank",
}
HEAD = "func @main(%x: tensor<?x?xf32, [@A, @B]>, %s: tensor<f32>) {\n  "
BLOCKS = "".join(
    f"SymbolicDim @{name} {{\n  symbolic_shape_graph: @shape_constraint_graph\n}}\n"
    for name in "AB"
)
GRAPH = """func @shape_constraint_graph() {
  %0 = bind_dim(%x, 0) {ref: @A} : index
  %1 = bind_dim(%x, 1) {ref: @B} : index
"""


@pytest.mark.parametrize("line", LINES)
def test_an_operator_is_given_what_it_takes(line: str) -> None:
    with pytest.raises(ShapeError) as refused:
        parse(f"{HEAD}{line}\n  return %0\n}}\n{BLOCKS}{GRAPH}}}\n")
    assert LINES[line] in str(refused.value)
    assert refused.value.__notes__[0].startswith("in line 2: %0 = ")


PLACES = {  # what is wrong, and its line and column
    ("{G}  %1 = dim() {{ref: @A}} : index\n}}\n", "line 13, column 3"),
    ("{G}  tie_predicate_mul_eq()\n}}\n", "line 13, column 23"),
    ("{G}  tie_predicate_eq(%0, -3)\n}}\n", "line 13, column 24"),
    ("{G}  tie_predicate_divisible(%0, 0)\n}}\n", "line 13, column 31"),
    ("{G}  tie_predicate_eq([%0, 2], %0)\n}}\n", "line 13, column 19"),
    ("{G}  tie_predicate_at_most([%0, 2], %0)\n}}\n", "line 13, column 34"),
    ("{G}  %2 = dim() {{ref: @Z}} : index\n}}\n", "line 13, column 3"),
    ("SymbolicDim @1a {{\n}}\n", "line 10, column 13"),
    ("SymbolicDim @A {{\n}}\n", "line 10, column 1"),
    ("SymbolicDim @C {{\n  range list: [[5, 2]]\n}}\n", "line 10, column 1"),
    ("SymbolicDim @C {{\n  range list: []\n}}\n", "line 10, column 1"),
    (
        "SymbolicDim @C {{\n  range list: [[1, 2]]\n  range list: [[1, 3]]\n}}\n",
        "line 12, column 3",
    ),
    ("SymbolicDim @C {{\n  likely_values: [" + "9" * 5000 + "]\n}}\n", "line 11, column 19"),
}


@pytest.mark.parametrize(("more", "place"), sorted(PLACES))
def test_an_error_names_the_place_where_it_is(more: str, place: str) -> None:
    text = f"{HEAD}return %x\n}}\n{BLOCKS}"
    assert text.count("\n") == 9 and parse(f"{text}{GRAPH}}}\n")
    with pytest.raises(TextError) as refused:
        parse(text + more.format(G=GRAPH))
    assert refused.value.what == place


@pytest.mark.parametrize("type_", ["tensor<0xf32>", "tensor<\u0663xf32>", "tensor<?xf32, [0]>"])
def test_a_size_in_a_type_is_at_least_1(type_: str) -> None:
    with pytest.raises(TextError):
        parse(f"func @main(%x: {type_}) {{\n  return %x\n}}\n")


@pytest.mark.parametrize(
    ("formula", "column"),
    [
        ("   A == 5.5", 9),
        ("\u00e9*\u00e9 == 5.5", 8),
        ("(A ==\n B+2.5)", 10),
        ("A ~ B", 3),
        ("A" + "*A" * 4000, 0),
        ("A == " + "-" * 3000 + "B", 0),
    ],
)
def test_the_column_of_a_formula_s_error_is_counted_in_characters(
    formula: str, column: int
) -> None:
    with pytest.raises(TextError) as refused:
        parse_constraint(formula)
    assert refused.value.what == (f"column {column} of a formula" if column else "a formula")


@pytest.mark.parametrize("name", ["\u00b5", "lambda", "1a", ""])
def test_a_dimension_has_a_name_that_a_formula_can_use(name: str) -> None:
    with pytest.raises(UsageError, match="a symbolic dimension"):
        SymbolicDim(name)


def test_a_module_has_sizes_of_at_least_1() -> None:
    x = Input("x", Type("f32", ("A",)))
    function = Function("main", (x,), (), (0,))
    with pytest.raises(UsageError, match="a size"):
        Module(function, (SymbolicDim("A"),), (Divisible(("A",), (0,)),))
    exp = Equation(BY_NAME["exp"], (0,), Type("f32", ("A",)), (("axis", 1),))
    with pytest.raises(ShapeError, match="attributes"):
        Module(Function("main", (x,), (exp,), (1,)), (SymbolicDim("A"),))


CUT = program_of(
    "x [P, S]",
    """
    %0 = slice(%x) {axis = 0, start = 3, drop = 0} : [K, S]
    %1 = reshape(%0) : [T]
    """,
    "%1",
)


@pytest.mark.parametrize(
    "given",
    [
        {"x": np.zeros((2, 2))},
        {"x": np.zeros((0, 2))},
        {},
        {"x": np.zeros((4, 2)), "y": np.zeros(2)},
    ],
)
def test_inputs_that_do_not_fit_are_refused(given: dict[str, Any]) -> None:
    with pytest.raises(ShapeError):
        run(CUT, given)
    assert run(CUT, {"x": np.arange(8.0).reshape(4, 2)})[0].tolist() == [6, 7]
    assert run(CUT, {"x": np.zeros((3, 2))})[0].tolist() == []
