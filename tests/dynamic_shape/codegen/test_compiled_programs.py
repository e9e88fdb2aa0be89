"""Programs compiled once, called at many sizes, with what is wrong with a call."""

from __future__ import annotations

import numpy as np
import pytest
from shape_programs import program_of

from mlc_course.dynamic_shape.codegen import Compiled, compile_for_all_sizes
from mlc_course.dynamic_shape.fusion import Level
from mlc_course.dynamic_shape.ir import Module, run
from mlc_course.dynamic_shape.programs import NAMES, example_inputs, example_sizes, program
from mlc_course.errors import ShapeError, UsageError
from mlc_course.mugraph.ir import Array

SWEEP = [(1, 1, 1, 1), (1, 5, 3, 37), (3, 7, 5, 64), (2, 2, 3, 127), (4, 1, 1, 4), (2, 3, 2, 80)]


def check(made: Compiled, module: Module, inputs: dict[str, Array]) -> None:
    """Compare a call with the interpreter in float64."""
    for found, expected in zip(made(**inputs), run(module, inputs, exact=True), strict=True):
        assert found.shape == expected.shape
        if found.dtype == np.int8:  # a scale of 127 may round to the one or the other side
            assert np.abs(found.astype(int) - expected).max(initial=0) <= 1
        else:
            assert found.dtype == np.float32
            limit = 5e-6 * np.abs(expected).max(initial=1e-30)
            assert np.abs(found - expected).max(initial=0) <= limit


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("facts", ["all", "none"])
def test_the_ten_programs_run_at_all_sizes(name: str, facts: Level) -> None:
    module = program(name)
    made = compile_for_all_sizes(module, facts)
    for numbers in SWEEP:
        check(made, module, example_inputs(module, example_sizes(name, *numbers)))


def test_results_are_new_and_a_bound_call_writes_into_the_same() -> None:
    module = program("bias_gelu")
    made = compile_for_all_sizes(module)
    inputs = example_inputs(module, example_sizes("bias_gelu", 2, 3, 1, 20))
    first, second = made(**inputs), made(*inputs.values())
    assert not np.shares_memory(first[0], second[0])
    bound = made.bind(**inputs)
    before = bound()
    inputs["x"][...] = 0  # the same array, with other values
    assert bound()[0] is before[0]
    np.testing.assert_allclose(before[1].reshape(-1, 20), np.tile(inputs["bias"], (6, 1)))


def test_inputs_anywhere_in_memory() -> None:
    """Unaligned, read-only and strided arrays are read as they are."""
    module = program("residual_rms_norm")
    made = compile_for_all_sizes(module)
    inputs = example_inputs(module, example_sizes("residual_rms_norm", 2, 3, 1, 21))
    moved = np.empty(inputs["x"].size + 1, np.float32)[1:].reshape(inputs["x"].shape)
    moved[...] = inputs["x"]
    strided = np.repeat(inputs["residual"], 2, axis=2)[:, :, ::2]
    read_only = inputs["gamma"].copy()
    read_only.flags.writeable = False
    bound = made.bind(moved, strided, read_only, inputs["inverse_width"])
    expected = made(**inputs)
    for found, other in zip(bound(), expected, strict=True):
        np.testing.assert_array_equal(found, other)
    moved *= 2  # seen by the next call, although it is copied for the kernel
    np.testing.assert_array_equal(bound()[0], made(**{**inputs, "x": moved})[0])


LIBRARY = program_of(
    "x [N, K]; w [K, M]",
    """
    %0 = exp(%x) : [N, K]
    %1 = matmul(%0, %w) : [N, M]
    %2 = reduce_max(%1) {axes = [1]} : [N]
    %3 = broadcast(%2) {dims = [0]} : [N, M]
    %4 = sub(%1, %3) : [N, M]
    %5 = shape_of(%4) : [2]i64
    """,
    "%4, %5, %x, %2, %4",
)


