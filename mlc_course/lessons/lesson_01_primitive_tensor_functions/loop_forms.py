"""The network's tensor functions in low-level NumPy: loops, and in them single elements.

It is how a compiler sees them, in words that Python can run. The last parameter is the result.
"""

from __future__ import annotations

import numpy as np

from mlc_course.tensor_program.problems import Array


def matmul(X: Array, W: Array, P: Array) -> None:
    """P = X W"""
    for m in range(P.shape[0]):
        for n in range(P.shape[1]):
            P[m, n] = 0
            for k in range(X.shape[1]):
                P[m, n] += X[m, k] * W[k, n]


def add(P: Array, b: Array, S: Array) -> None:
    """S = P + b, b added to every row"""
    for m in range(S.shape[0]):
        for n in range(S.shape[1]):
            S[m, n] = P[m, n] + b[n]


def relu(S: Array, Y: Array) -> None:
    """Y = max(S, 0)"""
    for m in range(Y.shape[0]):
        for n in range(Y.shape[1]):
            Y[m, n] = max(S[m, n], 0)


def linear(X: Array, W: Array, b: Array, S: Array) -> None:
    """S = X W + b"""
    P = np.empty_like(S)
    for m in range(P.shape[0]):
        for n in range(P.shape[1]):
            P[m, n] = 0
            for k in range(X.shape[1]):
                P[m, n] += X[m, k] * W[k, n]
    for m in range(S.shape[0]):
        for n in range(S.shape[1]):
            S[m, n] = P[m, n] + b[n]


def linear_relu(X: Array, W: Array, b: Array, Y: Array) -> None:
    """Y = max(X W + b, 0)"""
    P, S = np.empty_like(Y), np.empty_like(Y)
    for m in range(P.shape[0]):
        for n in range(P.shape[1]):
            P[m, n] = 0
            for k in range(X.shape[1]):
                P[m, n] += X[m, k] * W[k, n]
    for m in range(S.shape[0]):
        for n in range(S.shape[1]):
            S[m, n] = P[m, n] + b[n]
    for m in range(Y.shape[0]):
        for n in range(Y.shape[1]):
            Y[m, n] = max(S[m, n], 0)
