"""Imported models of ONNX compute what ONNX's own reference does, at every size."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import onnx
import onnx.parser
import pytest
from onnx import helper
from onnx.reference import ReferenceEvaluator

from mlc_course.dynamic_shape.importers import from_onnx, weights_of
from mlc_course.dynamic_shape.ir import Module, parse, parse_constraint, run, text
from mlc_course.dynamic_shape.solve import Facts, Proved, Solver

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
            found[each.name] = rng.integers(0, 3, shape, dtype=dtype)
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
        ours = run(module, inputs | weights)
        for got, wanted in zip(ours, reference.run(None, inputs), strict=True):
            assert (got.shape, got.dtype) == (np.shape(wanted), np.asarray(wanted).dtype)
            rough = got.dtype == np.float16
            np.testing.assert_allclose(
                got, wanted, rtol=2e-2 if rough else 2e-5, atol=1e-2 if rough else 2e-6
            )
    return module


def is_proved(module: Module, claim: str) -> bool:
    solver = Solver(Facts({dim.name: dim for dim in module.dims}, module.facts()))
    return isinstance(solver.ask(parse_constraint(claim)), Proved)


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
