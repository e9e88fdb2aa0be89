"""Imported models of ONNX compute what ONNX's own reference does, at every size."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnx.parser
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

from mlc_course.dynamic_shape.importers import from_onnx, onnx_models, weights_of
from mlc_course.dynamic_shape.ir import Module, parse, parse_constraint, run, text
from mlc_course.dynamic_shape.solve import Facts, Proved, Solver
from mlc_course.errors import CourseError, ShapeError, UsageError

SIZES = ((1, 1, 1), (2, 3, 5), (7, 1, 2), (11, 13, 3), (1, 17, 4))  # of the names, in order


def read(signature: str, body: str, *, opset: int = 20) -> onnx.ModelProto:
    """A model in ONNX's text form: ``(inputs) => (results) <weights>`` and its nodes."""
    nodes = "\n".join(line.strip() for line in body.strip().splitlines())
    head = f'<ir_version: 10, opset_import: ["" : {opset}]>'
    return onnx.parser.parse_model(f"{head}\ng {signature} {{\n{nodes}\n}}")


def names_of(model: onnx.ModelProto) -> list[str]:
    dims = [dim for each in model.graph.input for dim in each.type.tensor_type.shape.dim]
    return list(dict.fromkeys(dim.dim_param for dim in dims if dim.dim_param))


def drawn(model: onnx.ModelProto, sizes: Mapping[str, int], seed: int) -> dict[str, Any]:
    """Inputs of the model, for the sizes of its names."""
    rng = np.random.default_rng(seed)
    found: dict[str, Any] = {}
    for each in model.graph.input:
        tensor = each.type.tensor_type
        shape = [sizes.get(dim.dim_param, dim.dim_value) for dim in tensor.shape.dim]
        dtype = helper.tensor_dtype_to_np_dtype(tensor.elem_type)
        if dtype == np.bool_:
            found[each.name] = rng.random(shape) < 0.5
        elif dtype.kind == "i":
            found[each.name] = rng.integers(0, 2, shape, dtype=dtype)
        else:
            found[each.name] = rng.uniform(0.3, 2, shape).astype(dtype)
    return found


def check(model: onnx.ModelProto, every: Sequence[Sequence[int]] = SIZES) -> Module:
    """Run the model as ONNX does and as we do; the import must survive the text form."""
    module, weights, names = from_onnx(model), weights_of(model), names_of(model)
    assert parse(text(module)) == module
    reference = ReferenceEvaluator(model)
    for seed, sizes in enumerate(every):
        inputs = drawn(model, dict(zip(names, sizes, strict=False)), seed)
        with np.errstate(over="ignore"):  # of e to what is large, for a sigmoid
            ours, theirs = run(module, inputs | weights), reference.run(None, inputs)
        for got, wanted in zip(ours, theirs, strict=True):
            assert (got.shape, got.dtype) == (np.shape(wanted), np.asarray(wanted).dtype)
            rough = got.dtype == np.float16
            np.testing.assert_allclose(
                got, wanted, rtol=2e-2 if rough else 2e-5, atol=1e-2 if rough else 2e-6
            )
    return module


def is_proved(module: Module, claim: str) -> bool:
    solver = Solver(Facts({dim.name: dim for dim in module.dims}, module.facts()))
    return isinstance(solver.ask(parse_constraint(claim)), Proved)


R = "(float[B,S] x) => (float[?,?] y)"
X = "(float[B,S,4] x) => (float[?,?,?] y)"
XX = "(float[B,S,4] x, float[B,S,4] z) => (float[?,?,?] y)"
ELEMENTWISE = {
    **dict.fromkeys(("Exp", "Log", "Sqrt", "Reciprocal", "Tanh", "Erf", "Sigmoid", "Neg"), X),
    **dict.fromkeys(("Abs", "Sin", "Cos", "Round", "Relu", "Gelu", "Identity", "Softmax"), X),
    **dict.fromkeys(("Add", "Sub", "Mul", "Div", "Pow", "Max", "Min"), XX),
}


@pytest.mark.parametrize("op", ELEMENTWISE)
def test_elementwise_operators(op: str) -> None:
    operands = "x, z" if ELEMENTWISE[op] == XX else "x"
    check(read(ELEMENTWISE[op], f"y = {op}({operands})", opset=22))


@pytest.mark.parametrize("op", ["Less", "LessOrEqual", "Greater", "GreaterOrEqual", "Equal"])
def test_comparisons(op: str) -> None:
    check(read("(float[B,S] x, float[S] z) => (bool[?,?] y)", f"y = {op}(x, z)"))
    check(read("(int64[B,S] x, int64[B,1] z) => (bool[?,?] y)", f"y = {op}(x, z)"))
    model = read("(float[N] x, float[N] z) => (bool[?] y)", f"y = {op}(x, z)")
    given = {"x": np.array([np.nan, 1, 2], "f4"), "z": np.array([1, np.nan, 2], "f4")}
    (wanted,) = ReferenceEvaluator(model).run(None, given)
    assert run(from_onnx(model), given)[0].tolist() == wanted.tolist()


@pytest.mark.parametrize("op", ["And", "Or", "Xor"])
def test_truth_values(op: str) -> None:
    check(read("(bool[B,S] x, bool[S] z) => (bool[?,?] y)", f"t = {op}(x, z)\ny = Not(t)"))


