"""Programs, numbers and calls that compiled code once got wrong, and their relatives."""

from __future__ import annotations

import itertools
import re
import threading
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pytest
from kernels_at_sizes import KERNELS, all_values
from shape_programs import program_of

from mlc_course.dynamic_shape.codegen import compile_for_all_sizes
from mlc_course.dynamic_shape.fusion import LEVELS, Level, plan
from mlc_course.dynamic_shape.ir import DTYPES, Module, bind, run
from mlc_course.errors import MachineError, ShapeError, UsageError
from mlc_course.mugraph.cuda import compile_ptx
from mlc_course.mugraph.gpu_text import CUDA, OPENCL, source_of
from mlc_course.mugraph.ir import Array
from mlc_course.mugraph.kernels import evaluate, substituted
from mlc_course.mugraph.ptx import load

SPECIAL = np.array([0.0, -0.0, np.nan, np.inf, -np.inf, 1.5, -2.5, 3e38, 1e-40], np.float32)
WHOLE = {
    "i8": np.array([1, 100, -128, 127, -1, 0, 5], np.int8),
    "i32": np.array([1, 2**31 - 1, -(2**31), 2**24 + 1, -1, 0, 5], np.int32),
    "i64": np.array([1, 2**40 + 1, -(2**52) - 1, 2**24 + 1, -1, 0, 5], np.int64),
}
LARGE = {"i8": 100, "i32": 2**30 + 1, "i64": 2**24 + 1}


def drawn(*shape: int, seed: int = 0) -> Array:
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def on_gpu(module: Module, inputs: Mapping[str, Array]) -> list[Array]:
    """Run the kernels of a program that is nothing else, by their PTX."""
    try:
        compile_ptx("", "sm_80")
    except MachineError as error:
        pytest.skip(str(error))
    with np.errstate(all="ignore"):
        sizes = bind(module, {name: array.shape for name, array in inputs.items()})
        known = all_values(module, inputs, sizes)
        kinds = [DTYPES[type_.dtype] for type_ in module.function.types]
        typed = [array.reshape(-1).astype(kind) for array, kind in zip(known, kinds, strict=True)]
    made: dict[int, Array] = {}
    for kernel in KERNELS["gpu"](plan(module)):
        lowered, choices = kernel.lowered, kernel.variants
        variant = next(each for each in choices if each.admits(sizes))
        source = source_of([variant.kernel], CUDA, "float32")
        numbers = list(variant.arguments(sizes))
        here = dict(zip(variant.kernel.sizes, numbers, strict=True))
        found = [np.zeros_like(typed[value]) for value in lowered.outputs]
        report = load(compile_ptx(source.text, "sm_80")).launch(
            source.names[0],
            evaluate(substituted(variant.kernel.count, here), {}),
            variant.kernel.threads,
            variant.kernel.shared_bytes,
            [*(typed[value] for value in lowered.inputs), *found, *numbers],
        )
        assert not report.faults
        made |= zip(lowered.outputs, found, strict=True)
    return [made[value].reshape(known[value].shape) for value in module.function.results]


def same(found: list[Array], expected: list[Array], signs: bool = True) -> None:
    """Compare with results in float64, up to rounding: NaN, infinities and -0 too."""
    for one, other in zip(found, expected, strict=True):
        assert one.shape == other.shape
        if one.dtype.kind != "f":
            assert one.dtype == other.dtype
            np.testing.assert_array_equal(one, other)
            continue
        with np.errstate(over="ignore"):
            rounded = other.astype(one.dtype)
        rtol = 2e-6 if one.itemsize > 2 else 2e-3
        np.testing.assert_allclose(one, rounded, rtol, atol=1e-42)  # a few denormal steps
        zeros = (one == 0) & (rounded == 0)
        if signs:
            np.testing.assert_array_equal(np.signbit(one[zeros]), np.signbit(rounded[zeros]))


def check(module: Module, inputs: Mapping[str, Array], target: str = "cpu", **given: Any) -> None:
    with np.errstate(all="ignore"):
        expected = run(module, inputs, exact=True)
    if target == "gpu":
        same(on_gpu(module, inputs), expected)
    else:
        same(compile_for_all_sizes(module, **given)(**inputs), expected)


