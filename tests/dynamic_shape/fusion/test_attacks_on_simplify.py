"""Programs by which the first version of ``simplified`` broke what it promises, and their kin."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from cases import Tried
from drawn_operators import drawn_array, drawn_program
from shape_programs import program_of

from mlc_course.commands import cli
from mlc_course.dynamic_shape.fusion import simplified
from mlc_course.dynamic_shape.ir import (
    BY_NAME,
    LARGEST,
    Equation,
    Function,
    Input,
    Module,
    SymbolicDim,
    Type,
    bind,
    parse,
    run,
    said,
    text,
)
from mlc_course.dynamic_shape.ir.operators import Array
from mlc_course.errors import Contradiction, ShapeError

Shapes = Mapping[str, Sequence[int]]
RNG = np.random.default_rng(0)
SPECIAL = np.array([0.0, -0.0, np.nan, -np.nan, np.inf, -np.inf, 1.3, -2.0, 0.1] * 5, np.float32)
WHOLE = np.array([2**53 + 1, -(2**53) - 1, 2**63 - 1, -(2**63), 0, 1, 7])
MATRIX = RNG.standard_normal((37, 41)).astype(np.float32)


def steady(module: Module) -> Module:
    """Simplify a program; check that its text is read again, and that nothing more changes."""
    found = simplified(module)
    assert simplified(found) == found
    assert text(parse(text(found))) == text(found) and parse(text(found)) == found
    return found


def bits(arrays: Sequence[Array]) -> list[tuple[np.dtype[np.generic], tuple[int, ...], bytes]]:
    return [(each.dtype, each.shape, each.tobytes()) for each in arrays]


def taken(module: Module, shapes: Shapes) -> dict[str, int] | str:
    """The sizes that a program takes, or why it takes none."""
    try:
        return bind(module, shapes)
    except ShapeError as error:
        return error.what


def number(value: str, operators: str, dtype: str = "", axes: str = "N") -> tuple[str, str, str]:
    """A program that gives one number to every element, on each side of some operators."""
    lines = [
        f"%0 = constant() {{value = {value}}} : []{dtype}",
        f"%1 = broadcast(%0) {{dims = []}} : [{axes}]{dtype}",
    ]
    for name in operators.split():
        for pair in ("%x, %1", "%1, %x", "%x, %0"):
            lines.append(f"%{len(lines)} = {name}({pair}) : [{axes}]{dtype}")
    results = ", ".join(f"%{at}" for at in range(2, len(lines)))
    return f"x [{axes}]{dtype}", "\n".join(lines), results


TURNED = """
    %0 = transpose(%x) {perm = [1, 0]} : [B, A]
    %1 = reshape(%0) : [T]
    %2 = reshape(%1) : [B, A]
    """
SAME_BITS = {  # inputs, lines, results; what %x is
    "x - -0.0 turns -0.0 into 0.0": (number("-0.0", "sub"), SPECIAL),
    "x - 0.0 does not": (number("0.0", "sub add"), SPECIAL),
    "x / 1 and x * 1": (number("1.0", "div mul"), SPECIAL),
    "x / 1 of whole numbers, which are divided as f64": (number("1", "div", "i64"), WHOLE),
    "x * 1 and x - 0 of whole numbers": (number("1.0", "mul sub", "i64"), WHOLE),
    "x - -0.0 of whole numbers": (number("-0.0", "sub", "i64"), WHOLE),
    "a number that becomes 1 as a whole number": (number("1.5", "mul", "i64"), WHOLE),
    "truth times truth": (number("1", "mul div max", "i1"), WHOLE > 0),
    "a bit that is 1 although its number is 2": (number("2", "mul", "i1"), WHOLE > 0),
    "nan beside -nan": (number("-0.0", "add mul max min pow", axes="N"), SPECIAL),
    "inf - inf has the sign of a nan": (number("inf", "sub mul div pow"), SPECIAL),
    "powers have fast ways for one exponent": (number("0.5", "pow"), abs(MATRIX[0])),
    "squares too": (number("2.0", "pow"), MATRIX[0]),
    "0.0 and -0.0 are two numbers": (
        (
            "x [N]",
            """
            %0 = constant() {value = 0.0} : []
            %1 = constant() {value = -0.0} : []
            %2 = add(%x, %0) : [N]
            %3 = add(%x, %1) : [N]
            """,
            "%2, %3",
        ),
        SPECIAL,
    ),
    "and are padded as two": (
        (
            "x [N]",
            """
            %0 = pad(%x) {axis = 0, low = 1, high = 0, value = 0} : [M]
            %1 = pad(%x) {axis = 0, low = 1, high = 0, value = -0.0} : [M]
            %2 = pad(%x) {axis = 0, low = 1, high = 0, value = 0.0} : [M]
            """,
            "%0, %1, %2",
        ),
        SPECIAL,
    ),
    "a sum does not depend on how its operand lies in memory": (
        (
            "x [A, B]",
            TURNED
            + """
            %3 = reduce_sum(%2) {axes = [1]} : [B]
            %4 = reduce_mean(%2) {axes = [0]} : [A]
            %5 = reduce_sum(%2) {axes = [0, 1]} : []
            """,
            "%3, %4, %5",
        ),
        MATRIX,
    ),
    "nor does a largest element, which may be 0.0 or -0.0": (
        (
            "x [A, B]",
            TURNED
            + """
            %3 = reduce_max(%2) {axes = [1]} : [B]
            %4 = reduce_min(%2) {axes = [0]} : [A]
            %5 = add(%2, %2) : [B, A]
            """,
            "%3, %4, %5",
        ),
        np.where(MATRIX > 0, np.float32(0.0), np.float32(-0.0)),
    ),
    "nor a matrix product": (
        ("x [A, B]", TURNED + "%3 = matmul(%2, %x) : [B, B]", "%3"),
        MATRIX,
    ),
    "results twice, and an input": (
        ("x [N]", "%0 = convert(%x) : [N]\n%1 = exp(%0) : [N]", "%1, %x, %1, %0"),
        SPECIAL,
    ),
}


@pytest.mark.parametrize("name", SAME_BITS)
def test_every_bit_is_the_same(name: str) -> None:
    (inputs, lines, results), x = SAME_BITS[name]
    module = program_of(inputs, lines, results)
    after = steady(module)
    with np.errstate(all="ignore"):
        assert bits(run(module, {"x": x})) == bits(run(after, {"x": x}))


def test_neutral_numbers_are_still_left_out() -> None:
    for name, value in (("sub", "0.0"), ("sub", "0"), ("mul", "1"), ("div", "1.0")):
        line = f"%0 = constant() {{value = {value}}} : []\n%1 = {name}(%x, %0) : [N]"
        assert not simplified(program_of("x [N]", line, "%1")).function.equations


@pytest.mark.parametrize("name", ["add", "mul", "max", "pow", "clamp", "exp", "sigmoid"])
def test_a_run_does_not_depend_on_how_inputs_lie_in_memory(name: str) -> None:
    count = BY_NAME[name].count or 1
    inputs = tuple(Input(f"x{at}", Type("f32", ("A", "B"))) for at in range(count))
    made = Equation(BY_NAME[name], tuple(range(count)), Type("f32", ("A", "B")))
    module = Module(Function("f", inputs, (made,), (count,)), (SymbolicDim("A"), SymbolicDim("B")))
    rng = np.random.default_rng(0)
    given = {each.name: rng.choice(SPECIAL, (9, 23)) for each in inputs}
    turned = {each: np.asfortranarray(array) for each, array in given.items()}
    with np.errstate(all="ignore"):
        assert bits(run(module, given)) == bits(run(module, turned))


# Sizes.


def ranged(module: Module, **ranges: tuple[tuple[int, int | None], ...]) -> Module:
    dims = (replace(dim, ranges=ranges.get(dim.name, dim.ranges)) for dim in module.dims)
    return replace(module, dims=tuple(dims))


def test_a_size_that_is_too_large_to_be_written_keeps_its_name() -> None:
    stated = f"tie_predicate_mul_eq(N, {2**30}, {2**30})\ntie_predicate_mul_eq(M, {2**20}, {2**20})"
    after = steady(program_of("x [N]; y [K]; z [M]", "%0 = add(%x, %y) : [K]", "%0", stated))
    assert [str(each.type.dims[0]) for each in after.function.inputs] == ["N", "N", str(LARGEST)]


@pytest.mark.parametrize(
    "line",
    [
        "concat(%x, %x, %x) {axis = 0}",
        "concat(%x, %y, %x) {axis = 0}",
        f"pad(%x) {{axis = 0, low = {LARGEST // 2}, high = {LARGEST // 2}, value = 0}}",
        "slice(%x) {axis = 0, start = 5, drop = 6}",
    ],
)
def test_sums_of_sizes_may_be_too_large_to_be_written(line: str) -> None:
    stated = f"tie_predicate_eq(A, {LARGEST})"
    before = program_of("x [A]; y [B]", f"%0 = {line} : [K]", "%0", stated)
    after = steady(before)
    assert after.function.inputs[0].type.dims == (LARGEST,)
    shapes = {"x": [LARGEST], "y": [7]}
    kept = {dim.name for dim in after.dims}
    assert bind(after, shapes) == {k: v for k, v in bind(before, shapes).items() if k in kept}


def test_a_size_of_more_digits_than_memory_is_not_computed() -> None:
    squares = "\n".join(f"tie_predicate_mul_eq(A{at + 1}, A{at}, A{at})" for at in range(60))
    inputs = "; ".join(f"x{at} [A{at}]" for at in range(61))
    after = steady(program_of(inputs, "", "%x0", f"tie_predicate_eq(A0, 2)\n{squares}"))
    assert [dim.name for dim in after.dims] == [f"A{at}" for at in range(6, 61)]


@pytest.mark.parametrize(
    ("stated", "ranges"),
    [
        ("tie_predicate_eq(N, 3)", {"N": ((1, 2), (5, 6))}),
        ("tie_predicate_eq(N, 3)", {"M": ((1, 2), (5, None))}),
        ("tie_predicate_mul_eq(9, N, M)", {"M": ((1, 2), (4, 9))}),
        ("", {"N": ((1, 2), (7, 8)), "M": ((4, 5),)}),
        ("", {"N": ((1, 1), (9, None)), "M": ((2, 3), (5, 8))}),
    ],
)
def test_a_size_between_ranges_is_refused(
    stated: str, ranges: dict[str, tuple[tuple[int, int | None], ...]], tmp_path: Path
) -> None:
    module = ranged(program_of("x [N]; y [M]", "%0 = add(%x, %y) : [N]", "%0", stated), **ranges)
    with pytest.raises(Contradiction):
        simplified(module)
    source, out = tmp_path / "program.shapes", tmp_path / "less.shapes"
    source.write_text(text(module))
    assert cli.main(["shapes", str(source), "--simplify", str(out)]) != 0
    assert not out.exists()


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (((1, 4), (2, 8)), ((1, 3), (3, 9))),
        (((5, None), (1, 2)), ((2, 6), (9, 9))),
        (((1, None), (1, None)), ((1, None), (1, None))),
        (((1, 5), (3, None)), ((2, 3), (3, 4), (8, 20))),
    ],
)
def test_equal_sizes_have_the_ranges_that_both_have(
    one: tuple[tuple[int, int | None], ...], other: tuple[tuple[int, int | None], ...]
) -> None:
    module = program_of("x [N]; y [M]", "%0 = add(%x, %y) : [N]", "%0")
    (dim,) = steady(ranged(module, N=one, M=other)).dims
    both = [SymbolicDim("N", one), SymbolicDim("M", other)]
    for size in range(1, 30):
        assert dim.may_be(size) == all(each.may_be(size) for each in both)
    assert len(dim.ranges) <= len(one) + len(other)


def test_many_equal_sizes_of_many_ranges_have_few() -> None:
    count = 40
    inputs = "; ".join(f"x{at} [N{at}]" for at in range(count))
    stated = "\n".join(f"tie_predicate_eq(N0, N{at})" for at in range(1, count))
    ranges = {f"N{at}": ((1, 90 + at), (2, 95), (3 + at, 99)) for at in range(count)}
    (dim,) = steady(ranged(program_of(inputs, "", "%x0", stated), **ranges)).dims
    assert dim.ranges == ((1, 99),)


def test_what_is_learnt_from_names_that_are_numbers_is_used_at_once() -> None:
    inputs, stated = "x [A0]; y [C0]", "tie_predicate_eq(A0, 3)\ntie_predicate_eq(C0, 5)"
    a, c = "A0", "C0"
    for at in range(4):
        inputs += f"; b{at} [B{at}]; d{at} [D{at}]"
        stated += f"\ntie_predicate_product_eq([{a}, B{at}], [{c}, D{at}])"
        stated += f"\ntie_predicate_affine_eq(B{at}, D{at}) {{affine = [-1] + 8}}"
        a, c = f"D{at}", f"B{at}"
    assert not steady(program_of(inputs, "", "%x", stated)).dims


def test_what_is_learnt_from_one_reshape_in_place_of_two_is_used_at_once() -> None:
    lines = "%0 = reshape(%x) : [M, K]\n%1 = reshape(%0) : [5, D]"
    stated = "tie_predicate_affine_eq(B, D) {affine = [-1] + 8}"
    after = steady(program_of("x [3, B]", lines, "%1", stated))
    assert [each.type.dims for each in after.function.equations] == [(5, 3)]


def test_what_says_nothing_is_not_stated() -> None:
    lines = """
        %0 = reshape(%x) : [K, 2]
        %1 = pad(%0) {axis = 0, low = 0, high = 0, value = 0} : [K, 2]
        %2 = split(%1) {axis = 0, parts = 1, part = 0} : [K, 2]
        %3 = exp(%2) : [K, 2]
        """
    stated = """
        tie_predicate_divisible([K, N], [N, 1])
        tie_predicate_affine_eq(N, N, K, K) {affine = [1, 2, -2] + 0}
        tie_predicate_mul_eq(N, 1, N)
        """
    assert not steady(program_of("x [N]", lines, "%3", stated)).constraints
    kept = """
        tie_predicate_divisible([M], [K, 2])
        tie_predicate_affine_eq(N, N, K) {affine = [2, -1] + -1}
        """
    assert len(steady(program_of("x [N]; y [K]; z [M]", "", "%x", kept)).constraints) == 2


def test_equations_are_named_by_numbers_that_no_input_has() -> None:
    source = """
        func @f(%0: tensor<4xf32>, %x: tensor<4xf32>, %2: tensor<4xf32>) {
          %a = exp(%0) : tensor<4xf32>
          %b = exp(%a) : tensor<4xf32>
          %c = add(%b, %2) : tensor<4xf32>
          return %c, %0
        }
        """
    module = parse(source)
    assert parse(text(module)) == module and steady(module) == module
    assert [module.function.name_of(at) for at in range(6)] == ["%0", "%x", "%2", "%1", "%3", "%4"]


def test_chains_of_thousands_are_one_operator_or_none() -> None:
    sizes = [("N", "M"), ("M", "N"), ("N", 1, "M"), ("N", "M", 1)]
    types = [Type("f32", each) for each in sizes]
    steps = [("transpose", 1, (1, 0)), ("transpose", 0, (1, 0)), ("reshape", 2, ())]
    steps += [("transpose", 3, (0, 2, 1)), ("reshape", 0, ())]
    equations = [
        Equation(BY_NAME[name], (at,), types[to], (("perm", perm),) if perm else ())
        for at, (name, to, perm) in enumerate(steps * 1000)
    ]
    inputs, dims = (Input("x", types[0]),), (SymbolicDim("N"), SymbolicDim("M"))
    for left, count in (([], 5000), (["transpose"], 4996), (["reshape"], 4998)):
        function = Function("f", inputs, tuple(equations[:count]), (count,))
        after = steady(Module(function, dims))
        assert [each.op.name for each in after.function.equations] == left


# All operators.


def other_sizes(rng: random.Random, names: Sequence[str], own: dict[str, int]) -> dict[str, int]:
    """Other sizes; mostly, those that are equal stay so, because facts ask for it."""
    share, same, found = rng.choice((0.2, 0.5, 1)), rng.random() < 0.7, dict(own)
    for name in names:
        if rng.random() < share:
            found[name] = rng.choice((1, 2, 3, 4, 5, 6, 8, 12, own[name] * 2, own[name] + 1))
    first: dict[int, int] = {}
    return {
        name: first.setdefault(own[name], size) if same else size for name, size in found.items()
    }


@pytest.mark.fuzz
def test_drawn_programs_of_all_operators_keep_their_bits_and_sizes(
    full: bool, seed: int, tried: Tried
) -> None:
    rng, numbers = random.Random(seed), np.random.default_rng(seed)
    fewer = ran = refused = 0
    for _ in range(2000 if full else 200):
        module, own = drawn_program(rng, rng.randint(1, 20))
        after = steady(module)
        fewer += len(after.function.equations) < len(module.function.equations)
        inputs = module.function.inputs
        names = [dim for each in inputs for dim in each.type.dims if isinstance(dim, str)]
        for sizes in (own, *(other_sizes(rng, names, own) for _ in range(12))):
            shapes = {
                each.name: [dim if isinstance(dim, int) else sizes[dim] for dim in each.type.dims]
                for each in inputs
            }
            before, now = taken(module, shapes), taken(after, shapes)
            if isinstance(before, str):
                is_open = "follows from no input" in before
                assert is_open or isinstance(now, str), (shapes, before)
                if is_open and sizes is own:
                    assert not isinstance(now, str) or "follows from no input" in now
                refused += not is_open
                continue
            assert not isinstance(now, str), (shapes, now, list(map(said, after.facts())))
            assert now.items() <= before.items()
            if max(before.values(), default=1) < 60:
                given = {
                    each.name: drawn_array(numbers, each, shapes[each.name]) for each in inputs
                }
                ran += is_same(module, after, given)
    tried("programs of all operators simplified", fewer)
    assert fewer and ran and refused


def is_same(module: Module, after: Module, given: dict[str, Array]) -> bool:
    """Compare results; False where the program cannot be run, as whole powers below 0 cannot."""
    with np.errstate(all="ignore"):
        try:
            found = run(module, given)
        except ValueError as error:
            assert "negative integer powers" in str(error)
            return False
        assert bits(found) == bits(run(after, given)), text(module)
    return True
