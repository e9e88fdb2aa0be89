"""Compiled graphs as their users call them, with right arrays and with wrong ones."""

from __future__ import annotations

import warnings
from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from small_graphs import MEDIUM, small

from mlc_course.errors import CourseError, GraphError, SizeError, UsageError, WrongResult
from mlc_course.machine import usable_cores
from mlc_course.mugraph.ir import FLOAT32, KernelGraph, parse, run
from mlc_course.mugraph.kernel_checks import kernel_mutants
from mlc_course.mugraph.programs import NAMES, PROGRAM_OF, in_numpy, published, workload
from mlc_course.mugraph.runtime import (
    Check,
    Compiled,
    CopiedInput,
    check,
    compile_graph,
    compiled,
    on_cpu,
    random_inputs,
)
from mlc_course.mugraph.runtime.arrays import empty

TEXT = """\
linear(X[b=5, d=37], W[d, n=19], B[1, n]):
  p = matmul(X, W)
  Y = add(p, B)
  return Y
"""


@pytest.fixture(scope="module")
def linear() -> Compiled:
    return compile_graph(parse(TEXT), threads=1)


@pytest.fixture
def inputs(linear: Compiled) -> dict[str, Any]:
    return dict(random_inputs(linear.graph))


def wanted(graph: KernelGraph, inputs: dict[str, Any]) -> list[Any]:
    return run(graph, {name: np.asarray(array, np.float64) for name, array in inputs.items()})


def test_a_call_gives_new_outputs_every_time(linear: Compiled, inputs: dict[str, Any]) -> None:
    (first,) = linear(**inputs)
    before = first.copy()
    inputs["X"] = inputs["X"] * 2
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CopiedInput)  # NumPy's own arrays begin anywhere
        (second,) = linear(*inputs.values())
    assert np.array_equal(first, before)
    assert not np.shares_memory(first, second)
    np.testing.assert_allclose(second, wanted(linear.graph, inputs)[0], rtol=1e-5, atol=1e-5)


def test_programs_in_numpy_are_the_programs() -> None:
    for name in NAMES:
        program = small(workload(name), MEDIUM)
        inputs = random_inputs(program)
        (got,) = in_numpy(program, inputs)()
        np.testing.assert_allclose(got, wanted(program, dict(inputs))[0], rtol=1e-4, atol=1e-5)


OTHERS = {
    "float64": lambda x: x.astype(np.float64),
    "float16": lambda x: x.astype(np.float16),
    "big-endian": lambda x: x.astype(">f4"),
    "whole numbers": lambda x: np.round(x).astype(np.int32),
    "truth values": lambda x: x > 0,
    "column-major": np.asfortranarray,
    "every other row": lambda x: np.repeat(x, 2, axis=0)[::2],
    "backwards": lambda x: x[::-1],
    "unaligned": lambda x: _unaligned(x),
    "a list": lambda x: x.tolist(),
    "read-only": lambda x: _read_only(x),
    "repeated": lambda x: np.broadcast_to(x[:1], x.shape),
    "a masked array": lambda x: np.ma.masked_array(x, mask=False),
}


def _unaligned(x: Any) -> Any:
    room = np.empty(x.nbytes + 1, np.uint8)[1:].view(np.uint8)
    moved = np.frombuffer(room.data, np.float32).reshape(x.shape)
    moved[...] = x
    return moved


def _read_only(x: Any) -> Any:
    x = x.copy()
    x.flags.writeable = False
    return x


@pytest.mark.parametrize("kind", OTHERS)
def test_an_array_of_another_kind_is_copied_or_read(
    linear: Compiled, inputs: dict[str, Any], kind: str
) -> None:
    inputs["X"] = OTHERS[kind](inputs["X"])
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        (got,) = linear(**inputs)
    np.testing.assert_allclose(got, wanted(linear.graph, inputs)[0], rtol=1e-5, atol=1e-5)
    array = np.asarray(inputs["X"])
    moved = (
        array.dtype != np.float32
        or not array.flags.c_contiguous
        or not array.flags.writeable
        or array.ctypes.data % 64
    )
    assert bool(said) == bool(moved)
    assert all("input X is copied: " in str(each.message) for each in said)


class OnAnotherDevice:
    """An array that lies in a GPU's memory, as its protocol tells."""

    def __dlpack_device__(self) -> tuple[int, int]:
        return 2, 0