both = pytest.mark.parametrize("target", ["cpu", "gpu"])


# ---- numbers


@both
@pytest.mark.parametrize("dtype", WHOLE)
def test_whole_numbers_are_exact_and_wrap_around(dtype: str, target: str) -> None:
    """Constants, counts and fillings are not floats; i64 stays in its range here."""
    module = program_of(
        f"x [N]{dtype}; c [N]i1",
        f"""
        %0 = constant() {{value = {LARGE[dtype]}}} : []{dtype}
        %1 = add(%x, %0) : [N]{dtype}
        %2 = less(%x, %0) : [N]i1
        %3 = add(%x, %x) : [N]{dtype}
        %4 = sub(%3, %0) : [N]{dtype}
        %5 = constant() {{value = 1}} : []{dtype}
        %6 = add(%x, %5) : [N]{dtype}
        %7 = less(%x, %6) : [N]i1
        %8 = iota() {{axis = 0}} : [N]{dtype}
        %9 = mul(%8, %0) : [N]{dtype}
        %10 = select(%c, %x, %0) : [N]{dtype}
        %11 = pad(%x) {{axis = 0, low = 2, high = 1, value = {LARGE[dtype]}}} : [M]{dtype}
        %12 = convert(%x) : [N]
        %13 = constant() {{value = -2.7}} : []{dtype}
        %14 = add(%13, %8) : [N]{dtype}
        %15 = convert(%x) : [N]i1
        %16 = convert(%15) : [N]{dtype}
        %17 = equal(%x, %13) : [N]i1
        """,
        "%1, %2, %3, %4, %6, %7, %9, %10, %11, %12, %14, %15, %16, %17",
    )
    numbers = WHOLE[dtype]
    check(module, {"x": numbers, "c": np.arange(len(numbers)) % 2 == 0}, target)


def test_minus_one_in_every_variant() -> None:
    """-1 as an unsigned number is the largest, to which nothing may be added."""
    for dtype, axes in itertools.product(WHOLE, ("[A, B]", "[B, A]")):
        module = program_of(
            f"x {axes}",
            f"""
            %0 = constant() {{value = -1}} : []{dtype}
            %1 = iota() {{axis = 1}} : {axes}{dtype}
            %2 = add(%0, %1) : {axes}{dtype}
            """,
            "%2",
        )
        for columns in (1, 2, 4, 17):
            check(module, {"x": drawn(3, columns)})


@both
def test_truth_values_are_one_or_zero_in_between(target: str) -> None:
    lines, results = [], []
    names = ("add", "mul", "div", "max", "min", "less", "equal")
    for at, name in enumerate(names):
        lines.append(f"%{2 * at} = {name}(%x, %y) : [N, M]i1")
        lines.append(f"%{2 * at + 1} = convert(%{2 * at}) : [N, M]")
        results += [f"%{2 * at}", f"%{2 * at + 1}"]
    for axis, rest in enumerate("MN"):
        for name in ("reduce_sum", "reduce_mean", "reduce_max", "reduce_min"):
            at = len(lines)
            lines.append(f"%{at} = {name}(%x) {{axes = [{axis}]}} : [{rest}]i1")
            lines.append(f"%{at + 1} = convert(%{at}) : [{rest}]")
            results += [f"%{at}", f"%{at + 1}"]
    at = len(lines)
    lines += [
        f"%{at} = convert(%z) : [N, M]i1",
        f"%{at + 1} = convert(%{at}) : [N, M]i32",
        f"%{at + 2} = equal(%{at}, %0) : [N, M]i1",
        f"%{at + 3} = not(%{at}) : [N, M]i1",
        f"%{at + 4} = pad(%x) {{axis = 1, low = 1, high = 0, value = 1}} : [N, K]i1",
    ]
    results += [f"%{number}" for number in range(at, at + 5)]
    module = program_of("x [N, M]i1; y [N, M]i1; z [N, M]", "\n".join(lines), ", ".join(results))
    truths = np.array([[0, 1, 1], [0, 0, 1], [1, 1, 1]], bool)
    inputs = {"x": truths, "y": truths[::-1].copy(), "z": SPECIAL.reshape(3, 3)}
    check(module, inputs, target)


