"""The benchmark programs as an engineer writes them in NumPy: in place, with nothing allocated.

Each function takes the inputs of its program and returns a call without arguments, which computes
the output into arrays that it keeps. Divisions come after products, where they are fewer.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from mlc_course.mugraph.ir import FLOAT32, Array, KernelGraph, evaluate
from mlc_course.mugraph.programs.catalogue import workload

Call = Callable[[], Array]
FLOAT = np.float32


def _room(*shape: int) -> Array:
    return np.empty(shape, FLOAT)


def rms_norm_matmul(x: Array, g: Array, w: Array) -> Call:
    """RMSNorm with a gain, then a product."""
    scaled, y, extent = _room(*x.shape), _room(len(x), w.shape[1]), FLOAT(x.shape[1])

    def call() -> Array:
        rms = np.einsum("ij,ij->i", x, x)
        rms /= extent
        np.sqrt(rms, out=rms)
        np.multiply(x, g, out=scaled)
        np.divide(scaled, rms[:, None], out=scaled)
        return np.matmul(scaled, w, out=y)

    return call


def gated_mlp(x: Array, w1: Array, w2: Array) -> Call:
    """SiLU of one product, times another."""
    gate, up, y = (_room(len(x), w1.shape[1]) for _ in range(3))

    def call() -> Array:
        np.matmul(x, w1, out=gate)
        np.matmul(x, w2, out=up)
        np.negative(gate, out=y)
        np.exp(y, out=y)
        np.add(y, FLOAT(1), out=y)
        np.divide(gate, y, out=y)
        return np.multiply(y, up, out=y)

    return call


def lora(x: Array, w: Array, a: Array, b: Array) -> Call:
    """A product, and another by way of a low rank."""
    y, up, down = _room(len(x), w.shape[1]), _room(len(x), w.shape[1]), _room(len(x), a.shape[1])

    def call() -> Array:
        np.matmul(x, w, out=y)
        np.matmul(x, a, out=down)
        np.matmul(down, b, out=up)
        return np.add(y, up, out=y)

    return call


def _attention(
    q: Array, k: Array, v: Array, *, scale: float = 1.0, normed: bool = False, stable: bool = False
) -> Call:
    heads, rows, _ = q.shape
    scores, o = _room(heads, rows, k.shape[2]), _room(heads, rows, v.shape[2])
    queries, keys, of_row = _room(*q.shape), _room(*k.shape), _room(heads, rows, 1)

    def norms(formula: str, x: Array) -> Array:
        found = np.einsum(formula, x, x)
        found /= FLOAT(q.shape[2])
        return np.asarray(np.sqrt(found, out=found))

    def call() -> Array:
        left, right = q, k
        if normed:
            left = np.divide(q, norms("hmd,hmd->hm", q)[:, :, None], out=queries)
            right = np.divide(k, norms("hdn,hdn->hn", k)[:, None], out=keys)
        if scale != 1:
            left = np.multiply(left, FLOAT(scale), out=queries)
        np.matmul(left, right, out=scores)
        if stable:
            np.max(scores, axis=2, keepdims=True, out=of_row)
            np.subtract(scores, of_row, out=scores)
        np.exp(scores, out=scores)
        np.sum(scores, axis=2, keepdims=True, out=of_row)
        np.matmul(scores, v, out=o)
        return np.divide(o, of_row, out=o)

    return call


def gqa(q: Array, k: Array, v: Array) -> Call:
    """Attention without a scale and a maximum."""
    return _attention(q, k, v)


def qk_norm_attention(q: Array, k: Array, v: Array) -> Call:
    """Attention of normed queries and keys."""
    return _attention(q, k, v, normed=True)


def attention(q: Array, k: Array, v: Array) -> Call:
    """Attention without a maximum."""
    return _attention(q, k, v, scale=q.shape[2] ** -0.5)


def stable_attention(q: Array, k: Array, v: Array) -> Call:
    """Attention with the largest score of each row subtracted."""
    return _attention(q, k, v, scale=q.shape[2] ** -0.5, stable=True)


def n_trans(h: Array, x: Array, a: Array) -> Call:
    """A residual step of nGPT."""
    y, rms = _room(*h.shape), _room(len(h), 1)
    extent = FLOAT(h.shape[1])

    def norm(of: Array) -> Array:
        np.einsum("ij,ij->i", of, of, out=rms[:, 0])
        np.divide(rms, extent, out=rms)
        return np.asarray(np.sqrt(rms, out=rms))

    def call() -> Array:
        np.divide(h, norm(h), out=y)
        np.add(y, x, out=y)
        np.multiply(y, a, out=y)
        np.add(y, x, out=y)
        return np.divide(y, norm(y), out=y)

    return call


WRITTEN: Mapping[str, Callable[..., Call]] = {
    each.__name__: each
    for each in (
        rms_norm_matmul,
        gated_mlp,
        lora,
        gqa,
        qk_norm_attention,
        n_trans,
        attention,
        stable_attention,
    )
}


def in_numpy(program: KernelGraph, inputs: Mapping[str, Array]) -> Callable[[], Sequence[Array]]:
    """Return a call that computes a program in NumPy.

    A program of the benchmark is computed as an engineer writes it, any other one an operator at a
    time, also one that only has the name.
    """
    arrays = [inputs[each.name] for each in program.inputs]
    if _is_written(program):
        call = WRITTEN[program.name](*arrays)
        return lambda: [call()]
    return lambda: evaluate(program, arrays, FLOAT32)


def _is_written(program: KernelGraph) -> bool:
    """Tell whether this is a program of the benchmark, on any sizes."""
    name = program.name
    return name in WRITTEN and workload(name).resized(program.size_of) == program
