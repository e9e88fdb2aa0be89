"""A trained network, small enough to follow by hand: digits, linear to 200, ReLU, linear to 10.

The digits (8 x 8 pixels each) are inside scikit-learn, which also trains: the development form.
The network's primitive tensor functions are TensorIR, one function each, with loops m (image),
n (output), k (input), and with a block for each result, named like its buffer: P for products, S
for sums, Y for the result of ReLU.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from mlc_course.errors import MachineError, SizeError
from mlc_course.tensor_program.problems import Array, aligned, contract
from mlc_course.tensor_program.tir import PrimFunc, te, tirx

PIXELS, HIDDEN, CLASSES = 64, 200, 10
BRIGHTEST = 16  # pixels in scikit-learn's copy are counts from 0 to 16
FOR_TRAINING = 1437  # four fifths


@dataclass(frozen=True)
class Digits:
    """1797 handwritten digits of 8 x 8 pixels, shuffled once and for all.

    ``images`` is (1797, 64) float32 from 0 to 1, aligned so that TVM can share every slice of
    rows; ``labels`` is (1797,) int64. The first 1437 are for training, the last 360 for testing.
    """

    images: NDArray[np.float32]
    labels: NDArray[np.int64]

    @property
    def train_images(self) -> NDArray[np.float32]:
        return self.images[:FOR_TRAINING]

    @property
    def train_labels(self) -> NDArray[np.int64]:
        return self.labels[:FOR_TRAINING]

    @property
    def test_images(self) -> NDArray[np.float32]:
        return self.images[FOR_TRAINING:]

    @property
    def test_labels(self) -> NDArray[np.int64]:
        return self.labels[FOR_TRAINING:]


@dataclass(frozen=True)
class Network:
    """Weights as float32: ``w1`` (64, 200), ``b1`` (200,), ``w2`` (200, 10), ``b2`` (10,)."""

    w1: NDArray[np.float32]
    b1: NDArray[np.float32]
    w2: NDArray[np.float32]
    b2: NDArray[np.float32]

    @property
    def weights(self) -> tuple[NDArray[np.float32], ...]:
        """All of them, in the order in which the network uses them."""
        return self.w1, self.b1, self.w2, self.b2

    def numpy(self, x: Array) -> Array:
        """Scores (batch, 10) of images (batch, 64): linear, ReLU, linear."""
        scores: Array = np.maximum(x @ self.w1 + self.b1, 0) @ self.w2 + self.b2
        return scores

    def accuracy(self, images: Array, labels: NDArray[np.int64]) -> float:
        """The share of images (n, 64) whose highest score is that of their label, 0 to 1."""
        if len(images) != len(labels) or not len(labels):
            raise SizeError(
                "accuracy: one label for each image",
                expected="as many labels as images, at least one",
                got=f"{len(images)} images, {len(labels)} labels",
            )
        return float(np.mean(self.numpy(images).argmax(axis=1) == labels))


@functools.cache
def digits() -> Digits:
    """The digits inside scikit-learn (UCI's optical recognition of handwritten digits, 1998)."""
    found = _scikit_learn("sklearn.datasets").load_digits()
    order = np.random.default_rng(0).permutation(len(found.target))
    return Digits(aligned(found.data[order] / BRIGHTEST), found.target[order].astype(np.int64))


@functools.cache
def classifier(seed: int = 0) -> Any:
    """scikit-learn's ``MLPClassifier``, trained on ``digits()`` in under a second."""
    data = digits()
    network = _scikit_learn("sklearn.neural_network").MLPClassifier(
        hidden_layer_sizes=(HIDDEN,),
        batch_size=128,
        learning_rate_init=0.003,
        tol=2e-3,
        n_iter_no_change=5,
        random_state=seed,
    )
    with threadpool_limits(1):  # products this small are slower, and less the same, on several
        return network.fit(data.train_images, data.train_labels)


@functools.cache
def train(seed: int = 0) -> Network:
    """The weights of ``classifier(seed)``; kept for this process."""
    trained = classifier(seed)
    (w1, w2), (b1, b2) = trained.coefs_, trained.intercepts_
    return Network(aligned(w1), aligned(b1), aligned(w2), aligned(b2))


def _scikit_learn(module: str) -> Any:
    import importlib

    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise MachineError(
            "the digits need scikit-learn", hint='pip install "mlc-course[lab]"'
        ) from error


def matmul(batch: int, inputs: int, outputs: int) -> PrimFunc:
    """TensorIR of P = X W, with X (batch, inputs), W (inputs, outputs), P (batch, outputs)."""
    x, w = _buffer("X", batch, inputs), _buffer("W", inputs, outputs)
    return te.create_prim_func([x, w, contract("P", "mnk", x, w)])


def add(batch: int, outputs: int) -> PrimFunc:
    """TensorIR of S = P + b, with P and S (batch, outputs), b (outputs,) added to every row."""
    p, b = _buffer("P", batch, outputs), _buffer("b", outputs)
    return te.create_prim_func([p, b, _sum(p, b)])


def relu(batch: int, outputs: int) -> PrimFunc:
    """TensorIR of Y = max(S, 0), with S and Y (batch, outputs)."""
    s = _buffer("S", batch, outputs)
    return te.create_prim_func([s, _rectified(s)])


def linear(batch: int, inputs: int, outputs: int) -> PrimFunc:
    """S = X W + b in one function of the buffers X, W, b, S; P lives inside."""
    x, w, b = _buffer("X", batch, inputs), _buffer("W", inputs, outputs), _buffer("b", outputs)
    return te.create_prim_func([x, w, b, _sum(contract("P", "mnk", x, w), b)])


def linear_relu(batch: int, inputs: int, outputs: int) -> PrimFunc:
    """Y = max(X W + b, 0) in one function of the buffers X, W, b, Y; P and S live inside."""
    x, w, b = _buffer("X", batch, inputs), _buffer("W", inputs, outputs), _buffer("b", outputs)
    return te.create_prim_func([x, w, b, _rectified(_sum(contract("P", "mnk", x, w), b))])


def _buffer(name: str, *shape: int) -> te.Tensor:
    if any(not isinstance(size, int) or size < 1 for size in shape):
        raise SizeError(
            f"buffer {name}: a size is below one", expected="whole numbers >= 1", got=shape
        )
    return te.placeholder(shape, name=name)


def _sum(p: te.Tensor, b: te.Tensor) -> te.Tensor:
    return te.compute(p.shape, lambda *at: p[at] + b[at[1]], name="S", varargs_names=["m", "n"])


def _rectified(s: te.Tensor) -> te.Tensor:
    zero = tirx.const(0.0, "float32")
    return te.compute(s.shape, lambda *at: te.max(s[at], zero), name="Y", varargs_names=["m", "n"])