@both
def test_zeros_nan_and_infinities_are_those_of_numpy(target: str) -> None:
    """The compiler must not take x - x or x * 0 for 0, x == x for true, or -0 for 0."""
    x, y = (each.reshape(-1).copy() for each in np.meshgrid(SPECIAL, SPECIAL))
    lines, results = [], []
    for constant in ("0", "-0.0", "1", "inf"):
        at = len(lines)
        lines.append(f"%{at} = constant() {{value = {constant}}} : []")
        for name in ("add", "sub", "mul", "div"):
            results += [f"%{len(lines)}", f"%{len(lines) + 1}"]
            lines.append(f"%{len(lines)} = {name}(%x, %{at}) : [N]")
            lines.append(f"%{len(lines)} = {name}(%{at}, %x) : [N]")
        results.append(f"%{len(lines)}")
        lines.append(f"%{len(lines)} = equal(%x, %{at}) : [N]i1")
    for name in ("add", "sub", "mul", "div", "less", "equal"):
        kind = "i1" if name in ("less", "equal") else ""
        results += [f"%{len(lines)}", f"%{len(lines) + 1}"]
        lines.append(f"%{len(lines)} = {name}(%x, %x) : [N]{kind}")
        lines.append(f"%{len(lines)} = {name}(%x, %y) : [N]{kind}")
    for name in ("tanh", "erf", "sqrt", "neg", "abs", "round", "exp"):
        results.append(f"%{len(lines)}")
        lines.append(f"%{len(lines)} = {name}(%x) : [N]")
    results.append(f"%{len(lines)}")
    lines.append(f"%{len(lines)} = pad(%x) {{axis = 0, low = 1, high = 2, value = -0.0}} : [M]")
    check(
        program_of("x [N]; y [N]", "\n".join(lines), ", ".join(results)), {"x": x, "y": y}, target
    )


def test_max_and_min_keep_nan() -> None:
    x, y = (each.reshape(-1).copy() for each in np.meshgrid(SPECIAL, SPECIAL))
    module = program_of(
        "x [N]; y [N]",
        """
        %0 = max(%x, %y) : [N]
        %1 = min(%x, %y) : [N]
        %2 = clamp(%x, %y, %x) : [N]
        %3 = clamp(%y, %x, %y) : [N]
        """,
        "%0, %1, %2, %3",
    )
    found = compile_for_all_sizes(module)(x, y)
    same(found, run(module, {"x": x, "y": y}, exact=True), signs=False)


def test_tanh_is_right_to_the_last_bits_everywhere() -> None:
    bits = np.arange(0, 2**32, 70001, dtype=np.uint64).astype(np.uint32)
    x = bits.view(np.float32)
    x = x[~np.isnan(x)]
    module = program_of("x [N]", "%0 = tanh(%x) : [N]", "%0")
    (found,) = compile_for_all_sizes(module)(x)
    expected = np.tanh(x.astype(float))
    assert np.all(np.abs(found - expected) <= 5 * np.spacing(np.abs(expected.astype(np.float32))))


@both
def test_counts_as_floats_are_divided_as_floats(target: str) -> None:
    module = program_of(
        "x [N]",
        """
        %0 = iota() {axis = 0} : [N]
        %1 = constant() {value = 1} : []
        %2 = add(%0, %1) : [N]
        %3 = div(%0, %2) : [N]
        %4 = iota() {axis = 0} : [N]
        %5 = div(%4, %0) : [N]
        """,
        "%3, %5",
    )
    check(module, {"x": drawn(21)}, target)


@both
def test_halves_are_stored_and_read_as_such(target: str) -> None:
    module = program_of(
        "x [N, M]f16; ids [K]i64",
        """
        %0 = exp(%x) : [N, M]f16
        %1 = reduce_sum(%0) {axes = [1]} : [N]f16
        %2 = convert(%1) : [N]
        %3 = gather(%x, %ids) : [K, M]f16
        """,
        "%0, %2, %3",
    )
    for columns in (36, 37):
        x = drawn(3, columns).astype(np.float16)
        check(module, {"x": x, "ids": np.array([2, 0, 0, 1])}, target)