class NotReadable:
    """An array that refuses to be read, as PyTorch's do while gradients are wanted."""

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        raise RuntimeError("it requires a gradient")


WRONG = {
    "a transposed one": (lambda x: x.T, GraphError),
    "one row": (lambda x: x[:1], GraphError),
    "one axis less": (lambda x: x[0], GraphError),
    "complex numbers": (lambda x: x + 1j, UsageError),
    "objects": (lambda x: x.astype(object), UsageError),
    "texts": (lambda x: x.astype(str), UsageError),
    "rows of different lengths": (lambda x: [[1.0], [1.0, 2.0]], UsageError),
    "another device": (lambda x: OnAnotherDevice(), UsageError),
    "masked elements": (lambda x: np.ma.masked_array(x, mask=x > 0), UsageError),
    "what cannot be read": (lambda x: NotReadable(), UsageError),
}


@pytest.mark.parametrize("kind", WRONG)
def test_a_wrong_array_is_refused(linear: Compiled, inputs: dict[str, Any], kind: str) -> None:
    change, error = WRONG[kind]
    inputs["X"] = change(inputs["X"])
    with pytest.raises(error, match="input X"):
        linear(**inputs)


def test_names_of_inputs_are_checked(linear: Compiled, inputs: dict[str, Any]) -> None:
    for wrong in ({"X": inputs["X"]}, {**inputs, "Z": inputs["X"]}, {}):
        with pytest.raises(GraphError, match="linear: inputs"):
            linear(**wrong)
    with pytest.raises(GraphError, match="linear: inputs"):
        linear(inputs["X"])
    with pytest.raises(GraphError, match="linear: inputs"):
        linear(inputs["X"], **inputs)  # which of them would be X?
    with pytest.raises(GraphError, match="linear: inputs"):
        linear(inputs["X"], W=inputs["W"], B=inputs["B"])


def test_an_input_may_have_any_name() -> None:
    graph = parse("any(self[a=3, b=5], arrays[a, b]):\n  Y = add(self, arrays)\n  return Y\n")
    inputs = random_inputs(graph)
    (y,) = compile_graph(graph, threads=1)(**inputs)
    np.testing.assert_allclose(y, inputs["self"] + inputs["arrays"], rtol=1e-6)


def test_outputs_are_written_in_place(linear: Compiled, inputs: dict[str, Any]) -> None:
    out = empty((5, 19), "float32")
    bound = linear.bind(inputs, [out])
    assert bound()[0] is out
    np.testing.assert_allclose(out, wanted(linear.graph, inputs)[0], rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: np.zeros((5, 19), np.float64),
        lambda: np.zeros((19, 5), np.float32).T,
        lambda: np.zeros((5, 20), np.float32),
        lambda: _read_only(empty((5, 19), "float32")),
        lambda: _unaligned(np.zeros((5, 19), np.float32)),
        lambda: [[0.0] * 19] * 5,
        lambda: np.ma.masked_array(empty((5, 19), "float32")),
    ],
)
def test_an_output_that_cannot_be_written_is_refused(
    linear: Compiled, inputs: dict[str, Any], wrong: Any
) -> None:
    with pytest.raises(UsageError, match="output Y"):
        linear.bind(inputs, [wrong()])
    with pytest.raises(UsageError, match="outputs"):
        linear.bind(inputs, [])


def test_an_output_that_is_an_input_is_refused() -> None:
    graph = parse("twice(X[a=8, b=16]):\n  Y = add(X, X)\n  return Y\n")
    made = compile_graph(graph, threads=1)
    x = random_inputs(graph)["X"]
    with pytest.raises(UsageError, match="output Y overlaps X"):
        made.bind({"X": x}, [x])


def test_inputs_and_equal_outputs_can_be_returned() -> None:
    graph = parse("same(X[a=3, b=5]):\n  Y = exp(X)\n  return X, Y, Y\n")
    inputs = random_inputs(graph)
    x, y, again = compile_graph(graph, threads=1)(**inputs)
    assert np.array_equal(x, inputs["X"]) and not np.shares_memory(x, inputs["X"])
    np.testing.assert_allclose(y, np.exp(inputs["X"]), rtol=1e-6)
    np.testing.assert_allclose(again, y)
    assert not np.shares_memory(again, y)