CASES = {
    # broadcasting
    "axes in front": ("(float[B,S] x, float[S] z) => (float[?,?] y)", "y = Add(x, z)"),
    "axes on both sides": (
        "(float[B,1,S] x, float[1,T,1] z) => (float[?,?,?] y)",
        "y = Sub(x, z)",
    ),
    "a number": ("(float[B,S] x, float z) => (float[?,?] y)", "y = Div(z, x)"),
    "one element of higher rank": (
        "(float[B] x, float[1,1,1] z) => (float[?,?,?] y)",
        "y = Mul(x, z)",
    ),
    "three at once": (
        "(float[B,1] x, float[S] z, float w) => (float[?,?] y)",
        "y = Max(x, z, w)",
    ),
    "where": (
        "(bool[B,1] c, float[S] x, float z) => (float[?,?] y)",
        "y = Where(c, x, z)",
    ),
    "whole numbers": (
        "(int32[B] x, int32[B] z) => (int32[?] y) <int32 one = {1}>",
        "t = Add(z, one)\ny = Div(x, t)",
    ),
    # numbers
    "clip": (
        "(float[B,S] x) => (float[?,?] y) <float low = {0.5}, float high = {1}>",
        "y = Clip(x, low, high)",
    ),
    "clip at one end": (
        "(float[B,S] x, float low) => (float[?,?] y, float[?,?] z)",
        "y = Clip(x, low)\nz = Clip(x, , low)",
    ),
    "gelu by tanh": (X, 'y = Gelu<approximate = "tanh">(x)'),
    "square": (X + " <int64[1] two = {2}>", "y = Pow(x, two)"),
    "cast": (
        "(float[B] x) => (int32[?] y, bool[?] z, double[?] w)",
        "y = Cast<to = 6>(x)\nz = Cast<to = 9>(y)\nw = Cast<to = 11>(z)",
    ),
    "constants are computed": (
        "(float[B] x) => (float[?] y) <float[1] d = {64.0}>",
        "r = Sqrt(d)\ni = Reciprocal(r)\ny = Mul(x, i)",
    ),
    # rows
    "softmax of a middle axis": (
        "(float16[B,S,T] x) => (float16[?,?,?] y)",
        "y = Softmax<axis = 1>(x)",
    ),
    "layer norm": (
        "(float[B,S,4] x, float[4] g, float[4] b) => (float[?,?,?] y)",
        "y = LayerNormalization<epsilon = 0.001>(x, g, b)",
    ),
    "layer norm of two axes": (
        "(float[B,S,4] x, float[S,4] g) => (float[?,?,?] y)",
        "y = LayerNormalization<axis = 1>(x, g)",
    ),
    "layer norm of 16 bits": (
        "(float16[B,S] x, float16[S] g) => (float16[?,?] y)",
        "y = LayerNormalization(x, g)",
    ),
    "rms norm": (
        "(float[B,S,4] x, float[4] g) => (float[?,?,?] y)",
        "y = RMSNormalization(x, g)",
    ),
    "all axes": ("(float[B,S] x) => (float y)", "y = ReduceSum<keepdims = 0>(x)"),
    "axes in an operand": (
        "(float[B,S,4] x) => (float[?,?,?] y) <int64[2] a = {-1, 0}>",
        "y = ReduceMax(x, a)",
    ),
    "no axes, no reduction": (
        "(float[B,S] x) => (float[?,?] y)",
        "y = ReduceMean<noop_with_empty_axes = 1>(x)",
    ),
    "the smallest": (
        "(float[B,S] x) => (float[?] y) <int64[1] a = {0}>",
        "y = ReduceMin<keepdims = 0>(x, a)",
    ),
    # sizes
    "0 and -1": (X + " <int64[3] t = {0, -1, 2}>", "y = Reshape(x, t)"),
    "all in one": ("(float[B,S] x) => (float[?] y) <int64[1] t = {-1}>", "y = Reshape(x, t)"),
    "a target of sizes": (
        "(float[B,S,4] x) => (float[?,?,?,?] y) <int64[1] h = {2}, int64[1] m = {-1}>",
        """b = Shape<start = 0, end = 1>(x)
        s = Shape<start = 1, end = 2>(x)
        t = Concat<axis = 0>(b, h, s, m)
        y = Reshape(x, t)""",
    ),
    "a product of sizes": (
        "(float[B,S,4] x) => (float[?,?] y) <int64 i = {0}, int64 j = {1}, int64[1] a = {0}, "
        "int64[1] four = {4}>",
        """s = Shape(x)
        b = Gather(s, i)
        t = Gather(s, j)
        p = Mul(b, t)
        u = Unsqueeze(p, a)
        w = Concat<axis = 0>(u, four)
        y = Reshape(x, w)""",
    ),
    "a product by ReduceProd": (
        "(float[B,S,4] x) => (float[?,?] y) <int64[1] m = {-1}>",
        """s = Shape<end = -1>(x)
        p = ReduceProd(s)
        w = Concat<axis = 0>(p, m)
        y = Reshape(x, w)""",
    ),
    "flatten": (
        "(float[B,S,4] x) => (float[?,?] y, float[?,?] z)",
        "y = Flatten<axis = 2>(x)\nz = Flatten<axis = 0>(x)",
    ),
    "squeeze": (
        "(float[B,1,S,1] x) => (float[?,?,?] y, float[?,?,?,?,?] z) "
        "<int64[1] a = {-1}, int64[2] b = {0, -1}>",
        "y = Squeeze(x, a)\nz = Unsqueeze(y, b)",
    ),
    "expand": (
        "(float[B,1,4] x, float[S,1] z) => (float[?,?,?] y)",
        "s = Shape(z)\ny = Expand(x, s)",
    ),
    "expand by a product with ones": (
        "(float[B,1] x, float[S] z) => (float[?,?] y) <int64[1] o = {1}>",
        """s = Shape(z)
        t = Concat<axis = 0>(o, s)
        y = Expand(x, t)""",
    ),
    "expand unless it is -1": (  # as PyTorch writes it
        "(float[B,1] x, float[S] z) => (float[?,?] y) "
        "<int64[1] m = {-1}, int64[2] minus = {-1, -1}>",
        """s = Shape(z)
        t = Concat<axis = 0>(m, s)
        n = Shape(t)
        ones = ConstantOfShape<value = int64[1] {1}>(n)
        is = Equal(t, minus)
        u = Where(is, ones, t)
        y = Expand(x, u)""",
    ),
    "a filled tensor": (
        "(float[B,S] x) => (float[?,?] y)",
        """s = Shape(x)
        f = ConstantOfShape<value = float[1] {2.5}>(s)
        y = Pow(f, x)""",
    ),
    "counted": (
        "(float[B,S] x) => (int64[?] y) <int64 z = {0}, int64 o = {1}, int64 i = {1}>",
        """s = Shape(x)
        n = Gather(s, i)
        y = Range(z, n, o)""",
    ),
    "counted from another size on": (
        "(float[B,S] x) => (int64[?] y) <int64 i = {0}, int64 j = {1}, int64 o = {1}>",
        """s = Shape(x)
        p = Gather(s, i)
        n = Gather(s, j)
        e = Add(p, n)
        y = Range(p, e, o)""",
    ),
    "counted in steps": (
        "(float[B] x) => (float[?] y) <float z = {1.0}, float e = {8.0}, float d = {3.0}>",
        "r = Range(z, e, d)\nt = ReduceSum(r)\ny = Mul(x, t)",
    ),
    "sizes as results": (
        "(float[B,S] x) => (int64[?] y, int64 z, float w)",
        """y = Shape(x)
        z = Size(x)
        f = Cast<to = 1>(z)
        w = Sqrt(f)""",
    ),
    "the shape of what is not needed": (
        "(float[B,S,4] x) => (float[?,?] y) <int64[2] m = {-1, 6}, float[6] w = {1,2,3,4,5,6}>",
        """r = Reshape(x, m)
        v = Add(r, w)
        s = Shape(v)
        y = ConstantOfShape(s)""",
    ),
    # moves
    "transpose": (X, "t = Transpose(x)\ny = Transpose<perm = [1, 2, 0]>(t)"),
    "a shape in another order": (
        "(float[B,S] x) => (float[?,?] y) "
        "<int64[1] m = {-1}, int64[1] e = {-100}, int64[1] a = {0}>",
        "s = Shape(x)\nt = Slice(s, m, e, a, m)\ny = Reshape(x, t)",
    ),
    "a choice by one size": (
        "(float[B,S] x) => (float[?,?] y) <int64 three = {3}, int64 i = {1}>",
        """s = Shape(x)
        n = Gather(s, i)
        w = Equal(n, three)
        t = Neg(x)
        y = Where(w, x, t)""",
    ),
    "a choice by size": (
        "(float[B,S] x) => (float[?,?] y, bool w) <int64 three = {3}, int64 i = {1}>",
        """s = Shape(x)
        n = Gather(s, i)
        w = Less(n, three)
        t = Neg(x)
        y = Where(w, x, t)""",
    ),
    "concat": (
        "(float[B,S] x, float[B,T] z) => (float[?,?] y)",
        "y = Concat<axis = -1>(x, z, x)",
    ),
    "slice": (
        "(float[B,S,4] x) => (float[?,?,?] y) "
        "<int64[2] a = {0, 1}, int64[2] e = {9223372036854775807, 3}, int64[2] n = {1, -1}>",
        "y = Slice(x, a, e, n)",
    ),
    "slice to the last": (
        "(float[B,S] x) => (float[?,?] y) <int64[1] a = {-1}, int64[1] e = {2147483647}>",
        "y = Slice(x, a, e, a)",
    ),
    "every second, backwards": (
        "(float[B,6] x) => (float[?,?] y, float[?,?] z) <int64[1] o = {1}, int64[1] e = {100}, "
        "int64[1] a = {-1}, int64[1] b = {-100}, int64[1] s = {2}>",
        "y = Slice(x, o, e, o, s)\nz = Slice(x, a, b, o, a)",
    ),
    "split": (
        "(float[B,S,4] x) => (float[?,?,?] y, float[?,?,?] z)",
        "y, z = Split<axis = -1, num_outputs = 2>(x)",
    ),
    "split unevenly": (
        "(float[B,7] x) => (float[?,?] y, float[?,?] z, float[?,?] u, float[?,?] v) "
        "<int64[2] p = {3, 4}>",
        "y, z = Split<axis = 1>(x, p)\nu, v = Split<axis = 1, num_outputs = 2>(x)",
    ),
    "split a concat by its sizes": (
        "(float[B,S] x, float[T,S] z) => (float[?,?] y, float[?,?] v)",
        """c = Concat<axis = 0>(x, z)
        p = Shape<start = 0, end = 1>(x)
        q = Shape<start = 0, end = 1>(z)
        t = Concat<axis = 0>(q, p)
        y, v = Split<axis = 0>(c, t)""",
    ),
    "pad": (
        "(float[B,S] x) => (float[?,?] y, float[?,?] z) "
        "<int64[4] p = {0, 1, 2, 0}, int64[2] q = {3, 1}, float v = {-1.5}, int64[1] a = {-1}>",
        "y = Pad(x, p, v)\nz = Pad(x, q, , a)",
    ),
    "gather": (
        "(float[4,S] x, int64[B,T] i) => (float[?,?,?] y)",
        "y = Gather(x, i)",
    ),
    "gather along the last axis": (
        "(float[B,S,4] x, int32[T] i) => (float[?,?,?] y)",
        "y = Gather<axis = -1>(x, i)",
    ),
    "gather one": (
        "(float[B,S,4] x) => (float[?,?] y, float[?,?] z, float[?,?,?] w) "
        "<int64 l = {-1}, int64 o = {2}, int64[3] m = {3, -1, 0}>",
        "y = Gather<axis = 1>(x, l)\nz = Gather<axis = 2>(x, o)\nw = Gather<axis = 2>(x, m)",
    ),
    "gather the last of an unknown size": (
        "(float[B,S] x) => (float[?,?] y) <int64[2] m = {-1, 0}>",
        "y = Gather<axis = 1>(x, m)",
    ),
    "triangles": (
        "(float[B,S,T] x) => (float[?,?,?] y, float[?,?,?] z) <int64 k = {1}, int64 n = {-1}>",
        "y = Trilu<upper = 0>(x, n)\nz = Trilu(x, k)",
    ),
    # products
    "matrices": (
        "(float[B,S,4] x, float[4,T] z) => (float[?,?,?] y)",
        "y = MatMul(x, z)",
    ),
    "batches": (
        "(float[B,1,3,4] x, float[S,4,T] z) => (float[?,?,?,?] y)",
        "y = MatMul(x, z)",
    ),
    "vectors": (
        "(float[B,S] x, float[S] z, float[B] w) => (float[?] y, float[?] v, float u)",
        "y = MatMul(x, z)\nv = MatMul(w, x)\nu = MatMul(z, z)",
    ),
    "gemm": (
        "(float[4,B] x, float[S,4] z, float[S] c) => (float[?,?] y)",
        "y = Gemm<transA = 1, transB = 1, alpha = 0.5, beta = 2.0>(x, z, c)",
    ),
    "dropout": (X, "y = Dropout(x)"),
}


