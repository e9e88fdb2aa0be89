"""A model of ONNX as a module; its ``dim_param`` become dimensions, and what it computes of its
sizes is computed with symbols."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from mlc_course.dynamic_shape.importers.known_values import (
    SHORT,
    SMALL,
    WHOLE,
    Array,
    KnownValues,
    Value,
    each_of,
    known_sizes,
    weight_of,
)
from mlc_course.dynamic_shape.importers.size_expressions import (
    Expression,
    Sizes,
    is_at_least,
    may_be_equal,
    product_of,
    whole,
)
from mlc_course.dynamic_shape.ir import (
    DTYPES,
    LARGEST,
    AffineEq,
    Dim,
    Module,
    MulEq,
    Type,
    is_name,
    parse_constraint,
)
from mlc_course.errors import CourseError, MissingPackage, ShapeError, UsageError
from mlc_course.extras import on_demand

if TYPE_CHECKING:
    import onnx
    import onnx.inliner
    import onnx.numpy_helper

    Source = str | os.PathLike[str] | onnx.ModelProto
else:
    onnx = on_demand("onnx", "onnx")
    Source = Any
OWN_DOMAINS = ("", "ai.onnx")
OLDEST = 13  # of the operator sets; before it, axes and broadcasting had other rules
EXACT = 2**11  # whole numbers up to it are floats of 16 bits
NO_END = 2**31 - 1  # exporters write it, or more, for the end of an axis


def from_onnx(source: Source) -> Module:
    """Return a model of ONNX, from a file or loaded, with the size of each ``dim_param`` unknown.

    Small arrays that say how to reshape, slice or pad are read; each other weight becomes an input
    after those of the model (``weights_of`` has its value). Two unknown sizes that meet are taken
    to be equal, slices and indices to be inside of their axis, and what the model says of the
    sizes of its results to be true: ``run`` refuses other sizes.

    Raises ``UsageError`` for a file that is no model, an operator that is not among ``OPERATORS``,
    or one whose result has a shape that does not follow from sizes, and ``ShapeError`` for sizes
    that never fit.
    """
    return _Reader(_loaded(source)).read()


def weights_of(source: Source) -> dict[str, Array]:
    """Return the values of those inputs of ``from_onnx`` that the model comes with, by name.

    Raises what ``from_onnx`` raises.
    """
    reader = _Reader(_loaded(source))
    reader.read()
    return reader.weights


def _loaded(source: Source) -> onnx.ModelProto:
    try:
        model = source if isinstance(source, onnx.ModelProto) else onnx.load(os.fspath(source))
        if model.functions:
            model = onnx.inliner.inline_local_functions(model)
        return model
    except MissingPackage:
        raise
    except Exception as error:  # of the file, of protobuf, or of what inlines functions
        raise UsageError("no model of ONNX", expected="an .onnx file", got=error) from None


@dataclass
class _Call:
    """A node of the model, with what is known of its operands."""

    op: str
    operands: Sequence[Value | None]
    attributes: Mapping[str, Any]
    results: int
    read: set[str] = field(default_factory=set)  # attributes; others are refused

    def operand(self, at: int) -> Value:
        """Return an operand that must be there."""
        found = self.maybe(at)
        if found is None:
            raise UsageError(f"{self.op}: operand {at}", expected="a tensor", got="none")
        return found

    def maybe(self, at: int) -> Value | None:
        """Return an operand, or None where it is left out."""
        return self.operands[at] if at < len(self.operands) else None

    def get(self, name: str, default: Any = None) -> Any:
        """Return an attribute."""
        self.read.add(name)
        found = self.attributes.get(name, default)
        return found.decode() if isinstance(found, bytes) else found

    def refused(self, what: str, *, expected: str, got: object, hint: str = "") -> UsageError:
        """Return the error for what cannot be imported."""
        return UsageError(f"{self.op}: {what}", expected=expected, got=got, hint=hint or None)


class _Reader(KnownValues):
    def __init__(self, model: onnx.ModelProto) -> None:
        graph = model.graph
        self.model = model
        self.own = _params(graph.input)  # sizes that inputs have
        name = graph.name if is_name(graph.name) else "main"
        super().__init__(name, Sizes(self.own | _params(graph.output)))
        self.params: dict[str, Dim] = {}  # what the model calls its sizes
        self.names: dict[str, str] = {}  # of results' sizes that had none
        self.values: dict[str, Value] = {}

    def read(self) -> Module:
        self.check()
        graph = self.model.graph
        weights = {each.name: _array(each) for each in graph.initializer}
        for each in graph.input:
            if each.name not in weights:
                self.values[each.name] = self.given(each)
            elif self.model.ir_version >= 4:  # a default, in place of which another may be given
                self.values[each.name] = self.given(each)
                self.weights[self.inputs[-1].name] = weights.pop(each.name)
        given = len(self.inputs)
        for name, array in weights.items():
            self.values[name] = weight_of(array, name)
        for node in graph.node:
            self.call(node)
        results = [self.number(self.values[each.name]) for each in graph.output]
        for each, result in zip(graph.output, results, strict=True):
            self.declared(each, self.types(result).dims)
        results = self.without_unread(results, given)
        self.rename(self.names)
        dims = [self.names.get(name, name) for name in self.sizes.expressions]
        return self.module(results, dims, self.sizes.constraints)

    def check(self) -> None:
        """Raise ``UsageError`` for a model whose operators are not all known here."""
        graph = self.model.graph
        for node in graph.node:
            name = node.op_type if node.domain in OWN_DOMAINS else f"{node.domain}.{node.op_type}"
            if name not in OPERATORS:
                raise UsageError(
                    f"{_place(node)}: no operator {name}", expected=" | ".join(OPERATORS)
                )
        sets = self.model.opset_import
        version = next((each.version for each in sets if each.domain in OWN_DOMAINS), 1)
        newest = onnx.defs.onnx_opset_version()
        if not OLDEST <= version <= newest:
            raise UsageError(
                "the operator set of a model",
                expected=f"{OLDEST} to {newest}",
                got=version,
                hint=f"onnx.version_converter.convert_version(model, {OLDEST})",
            )
        if graph.sparse_initializer:
            raise UsageError("a weight", expected="a dense array", got="a sparse one")
        try:
            onnx.checker.check_model(self.model)
        except (onnx.checker.ValidationError, ValueError) as error:
            raise UsageError("no sound model of ONNX", got=error) from None

    def given(self, found: onnx.ValueInfoProto) -> Value:
        """Add an input of the model."""
        tensor = found.type.tensor_type
        if not tensor.HasField("shape"):
            raise UsageError(f"input {found.name}", expected="a tensor of known rank", got="none")
        dims = tuple(self.size(each) for each in tensor.shape.dim)
        return self.computed(
            self.input(self.unique(found.name), Type(_dtype(tensor.elem_type, found.name), dims))
        )

    def size(self, found: onnx.TensorShapeProto.Dimension) -> Dim:
        """Return the size of an input's axis."""
        if found.HasField("dim_value"):
            return self.sizes.dim(whole(found.dim_value))
        text = found.dim_param
        if not text:
            return self.sizes.declare()
        if text not in self.params:
            formula = self.formula(text)
            if formula is not None:
                self.params[text] = self.sizes.dim(formula)
            else:
                self.params[text] = self.sizes.declare(text if is_name(text) else "")
        return self.params[text]

    def formula(self, text: str) -> Expression | None:
        """Return a sum or product of other sizes; exporters write one in a name's place."""
        try:
            found = parse_constraint(f"size == {text}")
        except CourseError:
            return None
        match found:
            case MulEq(_, factors):
                terms, constant = [(1, factors)], 0
            case AffineEq(_, sums, constant):
                terms = [(by, (dim,)) for by, dim in sums]
            case _:
                return None
        names = {dim for _, dims in terms for dim in dims if isinstance(dim, str)}
        if not names <= self.own:
            return None
        for name in sorted(names):
            self.params[name] = self.sizes.declare(name)
        return sum(
            (whole(by) * self.sizes.total(dims) for by, dims in terms), start=whole(constant)
        )

    def declared(self, found: onnx.ValueInfoProto, dims: Sequence[Dim]) -> None:
        """State what the model says of a result's sizes; take its names for those without one."""
        tensor = found.type.tensor_type
        if not tensor.HasField("shape"):
            return
        said = tensor.shape.dim
        if len(said) != len(dims):
            raise ShapeError(f"result {found.name}: rank", expected=len(said), got=len(dims))
        for each, dim in zip(said, dims, strict=True):
            param = each.dim_param
            if param and param not in self.params and self.formula(param) is None:
                if isinstance(dim, str) and dim not in self.params.values() and is_name(param):
                    self.names[dim] = param
                self.params[param] = dim
            elif param or each.HasField("dim_value"):
                self.tie(dim, self.size(each), f"result {found.name}")

    def call(self, node: onnx.NodeProto) -> None:
        given = {each.name: onnx.helper.get_attribute_value(each) for each in node.attribute}
        operands = [self.values[name] if name else None for name in node.input]
        call = _Call(node.op_type, operands, given, len(node.output))
        try:
            found = OPERATORS[node.op_type](self, call)
            results = found if isinstance(found, tuple) else (found,)
            if more := given.keys() - call.read:
                raise call.refused("an attribute", expected=" | ".join(call.read), got=min(more))
            if any(node.output[len(results) :]):
                raise call.refused("results", expected=str(len(results)), got=len(node.output))
        except CourseError as error:
            error.add_note(f"in node {_place(node)}: {node.op_type}")
            raise
        for name, result in zip(node.output, results, strict=False):
            result.name = result.name or name
            self.values[name] = result

    # Operands that must be known.

    def expressions(self, call: _Call, at: int) -> list[Expression]:
        """Return the elements of an operand that sizes follow from."""
        array = self.known(call.operand(at))
        if array is None:
            raise call.refused(
                f"operand {at}", expected="numbers that follow from sizes", got="a computed tensor"
            )
        return list(array.flat)

    def numbers(self, call: _Call, at: int) -> list[int]:
        """Return the elements of an operand that must not depend on sizes."""
        found = [each.constant for each in self.expressions(call, at)]
        if None in found:
            raise call.refused(f"operand {at}", expected="numbers", got="sizes that are not known")
        return [each for each in found if each is not None]

    def constant_operand(self, call: _Call, at: int) -> Any:
        """Return an operand that must be one number that is known."""
        found = self.constant(self.number(call.operand(at)))
        if found is None:
            raise call.refused(f"operand {at}", expected="a number", got="a computed tensor")
        return found.item()

    def axes(self, call: _Call, at: int, rank: int) -> tuple[int, ...] | None:
        """Return the axes in an attribute or in an operand, if they are given."""
        found = call.get("axes")
        if found is None and call.maybe(at) is not None:
            found = self.numbers(call, at)
        return None if found is None else tuple(sorted(_axis(call, each, rank) for each in found))


