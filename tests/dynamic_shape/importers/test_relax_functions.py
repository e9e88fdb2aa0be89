"""Imported functions of Relax compute what TVM does with them, at every size."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tvm
from tvm import relax, tirx
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T

from mlc_course.dynamic_shape.importers import from_relax
from mlc_course.dynamic_shape.ir import Eq, Module, MulEq, ProductEq, parse, run, said, text
from mlc_course.dynamic_shape.solve import Facts, Proved, Solver
from mlc_course.errors import UsageError
from mlc_course.tensor_program.tir import compile_graph


@I.ir_module
class Attention:
    @R.function
    def main(
        x: R.Tensor(("b", "s", 12), "float32"),
        gain: R.Tensor((12,), "float32"),
        weights: R.Tensor((12, 36), "float32"),
        mask: R.Tensor(("s", "s"), "float32"),
    ):
        b = T.int64()
        s = T.int64()
        with R.dataflow():
            normal = R.nn.rms_norm(x, gain, axes=[-1])
            rows = R.reshape(normal, R.shape([b * s, 12]))
            joint = R.reshape(R.matmul(rows, weights), R.shape([b, s, 3, 2, 6]))
            turned = R.permute_dims(joint, axes=[2, 0, 3, 1, 4])
            parts = R.split(turned, 3, axis=0)
            q = R.squeeze(parts[0], axis=[0])
            k = R.squeeze(parts[1], axis=[0])
            v = R.squeeze(parts[2], axis=[0])
            scores = R.matmul(q, R.permute_dims(k, axes=[0, 1, 3, 2]))
            masked = R.add(R.multiply(scores, R.const(0.4, "float32")), mask)
            mixed = R.matmul(R.nn.softmax(masked, axis=-1), v)
            back = R.reshape(R.permute_dims(mixed, axes=[0, 2, 1, 3]), R.shape([b, s, 12]))
            out = R.add(x, back)
            longer = R.concat([out, x], axis=1)
            R.output(out, longer)
        return (out, longer)


@I.ir_module
class Pieces:
    @R.function
    def main(
        x: R.Tensor(("n", "m"), "float32"),
        gamma: R.Tensor(("m",), "float32"),
        beta: R.Tensor(("m",), "float32"),
    ):
        with R.dataflow():
            a = R.nn.layer_norm(x, gamma, beta, axes=[-1])
            b = R.nn.gelu(a)
            c = R.maximum(R.nn.silu(b), R.nn.relu(x))
            d = R.divide(
                c, R.add(R.sum(R.abs(c), axis=[1], keepdims=True), R.const(1.0, "float32"))
            )
            e = R.subtract(R.max(d, axis=[0]), R.mean(d, axis=[0]))
            f = R.multiply(R.expand_dims(e, axis=0), R.exp(d))
            R.output(f)
        return f


def facts(module: Module) -> Solver:
    return Solver(Facts({dim.name: dim for dim in module.dims}, module.facts()))


@pytest.mark.parametrize("sizes", [(1, 1), (2, 5), (3, 8)])
def test_attention_computes_what_tvm_does(sizes: tuple[int, int]) -> None:
    b, s = sizes
    rng = np.random.default_rng(0)
    given = {
        "x": rng.standard_normal((b, s, 12), dtype="f4"),
        "gain": rng.standard_normal(12, dtype="f4"),
        "weights": rng.standard_normal((12, 36), dtype="f4") / 4,
        "mask": rng.standard_normal((s, s), dtype="f4"),
    }
    check(Attention, given)


@pytest.mark.parametrize("sizes", [(1, 3), (4, 7), (13, 2)])
def test_pieces_compute_what_tvm_does(sizes: tuple[int, int]) -> None:
    rng = np.random.default_rng(1)
    given = {"x": rng.standard_normal(sizes, dtype="f4")}
    given |= {name: rng.standard_normal(sizes[1], dtype="f4") for name in ("gamma", "beta")}
    check(Pieces, given)


def check(graph: Any, given: dict[str, Any]) -> None:
    found = compile_graph(graph)(*map(tvm.runtime.tensor, given.values()))
    wanted = found if hasattr(found, "__len__") and not hasattr(found, "shape") else [found]
    for got, ours in zip(run(from_relax(graph), given, exact=True), wanted, strict=True):
        np.testing.assert_allclose(got, np.asarray(ours.numpy()), rtol=2e-4, atol=2e-5)


def test_sizes_that_relax_writes_as_expressions_become_constraints() -> None:
    module = from_relax(Attention)
    assert [dim.name for dim in module.dims][:2] == ["b", "s"]
    assert MulEq("S2", ("b", "s")) in module.constraints
    assert "S3 == s*2" in {said(each) for each in module.constraints}
    assert parse(text(module)) == module
    solver = facts(module)
    for claim in (ProductEq(("S2", 12), ("b", "s", 12)), MulEq("S3", ("s", 2))):
        assert isinstance(solver.ask(claim), Proved)
    assert not isinstance(solver.ask(Eq("b", "s")), Proved)


def test_what_is_not_ours_is_refused() -> None:
    @I.ir_module
    class Convolution:
        @R.function
        def main(
            x: R.Tensor(("n", 3, 8, 8), "float32"),
            w: R.Tensor((4, 3, 3, 3), "float32"),
        ):
            with R.dataflow():
                y = R.nn.conv2d(x, w)
                R.output(y)
            return y

    @I.ir_module
    class Halves:
        @R.function
        def main(x: R.Tensor(("n", 4), "float32")):
            with R.dataflow():
                parts = R.split(x, 2, axis=0)
                y = parts[0]
                R.output(y)
            return y

    with pytest.raises(UsageError, match="no operator nn.conv2d"):
        from_relax(Convolution)
    with pytest.raises(UsageError, match="depends on rounding"):
        from_relax(Halves)


@I.ir_module
class OtherAxes:
    @R.function
    def main(
        x: R.Tensor(("n", 4, "k"), "float32"),
        gamma: R.Tensor((4,), "float32"),
        beta: R.Tensor((4,), "float32"),
        scale: R.Tensor((), "float32"),
    ):
        n = T.int64()
        with R.dataflow():
            a = R.nn.layer_norm(x, gamma, beta, axes=[1])
            b = R.sum(R.broadcast_to(scale, R.shape([n])))
            parts = R.split(a, 2, axis=1)
            other = parts
            c = R.add(R.multiply(other[0], b), other[1])
            R.output(c)
        return c


@pytest.mark.parametrize("sizes", [(2, 3), (3, 4)])
def test_weights_go_to_the_axes_that_are_normalized(sizes: tuple[int, int]) -> None:
    n, k = sizes
    rng = np.random.default_rng(2)
    given: dict[str, Any] = {"x": rng.standard_normal((n, 4, k), dtype="f4")}
    given |= {name: rng.standard_normal(4, dtype="f4") for name in ("gamma", "beta")}
    given["scale"] = np.float32(1.5).reshape(())
    check(OtherAxes, given)
    assert not isinstance(facts(from_relax(OtherAxes)).ask(Eq("k", 4)), Proved)


def made(params: Any, body: Any) -> Any:
    """A function of Relax, from what is done with its parameters."""
    builder = relax.BlockBuilder()
    with builder.function("main", params):
        with builder.dataflow():
            out = builder.emit_output(body(builder, *params))
        builder.emit_func_output(out)
    return builder.get()


def tensor(name: str, *sizes: Any) -> Any:
    return relax.Var(name, relax.TensorType(sizes, "float32"))


def test_two_variables_of_one_name_are_two_dimensions() -> None:
    one, other = (tirx.Var("n", "int64") for _ in range(2))
    x, y = tensor("x", one), tensor("y", other)
    graph = made([x, y], lambda builder, x, y: builder.emit(relax.op.concat([x, y], axis=0)))
    module = from_relax(graph)
    given = {"x": np.ones(2, "f4"), "y": np.zeros(3, "f4")}
    assert run(module, given)[0].tolist() == [1, 1, 0, 0, 0]


def test_a_size_that_rounds_up_to_1_is_refused() -> None:
    n = tirx.Var("n", "int64")
    x, y = tensor("x", n), tensor("y", tirx.max(n - 3, 1))
    graph = made([x, y], lambda builder, x, y: builder.emit(relax.op.exp(y)))
    with pytest.raises(UsageError, match="depends on rounding"):
        from_relax(graph)


def test_parts_that_are_not_equal_are_refused() -> None:
    x = tensor("x", 7)
    graph = made([x], lambda builder, x: builder.emit(relax.op.split(x, 3))[0])
    with pytest.raises(UsageError, match="split"):
        from_relax(graph)


def test_a_truth_value_survives_the_text_form() -> None:
    x = relax.Var("x", relax.TensorType([2], "bool"))

    def chosen(builder: Any, x: Any) -> Any:
        return builder.emit(relax.op.where(x, relax.const(True, "bool"), x))

    module = from_relax(made([x], chosen))
    assert parse(text(module)) == module
    assert run(module, {"x": np.array([True, False])})[0].tolist() == [True, False]