@pytest.mark.parametrize("case", CASES)
def test_a_model_computes_what_onnx_does(case: str) -> None:
    signature, body = CASES[case]
    every = [(3 * b, s, t) for b, s, t in SIZES] if "not needed" in case else SIZES
    check(read(signature, body, opset=24), every)


def test_axes_may_be_attributes_in_older_models() -> None:
    body = "m = ReduceMax<axes = [-1], keepdims = 0>(x)\ny = ReduceMean<axes = [0]>(m)"
    check(read("(float[B,S,4] x) => (float[?,?] y)", body, opset=13))


def test_a_swish_of_the_newest_set() -> None:
    check(read(X, "y = Swish<alpha = 1.5>(x)", opset=24))


# Models.


def weight(name: str, *shape: int) -> onnx.TensorProto:
    rng = np.random.default_rng(sum(map(ord, name)))
    return numpy_helper.from_array(rng.uniform(-0.5, 0.5, shape).astype("f4"), name)


def with_weights(model: onnx.ModelProto, **shapes: tuple[int, ...]) -> onnx.ModelProto:
    model.graph.initializer.extend(weight(name, *shape) for name, shape in shapes.items())
    return model


def bert_layer() -> onnx.ModelProto:
    """Attention and a perceptron, with shapes computed as exporters write them."""
    model = read(
        "(float[batch,seq,8] x, int64[batch,seq] mask) => (float[batch,seq,8] y) "
        "<int64 i0 = {0}, int64 i1 = {1}, int64[1] a0 = {0}, int64[2] a12 = {1, 2}, "
        "int64[1] heads = {2}, int64[1] depth = {4}, int64[1] rest = {-1}, float one = {1.0}, "
        "float lowest = {-3.4028235e38}, float four = {4.0}, float half = {0.5}, "
        "float root = {1.4142135}>",
        """
        shape = Shape(x)
        b = Gather(shape, i0)
        s = Gather(shape, i1)
        bu = Unsqueeze(b, a0)
        su = Unsqueeze(s, a0)
        apart = Concat<axis = 0>(bu, su, heads, depth)
        joined = Concat<axis = 0>(bu, su, rest)
        qm = MatMul(x, wq)
        qb = Add(bq, qm)
        qr = Reshape(qb, apart)
        q = Transpose<perm = [0, 2, 1, 3]>(qr)
        km = MatMul(x, wk)
        kr = Reshape(km, apart)
        k = Transpose<perm = [0, 2, 3, 1]>(kr)
        vm = MatMul(x, wv)
        vr = Reshape(vm, apart)
        v = Transpose<perm = [0, 2, 1, 3]>(vr)
        raw = MatMul(q, k)
        size = Sqrt(four)
        scores = Div(raw, size)
        mu = Unsqueeze(mask, a12)
        mf = Cast<to = 1>(mu)
        off = Sub(one, mf)
        away = Mul(off, lowest)
        masked = Add(scores, away)
        p = Softmax<axis = -1>(masked)
        o = MatMul(p, v)
        ot = Transpose<perm = [0, 2, 1, 3]>(o)
        oj = Reshape(ot, joined)
        om = MatMul(oj, wo)
        res = Add(x, om)
        n = LayerNormalization<epsilon = 0.00001>(res, g, bias)
        up = MatMul(n, w1)
        d = Div(up, root)
        e = Erf(d)
        f = Add(e, one)
        h = Mul(up, f)
        act = Mul(h, half)
        down = MatMul(act, w2)
        y = Add(n, down)
        """,
    )
    square = dict.fromkeys(("wq", "wk", "wv", "wo"), (8, 8))
    return with_weights(model, **square, bq=(8,), g=(8,), bias=(8,), w1=(8, 16), w2=(16, 8))