def _params(tensors: Iterable[onnx.ValueInfoProto]) -> set[str]:
    shapes = (each.type.tensor_type.shape.dim for each in tensors)
    return {dim.dim_param for dims in shapes for dim in dims if dim.dim_param}


def _place(node: onnx.NodeProto) -> str:
    return node.name or ", ".join(node.output)


def _array(tensor: onnx.TensorProto) -> Array:
    _dtype(tensor.data_type, tensor.name)
    try:
        return onnx.numpy_helper.to_array(tensor)
    except (OSError, ValueError, TypeError, onnx.checker.ValidationError) as error:
        raise UsageError(f"weight {tensor.name}", expected="an array", got=error) from None


def _dtype(found: int, name: str) -> str:
    dtypes = {
        int(onnx.helper.np_dtype_to_tensor_dtype(dtype)): short for dtype, short in SHORT.items()
    }
    if found not in dtypes:
        names = {number: name for name, number in onnx.TensorProto.DataType.items()}
        got = names.get(found, found)
        raise UsageError(f"{name}: an element type", expected=" | ".join(DTYPES), got=got)
    return dtypes[found]


def _axis(call: _Call, axis: int, rank: int) -> int:
    if not -rank <= axis < rank:
        raise ShapeError(f"{call.op}: axis", expected=f"{-rank} to {rank - 1}", got=axis)
    return axis % rank


