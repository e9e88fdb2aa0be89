"""The course's seven problems, each a function of its sizes."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from mlc_course.errors import SizeError, UsageError, check_known
from mlc_course.tensor_program.problems.workload import Array, Operand, Workload
from mlc_course.tensor_program.tir import te, tirx

# --- tensor expressions (TE) that several problems share ------------------------------------------


def contract(name: str, axes: str, left: te.Tensor, right: te.Tensor) -> te.Tensor:
    """TE for ``left @ right``; ``axes`` names its loops: row, column, reduction."""
    k = te.reduce_axis((0, left.shape[1]), name=axes[2])
    return te.compute(
        (left.shape[0], right.shape[1]),
        lambda *at: te.sum(left[at[0], k] * right[k, at[1]], axis=[k]),
        name=name,
        varargs_names=list(axes[:2]),
    )


def elementwise(name: str, source: te.Tensor, function: Callable[..., Any]) -> te.Tensor:
    """TE for ``function(source[i, j])``, with the loop names of the source."""
    names = [axis.var.name for axis in source.op.axis]
    return te.compute(
        source.shape, lambda *at: function(source[at]), name=name, varargs_names=names
    )


def placeholders(operands: tuple[Operand, ...]) -> list[te.Tensor]:
    """TE's inputs, in order."""
    return [te.placeholder(t.shape, name=t.name) for t in operands]


def linear(
    name: str, axes: str, x: te.Tensor, w: te.Tensor, b: te.Tensor, *, relu: bool
) -> te.Tensor:
    """TE for ``x w + b``, with relu or without: a matmul block and one elementwise block."""
    product = contract(f"{name}_matmul", axes, x, w)
    zero = tirx.const(0.0, "float32")

    def element(*at: Any) -> Any:
        total = product[at] + b[at[1]]
        return te.max(total, zero) if relu else total

    return te.compute(product.shape, element, name=name, varargs_names=list(axes[:2]))


# --- the problems ---------------------------------------------------------------------------------


def matmul_exp_matmul(M: int = 1024, K: int = 2048, L: int = 1024, N: int = 3072) -> Workload:
    """F = exp(A B) E, with A (M, K), B (K, L), E (L, N)."""
    # A B has deviation K * 0.02^2 / sqrt(K): below 0.1, so exp stays near one.
    operands = (Operand("A", (M, K), 0.02), Operand("B", (K, L), 0.02), Operand("E", (L, N)))
    between = np.empty((M, L), np.float32)

    def expression() -> list[te.Tensor]:
        a, b, e = placeholders(operands)
        c = contract("C", "mlk", a, b)
        return [a, b, e, contract("F", "mnl", elementwise("D", c, te.exp), e)]

    def numpy(a: Array, b: Array, e: Array, out: Array) -> None:
        np.matmul(a, b, out=between)
        np.exp(between, out=between)
        np.matmul(between, e, out=out)

    return Workload(
        name="matmul_exp_matmul",
        sizes={"M": M, "K": K, "L": L, "N": N},
        operands=operands,
        result=Operand("F", (M, N)),
        expression=expression,
        numpy=numpy,
        exact=lambda a, b, e: np.exp(a @ b) @ e,
        flops=2 * M * K * L + M * L + 2 * M * L * N,
    )


def matmul(M: int = 1024, K: int = 1024, N: int = 1024) -> Workload:
    """C = A B, with A (M, K), B (K, N)."""
    operands = (Operand("A", (M, K)), Operand("B", (K, N)))

    def expression() -> list[te.Tensor]:
        a, b = placeholders(operands)
        return [a, b, contract("C", "mnk", a, b)]

    return Workload(
        name="matmul",
        sizes={"M": M, "K": K, "N": N},
        operands=operands,
        result=Operand("C", (M, N)),
        expression=expression,
        numpy=lambda a, b, out: np.matmul(a, b, out=out),
        exact=lambda a, b: a @ b,
        flops=2 * M * K * N,
    )