def causal_softmax() -> onnx.ModelProto:
    """Scores of ``seq`` new positions over ``past`` and new ones."""
    return read(
        "(float[batch,2,seq,total] x, float[batch,past] cache) => (float[?,?,?,?] y) "
        "<int64 i0 = {0}, int64 i1 = {1}, int64 i2 = {2}, int64[1] a1 = {1}, "
        "float low = {-10000.0}, float scale = {0.125}>",
        """
        shape = Shape(x)
        s = Gather(shape, i2)
        cs = Shape(cache)
        p = Gather(cs, i1)
        t = Add(p, s)
        rows = Range(p, t, i1)
        columns = Range(i0, t, i1)
        upright = Unsqueeze(rows, a1)
        later = Greater(columns, upright)
        scaled = Mul(x, scale)
        masked = Where(later, low, scaled)
        y = Softmax<axis = -1>(masked)
        """,
    )


def llama_block() -> onnx.ModelProto:
    """Norm, rotary attention with a cache of keys and values, and a gated perceptron."""
    model = read(
        "(float[batch,seq,8] x, float[batch,2,past,4] old_k, float[batch,2,past,4] old_v, "
        "int64[batch,seq] at) => (float[batch,seq,8] y, float[batch,2,total,4] new_k) "
        "<int64[4] apart = {0, 0, 2, 4}, int64[3] joined = {0, 0, 8}, float two = {2.0}, "
        "float eps = {0.000001}, int64[1] last = {-1}, int64[1] a0 = {0}, int64[1] a1 = {1}, "
        "int64[1] mid = {2}, int64[1] end = {9223372036854775807}, float scale = {0.5}, "
        "float[1,1,2] freq = {1.0, 0.01}>",
        """
        sq = Pow(x, two)
        ms = ReduceMean(sq, last)
        me = Add(ms, eps)
        rt = Sqrt(me)
        inv = Reciprocal(rt)
        xn = Mul(x, inv)
        n = Mul(g1, xn)
        qm = MatMul(n, wq)
        qr = Reshape(qm, apart)
        q = Transpose<perm = [0, 2, 1, 3]>(qr)
        km = MatMul(n, wk)
        kr = Reshape(km, apart)
        k = Transpose<perm = [0, 2, 1, 3]>(kr)
        vm = MatMul(n, wv)
        vr = Reshape(vm, apart)
        v = Transpose<perm = [0, 2, 1, 3]>(vr)
        atf = Cast<to = 1>(at)
        atu = Unsqueeze(atf, last)
        angle = MatMul(atu, freq)
        both = Concat<axis = -1>(angle, angle)
        wide = Unsqueeze(both, a1)
        cos = Cos(wide)
        sin = Sin(wide)
        q1 = Slice(q, a0, mid, last)
        q2 = Slice(q, mid, end, last)
        qn = Neg(q2)
        qt = Concat<axis = -1>(qn, q1)
        qc = Mul(q, cos)
        qs = Mul(qt, sin)
        qrot = Add(qc, qs)
        k1, k2 = Split<axis = -1, num_outputs = 2>(k)
        kn = Neg(k2)
        kt = Concat<axis = -1>(kn, k1)
        kc = Mul(k, cos)
        ks = Mul(kt, sin)
        krot = Add(kc, ks)
        new_k = Concat<axis = 2>(old_k, krot)
        new_v = Concat<axis = 2>(old_v, v)
        kT = Transpose<perm = [0, 1, 3, 2]>(new_k)
        raw = MatMul(qrot, kT)
        scores = Mul(raw, scale)
        p = Softmax<axis = -1>(scores)
        o = MatMul(p, new_v)
        ot = Transpose<perm = [0, 2, 1, 3]>(o)
        oj = Reshape(ot, joined)
        om = MatMul(oj, wo)
        res = Add(x, om)
        n2 = RMSNormalization(res, g2)
        gate = MatMul(n2, w1)
        up = MatMul(n2, w3)
        sg = Sigmoid(gate)
        act = Mul(gate, sg)
        h = Mul(act, up)
        down = MatMul(h, w2)
        y = Add(res, down)
        """,
        opset=23,
    )
    square = dict.fromkeys(("wq", "wk", "wv", "wo"), (8, 8))
    return with_weights(model, **square, g1=(8,), g2=(8,), w1=(8, 12), w3=(8, 12), w2=(12, 8))