def test_a_constant_beyond_a_type_is_what_numpy_makes_of_it() -> None:
    module = program_of(
        "x [N]f16",
        """
        %0 = constant() {value = -1e30} : [N]f16
        %1 = constant() {value = 1e300} : [N]
        """,
        "%0, %1",
    )
    low, high = compile_for_all_sizes(module)(np.zeros(5, np.float16))
    assert np.all(np.isneginf(low)) and np.all(np.isposinf(high))


# ---- names and long programs


@pytest.mark.parametrize("facts", LEVELS)
def test_sizes_named_as_loops_buffers_and_words_of_c(facts: Level) -> None:
    names = [
        "r",
        "q",
        "step",
        "start",
        "lane",
        "k",
        "t",
        "block",
        "row",
        "int",
        "float",
        "kernel0",
        "x_",
        "axis0_of_input1",
    ]
    inputs = "; ".join(f"x{at} [{name}, H]" for at, name in enumerate(names)) + "; x [x_]"
    lines, results = [], []
    for at, name in enumerate(names):
        lines.append(f"%{2 * at} = reduce_sum(%x{at}) {{axes = [1]}} : [{name}]")
        pad = "{axis = 0, low = 2, high = 1, value = 1}"
        lines.append(f"%{2 * at + 1} = pad(%{2 * at}) {pad} : [padded{at}]")
        results += [f"%{2 * at}", f"%{2 * at + 1}"]
    module = program_of(inputs, "\n".join(lines), ", ".join(results))
    arrays = {f"x{at}": np.abs(drawn(at + 2, 19, seed=at)) for at in range(len(names))}
    check(module, {**arrays, "x": drawn(2 + names.index("x_"))}, facts=facts)


@both
def test_inputs_named_as_values_of_kernels(target: str) -> None:
    names = ["v0", "v1", "row0", "block", "t1", "main", "x_", "x"]
    module = program_of(
        "; ".join(f"{name} [N]" for name in names),
        """
        %0 = exp(%v0) : [N]
        %1 = add(%0, %v1) : [N]
        %2 = add(%row0, %block) : [N]
        %3 = add(%t1, %main) : [N]
        %4 = add(%x, %x_) : [N]
        """,
        "%0, %1, %2, %3, %4",
    )
    check(module, {name: np.abs(drawn(21, seed=at)) for at, name in enumerate(names)}, target)


@pytest.mark.parametrize("folds", [True, False])
def test_a_thousand_reshapes_are_followed(folds: bool) -> None:
    shapes = ("[N, M]", "[M, N]")
    lines = [f"%{at} = reshape(%{at - 1 if at else 'x'}) : {shapes[at % 2]}" for at in range(1000)]
    lines.append("%1000 = exp(%999) : [M, N]")
    check(program_of("x [N, M]", "\n".join(lines), "%1000"), {"x": drawn(3, 5)}, folds=folds)


# ---- calls


def test_every_table_has_the_rows_that_are_asked_for() -> None:
    """Two tables with the same indices are both checked, before anything is written."""
    module = program_of(
        "a [P, H]; b [Q, H]; ids [N]i64",
        """
        %0 = exp(%a) : [P, H]
        %1 = gather(%a, %ids) : [N, H]
        %2 = gather(%b, %ids) : [N, H]
        %3 = add(%1, %2) : [N, H]
        """,
        "%0, %3",
    )
    made = compile_for_all_sizes(module)
    for rows in ((2, 9), (9, 2)):
        ids = np.array([1, 5])
        a, b = (drawn(each, 4) for each in rows)
        with pytest.raises(ShapeError, match="an index of a row"):
            made(a, b, ids)
        ids[:] = 1
        bound = made.bind(a, b, ids)
        before = [each.copy() for each in bound()]
        a *= 2
        ids[:] = 5
        with pytest.raises(ShapeError, match="an index of a row"):
            bound()
        np.testing.assert_array_equal(bound.results[0], before[0])


CALLED = program_of(
    "x [N, M]; y [M, N]",
    """
    %0 = exp(%x) : [N, M]
    %1 = reshape(%x) : [K]
    %2 = reshape(%y) : [K]
    %3 = add(%1, %2) : [K]
    %4 = matmul(%x, %y) : [N, N]
    %5 = reshape(%y) : [N, M]
    %6 = matmul(%5, %y) : [N, N]
    %7 = shape_of(%x) : [2]i64
    """,
    "%0, %3, %x, %4, %6, %0, %1, %3, %5, %7, %7",
)