def test_a_bound_call_follows_its_inputs_and_writes_every_output() -> None:
    graph = parse("same(X[a=4, b=16]):\n  Y = exp(X)\n  return X, Y, Y\n")
    made = compile_graph(graph, threads=1)
    inputs = random_inputs(graph)
    out = [empty((4, 16), "float32") for _ in range(3)]
    bound = made.bind(inputs, out)
    for value in (0.0, 1.0):
        inputs["X"][...] = value
        assert all(got is each for got, each in zip(bound(), out, strict=True))
        for each, right in zip(out, (value, np.exp(value), np.exp(value)), strict=True):
            np.testing.assert_allclose(each, right, rtol=1e-6)
    for wrong in ([out[0], out[1], out[1]], [inputs["X"], *out[1:]]):
        with pytest.raises(UsageError, match="overlaps"):
            made.bind(inputs, wrong)


def test_infinities_and_numbers_that_are_none_go_through() -> None:
    graph = parse("exps(X[a=1, b=64]):\n  Y = exp(X)\n  Z = relu(X)\n  return Y, Z\n")
    x = empty((1, 64), "float32")
    x[...] = np.linspace(-110, 95, 64)
    x[0, :5] = -np.inf, np.inf, np.nan, 88.7, -103.0
    y, z = compile_graph(graph, threads=1)(X=x)
    assert np.array_equal(z, np.maximum(x, 0), equal_nan=True)
    with np.errstate(over="ignore"):
        right = np.exp(x)
    assert np.array_equal(np.isnan(y), np.isnan(right))
    assert np.array_equal(np.isinf(y), np.isinf(right))
    finite = np.isfinite(right)
    np.testing.assert_allclose(y[finite], right[finite], rtol=3e-7, atol=1.5e-45)


@pytest.mark.parametrize(
    "line",
    [
        "relu(X)",
        "clamp(X, low=-1, high=1)",
        "maximum(X, W)",
        "maximum(W, X)",
        "max(X, axis=0)",
        "max(X, axis=1)",
        "stable_softmax(X, axis=1)",
    ],
)
@pytest.mark.parametrize("at", [0, 5, 63, 68])
def test_a_number_that_is_none_is_not_lost(line: str, at: int) -> None:
    graph = parse(f"f(X[a=3, b=69], W[a, b]):\n  V = exp(W)\n  Y = {line}\n  return Y, V\n")
    inputs = dict(random_inputs(graph))
    inputs["X"][1, at] = np.nan
    y, v = compile_graph(graph, threads=1)(**inputs)
    right = wanted(graph, inputs)[0]
    assert np.isnan(right).any() and np.array_equal(np.isnan(y), np.isnan(right))
    assert check(graph, inputs, [y, v]).passed


def test_a_constant_beyond_float32_is_infinite_or_zero() -> None:
    text = "f(X[a=1, b=16]):\n  Y = scale(X, by=1e40)\n  Z = scale(X, by=-1e-60)\n  return Y, Z\n"
    graph = parse(text)
    x = empty((1, 16), "float32")
    x[...] = 1.0
    y, z = compile_graph(graph, threads=1, checked=True)(X=x)
    assert np.isposinf(y).all() and not z.any()


def test_a_masked_attention_has_no_weight_where_the_mask_is() -> None:
    program = small(workload("rope_masked_attention"), MEDIUM)
    inputs = dict(random_inputs(program))
    inputs["M"][...] = np.where(np.triu(np.ones(inputs["M"].shape[1:]), 1), -np.inf, 0)
    made = compile_graph(program, threads=1)
    assert check(program, inputs, made(**inputs)).passed


@pytest.mark.parametrize("name", PROGRAM_OF)
def test_half_precision_storage(name: str) -> None:
    program = small(published(name), MEDIUM)
    made = compile_graph(program, threads=1, storage="float16")
    inputs = {name: array.astype(np.float16) for name, array in random_inputs(program).items()}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CopiedInput)
        outputs = made(**inputs)
    assert all(each.dtype == np.float16 for each in outputs)
    found = check(program, inputs, outputs, "float16")
    assert found.passed, found