def linear_relu(batch: int = 512, inputs: int = 1024, outputs: int = 1024) -> Workload:
    """R = max(X W + b, 0), with X (batch, inputs), W (inputs, outputs), b (outputs)."""
    operands = (
        Operand("X", (batch, inputs)),
        Operand("W", (inputs, outputs), inputs**-0.5),
        Operand("b", (outputs,)),
    )

    def expression() -> list[te.Tensor]:
        x, w, b = placeholders(operands)
        return [x, w, b, linear("R", "mnk", x, w, b, relu=True)]

    def numpy(x: Array, w: Array, b: Array, out: Array) -> None:
        np.matmul(x, w, out=out)
        np.add(out, b, out=out)
        np.maximum(out, 0, out=out)

    return Workload(
        name="linear_relu",
        sizes={"batch": batch, "inputs": inputs, "outputs": outputs},
        operands=operands,
        result=Operand("R", (batch, outputs)),
        expression=expression,
        numpy=numpy,
        exact=lambda x, w, b: np.maximum(x @ w + b, 0),
        flops=2 * batch * inputs * outputs + 2 * batch * outputs,
    )


def two_layer_network(
    batch: int = 256, inputs: int = 784, hidden: int = 200, outputs: int = 10
) -> Workload:
    """The article's first example: flattened images, linear and ReLU to 200, linear to 10."""
    operands = (
        Operand("X", (batch, inputs)),
        Operand("W1", (inputs, hidden), inputs**-0.5),
        Operand("b1", (hidden,)),
        Operand("W2", (hidden, outputs), hidden**-0.5),
        Operand("b2", (outputs,)),
    )
    between = np.empty((batch, hidden), np.float32)

    def expression() -> list[te.Tensor]:
        x, w1, b1, w2, b2 = placeholders(operands)
        h = linear("H", "mlk", x, w1, b1, relu=True)
        return [x, w1, b1, w2, b2, linear("Y", "mnl", h, w2, b2, relu=False)]

    def numpy(x: Array, w1: Array, b1: Array, w2: Array, b2: Array, out: Array) -> None:
        np.matmul(x, w1, out=between)
        np.add(between, b1, out=between)
        np.maximum(between, 0, out=between)
        np.matmul(between, w2, out=out)
        np.add(out, b2, out=out)

    layers = batch * (2 * inputs * hidden + 2 * hidden + 2 * hidden * outputs + outputs)
    return Workload(
        name="two_layer_network",
        sizes={"batch": batch, "inputs": inputs, "hidden": hidden, "outputs": outputs},
        operands=operands,
        result=Operand("Y", (batch, outputs)),
        expression=expression,
        numpy=numpy,
        exact=lambda x, w1, b1, w2, b2: np.maximum(x @ w1 + b1, 0) @ w2 + b2,
        flops=layers,
    )


def softmax(rows: int = 2048, columns: int = 2048) -> Workload:
    """P = softmax of each row of X (rows, columns), stable: the row's maximum is subtracted."""
    operands = (Operand("X", (rows, columns)),)

    def expression() -> list[te.Tensor]:
        (x,) = placeholders(operands)
        k = te.reduce_axis((0, columns), name="k")
        top = te.compute((rows,), lambda m: te.max(x[m, k], axis=[k]), name="Max")
        e = te.compute((rows, columns), lambda m, n: te.exp(x[m, n] - top[m]), name="Exp")
        j = te.reduce_axis((0, columns), name="k")
        total = te.compute((rows,), lambda m: te.sum(e[m, j], axis=[j]), name="Sum")
        return [x, te.compute((rows, columns), lambda m, n: e[m, n] / total[m], name="P")]

    def numpy(x: Array, out: Array) -> None:
        np.subtract(x, x.max(axis=1, keepdims=True), out=out)
        np.exp(out, out=out)
        np.divide(out, out.sum(axis=1, keepdims=True), out=out)

    def exact(x: Array) -> Array:
        e: Array = np.exp(x - x.max(axis=1, keepdims=True))
        e /= e.sum(axis=1, keepdims=True)
        return e

    return Workload(
        name="softmax",
        sizes={"rows": rows, "columns": columns},
        operands=operands,
        result=Operand("P", (rows, columns)),
        expression=expression,
        numpy=numpy,
        exact=exact,
        flops=5 * rows * columns,
    )