# What becomes of each operator of ONNX.

Reading = Callable[[_Reader, _Call], "Value | tuple[Value, ...]"]


def _unary(op: str) -> Reading:
    return lambda to, call: to.elementwise(op, [call.operand(0)])


def _binary(op: str, dtype: str = "") -> Reading:
    return lambda to, call: to.elementwise(op, [call.operand(0), call.operand(1)], dtype)


def _variadic(op: str) -> Reading:
    def read(to: _Reader, call: _Call) -> Value:
        operands = [call.operand(at) for at in range(len(call.operands))]
        return reduce(lambda one, other: to.elementwise(op, (one, other)), operands)

    return read


def _comparison(*, swapped: bool, or_equal: bool) -> Reading:
    def read(to: _Reader, call: _Call) -> Value:
        pair = [call.operand(0), call.operand(1)]
        less = to.elementwise("less", pair[::-1] if swapped else pair, "i1")
        return (
            to.elementwise("max", [less, to.elementwise("equal", pair, "i1")]) if or_equal else less
        )

    return read


def _xor(to: _Reader, call: _Call) -> Value:
    return to.elementwise(
        "not", [to.elementwise("equal", [call.operand(0), call.operand(1)], "i1")]
    )


def _power(to: _Reader, call: _Call) -> Value:
    base, exponent = call.operand(0), call.operand(1)
    if base.type.dtype in WHOLE:
        raise call.refused("the base", expected="floats", got=base.type.dtype)
    exponent = to.converted(exponent, base.type.dtype)
    if (
        to.constant(to.number(exponent)) == 2
        and set(exponent.dims) <= {1}
        and exponent.rank <= base.rank
    ):
        return to.elementwise("square", [base])
    return to.elementwise("pow", [base, exponent])