def test_a_layer_of_bert() -> None:
    module = check(bert_layer())
    assert [dim.name for dim in module.dims] == ["batch", "seq"]
    assert {op.op.name for op in module.function.equations} >= {"broadcast", "matmul", "erf"}
    assert not {"shape_of", "gather", "concat"} & {op.op.name for op in module.function.equations}
    assert {"wq", "bq", "w2"} < weights_of(bert_layer()).keys()


def test_a_causal_softmax_ties_past_and_new_to_all() -> None:
    every = [(2, s, p + s, p) for s, p in ((1, 1), (3, 5), (7, 2), (1, 13))]
    module = check(causal_softmax(), every)
    assert is_proved(module, "total == past + seq")
    with pytest.raises(ShapeError, match="a constraint does not hold"):
        run(module, drawn(causal_softmax(), {"batch": 2, "seq": 3, "total": 7, "past": 5}, 0))


def test_a_block_of_llama() -> None:
    module = check(llama_block(), [(1, 1, 1), (2, 3, 5), (5, 1, 7)])
    assert is_proved(module, "total == past + seq")
    assert not is_proved(module, "past == seq")


# Chains that are drawn. At these sizes, two axes are as long as each other only by their meaning.

DRAWN = {"B": 29, "S": 37}
CHAIN_OPS = (
    *("Relu", "Tanh", "Sigmoid", "Neg", "Abs", "Sin", "Softmax"),
    *("Add", "Sub", "Mul", "Max", "Min", "Add", "Mul"),
    *("Transpose", "Rows", "Join", "Concat", "Columns", "Slice", "Unsqueeze", "Gather", "Pad"),
    *("ReduceSum", "ReduceMax", "ReduceMean", "MatMul", "Split", "Expand"),
)


class Chain:
    """A model that grows node by node; arrays at the sizes above say what fits."""

    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)
        self.nodes: list[onnx.NodeProto] = []
        self.weights: list[onnx.TensorProto] = []
        self.arrays: dict[str, np.ndarray[Any, Any]] = {}
        self.inputs = {"x": ("B", "S", 4), "z": ("S", 4), "w": ("B", 1, 1)}
        for name, dims in self.inputs.items():
            shape = [DRAWN.get(str(dim), dim) for dim in dims]
            self.arrays[name] = self.rng.standard_normal(shape)

    def constant(self, *values: int) -> str:
        name = f"c{len(self.weights)}"
        self.weights.append(numpy_helper.from_array(np.array(values, "i8"), name))
        return name

    def add(self, op: str, operands: Sequence[str], results: int = 1, **given: Any) -> list[str]:
        names = [f"v{len(self.arrays) + at}" for at in range(results)]
        node = helper.make_node(op, operands, names, **given)
        known = {each.name: numpy_helper.to_array(each) for each in self.weights}
        feeds = {name: (self.arrays | known)[name] for name in operands if name}
        found = ReferenceEvaluator(node, opsets={"": 20}).run(None, feeds)
        self.nodes.append(node)
        self.arrays |= dict(zip(names, map(np.asarray, found), strict=True))
        return names

    def tame(self) -> None:
        """Keep numbers small enough to be multiplied often."""
        last = list(self.arrays)[-1]
        if self.arrays[last].dtype == np.float64 and np.abs(self.arrays[last]).max() > 20:
            self.add("Tanh", [last])

    def pick(self, *, rank: int = 1) -> str:
        fit = [
            name
            for name, array in self.arrays.items()
            if array.dtype == np.float64 and array.ndim >= rank and array.size < 30_000
        ]
        recent = fit[-6:]
        return str(self.rng.choice(recent))

    def grow(self, op: str) -> None:
        name = self.pick(rank=2)
        shape = self.arrays[name].shape
        axis = int(self.rng.integers(len(shape)))
        match op:
            case "Add" | "Sub" | "Mul" | "Max" | "Min":
                others = [each for each in self.arrays if self.meets(name, each)]
                self.add(op, [name, str(self.rng.choice(others))])
            case "Transpose":
                self.add(op, [name], perm=self.rng.permutation(len(shape)).tolist())
            case "Softmax":
                self.add(op, [name], axis=axis)
            case "Rows":  # all axes but the last are one
                if shape[-1] == 4:
                    self.add("Reshape", [name, self.constant(-1, 4)])
                else:
                    self.add("Flatten", [name], axis=len(shape) - 1)
            case "Join":  # the first two axes are one, by sizes that the model computes
                (size,) = self.add("Shape", [name])
                first = self.add("Gather", [size, self.constant(0)])
                second = self.add("Gather", [size, self.constant(1)])
                (both,) = self.add("Mul", [*first, *second])
                (others,) = self.add("Shape", [name], start=2)
                (target,) = self.add("Concat", [both, others], axis=0)
                self.add("Reshape", [name, target])
            case "Concat":
                self.add(op, [name] * int(self.rng.integers(1, 4)), axis=axis)
            case "Columns":
                (long,) = self.add("Concat", [name, name], axis=axis)
                (size,) = self.add("Shape", [name], start=axis, end=axis + 1)
                end = self.constant(2**63 - 1)
                self.add("Slice", [long, size, end, self.constant(axis)])
            case "Slice":
                (long,) = self.add("Concat", [name, name], axis=axis)
                self.add(
                    op, [long, self.constant(1), self.constant(2**63 - 1), self.constant(axis)]
                )
            case "Unsqueeze":
                if len(shape) < 4:
                    self.add(op, [name, self.constant(axis)])
            case "Gather":
                self.add(op, [name, self.constant(0)], axis=axis)
            case "Pad":
                (only,) = self.add("Gather", [name, self.constant(-1)], axis=axis)
                low, high = map(int, self.rng.integers(0, 3, 2))
                self.add(op, [only, self.constant(low, high), "", self.constant(axis)])
            case "ReduceSum" | "ReduceMax" | "ReduceMean":
                keep = int(self.rng.integers(2))
                self.add(op, [name, self.constant(axis)], keepdims=keep)
            case "MatMul":
                order = [*range(len(shape) - 2), len(shape) - 1, len(shape) - 2]
                (turned,) = self.add("Transpose", [name], perm=order)
                (scaled,) = self.add("Tanh", [turned])
                self.add(op, [self.add("Tanh", [name])[0], scaled])
            case "Split":
                (long,) = self.add("Concat", [name, name], axis=axis)
                self.add(op, [long], 2, axis=axis, num_outputs=2)
            case "Expand":
                (less,) = self.add("ReduceMax", [name, self.constant(axis)])
                (size,) = self.add("Shape", [name])
                self.add(op, [less, size])
            case _:
                self.add(op, [name])

    def meets(self, one: str, other: str) -> bool:
        """Whether two tensors can be broadcast to one that is no larger."""
        a, b = self.arrays[one], self.arrays[other]
        if a.dtype != b.dtype or a.ndim < b.ndim:
            return False
        own = a.shape[a.ndim - b.ndim :]
        return all(size in (1, to) for size, to in zip(b.shape, own, strict=True))

    def model(self) -> onnx.ModelProto:
        name, array = list(self.arrays.items())[-1]
        dtype = helper.np_dtype_to_tensor_dtype(array.dtype)
        results = [helper.make_tensor_value_info(name, dtype, [None] * array.ndim)]
        inputs = [
            helper.make_tensor_value_info(each, TensorProto.DOUBLE, dims)
            for each, dims in self.inputs.items()
        ]
        graph = helper.make_graph(self.nodes, "chain", inputs, results, self.weights)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)])


