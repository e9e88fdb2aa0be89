"""The network's tensor functions in development form: a line of NumPy each.

The last parameter is the result, in memory that the caller gives.
"""

from __future__ import annotations

import numpy as np

from mlc_course.tensor_program.problems import Array


def matmul(X: Array, W: Array, P: Array) -> None:
    """P = X W"""
    np.matmul(X, W, out=P)


def add(P: Array, b: Array, S: Array) -> None:
    """S = P + b, b added to every row"""
    np.add(P, b, out=S)


def relu(S: Array, Y: Array) -> None:
    """Y = max(S, 0)"""
    np.maximum(S, 0, out=Y)


def linear(X: Array, W: Array, b: Array, S: Array) -> None:
    """S = X W + b"""
    S[...] = X @ W + b


def linear_relu(X: Array, W: Array, b: Array, Y: Array) -> None:
    """Y = max(X W + b, 0)"""
    Y[...] = np.maximum(X @ W + b, 0)


def network(X: Array, W1: Array, b1: Array, W2: Array, b2: Array, Y: Array) -> None:
    """Y = max(X W1 + b1, 0) W2 + b2"""
    Y[...] = np.maximum(X @ W1 + b1, 0) @ W2 + b2