def rms_norm(rows: int = 2048, columns: int = 2048, epsilon: float = 1e-5) -> Workload:
    """Y = X / sqrt(mean(X^2) + epsilon) * G, row by row, with X (rows, columns), G (columns)."""
    operands = (Operand("X", (rows, columns)), Operand("G", (columns,)))

    def expression() -> list[te.Tensor]:
        x, g = placeholders(operands)
        k = te.reduce_axis((0, columns), name="k")
        total = te.compute((rows,), lambda m: te.sum(x[m, k] * x[m, k], axis=[k]), name="Sum")
        mean, offset = tirx.const(1 / columns, "float32"), tirx.const(epsilon, "float32")
        scale = te.compute((rows,), lambda m: te.rsqrt(total[m] * mean + offset), name="Scale")
        y = te.compute((rows, columns), lambda m, n: x[m, n] * scale[m] * g[n], name="Y")
        return [x, g, y]

    def numpy(x: Array, g: Array, out: Array) -> None:
        np.square(x, out=out)
        scale = 1 / np.sqrt(out.mean(axis=1, keepdims=True) + np.float32(epsilon))
        np.multiply(x, scale, out=out)
        np.multiply(out, g, out=out)

    return Workload(
        name="rms_norm",
        sizes={"rows": rows, "columns": columns},
        operands=operands,
        result=Operand("Y", (rows, columns)),
        expression=expression,
        numpy=numpy,
        exact=lambda x, g: x / np.sqrt((x * x).mean(axis=1, keepdims=True) + epsilon) * g,
        flops=4 * rows * columns + 3 * rows,
    )


def conv2d(
    C: int = 64,
    H: int = 58,
    W: int = 58,
    F: int = 64,
    R: int = 3,
    S: int = 3,
) -> Workload:
    """Y[f, h, w] = sum over c, r, s of X[c, h+r, w+s] K[f, c, r, s]; stride 1, no padding.

    NumPy's side copies the windows into a matrix and multiplies (im2col), its fastest way.
    """
    if not (1 <= R <= H and 1 <= S <= W):
        raise SizeError(
            "conv2d: the kernel does not fit into the image",
            expected="1 <= R <= H and 1 <= S <= W",
            got=f"R={R}, H={H}, S={S}, W={W}",
        )
    height, width = H - R + 1, W - S + 1
    operands = (Operand("X", (C, H, W)), Operand("K", (F, C, R, S), (C * R * S) ** -0.5))
    windows = np.empty((C, R, S, height, width), np.float32)

    def expression() -> list[te.Tensor]:
        x, kernel = placeholders(operands)
        c, r, s = (te.reduce_axis((0, n), name=a) for n, a in ((C, "c"), (R, "r"), (S, "s")))
        y = te.compute(
            (F, height, width),
            lambda f, h, w: te.sum(x[c, h + r, w + s] * kernel[f, c, r, s], axis=[c, r, s]),
            name="Y",
        )
        return [x, kernel, y]

    def unfold(x: Array) -> Array:
        windows: Array = sliding_window_view(x, (R, S), axis=(1, 2))
        return windows.transpose(0, 3, 4, 1, 2)

    def numpy(x: Array, kernel: Array, out: Array) -> None:
        np.copyto(windows, unfold(x))
        flat = windows.reshape(C * R * S, height * width)
        np.matmul(kernel.reshape(F, -1), flat, out=out.reshape(F, -1))

    return Workload(
        name="conv2d",
        sizes={"C": C, "H": H, "W": W, "F": F, "R": R, "S": S},
        operands=operands,
        result=Operand("Y", (F, height, width)),
        expression=expression,
        numpy=numpy,
        exact=lambda x, kernel: np.einsum("fcrs,crshw->fhw", kernel, unfold(x), optimize=True),
        flops=2 * F * height * width * C * R * S,
    )


WORKLOADS: dict[str, Callable[..., Workload]] = {
    make.__name__: make
    for make in (
        matmul_exp_matmul,
        matmul,
        linear_relu,
        two_layer_network,
        softmax,
        rms_norm,
        conv2d,
    )
}


def make_workload(name: str, sizes: tuple[int, ...] = ()) -> Workload:
    """The workload of this name; sizes in the order of its function, or its own if none are given.

    Raises ``UsageError`` for an unknown name or a wrong number of sizes, ``SizeError`` for a size
    below one.
    """
    check_known("no workload", name, WORKLOADS)
    make = WORKLOADS[name]
    wanted = [p.name for p in inspect.signature(make).parameters.values() if p.annotation == "int"]
    if sizes and len(sizes) != len(wanted):
        raise UsageError(f"{name}: wrong number of sizes", expected=",".join(wanted), got=sizes)
    if any(size < 1 for size in sizes):
        raise SizeError(f"{name}: a size is below one", expected="whole numbers >= 1", got=sizes)
    return make(*sizes)
