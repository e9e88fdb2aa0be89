from __future__ import annotations

import importlib.util
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from small_graphs import relative_error

from mlc_course.errors import CourseError
from mlc_course.mugraph.ir import ops
from mlc_course.mugraph.ir.arithmetic import FLOAT64
from mlc_course.mugraph.ir.builder import Builder
from mlc_course.mugraph.ir.interpreter import run
from mlc_course.mugraph.ir.parser import parse

Array = NDArray[np.float64]
RNG = np.random.default_rng(20)
X, Y = RNG.standard_normal((2, 4, 6)), RNG.standard_normal((2, 4, 6))
POSITIVE = np.abs(X) + 0.1

# How an operator is written in a program, its operands, and what it means, in NumPy's own words.
FORMULAS: dict[str, list[tuple[str, tuple[Array, ...], Callable[..., Any]]]] = {
    "matmul": [
        ("matmul(A, B)", (X, Y.transpose(0, 2, 1)), lambda a, b: np.einsum("bij,bjk->bik", a, b)),
        ("matmul(A, B)", (X, Y[:1].transpose(0, 2, 1)), np.matmul),
        ("matmul(A, B)", (X[0], Y[0].T), np.dot),
    ],
    "add": [("add(A, B)", (X, Y), np.add), ("add(A, B)", (X, Y[:, :1]), np.add)],
    "sub": [("sub(A, B)", (X, Y), np.subtract), ("sub(A, B)", (X[:, :, :1], Y), np.subtract)],
    "mul": [("mul(A, B)", (X, Y), np.multiply)],
    "div": [("div(A, B)", (X, Y), np.divide), ("div(A, B)", (X, Y[:, :1]), np.divide)],
    "maximum": [("maximum(A, B)", (X, Y), np.maximum)],
    "neg": [("neg(A)", (X,), np.negative)],
    "exp": [("exp(A)", (X,), np.exp)],
    "log": [("log(A)", (POSITIVE,), np.log)],
    "square": [("square(A)", (X,), np.square)],
    "sqrt": [("sqrt(A)", (POSITIVE,), np.sqrt)],
    "sigmoid": [("sigmoid(A)", (X,), lambda x: (1 + np.tanh(x / 2)) / 2)],
    "silu": [("silu(A)", (X,), lambda x: x * (1 + np.tanh(x / 2)) / 2)],
    "tanh": [("tanh(A)", (X,), np.tanh)],
    "gelu": [
        (
            "gelu(A)",
            (X,),
            lambda x: 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3))),
        )
    ],
    "relu": [("relu(A)", (X,), lambda x: np.where(x > 0, x, 0))],
    "clamp": [("clamp(A, low=-1/2, high=0.75)", (X,), lambda x: np.clip(x, -0.5, 0.75))],
    "scale": [
        ("scale(A, by=-3/2)", (X,), lambda x: -1.5 * x),
        ("scale(A, by=1/sqrt(6))", (X,), lambda x: x / np.sqrt(6)),
    ],
    "shift": [("shift(A, by=1/4)", (X,), lambda x: x + 0.25)],
    "sum": [
        ("sum(A, axis=0)", (X,), lambda x: np.sum(x, 0, keepdims=True)),
        ("sum(A, axis=2)", (X,), lambda x: np.sum(x, 2, keepdims=True)),
    ],
    "mean": [("mean(A, axis=1)", (X,), lambda x: np.mean(x, 1, keepdims=True))],
    "max": [("max(A, axis=1)", (X,), lambda x: np.max(x, 1, keepdims=True))],
    "fold": [
        ("fold(A, axis=2, to=2)", (X,), lambda x: x[:, :, :2] + x[:, :, 2:4] + x[:, :, 4:]),
        ("fold(A, axis=1, to=1)", (X,), lambda x: np.sum(x, 1, keepdims=True)),
        ("fold(A, axis=0, to=2)", (X,), lambda x: x),
    ],
    "rms_norm": [
        (
            "rms_norm(A, axis=2)",
            (X,),
            lambda x: x * np.sqrt(6) / np.linalg.norm(x, axis=2, keepdims=True),
        ),
        (
            "rms_norm(A, axis=1, eps=1/100)",
            (X,),
            lambda x: x / np.sqrt(np.mean(x**2, 1, keepdims=True) + 0.01),
        ),
    ],
    "softmax": [
        (
            "softmax(A, axis=1)",
            (X,),
            lambda x: np.exp(x - np.logaddexp.reduce(x, axis=1, keepdims=True)),
        )
    ],
    "stable_softmax": [
        (
            "stable_softmax(A, axis=2)",
            (1000 * X,),
            lambda x: np.exp(x - np.logaddexp.reduce(x, axis=2, keepdims=True)),
        )
    ],
    "repeat": [("repeat(A, axis=1, times=3)", (X,), lambda x: np.tile(x, (1, 3, 1)))],
    "reshape": [("reshape(A, shape=[6, 8])", (X,), lambda x: x.ravel().reshape(6, 8))],
    "transpose": [("transpose(A, axes=[2, 0, 1])", (X,), lambda x: np.moveaxis(x, 2, 0))],
    "concat": [
        ("concat(A, B, axis=1)", (X, Y), lambda x, y: np.hstack([x, y])),
        ("concat(A, B, C, axis=0)", (X, Y, X), lambda *xs: np.vstack(xs)),
    ],
    "split": [("split(A, axis=2, parts=3, part=1)", (X,), lambda x: np.split(x, 3, axis=2)[1])],
    "accumulate": [
        ("accumulate(A)", (X,), lambda x: x[:, :2] + x[:, 2:]),
        ("accumulate(A, fmap={k: 2})", (X,), lambda x: np.dstack([x[:, :2], x[:, 2:]])),
    ],
    "accumulate_max": [("accumulate_max(A)", (X,), lambda x: np.maximum(x[:, :2], x[:, 2:]))],
    "accumulate_rescaled": [
        (
            "accumulate_rescaled(A, B)",
            (X, Y),
            lambda x, y: x[:, :2] * np.exp(y[:, :2] - y[:, 2:]) + x[:, 2:],
        )
    ],
    "running_max": [
        (
            "running_max(A)",
            (X,),
            lambda x: np.hstack([x[:, :2], np.maximum(x[:, :2], x[:, 2:])]),
        )
    ],
}