def chain(seed: int, count: int) -> onnx.ModelProto:
    found = Chain(seed)
    for _ in range(count):
        found.grow(str(found.rng.choice(CHAIN_OPS)))
        found.tame()
    return found.model()


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32), st.integers(1, 9))
def test_chains_that_are_drawn_compute_what_onnx_does(seed: int, count: int) -> None:
    check(chain(seed, count), [(1, 1), (2, 3), (5, 1), (1, 7), (3, 11)])


# What is said of sizes.


def test_one_name_is_one_size_and_no_name_is_none_of_the_others() -> None:
    model = read("(float[n,?] x, float[?,m] z, float[m,n] w) => (float[?,?] y)", "y = MatMul(w, x)")
    module = from_onnx(model)
    dims = [each.type.dims for each in module.function.inputs]
    assert dims == [("n", "S1"), ("S2", "m"), ("m", "n")]


def test_a_name_that_is_no_name_of_ours_is_one_size_all_the_same() -> None:
    model = read("(float[a,b] x, float[a] z) => (float[?,?] y)", "y = Relu(x)")
    for each in model.graph.input:
        each.type.tensor_type.shape.dim[0].dim_param = "batch size"
    model.graph.input[0].name = model.graph.node[0].input[0] = "input.1"
    module = from_onnx(model)
    (first, _), (again,) = (each.type.dims for each in module.function.inputs)
    assert first == again and first != "b"
    assert [each.name for each in module.function.inputs] == ["input_1", "z"]


def test_a_formula_in_place_of_a_name_is_a_fact_if_its_names_are_sizes() -> None:
    model = read("(float[b,s] x, float[t] z) => (float[?,?] y)", "y = Relu(x)")
    dim = model.graph.input[1].type.tensor_type.shape.dim[0]
    dim.dim_param = "2*s + b"
    assert is_proved(from_onnx(model), "S2 == 2*s + b") or is_proved(
        from_onnx(model), "S0 == 2*s + b"
    )
    dim.dim_param = "batch-size"
    assert not from_onnx(model).facts()


def test_what_the_model_says_of_its_results_is_known() -> None:
    model = read(
        "(float[b,s] x, float[b,p] z) => (float[b,t] y, float[b,t] w)",
        "y = Concat<axis = 1>(x, z)\nw = Concat<axis = 1>(z, x)",
    )
    module = check(model)
    assert is_proved(module, "t == s + p")
    assert [dim.name for dim in module.dims] == ["b", "s", "p", "t"]
    told = from_onnx(read("(float[b,s] x) => (float[s,s] y)", "y = Relu(x)"))
    assert is_proved(told, "b == s")


def test_sizes_that_meet_are_stated_to_be_equal() -> None:
    model = read("(float[B] x, float[S] z) => (float[?] y)", "y = Add(x, z)")
    module = from_onnx(model)
    assert is_proved(module, "B == S")
    with pytest.raises(ShapeError, match="a constraint does not hold"):
        run(module, {"x": np.ones(1, "f4"), "z": np.ones(3, "f4")})  # ONNX would repeat x


def test_what_is_sliced_off_a_table_must_be_in_it() -> None:
    model = read(
        "(float[B,S] x, float[8] table) => (float[?,?] y) <int64[1] z = {0}, int64[1] o = {1}>",
        "n = Shape<start = 1>(x)\nt = Slice(table, z, n)\ny = Add(x, t)",
    )
    module = check(model, [(1, 1), (2, 3), (2, 7), (5, 8)])
    assert is_proved(module, "S < 9")
    with pytest.raises(ShapeError, match="a constraint does not hold"):
        run(module, {"x": np.ones((1, 9), "f4"), "table": np.ones(8, "f4")})