def _clip(to: _Reader, call: _Call) -> Value:
    value, low, high = call.operand(0), call.maybe(1), call.maybe(2)
    if low is not None and high is not None:
        return to.elementwise("clamp", [low, value, high], value.type.dtype)
    if low is not None:
        return to.elementwise("max", [value, low])
    return value if high is None else to.elementwise("min", [value, high])


def _cast(to: _Reader, call: _Call) -> Value:
    for name in ("saturate", "round_mode"):  # of floats of 8 bits, which are refused
        call.get(name)
    return to.converted(call.operand(0), _dtype(call.get("to"), "Cast"))


def _reciprocal(to: _Reader, call: _Call) -> Value:
    value = call.operand(0)
    return to.elementwise("div", [to.computed(to.scalar(1.0, value.type.dtype)), value])


def _relu(to: _Reader, call: _Call) -> Value:
    return to.computed(to.relu(to.number(call.operand(0))))


def _swish(to: _Reader, call: _Call) -> Value:
    value = call.operand(0)
    alpha = to.computed(to.scalar(call.get("alpha", 1.0), value.type.dtype))
    inner = value if call.get("alpha", 1.0) == 1 else to.elementwise("mul", [value, alpha])
    return to.elementwise("mul", [value, to.elementwise("sigmoid", [inner])])


def _gelu(to: _Reader, call: _Call) -> Value:
    value = call.operand(0)
    match call.get("approximate", "none"):
        case "none":
            return to.computed(to.gelu(to.number(value)))
        case "tanh":
            return to.computed(to.tanh_gelu(to.number(value)))
        case other:
            raise call.refused("approximate", expected="none | tanh", got=other)


def _softmax(to: _Reader, call: _Call) -> Value:
    value = call.operand(0)
    axis = _axis(call, call.get("axis", -1), value.rank)
    return to.computed(to.softmax(to.number(value), (axis,)))


def _norm(*, is_centred: bool) -> Reading:
    def read(to: _Reader, call: _Call) -> Value:
        value = call.operand(0)
        axes = tuple(range(_axis(call, call.get("axis", -1), value.rank), value.rank))
        if call.get("stash_type", 1) != 1:
            raise call.refused("stash_type", expected="1: f32", got=call.get("stash_type"))
        own = value.type.dtype
        wide = to.number(to.converted(value, "f32" if own == "f16" else own))
        wide = to.centred(wide, axes) if is_centred else wide
        found = to.normalized(wide, axes, call.get("epsilon", 1e-5))
        scaled = to.unidirectional("mul", to.converted(to.computed(found), own), call.operand(1))
        bias = call.maybe(2)
        return scaled if bias is None else to.unidirectional("add", scaled, bias)

    return read


def _reduction(op: str) -> Reading:
    def read(to: _Reader, call: _Call) -> Value:
        value, keep = call.operand(0), call.get("keepdims", 1)
        axes = to.axes(call, 1, value.rank)
        if not axes and call.get("noop_with_empty_axes", 0):
            return value
        axes = axes or tuple(range(value.rank))
        if op == "reduce_mean" and value.type.dtype in WHOLE:
            raise call.refused("the mean", expected="floats", got=value.type.dtype)
        found = to.computed(to.reduced(op, to.number(value), axes))
        kept = [1 if at in axes else dim for at, dim in enumerate(value.dims)]
        return to.reshaped(found, kept) if keep else found

    return read


def _product(to: _Reader, call: _Call) -> Value:
    """Multiply sizes; other products of elements are refused."""
    call.get("noop_with_empty_axes")
    value, keep = call.operand(0), call.get("keepdims", 1)
    factors, axes = to.expressions(call, 0), to.axes(call, 1, value.rank)
    found = to.settled(each_of(lambda: product_of(factors)), value.type.dtype)
    if value.rank != 1 or axes == () or found is None:
        raise call.refused("its operand", expected="a list of sizes", got=value.type)
    return to.reshaped(found, (1,)) if keep else found


