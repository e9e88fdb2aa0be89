"""The cases that BladeDISC tests ``disc-shape-optimization`` with, as programs of our own.

They go by their numbers among the 35 of ``disc-shape-optimization.mlir``. Sizes are computed there
by operators of their own (``tensor.dim``, ``arith.muli``, ``tensor.from_elements``); here a type
names them, and predicates say how they depend on each other. So these cases have no counterpart:

- 11 to 14 compare sizes that are computed with -1 and 0, and fold the comparison: scalar arithmetic
  on sizes, which a program here does not have. That no size is negative is true by definition.
- 21 to 31 take an element of a concatenated, sliced, reshaped, constant, converted, reduced or
  gathered tensor of sizes, and compute it as a scalar: scalar arithmetic on sizes again.
- 19 keeps dimensions that only an attribute of an operator names; no attribute here names any.

Of 16, 17, 32, 33 and 35, what is left out is how the sizes are computed.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import pytest
from shape_programs import program_of

from mlc_course.dynamic_shape.fusion import simplified
from mlc_course.dynamic_shape.ir import Type, holds, parse_constraint
from mlc_course.dynamic_shape.solve import Facts, Proved, Refuted, Solver, check_certificate


@dataclass(frozen=True)
class Case:
    """A program; what is left of it, and what follows from its facts and what does not."""

    inputs: str
    lines: str
    results: str
    left: str  # operators
    types: str  # of inputs and results, when equal sizes share a name
    stated: str = ""
    known: tuple[str, ...] = ()
    refuted: tuple[str, ...] = ()


CASES = {
    "1, tensor.cast: a stated size reaches the argument": Case(
        "x [N]",
        "%0 = exp(%x) : [M]",
        "%0",
        "exp",
        "[10] -> [10]",
        "tie_predicate_eq(M, 10)",
    ),
    "2, mhlo.add: a known size reaches the other operand": Case(
        "x [N]; y [10]",
        "%0 = add(%x, %y) : [10]",
        "%0",
        "add",
        "[10], [10] -> [10]",
    ),
    "3, mhlo.concat: sizes add up": Case(
        "x [N, 10]; y [M, 10]",
        "%0 = concat(%x, %y) {axis = 1} : [N, K]",
        "%0",
        "concat",
        "[N, 10], [N, 10] -> [N, 20]",
    ),
    "4, mhlo.dot_general: batch and inner sizes are shared": Case(
        "x [A, B, C, D]; y [E, F, G, H]",
        "%0 = matmul(%x, %y) : [I, J, K, L]",
        "%0",
        "matmul",
        "[A, B, C, D], [A, B, D, H] -> [A, B, C, H]",
    ),
    "5, mhlo.dot: inner sizes are shared": Case(
        "x [A, B]; y [C, D]",
        "%0 = matmul(%x, %y) : [E, F]",
        "%0",
        "matmul",
        "[A, B], [B, D] -> [A, D]",
        refuted=("A == B", "B == D"),
    ),
    "6, mhlo.clamp between two numbers": Case(
        "low []; x [N]; high []",
        "%0 = clamp(%low, %x, %high) : [M]",
        "%0",
        "clamp",
        "[], [N], [] -> [N]",
    ),
    "7, mhlo.clamp of one shape": Case(
        "x [A, B]; y [C, D]; z [E, F]",
        "%0 = clamp(%x, %y, %z) : [G, H]",
        "%0",
        "clamp",
        "[A, B], [A, B], [A, B] -> [A, B]",
    ),
    "8, mhlo.select by one number": Case(
        "p []i1; x [A]; y [B]",
        "%0 = select(%p, %x, %y) : [C]",
        "%0",
        "select",
        "[], [A], [A] -> [A]",
    ),
    "9, mhlo.select of one shape": Case(
        "p [A]i1; x [B]; y [C]",
        "%0 = select(%p, %x, %y) : [D]",
        "%0",
        "select",
        "[A], [A], [A] -> [A]",
    ),
    "10, mhlo.einsum ijk,ikm->ijm": Case(
        "x [A, B, C]; y [D, E, F]",
        "%0 = matmul(%x, %y) : [G, H, I]",
        "%0",
        "matmul",
        "[A, B, C], [A, C, F] -> [A, B, F]",
    ),
    "15, tie_product_equal: three products": Case(
        "x [A, B]",
        """
        %0 = reshape(%x) : [C]
        %1 = abs(%0) : [G]
        %2 = reshape(%1) : [D, E, F]
        """,
        "%2",
        "reshape abs reshape",
        "[A, B] -> [D, E, F]",
        known=("C == A*B", "C == D*E*F", "A*B == D*E*F"),
        refuted=("A == D", "B == E*F"),
    ),
    "16, tie_product_equal: a reshape that keeps an axis multiplies the others": Case(
        "x [A, B, C]",
        """
        %0 = abs(%x) : [A, B, C]
        %1 = reshape(%0) : [A, D]
        %2 = reduce_sum(%1) {axes = [0]} : [E]
        %3 = reshape(%2) : [B, C]
        """,
        "%3",
        "abs reshape reduce_sum reshape",
        "[A, B, C] -> [B, C]",
        known=("D == B*C",),
        refuted=("A == D", "D == A*B"),
    ),
    "17, tie_product_equal: sizes that are sums": Case(
        "x [A, B, C]",
        "%0 = reshape(%x) : [D, E]",
        "%0",
        "reshape",
        "[A, B, C] -> [D, E]",
        "tie_predicate_affine_eq(D, A, B) {affine = [1, 1] + 0}",
        known=("D*E == A*B*C", "D == A + B"),
        refuted=("D == A", "E == C", "D == A*B"),
    ),
    "18, numbers that are no sizes": Case(
        "x []i64",
        "%0 = broadcast(%x) {dims = []} : [2, 1]i64",
        "%x, %0",
        "broadcast",
        "[] -> [], [2, 1]",
    ),
    "20, a cast: unused symbols go": Case(
        "x [A, B]",
        "%0 = broadcast(%x) {dims = [0, 1]} : [C, D]",
        "%0",
        "",
        "[A, B] -> [A, B]",
    ),
    "32, a slice of one axis: the other is whole": Case(
        "x [A, B]",
        "%0 = slice(%x) {axis = 1, start = 2, drop = 1} : [C, D]",
        "%0",
        "slice",
        "[A, B] -> [A, D]",
        known=("B == D + 3", "3 < B"),
        refuted=("B == D",),
    ),
    "33, padding at both ends of one axis: the other is whole": Case(
        "x [A, B]",
        """
        %0 = pad(%x) {axis = 0, low = 0, high = 2, value = 0.0} : [C, D]
        %1 = pad(%0) {axis = 1, low = 3, high = 0, value = 0.0} : [E, F]
        """,
        "%1",
        "pad pad",
        "[A, B] -> [C, F]",
        known=("C == A + 2", "F == B + 3"),
        refuted=("A == C", "B == F"),
    ),
    "34, a reshape of 8 elements to 1 and the rest": Case(
        "x [8]",
        """
        %0 = reshape(%x) : [1, N]
        %1 = exp(%0) : [1, N]
        """,
        "%1",
        "reshape exp",
        "[8] -> [1, 8]",
    ),
    "35, compute_reshape_shape: the shape of another tensor": Case(
        "x [A, B]; like [C, D, E]",
        """
        %0 = reshape(%x) : [F, G, H]
        %1 = add(%0, %like) : [F, G, H]
        """,
        "%1",
        "reshape add",
        "[A, B], [C, D, E] -> [C, D, E]",
        known=("A*B == C*D*E",),
        refuted=("A == C", "B == E"),
    ),
}


def shapes(types: Iterable[Type]) -> str:
    return ", ".join(f"[{', '.join(map(str, each.dims))}]" for each in types)


@pytest.mark.parametrize("name", CASES)
def test_sizes_are_shared_and_less_is_left(name: str) -> None:
    case = CASES[name]
    module = simplified(program_of(case.inputs, case.lines, case.results, case.stated))
    function = module.function
    assert [each.op.name for each in function.equations] == case.left.split()
    before = shapes(each.type for each in function.inputs)
    assert f"{before} -> {shapes(function.types[each] for each in function.results)}" == case.types


@pytest.mark.parametrize("name", [name for name, case in CASES.items() if case.refuted])
def test_what_sizes_have_to_do_with_each_other_is_known_and_no_more(name: str) -> None:
    case = CASES[name]
    module = simplified(program_of(case.inputs, case.lines, case.results, case.stated))
    dims, stated = {dim.name: dim for dim in module.dims}, module.facts()
    solver = Solver(Facts(dims, stated))
    for claim in map(parse_constraint, case.known):
        answer = solver.ask(claim)
        assert isinstance(answer, Proved)
        check_certificate(answer.certificate, claim, dims, stated)
    for claim in map(parse_constraint, case.refuted):
        answer = solver.ask(claim)
        assert isinstance(answer, Refuted) and not holds(claim, answer.model)
        assert all(holds(each, answer.model) for each in stated)