def test_weights_that_may_be_replaced_are_inputs_with_a_value() -> None:
    model = read("(float[B] x, float[1] w) => (float[?] y) <float[1] w = {3}>", "y = Mul(x, w)")
    module, weights = from_onnx(model), weights_of(model)
    assert [each.name for each in module.function.inputs] == ["x", "w"]
    assert weights["w"].tolist() == [3]
    assert run(module, {"x": np.ones(2, "f4"), "w": np.full(1, 5, "f4")})[0].tolist() == [5, 5]


def test_a_function_of_the_model_is_read_through(tmp_path: Path) -> None:
    inner = onnx.parser.parse_function(
        '<opset_import: ["" : 20], domain: "mine"> twice (a) => (b) { b = Add(a, a) }'
    )
    model = read("(float[B] x) => (float[?] y)", "y = mine.twice(x)")
    model.functions.append(inner)
    model.opset_import.append(helper.make_opsetid("mine", 1))
    path = tmp_path / "model.onnx"
    onnx.save(model, path)
    assert run(from_onnx(path), {"x": np.ones(3, "f4")})[0].tolist() == [2, 2, 2]


def test_a_slice_that_ends_before_the_last_needs_two() -> None:
    model = read(
        "(float[B,S] x) => (float[?,?] y) <int64[1] z = {0}, int64[1] e = {-1}, int64[1] a = {1}>",
        "y = Slice(x, z, e, a)",
    )
    module = check(model, [(1, 2), (2, 3), (5, 7)])
    (nothing,) = run(module, {"x": np.ones((1, 1), "f4")})
    assert nothing.shape == (1, 0)  # as in ONNX


OUTSIDE = {
    "the last two": (
        R + " <int64[1] z = {-2}, int64[1] e = {9223372036854775807}, int64[1] a = {1}>",
        "y = Slice(x, z, e, a)",
    ),
    "the second": (
        "(float[B,S] x) => (float[?] y) <int64 i = {1}>",
        "y = Gather<axis = 1>(x, i)",
    ),
}


@pytest.mark.parametrize("case", OUTSIDE)
def test_what_is_taken_must_be_inside(case: str) -> None:
    module = check(read(*OUTSIDE[case]), [(1, 2), (2, 3), (5, 7)])
    assert is_proved(module, "S > 1")
    with pytest.raises(ShapeError, match="a constraint does not hold"):
        run(module, {"x": np.ones((1, 1), "f4")})  # one is left in ONNX, or it is an error


def test_an_end_that_may_be_inside_is_stated_not_to_be() -> None:
    weights = " <int64[1] z = {1}, int64[1] e = {2147483647}, int64[1] a = {1}>"
    module = check(read(R + weights, "y = Slice(x, z, e, a)"), [(1, 2), (5, 7)])
    assert is_proved(module, "S < 2147483648")


def test_what_is_left_of_a_size_is_one_size_wherever_it_is_computed() -> None:
    model = read(
        "(float[N] x, float[N] z) => (float[?,?] y) <int64[2] t = {-1, 6}>",
        "a = Reshape(x, t)\nb = Reshape(z, t)\ny = Add(a, b)",
    )
    module = check(model, [(6,), (12,), (42,)])
    assert len(module.dims) == 2


def test_a_target_of_an_expansion_is_as_long_as_what_is_expanded() -> None:
    model = read("(float[B] x, float[S] z) => (float[?] y)", "s = Shape(z)\ny = Expand(x, s)")
    module = check(model, [(1, 1), (3, 3)])
    assert is_proved(module, "B == S")


def test_sums_of_16_bits_are_made_in_32() -> None:
    model = read(
        "(float16[B,S] x, float16[S] g) => (float16[?,?] y)", "y = LayerNormalization(x, g)"
    )
    given = {"x": np.array([[300, -300, 500]], "f2"), "g": np.ones(3, "f2")}
    wide = given["x"].astype("f8") - given["x"].mean(dtype="f8")
    wanted = wide / np.sqrt((wide**2).mean())  # the reference computes in 16 bits here
    np.testing.assert_allclose(run(from_onnx(model), given)[0], wanted, rtol=1e-2)


def test_a_number_that_no_text_can_say_is_an_input() -> None:
    model = read("(float[B] x) => (float[?] y)", "y = Add(x, nan)")
    model.graph.initializer.append(numpy_helper.from_array(np.float32(np.nan), "nan"))
    module = check(model)
    assert [each.name for each in module.function.inputs] == ["x", "nan"]


def test_an_attribute_that_nobody_reads_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(onnx_models.OPERATORS, "Softmax", lambda to, call: call.operand(0))
    with pytest.raises(UsageError, match="Softmax: an attribute"):
        from_onnx(read(R, "y = Softmax<axis = 0>(x)"))