def _reshape(to: _Reader, call: _Call) -> Value:
    value, wanted = call.operand(0), to.expressions(call, 1)
    keeps_zero, own, sizes = call.get("allowzero", 0), value.dims, to.sizes
    for at, each in enumerate(wanted):
        if each.constant == 0:
            if keeps_zero or at >= value.rank:
                raise ShapeError("Reshape: a size", expected="1 or more", got=0)
            wanted[at] = sizes.of(own[at])
    others = [each for each in wanted if each.constant != -1]
    if len(others) < len(wanted) - 1:
        raise ShapeError("Reshape: -1", expected="once", got=len(wanted) - len(others))
    if len(others) < len(wanted):
        rest = sizes.of(to.quotient([sizes.of(dim) for dim in own], others))
        wanted = [rest if each.constant == -1 else each for each in wanted]
    before, after = sizes.total(own), product_of(wanted)
    if not may_be_equal(before, after):
        raise ShapeError("Reshape: elements", expected=before, got=after)
    return to.reshaped(value, [sizes.dim(each) for each in wanted])


def _flatten(to: _Reader, call: _Call) -> Value:
    value, axis = call.operand(0), call.get("axis", 1)
    at = value.rank if axis == value.rank else _axis(call, axis, value.rank)
    parts = (value.dims[:at], value.dims[at:])
    return to.reshaped(value, [to.sizes.dim(to.sizes.total(part)) for part in parts])


def _squeeze(to: _Reader, call: _Call) -> Value:
    value = call.operand(0)
    axes = to.axes(call, 1, value.rank)
    if axes is None:
        if any(isinstance(dim, str) for dim in value.dims):
            raise call.refused("no axes", expected="axes, as sizes are unknown", got=value.dims)
        axes = tuple(at for at, dim in enumerate(value.dims) if dim == 1)
    for at in axes:
        to.tie(value.dims[at], 1, "Squeeze")
    return to.reshaped(value, [dim for at, dim in enumerate(value.dims) if at not in axes])


def _unsqueeze(to: _Reader, call: _Call) -> Value:
    value = call.operand(0)
    given = to.numbers(call, 1)
    axes = to.axes(call, 1, value.rank + len(given)) or ()
    if len(set(axes)) < len(given):
        raise ShapeError("Unsqueeze: axes", expected="different ones", got=given)
    dims = list(value.dims)
    for at in axes:
        dims.insert(at, 1)
    return to.reshaped(value, dims)


def _expand(to: _Reader, call: _Call) -> Value:
    value = call.operand(0)
    wanted = tuple(to.sizes.dim(each) for each in to.expressions(call, 1))
    dims = to.joint([value.dims, wanted], "Expand")
    for size, dim in zip(reversed(wanted), reversed(dims), strict=False):
        if size != 1:
            to.tie(size, dim, "Expand")
    array, shape = to.known(value), known_sizes(dims)
    if array is not None and shape is not None:
        found = to.settled(np.broadcast_to(array, shape), value.type.dtype)
        assert found is not None
        return found
    return to.computed(to.broadcast(to.number(value), dims))


def _transpose(to: _Reader, call: _Call) -> Value:
    value = call.operand(0)
    perm = call.get("perm")
    if perm is None:
        perm = range(value.rank)[::-1]
    if sorted(perm) != list(range(value.rank)):
        raise ShapeError("Transpose: perm", expected=f"all axes below {value.rank}", got=list(perm))
    return to.computed(to.transposed(to.number(value), perm))


def _concat(to: _Reader, call: _Call) -> Value:
    values = [call.operand(at) for at in range(len(call.operands))]
    axis = _axis(call, call.get("axis"), values[0].rank)
    if len({value.rank for value in values}) > 1:
        raise ShapeError("Concat: ranks", expected="equal ones", got=[v.rank for v in values])
    arrays = [to.known(value) for value in values]
    known = [array for array in arrays if array is not None]
    if len(known) == len(values):
        found = to.settled(np.concatenate(known, axis), values[0].type.dtype)
        assert found is not None
        return found
    columns = list(zip(*(value.dims for value in values), strict=True))
    total = sum((to.sizes.of(dim) for dim in columns[axis]), start=whole(0))
    dims = [
        to.sizes.dim(total) if at == axis else to.agreed(column, "Concat")
        for at, column in enumerate(columns)
    ]
    numbers = [to.number(value) for value in values]
    return to.computed(to.emit("concat", numbers, dims, axis=axis))