def layouts() -> Iterator[tuple[str, Array, Array]]:
    x = drawn(6, 8)
    yield "transposed", x, x.T
    yield "Fortran", np.asfortranarray(drawn(6, 8)), np.asfortranarray(drawn(8, 6))
    yield "strided", drawn(12, 16)[::2, ::2], drawn(16, 12)[::-2, ::-2]
    unaligned = np.zeros(6 * 8 * 4 + 1, np.uint8)[1:].view(np.float32).reshape(6, 8)
    unaligned[...] = 1
    yield "unaligned", unaligned, drawn(8, 6)
    yield "broadcast", np.broadcast_to(drawn(8), (6, 8)), np.broadcast_to(drawn(8, 1), (8, 6))
    memory = drawn(48)
    yield "shared", memory.reshape(6, 8), memory.reshape(8, 6)
    yield "a subclass", np.ma.array(drawn(6, 8)), np.ma.array(drawn(8, 6))


LAYOUTS = list(layouts())


@pytest.mark.parametrize(
    ("x", "y"), [each[1:] for each in LAYOUTS], ids=[each[0] for each in LAYOUTS]
)
def test_a_bound_call_sees_new_inputs_and_shares_no_memory(x: Array, y: Array) -> None:
    bound = compile_for_all_sizes(CALLED).bind(x, y)
    for seed in range(3):
        found = bound()
        for one, other in zip(found, run(CALLED, {"x": x, "y": y}), strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-5)
        for one, other in itertools.combinations(found, 2):
            assert not np.shares_memory(one, other)
        for one, other in itertools.product(found, (x, y)):
            assert not np.shares_memory(one, other)
        for array in (x, y):
            if array.flags.writeable:
                array[...] = drawn(*array.shape, seed=seed)


def test_other_calls_are_refused() -> None:
    made = compile_for_all_sizes(CALLED)
    x, y = drawn(6, 8), drawn(8, 6)
    for arrays, named in (
        ((x, y), {"x": x, "y": y}),
        ((x,), {"y": y}),
        ((x, y, x), {}),
        (([[1.0], [1.0, 2.0]], y), {}),
        ((None, y), {}),
    ):
        with pytest.raises(UsageError):
            made(*arrays, **named)
    with pytest.raises(UsageError, match="got       >f4"):
        made(x.astype(">f4"), y)


def test_calls_from_several_threads() -> None:
    """More shapes than are remembered, so that some are forgotten meanwhile."""
    made = compile_for_all_sizes(program_of("x [N, M]", "%0 = abs(%x) : [N, M]", "%0"))
    wrong: list[object] = []

    def work(seed: int) -> None:
        rng = np.random.default_rng(seed)
        try:
            for _ in range(200):
                x = drawn(*map(int, rng.integers(1, 40, 2)), seed=seed)
                np.testing.assert_array_equal(made(x)[0], np.abs(x))
        except Exception as error:  # of another thread, to be told here
            wrong.append(error)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(3)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert not wrong


def test_vectors_of_opencl_are_of_floats_alone() -> None:
    """Neighbours of other types, counts, rows of tables and conditions are spelled one by one."""
    module = program_of(
        "x [N, M]; ids [K]i64; y [K, M]i32",
        """
        %0 = gather(%x, %ids) : [K, M]
        %1 = iota() {axis = 1} : [K, M]
        %2 = add(%0, %1) : [K, M]
        %3 = less(%0, %1) : [K, M]i1
        %4 = select(%3, %0, %2) : [K, M]
        %5 = add(%y, %y) : [K, M]i32
        %6 = convert(%y) : [K, M]
        %7 = add(%4, %6) : [K, M]
        """,
        "%5, %7",
    )
    (made,) = KERNELS["gpu"](plan(module))
    choices = made.variants
    text = source_of([choices[0].kernel], OPENCL, "float32").text
    assert str(choices[0]) == "M % 4 == 0"
    assert "vstore4" in text
    for line in text.splitlines():
        if "vload4" in line or "vstore4" in line:
            assert not re.search(r"\b(x_|y_|int)\b|\?|float4", line)