def test_weights_may_be_in_files_beside_the_model(tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    model = with_weights(read("(float[B,8] x) => (float[?,?] y)", "y = MatMul(x, w)"), w=(8, 300))
    wanted = weights_of(model)["w"]
    onnx.save(model, path, save_as_external_data=True, location="weights.bin", size_threshold=0)
    assert (weights_of(path)["w"] == wanted).all()
    loaded = onnx.load(path, load_external_data=False)
    with pytest.raises(UsageError, match="w"):
        from_onnx(loaded)


# What is refused.

REFUSED: dict[str, tuple[str, str, str]] = {
    "other operators": ("(float[B,3,8,8] x, float[4,3,3,3] w) => (float[?,?,?,?] y)",)
    + ("y = Conv(x, w)", "y: no operator Conv"),
    "other domains": (R, "y = com.microsoft.Gelu(x)", "no operator com.microsoft.Gelu"),
    "a computed target": (
        "(float[B,S] x, int64[2] t) => (float[?,?] y)",
        "y = Reshape(x, t)",
        "Reshape: operand 1",
    ),
    "half of a size": (
        R + " <int64 two = {2}, int64 i = {1}, int64[1] a = {0}, int64[1] m = {-1}>",
        """s = Shape(x)
        n = Gather(s, i)
        h = Div(n, two)
        u = Unsqueeze(h, a)
        t = Concat<axis = 0>(u, m)
        y = Reshape(x, t)""",
        "Div of i64",
    ),
    "whole numbers that are divided": (
        "(int64[B] x, int64[B] z) => (int64[?] y)",
        "y = Div(x, z)",
        "Div of i64",
    ),
    "as many elements": (
        "(float[2,3] x) => (float[?] y) <int64[1] t = {7}>",
        "y = Reshape(x, t)",
        "Reshape: elements",
    ),
    "no whole number of rows": (
        "(float[2,3] x) => (float[?,?] y) <int64[2] t = {-1, 4}>",
        "y = Reshape(x, t)",
        "a size",
    ),
    "known sizes that differ": (
        "(float[B,3] x, float[4] z) => (float[?,?] y)",
        "y = Add(x, z)",
        "add: sizes",
    ),
    "sizes that are never equal": (
        "(float[S] x, float[1] o) => (float[?] y)",
        "l = Concat<axis = 0>(x, o)\ny = Add(x, l)",
        "has the size 1 in the model",
    ),
    "a matrix that does not fit": (
        "(float[B,3] x, float[4,5] z) => (float[?,?] y)",
        "y = MatMul(x, z)",
        "a matrix product",
    ),
    "a size that is kept where there is none": (
        R + " <int64[3] t = {0, 0, 0}>",
        "y = Reshape(x, t)",
        "Reshape: a size",
    ),
    "a size that is 0": (R + " <int64[2] t = {0, -1}>",)
    + ("y = Reshape<allowzero = 1>(x, t)", "Reshape: a size"),
    "a target that is chosen by size": (
        R + " <int64 two = {2}, int64 i = {1}, int64[1] a = {0}, int64[1] m = {-1}>",
        """s = Shape(x)
        n = Gather(s, i)
        h = Min(n, two)
        u = Unsqueeze(h, a)
        t = Concat<axis = 0>(u, m)
        y = Reshape(x, t)""",
        "Reshape: operand 1",
    ),
    "which axes to squeeze": (R, "y = Squeeze(x)", "no axes"),
    "an axis that is not 1": (
        "(float[B,4] x) => (float[?] y) <int64[1] a = {1}>",
        "y = Squeeze(x, a)",
        "Squeeze",
    ),
    "an axis too many": (R, "y = Softmax<axis = 2>(x)", "Softmax: axis"),
    "steps along an unknown size": (
        R + " <int64[1] z = {0}, int64[1] e = {9223372036854775807}, int64[1] a = {1}, "
        "int64[1] two = {2}>",
        "y = Slice(x, z, e, a, two)",
        "Slice: a step",
    ),
    "nothing that is left": (
        "(float[B,4] x) => (float[?,?] y) <int64[1] e = {0}, int64[1] a = {1}>",
        "y = Slice(x, e, e, a)",
        "Slice: a size",
    ),
    "a length that is rounded": (
        "(float[B] x) => (int64[?] y) <int64 z = {0}, int64 two = {2}>",
        "n = Size(x)\ny = Range(z, n, two)",
        "Range: its length",
    ),
    "a length that is computed": (
        "(int64 n) => (int64[?] y) <int64 z = {0}, int64 o = {1}>",
        "y = Range(z, n, o)",
        "Range: operand 1",
    ),
    "other kinds of padding": (
        R + " <int64[4] p = {0, 0, 0, 1}>",
        'y = Pad<mode = "reflect">(x, p)',
        "Pad: mode",
    ),
    "padding that takes away": (R + " <int64[4] p = {0, 0, 0, -1}>", "y = Pad(x, p)", "Pad: pads"),
    "an index out of range": (
        "(float[B,4] x) => (float[?] y) <int64 i = {4}>",
        "y = Gather<axis = 1>(x, i)",
        "Gather",
    ),
    "parts that are not equal": (
        "(float[B,7] x) => (float[?,?] y, float[?,?] z) <int64[2] p = {3, 3}>",
        "y, z = Split<axis = 1>(x, p)",
        "Split",
    ),
    "a mean of whole numbers": (
        "(int32[B] x) => (int32[?] y)",
        "y = ReduceMean(x)",
        "ReduceMean: the mean",
    ),
    "dropout at random": (
        R + " <float r = {0.5}, bool t = {1}>",
        "y = Dropout(x, r, t)",
        "Dropout: training_mode",
    ),
    "a second result": (
        "(float[B,4] x, float[4] g) => (float[?,?] y, float[?,?] m)",
        "y, m = LayerNormalization(x, g)",
        "LayerNormalization: results",
    ),
    "other element types": ("(uint8[B] x) => (uint8[?] y)", "y = Identity(x)", "element type"),
    "casts to others": (R, "y = Cast<to = 16>(x)", "element type"),
    "a size of 0": ("(float[B,0] x) => (float[?,?] y)", "y = Relu(x)", "a size"),
    "results of another size": (
        "(float[B,4] x) => (float[B,5] y)",
        "y = Relu(x)",
        "result y: sizes",
    ),
    "results of another rank": ("(float[B,4] x) => (float[B] y)", "y = Relu(x)", "result y: rank"),
    "a value that is not there": (R, "y = Add(x, nothing)", "no sound model"),
    "a triangle of a vector": ("(float[B] x) => (float[?] y)", "y = Trilu(x)", "axis"),
    "floats and whole numbers at once": (
        "(float[B] x, int64[B] z) => (float[?] y)",
        "y = Mul(x, z)",
        "mul: element types",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_be_imported_is_refused_by_name(case: str) -> None:
    signature, body, what = REFUSED[case]
    with pytest.raises((ShapeError, UsageError), match=what) as refused:
        from_onnx(read(signature, body, opset=20))
    nodes = read(signature, body).graph.node
    told = "\n".join([str(refused.value), *getattr(refused.value, "__notes__", [])])
    assert any(each.op_type in told or each.output[0] in told for each in nodes) or (
        what in ("no sound model", "element type", "a size")
    )


def test_other_operator_sets_are_refused() -> None:
    with pytest.raises(UsageError, match="operator set") as refused:
        from_onnx(read(R, "y = Softmax(x)", opset=12))
    assert "convert_version" in str(refused.value)
    model = read(R, "y = Softmax(x)", opset=12)
    model.opset_import[0].domain = "ai.onnx"
    with pytest.raises(UsageError, match="operator set"):
        from_onnx(model)


def test_a_file_that_is_no_model_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    with pytest.raises(UsageError, match="no model of ONNX"):
        from_onnx(path)
    path.write_bytes(b"\xff\xfe no model")
    with pytest.raises(CourseError):
        from_onnx(path)
    path.write_bytes(b"")
    with pytest.raises(CourseError):
        from_onnx(path)
