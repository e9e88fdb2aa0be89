"""Tensors without elements: a call returns at once, or what NumPy makes of them."""

from __future__ import annotations

import numpy as np
import pytest
from shape_programs import program_of

from mlc_course.dynamic_shape.codegen import compile_for_all_sizes
from mlc_course.dynamic_shape.ir import bind, run
from mlc_course.dynamic_shape.programs import NAMES, example_inputs, example_sizes, program
from mlc_course.errors import ShapeError

EMPTY = [(0, 3, 2, 4), (2, 0, 2, 4), (0, 0, 2, 4)]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("numbers", EMPTY)
def test_without_rows_results_are_empty(name: str, numbers: tuple[int, int, int, int]) -> None:
    module = program(name)
    inputs = example_inputs(module, example_sizes(name, *numbers))
    if name == "shifted_loss" and numbers[1] == 0:
        numbers = (0, 1, 2, 4)
        inputs = example_inputs(module, example_sizes(name, *numbers))
    if name == "append_to_cache" and numbers[1] == 0:
        inputs["new_k"] = np.zeros((numbers[0], 0, 2, 4), np.float32)
    made = compile_for_all_sizes(module)
    bound = made.bind(**inputs)
    assert not bound.launches
    for found, expected in zip(bound(), run(module, inputs), strict=True):
        assert found.shape == expected.shape
        assert found.dtype == expected.dtype
        assert found.size == 0


def test_an_empty_cache_is_appended_to() -> None:
    """Some results have elements although an input has none, as at the first token."""
    module = program("append_to_cache")
    inputs = example_inputs(module, example_sizes("append_to_cache", 2, 3, 0, 4))
    made = compile_for_all_sizes(module)
    keys, values = made(**inputs)
    np.testing.assert_allclose(keys, inputs["new_k"] * 0.125)
    np.testing.assert_array_equal(values, -inputs["new_v"])
    bound = made.bind(**inputs)
    bound()
    inputs["new_v"][...] = 1
    assert (bound()[1] == -1).all()


def test_the_largest_of_no_elements_is_refused() -> None:
    module = program_of("x [N, K]", "%0 = reduce_max(%x) {axes = [1]} : [N]", "%0")
    made = compile_for_all_sizes(module)
    with pytest.raises(ShapeError, match="reduce_max of no elements"):
        made(np.zeros((2, 0), np.float32))
    assert made(np.zeros((0, 0), np.float32))[0].shape == (0,)


def test_a_size_that_nothing_says_any_more_is_asked_for() -> None:
    """R*K == 12*B*S*K says nothing of R where K is 0."""
    module = program("masked_softmax")
    inputs = example_inputs(module, {"B": 1, "S": 2, "K": 0})
    with pytest.raises(ShapeError, match="@R follows from no input"):
        compile_for_all_sizes(module)(**inputs)


def test_facts_on_sizes_hold_of_empty_tensors_too_or_are_refused() -> None:
    module = program("residual_layer_norm")
    inputs = example_inputs(module, example_sizes("residual_layer_norm", 0, 3, 1, 4))
    inputs["x"] = np.zeros((5, 4), np.float32)  # T == B*S does not hold
    with pytest.raises(ShapeError, match="a constraint does not hold"):
        compile_for_all_sizes(module)(**inputs)
    shapes = {name: array.shape for name, array in inputs.items()}
    with pytest.raises(ShapeError):
        bind(module, shapes)


def test_a_slice_may_leave_nothing() -> None:
    module = program_of("x [N]", "%0 = slice(%x) {axis = 0, start = 1, drop = 1} : [M]", "%0")
    made = compile_for_all_sizes(module)
    assert made(np.ones(2, np.float32))[0].shape == (0,)
    assert made(np.ones(5, np.float32))[0].shape == (3,)
    with pytest.raises(ShapeError):
        made(np.ones(1, np.float32))