def test_calls_shapes_and_inputs_among_the_results() -> None:
    made = compile_for_all_sizes(LIBRARY)
    for sizes in ({"N": 3, "K": 4, "M": 5}, {"N": 1, "K": 33, "M": 17}):
        inputs = example_inputs(LIBRARY, sizes)
        found = made(**inputs)
        for one, other in zip(found, run(LIBRARY, inputs), strict=True):
            assert one.dtype == other.dtype
            np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-5)
        assert not np.shares_memory(found[2], inputs["x"])


COLUMNS = program_of(
    "x [A, B, C]",
    """
    %0 = exp(%x) : [A, B, C]
    %1 = reduce_sum(%0) {axes = [1]} : [A, C]
    %2 = reduce_mean(%x) {axes = [0, 1]} : [C]
    %3 = reduce_max(%x) {axes = [0, 2]} : [B]
    %4 = reduce_min(%x) {axes = [0]} : [B, C]
    """,
    "%0, %1, %2, %3, %4",
)


@pytest.mark.parametrize("facts", ["all", "none"])
def test_columns_are_reduced(facts: Level) -> None:
    made = compile_for_all_sizes(COLUMNS, facts)
    for numbers in [(1, 1, 1), (2, 3, 16), (5, 2, 37), (3, 7, 4), (1, 4, 130)]:
        check(made, COLUMNS, example_inputs(COLUMNS, dict(zip("ABC", numbers, strict=True))))


def test_a_table_has_the_rows_that_are_asked_for() -> None:
    module = program("embedding_layer_norm")
    made = compile_for_all_sizes(module)
    inputs = example_inputs(module, example_sizes("embedding_layer_norm", 1, 2, 4, 8))
    for wrong in (7, -1):
        inputs["ids"][0, 1] = wrong
        with pytest.raises(ShapeError, match="%ids: an index of a row") as raised:
            made(**inputs)
        assert "0 to 6" in str(raised.value)
    inputs["ids"][0, 1] = 6
    check(made, module, inputs)


def test_wrong_calls_are_told_what_is_wrong() -> None:
    module = program("residual_layer_norm")
    made = compile_for_all_sizes(module)
    inputs = example_inputs(module, example_sizes("residual_layer_norm", 2, 3, 1, 5))
    with pytest.raises(UsageError, match="inputs"):
        made(inputs["x"])
    with pytest.raises(UsageError, match="inputs"):
        made(**{name: array for name, array in inputs.items() if name != "beta"})
    with pytest.raises(UsageError, match="%x: its elements"):
        made(**{**inputs, "x": inputs["x"].astype(float)})
    with pytest.raises(ShapeError, match="a constraint does not hold"):
        made(**{**inputs, "x": inputs["x"][1:]})
    with pytest.raises(UsageError, match="threads"):
        compile_for_all_sizes(module, threads=0)
    with pytest.raises(UsageError, match="level"):
        compile_for_all_sizes(module, "some")  # type: ignore[arg-type]


def test_guards_choose_the_most_special_variant_that_is_right() -> None:
    """On both sides of each guard another variant runs, and all give the same."""
    module = program("residual_layer_norm")
    made = compile_for_all_sizes(module)
    ((kernel, entries),) = [(step.kernel, step.entries) for step in made.steps]
    assert kernel is not None
    assert len(entries) == len(kernel.variants)
    said = list(map(str, kernel.variants))
    assert said[:2] == ["H == 768", "H == 1024"]
    assert said[-1] == "any sizes"
    chosen = {}
    for width in (767, 768, 769, 1024, 1040, 16, 15):
        inputs = example_inputs(module, example_sizes("residual_layer_norm", 1, 2, 1, width))
        sizes = {"B": 1, "S": 2, "T": 2, "H": width}
        chosen[width] = str(kernel.chosen(sizes))
        check(made, module, inputs)
    assert (chosen[768], chosen[1024]) == ("H == 768", "H == 1024")
    assert {chosen[767], chosen[769], chosen[15]} == {"any sizes"}
    assert chosen[16] == chosen[1040] == said[2]
