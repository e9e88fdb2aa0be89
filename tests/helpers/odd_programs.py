"""Programs of every kind that steps may meet: sums, chains, halos, padding, sampling, reversals."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from mlc_course.tensor_program.tir import PrimFunc, te, tirx

Compute = Callable[..., Any]


@dataclass(frozen=True)
class Odd:
    """A kind of program: its inputs' shapes, the program, and the same in NumPy.

    Each is a function of sizes a, b, c.
    """

    shapes: Callable[[int, int, int], list[tuple[int, ...]]]
    make: Callable[..., Any]
    numpy: Callable[..., Any]
    sizes: Callable[[int, int, int], bool] = lambda a, b, c: True

    def program(self, a: int, b: int, c: int) -> PrimFunc:
        shapes = self.shapes(a, b, c)
        inputs = [te.placeholder(shape, name=f"A{i}") for i, shape in enumerate(shapes)]
        return te.create_prim_func([*inputs, self.make(*inputs)])


def _compute(name: str, shape: tuple[int, ...], function: Compute) -> Any:
    return te.compute(shape, function, name=name)


def _total(extent: int, name: str) -> Any:
    return te.reduce_axis((0, extent), name=name)


def _matmul(name: str, x: Any, y: Any) -> Any:
    k = _total(int(x.shape[1]), "k")
    shape = (int(x.shape[0]), int(y.shape[1]))
    return te.compute(shape, lambda i, j: te.sum(x[i, k] * y[k, j], axis=[k]), name=name)


def _rows(name: str, x: Any, reduce: Any = te.sum) -> Any:
    k = _total(int(x.shape[1]), "k")
    return te.compute((int(x.shape[0]),), lambda i: reduce(x[i, k], axis=[k]), name=name)


def _chain(x: Any, y: Any, z: Any) -> Any:
    c = _matmul("C", x, y)
    d = _compute("D", tuple(map(int, c.shape)), lambda i, j: te.exp(c[i, j]))
    return _matmul("F", d, z)


def _softmax(x: Any) -> Any:
    shape = tuple(map(int, x.shape))
    top = _rows("M", x, te.max)
    e = _compute("E", shape, lambda i, j: te.exp(x[i, j] - top[i]))
    total = _rows("S", e)
    return _compute("Y", shape, lambda i, j: e[i, j] / total[i])


def _stencils(x: Any) -> Any:
    n, m = map(int, x.shape)
    s = _compute("S", (n - 2, m), lambda i, j: x[i, j] + x[i + 1, j] + x[i + 2, j])
    return _compute("Y", (n - 2, m - 1), lambda i, j: s[i, j] - s[i, j + 1])


def _padded(x: Any) -> Any:
    n, m = map(int, x.shape)
    zero = tirx.const(0.0, "float32")

    def padded(i: Any, j: Any) -> Any:
        inside = tirx.all(i >= 1, i < n + 1, j >= 1, j < m + 1)
        return tirx.if_then_else(inside, x[i - 1, j - 1], zero)

    p = _compute("P", (n + 2, m + 2), padded)
    return _compute("Y", (n, m), lambda i, j: p[i, j] + p[i + 2, j + 2])


def _grown(x: Any) -> Any:
    n, m = map(int, x.shape)
    d = _compute("D", (n, m), lambda i, j: x[i, j] * x[i, j])
    zero = tirx.const(0.0, "float32")
    return _compute(
        "Y", (n + 2, m), lambda i, j: tirx.if_then_else(i < n, d[tirx.min(i, n - 1), j], zero)
    )


def _conv(x: Any, w: Any) -> Any:
    n, k = int(x.shape[0]), int(w.shape[0])
    r = _total(k, "r")
    p = _compute("P", (n,), lambda i: x[i] + x[i])
    c = te.compute((n - k + 1,), lambda i: te.sum(p[i + r] * w[r], axis=[r]), name="C")
    return _compute("Y", (n - k + 1,), lambda i: te.exp(c[i]))


def _pooled(x: Any) -> Any:
    n, m = map(int, x.shape)
    d = _compute("D", (n, m), lambda i, j: x[i, j] * x[i, j])
    r = _total(2, "r")
    p = te.compute((n, m // 2), lambda i, j: te.max(d[i, j * 2 + r], axis=[r]), name="P")
    return _compute("Y", (n, m // 2), lambda i, j: p[i, j] + p[i, j])


def _down(x: Any) -> Any:
    n, m = map(int, x.shape)
    d = _compute("D", (n, m), lambda i, j: x[i, j] + x[i, j])
    return _compute("Y", (n, m // 2), lambda i, j: d[i, 2 * j] - d[i, 2 * j + 1])


def _up(x: Any) -> Any:
    n, m = map(int, x.shape)
    d = _compute("D", (n, m), lambda i, j: x[i, j] * x[i, j])
    return _compute("Y", (n, 2 * m), lambda i, j: d[i, j // 2])


def _transposed(x: Any) -> Any:
    n, m = map(int, x.shape)
    d = _compute("D", (n, m), lambda i, j: te.exp(x[i, j]))
    t = _compute("T", (m, n), lambda i, j: d[j, i])
    return _compute("Y", (m, n), lambda i, j: t[i, j] + t[i, j])


def _reversed(x: Any) -> Any:
    n, m = map(int, x.shape)
    d = _compute("D", (n, m), lambda i, j: te.exp(x[i, j]))
    return _compute("Y", (n, m), lambda i, j: d[n - 1 - i, m - 1 - j])


def _reversed_sum(x: Any, y: Any) -> Any:
    k = _total(int(x.shape[1]), "k")
    last = int(x.shape[1]) - 1
    shape = (int(x.shape[0]), int(y.shape[1]))
    c = te.compute(shape, lambda i, j: te.sum(x[i, last - k] * y[k, j], axis=[k]), name="C")
    return _compute("Y", shape, lambda i, j: c[i, j] * c[i, j])


def _reshaped(x: Any) -> Any:
    n, m = map(int, x.shape)
    d = _compute("D", (n, m), lambda i, j: te.exp(x[i, j]))
    return _compute("Y", (n * m,), lambda i: d[i // m, i % m])


def _centred(x: Any) -> Any:
    n, m = map(int, x.shape)
    s = _rows("S", x)
    d = _compute("D", (n, m), lambda i, j: x[i, j] - s[i] * tirx.const(1 / m, "float32"))
    k = _total(m, "k")
    q = te.compute((n,), lambda i: te.sum(d[i, k] * d[i, k], axis=[k]), name="Q")
    return _compute("Y", (n, m), lambda i, j: d[i, j] * q[i])


def _diamond(x: Any) -> Any:
    shape = tuple(map(int, x.shape))
    c = _compute("C", shape, lambda i, j: te.exp(x[i, j]))
    d = _compute("D", shape, lambda i, j: c[i, j] + c[i, j])
    return _compute("Y", shape, lambda i, j: c[i, j] * d[i, j])


def _both_axes(x: Any) -> Any:
    n, m = map(int, x.shape)
    d = _compute("D", (n, m), lambda i, j: x[i, j] * x[i, j])
    p, q = _total(n, "p"), _total(m, "q")
    return te.compute((1,), lambda i: te.sum(d[p, q], axis=[p, q]), name="Y")


def _spread(x: Any) -> Any:
    n, m = map(int, x.shape)
    s = _rows("S", x)
    return _compute("Y", (2 * n, m), lambda i, j: s[i // 2] + x[i // 2, j])


def _squares(x: Any, y: Any) -> Any:
    c = _matmul("C", x, y)
    return _matmul("F", c, c)


def _windows(x: Any) -> Any:
    n, m = map(int, x.shape)
    d = _compute("D", (n, m), lambda i, j: te.exp(x[i, j]))
    r = _total(3, "r")
    s = te.compute((n, m - 2), lambda i, j: te.sum(d[i, j + r], axis=[r]), name="S")
    return _compute("Y", (n, m - 3), lambda i, j: s[i, j] - s[i, j + 1])


def _bias(x: Any, y: Any, b: Any) -> Any:
    c = _matmul("C", x, y)
    zero = tirx.const(0.0, "float32")
    return _compute("Y", tuple(map(int, c.shape)), lambda i, j: te.max(c[i, j] + b[j], zero))


def _pair(a: int, b: int, c: int) -> list[tuple[int, ...]]:
    return [(a, b), (b, c)]


def _one(a: int, b: int, c: int) -> list[tuple[int, ...]]:
    return [(a, b)]


def _soft(x: Any) -> Any:
    e = np.exp(x - x.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def _numpy_centred(x: Any) -> Any:
    d = x - x.mean(axis=1, keepdims=True)
    return d * (d * d).sum(axis=1, keepdims=True)


def _numpy_windows(x: Any) -> Any:
    d = np.exp(x)
    s = d[:, :-2] + d[:, 1:-1] + d[:, 2:]
    return s[:, :-1] - s[:, 1:]


def _numpy_stencils(x: Any) -> Any:
    s = x[:-2] + x[1:-1] + x[2:]
    return s[:, :-1] - s[:, 1:]


def _numpy_padded(x: Any) -> Any:
    p = np.pad(x, 1)
    return p[:-2, :-2] + p[2:, 2:]


def _even(a: int, b: int, c: int) -> bool:
    return b % 2 == 0


def _wide(a: int, b: int, c: int) -> bool:
    return a > 2 and b > 3


KINDS: dict[str, Odd] = {
    "matmul": Odd(_pair, lambda x, y: _matmul("C", x, y), lambda x, y: x @ y),
    "bias and relu": Odd(
        lambda a, b, c: [(a, b), (b, c), (c,)],
        _bias,
        lambda x, y, b: np.maximum(x @ y + b, 0),
    ),
    "chain": Odd(
        lambda a, b, c: [(a, b), (b, c), (c, a)], _chain, lambda x, y, z: np.exp(x @ y) @ z
    ),
    "squares": Odd(lambda a, b, c: [(a, b), (b, a)], _squares, lambda x, y: (x @ y) @ (x @ y)),
    "softmax": Odd(_one, _softmax, _soft),
    "centred": Odd(_one, _centred, _numpy_centred),
    "stencils": Odd(_one, _stencils, _numpy_stencils, _wide),
    "padded": Odd(_one, _padded, _numpy_padded),
    "grown": Odd(_one, _grown, lambda x: np.pad(x * x, ((0, 2), (0, 0)))),
    "convolution": Odd(
        lambda a, b, c: [(a + b - 1,), (b,)],
        _conv,
        lambda x, w: np.exp(np.convolve(2 * x, w[::-1], "valid")),
    ),
    "pooled": Odd(_one, _pooled, lambda x: 2 * np.maximum(x[:, ::2] ** 2, x[:, 1::2] ** 2), _even),
    "down": Odd(_one, _down, lambda x: 2 * (x[:, ::2] - x[:, 1::2]), _even),
    "up": Odd(_one, _up, lambda x: np.repeat(x * x, 2, axis=1)),
    "transposed": Odd(_one, _transposed, lambda x: 2 * np.exp(x.T)),
    "reversed": Odd(_one, _reversed, lambda x: np.exp(x[::-1, ::-1])),
    "reversed sum": Odd(_pair, _reversed_sum, lambda x, y: (x[:, ::-1] @ y) ** 2),
    "reshaped": Odd(_one, _reshaped, lambda x: np.exp(x).reshape(-1)),
    "diamond": Odd(_one, _diamond, lambda x: 2 * np.exp(x) ** 2),
    "both axes": Odd(_one, _both_axes, lambda x: np.array([(x * x).sum()])),
    "spread": Odd(_one, _spread, lambda x: np.repeat(x.sum(axis=1, keepdims=True) + x, 2, axis=0)),
    "windows": Odd(_one, _windows, _numpy_windows, _wide),
}