def test_several_threads_give_what_one_gives() -> None:
    program = small(workload("gated_mlp"), MEDIUM)
    inputs = random_inputs(program)
    (one,) = compile_graph(program, threads=1)(**inputs)
    (all_cores,) = compile_graph(program, threads=usable_cores())(**inputs)
    np.testing.assert_allclose(one, all_cores, rtol=1e-5, atol=1e-6)


def test_temporaries_share_memory_unless_they_are_needed_at_once() -> None:
    program = compile_graph(small(workload("transformer_layer"), MEDIUM), threads=1).program
    arrays = compiled.temporaries(program, "float32")
    alive = {
        each.name: [
            n
            for n, kernel in enumerate(program.kernels)
            if each in (*kernel.inputs, *kernel.outputs)
        ]
        for each in program.temporaries
    }
    shared = 0
    for one, other in combinations(arrays, 2):
        together = alive[one][0] <= alive[other][-1] and alive[other][0] <= alive[one][-1]
        overlap = np.shares_memory(arrays[one], arrays[other])
        assert not (together and overlap), f"{one} and {other}"
        shared += overlap
    assert shared
    assert all(array.ctypes.data % 64 == 0 for array in arrays.values())


def test_kernels_are_compiled_once_for_each_text() -> None:
    graph = parse("once(X[a=3, b=17]):\n  Y = square(X)\n  return Y\n")
    first = compile_graph(graph, threads=1)
    text = str(first.program.kernels[0])
    entry = {key: each for key, each in on_cpu._entries.items() if key[0] == text}
    compile_graph(graph, threads=1)
    assert {key: each for key, each in on_cpu._entries.items() if key[0] == text} == entry
    compile_graph(graph, threads=1, storage="float16")
    assert len({key for key in on_cpu._entries if key[0] == text}) == 2


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (("mul(a, b)", "div(u, c)"), ("div(b, c)", "mul(a, u)")),
        (("mul(a, b)", "mul(u, c)"), ("mul(b, c)", "mul(a, u)")),
        (("add(a, b)", "sub(u, c)"), ("sub(b, c)", "add(a, u)")),
        (("add(a, b)", "add(u, c)"), ("add(b, c)", "add(a, u)")),
    ],
)
def test_formulas_that_differ_in_parentheses_are_different_kernels(
    first: tuple[str, str], second: tuple[str, str]
) -> None:
    made = []
    for once, again in (first, second):
        lines = [
            "f(A[m=1, n=16], B[m, n], C[m, n]):",
            "  block grid(x=1):",
            *(f"    {name.lower()} = load({name})" for name in "ABC"),
            "    thread:",
            f"      u = {once}",
            f"      y = {again}",
            "    Y = store(y)",
            "  return Y",
        ]
        made.append(compile_graph(parse("\n".join(lines)), threads=1))
    assert str(made[0].program) != str(made[1].program)
    inputs = {name: empty((1, 16), "float32") for name in "ABC"}
    for array, value in zip(inputs.values(), (1e30, 1e30, 1e30), strict=True):
        array[...] = value
    for each in made:
        (y,) = each(**inputs)
        right = run(each.graph, inputs, FLOAT32)[0]
        np.testing.assert_allclose(y, right, rtol=1e-6)


def test_a_first_call_is_checked() -> None:
    program = small(workload("rms_norm_matmul"), MEDIUM)
    made = compile_graph(program, threads=1, checked=True)
    made(**random_inputs(program))
    assert made.first_check is not None and made.first_check.passed


@pytest.mark.parametrize("name", PROGRAM_OF)
def test_kernels_are_verified_as_code(name: str) -> None:
    made = compile_graph(published(name), threads=1, verified=True)
    assert made.verdict is not None and made.verdict.equal
    assert made.verdict.error_bound <= 1e-9
    assert str(made.verdict).startswith("equal to its graph on ")


def test_a_kernel_that_reads_another_element_is_not_compiled() -> None:
    graph = small(workload("lora"), MEDIUM)
    (lowered,) = on_cpu.programs(graph, 1)
    first, *others = lowered.program.kernels
    mutant = next(iter(kernel_mutants(first))).kernel
    wrong = replace(lowered.program, kernels=(mutant, *others))
    with pytest.raises(WrongResult, match="lora: its kernels are refused"):
        compile_graph(graph, threads=1, verified=True, lowered=replace(lowered, program=wrong))