def _split(to: _Reader, call: _Call) -> tuple[Value, ...]:
    value, parts = call.operand(0), call.get("num_outputs", call.results)
    axis = _axis(call, call.get("axis", 0), value.rank)
    size = to.sizes.of(value.dims[axis])
    if call.maybe(1) is not None:
        sizes = to.expressions(call, 1)
        to.tie(value.dims[axis], to.sizes.dim(sum(sizes, start=whole(0))), "Split")
    elif size.constant is None or size.constant % parts == 0:
        sizes = [to.sizes.of(to.quotient([size], [whole(parts)]))] * parts
    elif "num_outputs" in call.attributes:  # the last one is smaller
        most = -(-size.constant // parts)
        sizes = [whole(min(most, size.constant - at * most)) for at in range(parts)]
    else:
        raise ShapeError("Split: a size", expected=f"a multiple of {parts}", got=size)
    if len(set(sizes)) == 1 < len(sizes) and to.known(value) is None:
        dims = list(value.dims)
        dims[axis] = to.sizes.dim(sizes[0])
        number, parts = to.number(value), len(sizes)
        return tuple(
            to.computed(to.emit("split", (number,), dims, axis=axis, parts=parts, part=part))
            for part in range(parts)
        )
    starts = [sum(sizes[:at], start=whole(0)) for at in range(len(sizes))]
    return tuple(
        to.taken(value, axis, start, 1, each) for start, each in zip(starts, sizes, strict=True)
    )


def _slice(to: _Reader, call: _Call) -> Value:
    value, starts, ends = call.operand(0), to.expressions(call, 1), to.expressions(call, 2)
    axes = to.numbers(call, 3) if call.maybe(3) else range(len(starts))
    steps = to.numbers(call, 4) if call.maybe(4) else [1] * len(starts)
    for axis, start, end, step in zip(axes, starts, ends, steps, strict=True):
        value = _cut(to, call, value, _axis(call, axis, value.rank), start, end, step)
    return value


def _cut(
    to: _Reader,
    call: _Call,
    value: Value,
    axis: int,
    start: Expression,
    end: Expression,
    step: int,
) -> Value:
    """Slice one axis. What ends outside of it is cut off there, if its size is known."""
    size = to.sizes.of(value.dims[axis])
    if step == 0:
        raise ShapeError("Slice: a step", expected="not 0", got=step)
    if size.constant is not None and start.constant is not None and end.constant is not None:
        places = range(size.constant)[start.constant : end.constant : step]
        if not places:
            raise ShapeError("Slice: a size", expected="1 or more", got=0)
        return to.taken(value, axis, whole(places.start), step, whole(len(places)))
    if step != 1:
        raise call.refused("a step, at a size that is not known", expected="1", got=step)
    if is_at_least(-start, 1):
        start = size + start
    if is_at_least(end, NO_END):
        if not is_at_least(end, LARGEST):
            to.sizes.need_not_negative(end - size, "Slice: an end")
        end = size
    elif is_at_least(-end, 1):
        end = size + end
    to.sizes.need_not_negative(start, "Slice: a start")
    to.sizes.need_not_negative(size - end, "Slice: the size from its end on")
    return to.taken(value, axis, start, 1, end - start)


def _pad(to: _Reader, call: _Call) -> Value:
    value, widths = call.operand(0), to.numbers(call, 1)
    if call.get("mode", "constant") != "constant":
        raise call.refused("mode", expected="constant", got=call.get("mode"))
    axes = to.numbers(call, 3) if call.maybe(3) else range(value.rank)
    with_ = to.constant_operand(call, 2) if call.maybe(2) else 0
    with_ = int(with_) if value.type.dtype in WHOLE else float(with_)
    if len(widths) != 2 * len(axes):
        raise ShapeError("Pad: pads", expected=f"{2 * len(axes)} numbers", got=len(widths))
    for axis, low, high in zip(axes, widths, widths[len(axes) :], strict=False):
        if min(low, high) < 0:
            raise call.refused("pads", expected="0 or more", got=min(low, high))
        if low == high == 0:
            continue
        axis, dims = _axis(call, axis, value.rank), list(value.dims)
        dims[axis] = to.sizes.dim(to.sizes.of(dims[axis]) + whole(low + high))
        number = to.number(value)
        value = to.computed(
            to.emit("pad", (number,), dims, axis=axis, low=low, high=high, value=with_)
        )
    return value


def _gather(to: _Reader, call: _Call) -> Value:
    value, places = call.operand(0), call.operand(1)
    axis = _axis(call, call.get("axis", 0), value.rank)
    size, given = to.sizes.of(value.dims[axis]), to.known(places)
    if given is None:
        return to.computed(to.gathered(to.number(value), axis, to.number(places)))
    for each in given.flat:
        inside = -each - whole(1) if is_at_least(-each, 1) else each
        to.sizes.need_not_negative(inside, "Gather: an index")
        to.sizes.need_not_negative(size - whole(1) - inside, "Gather: the size from an index on")
    known = each_of(lambda each: size + each if is_at_least(-each, 1) else each, given)
    if known.size == 1:
        one = to.taken(value, axis, known.flat[0], 1, whole(1))
        return to.reshaped(one, (*value.dims[:axis], *places.dims, *value.dims[axis + 1 :]))
    table = to.known(value)
    numbers = [each.constant for each in known.flat]
    if table is not None and None not in numbers:
        taken = np.take(table, np.reshape(numbers, known.shape).astype(int), axis)
        found = to.settled(taken, value.type.dtype)
        assert found is not None
        return found
    if any(is_at_least(-each, 1) for each in given.flat):
        counted = to.settled(known, places.type.dtype)
        assert counted is not None
        counted.name = f"{places.name}_from_0"
        places = counted
    return to.computed(to.gathered(to.number(value), axis, to.number(places)))


def _matmul(to: _Reader, call: _Call) -> Value:
    left, right = call.operand(0), call.operand(1)
    if not left.rank or not right.rank:
        raise ShapeError("MatMul: rank", expected="1 or more", got=0)
    rows = to.reshaped(left, (1, *left.dims)) if left.rank == 1 else left
    columns = to.reshaped(right, (*right.dims, 1)) if right.rank == 1 else right
    found = to.multiplied(rows, columns)
    dims = list(found.dims)
    if right.rank == 1:
        del dims[-1]
    if left.rank == 1:
        del dims[len(found.dims) - 2]
    return to.reshaped(found, dims)


def _gemm(to: _Reader, call: _Call) -> Value:
    matrices = []
    for at, is_turned in enumerate((call.get("transA", 0), call.get("transB", 0))):
        each = call.operand(at)
        if each.rank != 2:
            raise ShapeError("Gemm: rank", expected=2, got=each.rank)
        turned = to.transposed(to.number(each), (1, 0) if is_turned else (0, 1))
        matrices.append(to.computed(turned))
    found = to.scaled(to.multiplied(*matrices), call.get("alpha", 1.0))
    beta, bias = call.get("beta", 1.0), call.maybe(2)
    return found if bias is None else to.unidirectional("add", found, to.scaled(bias, beta))


def _identity(to: _Reader, call: _Call) -> Value:
    return call.operand(0)


def _dropout(to: _Reader, call: _Call) -> Value:
    call.get("seed")
    if call.maybe(2) and to.constant_operand(call, 2):
        raise call.refused("training_mode", expected="false", got="true")
    return call.operand(0)


def _constant(to: _Reader, call: _Call) -> Value:
    (name,) = call.attributes
    found = call.get(name)
    if name in ("value_float", "value_floats"):
        return weight_of(np.array(found, np.float32))
    if name in ("value_int", "value_ints"):
        return weight_of(np.array(found, np.int64))
    if name != "value":
        raise call.refused("its value", expected="numbers", got=name)
    return weight_of(_array(found))


def _constant_of_shape(to: _Reader, call: _Call) -> Value:
    sizes = to.expressions(call, 0)
    given = call.get("value")
    fill = np.zeros(1, np.float32) if given is None else _array(given)
    dtype, numbers = weight_of(fill).type.dtype, [each.constant for each in sizes]
    shape = [each for each in numbers if each is not None]
    if len(shape) == len(sizes) and dtype in WHOLE and prod(shape) <= SMALL:
        return Value(Type(dtype, tuple(shape)), array=np.full(shape, fill[0]))
    dims = tuple(to.sizes.dim(each) for each in sizes)
    plain = int(fill[0]) if dtype == "i1" else fill[0].item()
    return to.computed(to.emit("constant", (), dims, dtype, value=plain))


def _shape(to: _Reader, call: _Call) -> Value:
    dims = call.operand(0).dims[call.get("start", 0) : call.get("end")]
    found = np.empty(len(dims), object)
    found[:] = [to.sizes.of(dim) for dim in dims]
    settled = to.settled(found, "i64")
    assert settled is not None
    return settled


def _size(to: _Reader, call: _Call) -> Value:
    found = to.settled(each_of(lambda: to.sizes.total(call.operand(0).dims)), "i64")
    assert found is not None
    return found


def _range(to: _Reader, call: _Call) -> Value:
    call.get("stash_type")
    dtype = call.operand(0).type.dtype
    if dtype in WHOLE:
        start, end, step = (only for at in range(3) for only in to.expressions(call, at))
    else:
        ends = [to.constant_operand(call, at) for at in range(3)]
        if any(each != int(each) or abs(each) > EXACT for each in ends):
            raise call.refused("its ends", expected=f"whole numbers up to {EXACT}", got=ends)
        start, end, step = (whole(int(each)) for each in ends)
    by = step.constant
    if not by:
        raise call.refused("its step", expected="a number that is not 0", got=step)
    first, last = start.constant, end.constant
    if first is not None and last is not None:
        count: Expression | None = whole(len(range(first, last, by)))
    else:
        count = (end - start).divided(step)
    if count is None:
        raise call.refused("its length", expected="a whole number at all sizes", got=end - start)
    size = to.sizes.dim(count)
    if dtype in WHOLE and first is not None and last is not None and int(size) <= SMALL:
        return Value(Type(dtype, (size,)), array=np.arange(first, last, by).astype(DTYPES[dtype]))
    return to.computed(to.counted(start, by, size, dtype))


def _triangle(to: _Reader, call: _Call) -> Value:
    value, is_upper = call.operand(0), call.get("upper", 1)
    shift = to.numbers(call, 1)[0] if call.maybe(1) else 0
    square = value.dims[-2:]
    row, column = (to.computed(to.emit("iota", (), square, "i64", axis=axis)) for axis in (0, 1))
    row = to.elementwise("add", [row, to.computed(to.scalar(shift, "i64"))])
    outside = to.elementwise("less", [column, row] if is_upper else [row, column], "i1")
    zero = to.computed(to.scalar(0, value.type.dtype))
    return to.elementwise("select", [outside, zero, value], value.type.dtype)


def _where(to: _Reader, call: _Call) -> Value:
    operands = [call.operand(at) for at in range(3)]
    return to.elementwise("select", operands, operands[1].type.dtype)


UNARY = {
    "Exp": "exp",
    "Log": "log",
    "Sqrt": "sqrt",
    "Tanh": "tanh",
    "Erf": "erf",
    "Sigmoid": "sigmoid",
    "Neg": "neg",
    "Abs": "abs",
    "Sin": "sin",
    "Cos": "cos",
    "Round": "round",
    "Not": "not",
}
REDUCTIONS = {
    "ReduceSum": "reduce_sum",
    "ReduceMax": "reduce_max",
    "ReduceMin": "reduce_min",
    "ReduceMean": "reduce_mean",
}
OPERATORS: Mapping[str, Reading] = {
    **{name: _unary(op) for name, op in UNARY.items()},
    **{name: _reduction(op) for name, op in REDUCTIONS.items()},
    "Add": _binary("add"),
    "Sub": _binary("sub"),
    "Mul": _binary("mul"),
    "Div": _binary("div"),
    "Pow": _power,
    "Max": _variadic("max"),
    "Min": _variadic("min"),
    "And": _binary("min"),
    "Or": _binary("max"),
    "Xor": _xor,
    "Equal": _binary("equal", "i1"),
    "Less": _comparison(swapped=False, or_equal=False),
    "LessOrEqual": _comparison(swapped=False, or_equal=True),
    "Greater": _comparison(swapped=True, or_equal=False),
    "GreaterOrEqual": _comparison(swapped=True, or_equal=True),
    "Where": _where,
    "Clip": _clip,
    "Cast": _cast,
    "Reciprocal": _reciprocal,
    "Relu": _relu,
    "Gelu": _gelu,
    "Swish": _swish,
    "Softmax": _softmax,
    "LayerNormalization": _norm(is_centred=True),
    "RMSNormalization": _norm(is_centred=False),
    "ReduceProd": _product,
    "Reshape": _reshape,
    "Flatten": _flatten,
    "Squeeze": _squeeze,
    "Unsqueeze": _unsqueeze,
    "Expand": _expand,
    "Transpose": _transpose,
    "Concat": _concat,
    "Split": _split,
    "Slice": _slice,
    "Pad": _pad,
    "Gather": _gather,
    "Trilu": _triangle,
    "MatMul": _matmul,
    "Gemm": _gemm,
    "Identity": _identity,
    "Dropout": _dropout,
    "Constant": _constant,
    "ConstantOfShape": _constant_of_shape,
    "Shape": _shape,
    "Size": _size,
    "Range": _range,
}