def _program(op: ops.Op, call: str, operands: tuple[Array, ...]) -> str:
    """One operator; a carried one in a block graph whose loop k cuts its operands on axis 1."""
    inputs = [f"{n}[{', '.join(map(str, x.shape))}]" for n, x in zip("ABC", operands, strict=False)]
    head = f"p({', '.join(inputs)}):"
    if not op.carried:
        return f"{head}\n  Z = {call}\n  return Z"
    loads = [f"    {n.lower()} = load({n}, fmap={{k: 1}})" for n in "ABC"[: len(operands)]]
    inside = call.replace("(A", "(a").replace(" B)", " b)")
    lines = [head, "  block grid(x=1) loop(k=2):", *loads, f"    z = {inside}"]
    if op.carried == "running":
        lines += ["    s = accumulate(z, fmap={k: 1})", "    Z = store(s)"]
    else:
        lines += ["    Z = store(z)"]
    return "\n".join([*lines, "  return Z"])


@pytest.mark.parametrize("op", ops.OPERATORS, ids=lambda op: op.name)
def test_an_operator_means_what_numpy_says(op: ops.Op) -> None:
    assert FORMULAS[op.name], "every operator has an independent formula"
    for call, operands, formula in FORMULAS[op.name]:
        graph = parse(_program(op, call, operands))
        (got,) = run(graph, dict(zip("ABC", operands, strict=False)))
        assert relative_error(got, formula(*operands)) < 1e-14, call


def test_every_name_is_one_operator() -> None:
    assert len(ops.BY_NAME) == len(ops.OPERATORS)
    assert FORMULAS.keys() == ops.BY_NAME.keys()


def test_defaults_are_of_attributes_that_there_are() -> None:
    for op in ops.OPERATORS:
        assert op.defaults.keys() <= op.attributes.keys()


@pytest.mark.parametrize(
    ("call", "words"),
    [
        ("add(A, B)", "the same number of axes, of equal extent or 1"),
        ("matmul(A, B)", "swap the last two axes of B"),
        ("concat(A, B, axis=1)", "equal on the other axes"),
        ("concat(A, B, axis=3)", "0 to 1"),
        ("sum(A, axis=2)", "0 to 1"),
        ("fold(A, axis=1, to=4)", "4 divides 6"),
        ("repeat(A, axis=0, times=1/2)", "a size is a whole number"),
        ("reshape(A, shape=[5, 5])", "24, as in (4, 6)"),
        ("transpose(A, axes=[0])", "each of 2 once"),
        ("split(A, axis=1, parts=4, part=0)", "parts that divide 6"),
        ("split(A, axis=1, parts=3, part=3)", "a part below them"),
        ("scale(A)", "scale: attributes"),
        ("exp(A, B)", "exp: operands"),
        ("concat(axis=0)", "concat: operands"),
    ],
)
def test_what_does_not_fit_is_refused(call: str, words: str) -> None:
    with pytest.raises(CourseError) as caught:
        parse(f"p(A[4, 6], B[3, 6]):\n  Z = {call}\n  return Z")
    assert words in str(caught.value)


SOFTPLUS = '''"""An operator of my own: a smooth relu."""

from mlc_course.mugraph.ir import Op, ops

softplus = Op(
    name="softplus",
    shape=ops.elementwise,
    meaning=lambda m, x: m.function("log", 1 + m.exp(x)),
)
'''


def test_a_student_adds_an_operator_in_one_short_file(tmp_path: Path) -> None:
    path = tmp_path / "my_operator.py"
    path.write_text(SOFTPLUS)
    assert len(SOFTPLUS.splitlines()) < 15
    spec = importlib.util.spec_from_file_location("my_operator", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    softplus = module.softplus

    builder = Builder("mine")
    x = builder.input("X", "4", "6")
    with builder.block(grid={"x": 2}) as block:
        tile = block.load(x, imap={"x": 0})
        z = block.store(softplus(tile).called("z"), omap={"x": 0}, name="Z")
    built = builder.returns(z)
    assert parse(str(built), [*ops.OPERATORS, softplus]) == built
    (got,) = run(built, {"X": X[0]})
    assert relative_error(got, np.logaddexp(0, X[0])) < 1e-15


def test_meanings_do_not_change_their_operands() -> None:
    for op in ops.OPERATORS:
        call, operands, _ = FORMULAS[op.name][0]
        before = [operand.copy() for operand in operands]
        run(parse(_program(op, call, operands)), dict(zip("ABC", operands, strict=False)), FLOAT64)
        assert all(map(np.array_equal, operands, before))