def test_a_wrong_kernel_is_found() -> None:
    program, other = small(workload("attention"), MEDIUM), small(workload("gqa"), MEDIUM)
    wrong = compile_graph(other, threads=1)
    made = replace(wrong, graph=program, checked=True)
    with pytest.raises(WrongResult, match="attention: the compiled kernel differs"):
        made(**random_inputs(program))
    assert made.first_check is None


def test_a_check_sees_what_a_mask_leaves() -> None:
    text = "f(S[m=8, n=64], M[m, n]):\n  T = add(S, M)\n  Y = stable_softmax(T, axis=1)\n"
    masked = parse(f"{text}  Z = maximum(S, M)\n  A = max(T, axis=1)\n  return Y, Z, A\n")
    inputs = dict(random_inputs(masked))
    inputs["M"][...] = np.where(np.triu(np.ones((8, 64)), 1), -np.inf, 0)
    right = compile_graph(masked, threads=1)(**inputs)
    found = check(masked, inputs, right)
    assert found.passed and not found.unknown
    for place, array in enumerate(right):
        for wrong in (np.zeros_like(array), array + 1e-3, array[:1]):
            outputs = [*right[:place], wrong, *right[place + 1 :]]
            assert not check(masked, inputs, outputs).passed


@pytest.mark.parametrize(
    ("line", "value", "storage", "unknown"),
    [
        ("exp(X)", 95.0, "float32", 1),
        ("softmax(X, axis=1)", 95.0, "float32", 32),
        ("square(X)", 1e25, "float32", 1),
        ("silu(X)", -95.0, "float32", 1),  # exp(95) is on its way
        ("exp(X)", -100.0, "float32", 0),
        ("exp(X)", 95.0, "float16", 1),
        ("exp(X)", 12.0, "float16", 0),  # infinite in float16
        ("exp(X)", -17.0, "float16", 0),
    ],
)
def test_checks_know_the_range_of_numbers(
    line: str, value: float, storage: str, unknown: int
) -> None:
    graph = parse(f"f(X[a=2, b=32]):\n  Y = {line}\n  return Y\n")
    x = empty((2, 32), storage)
    x[...] = random_inputs(graph)["X"]
    x[0, 3] = value
    made = compile_graph(graph, threads=1, storage=storage, checked=True)
    (y,) = made(X=x)
    assert made.first_check is not None and made.first_check.unknown == unknown
    assert ("overflow" in str(made.first_check)) == bool(unknown)
    y[1, 7] += y[1, 7] / 10
    assert not check(graph, {"X": x}, [y], storage).passed


def test_a_check_of_a_root_sees_errors_at_zero() -> None:
    graph = parse("f(X[a=2, b=32]):\n  P = relu(X)\n  Y = sqrt(P)\n  return Y\n")
    inputs = dict(random_inputs(graph))
    (y,) = compile_graph(graph, threads=1)(**inputs)
    assert check(graph, inputs, [y]).passed
    assert not check(graph, inputs, [y + 1e-3 * (y == 0)]).passed


def test_checks_refuse() -> None:
    program = small(workload("lora"), MEDIUM)
    inputs = random_inputs(program)
    (right,) = compile_graph(program, threads=1)(**inputs)
    assert check(program, inputs, [right]).passed
    scale = np.abs(right).max()
    for wrong in (right + 1e-2 * scale, np.full_like(right, np.nan), right[::-1], -right):
        found = check(program, inputs, [wrong])
        assert not found.passed
        assert "DIFFERS" in str(found)
    one = right.copy()
    one[3, 7] += 1e-2 * scale
    assert not check(program, inputs, [one]).passed
    assert not Check((float("nan"),), 1.0).passed


@pytest.mark.parametrize(
    "options", [{"target": "tpu"}, {"storage": "int8"}, {"threads": 0}, {"threads": 10**6}]
)
def test_wrong_options_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(CourseError):
        compile_graph(parse(TEXT), **options)


@pytest.mark.parametrize("extent", [10**12, 10**20])
def test_tensors_that_no_memory_holds_are_refused(extent: int) -> None:
    with pytest.raises(SizeError, match="too many elements"):
        compile_graph(parse(f"huge(X[a={extent}, b=4]):\n  Y = exp(X)\n  return Y\n"))
