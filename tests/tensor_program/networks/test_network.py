"""The digits, the trained network, and its functions as TensorIR."""

from __future__ import annotations

import sys
from collections.abc import Callable

import numpy as np
import pytest

from mlc_course.errors import MachineError, SizeError
from mlc_course.tensor_program.networks import network
from mlc_course.tensor_program.networks.network import digits, train
from mlc_course.tensor_program.problems import Array, aligned
from mlc_course.tensor_program.tir import PrimFunc, compile_program, shared_tensor


def test_digits_are_split_once_and_for_all() -> None:
    data = digits()
    assert (data.images.shape, data.images.dtype) == ((1797, 64), np.float32)
    assert (data.labels.shape, data.labels.dtype) == ((1797,), np.int64)
    assert (data.images.min(), data.images.max()) == (0, 1)
    assert (len(data.train_images), len(data.train_labels)) == (1437, 1437)
    assert (len(data.test_images), len(data.test_labels)) == (360, 360)
    assert list(data.test_labels[:8]) == [0, 8, 8, 9, 8, 3, 7, 5]


def test_every_image_can_be_shared_with_tvm() -> None:
    for start in (0, 1, 1437, 1796):
        shared_tensor(digits().images[start : start + 1])


def test_the_network_is_trained_and_kept() -> None:
    weights = train()
    assert [w.shape for w in weights.weights] == [(64, 200), (200,), (200, 10), (10,)]
    assert {w.dtype for w in weights.weights} == {np.dtype(np.float32)}
    assert weights.accuracy(digits().test_images, digits().test_labels) > 0.97
    assert train() is weights


def test_it_answers_as_scikit_learn_does() -> None:
    images = digits().test_images
    ours = train().numpy(images).argmax(axis=1)
    assert np.array_equal(ours, network.classifier().predict(images))


@pytest.mark.parametrize("labels", [0, 3])
def test_accuracy_needs_a_label_for_each_image(labels: int) -> None:
    data = digits()
    with pytest.raises(SizeError, match="one label for each image"):
        train().accuracy(data.test_images[: 2 if labels else 0], data.test_labels[:labels])


def test_without_scikit_learn_the_way_out_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sklearn.datasets", None)
    with pytest.raises(MachineError, match=r"mlc-course\[lab\]"):
        network._scikit_learn("sklearn.datasets")


Case = tuple[PrimFunc, list[tuple[int, ...]], Callable[..., Array]]
CASES: dict[str, Case] = {
    "matmul": (network.matmul(3, 5, 7), [(3, 5), (5, 7)], lambda x, w: x @ w),
    "add": (network.add(3, 7), [(3, 7), (7,)], lambda p, b: p + b),
    "relu": (network.relu(3, 7), [(3, 7)], lambda s: np.maximum(s, 0)),
    "linear": (network.linear(3, 5, 7), [(3, 5), (5, 7), (7,)], lambda x, w, b: x @ w + b),
    "linear_relu": (
        network.linear_relu(3, 5, 7),
        [(3, 5), (5, 7), (7,)],
        lambda x, w, b: np.maximum(x @ w + b, 0),
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_a_function_computes_what_its_name_says(name: str) -> None:
    program, shapes, expected = CASES[name]
    rng = np.random.default_rng(0)
    operands = [aligned(rng.normal(size=shape)) for shape in shapes]
    result = aligned(np.full((3, 7), np.nan))
    compile_program(program)(*map(shared_tensor, (*operands, result)))
    np.testing.assert_allclose(result, expected(*operands), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("sizes", [(0, 5, 7), (3, -1, 7), (3, 5, 1.5)])
def test_a_size_below_one_is_refused(sizes: tuple[int, int, int]) -> None:
    with pytest.raises(SizeError, match="a size is below one"):
        network.linear_relu(*sizes)
