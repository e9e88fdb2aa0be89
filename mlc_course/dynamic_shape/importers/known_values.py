"""A program that is built of values of which some are known: arrays, and what follows from sizes.

What needs known elements alone is computed at once, with symbols for sizes that are not known.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import reduce
from typing import Any

import numpy as np

from mlc_course.dynamic_shape.importers.building import Building
from mlc_course.dynamic_shape.importers.size_expressions import (
    Expression,
    Sizes,
    is_at_least,
    may_be_equal,
    product_of,
    whole,
)
from mlc_course.dynamic_shape.ir import BY_NAME, DTYPES, Constraint, Dim, Eq, Type
from mlc_course.errors import ShapeError, UsageError

Array = np.ndarray[Any, Any]
SMALL = 4096  # elements of an array that may be a shape, or indices of one
SHORT: dict[np.dtype[Any], str] = {np.dtype(kind): name for name, kind in DTYPES.items()}
WHOLE = ("i64", "i32", "i8", "i1")
REPEATED = "an axis that is repeated has the size 1 in the model, not a name"


@dataclass
class Value:
    """A tensor of the model: what an equation computes, or an array that is known now.

    Arrays of whole numbers may have ``Expression`` as elements. They become an equation or an
    input only when an operator needs them at run time.
    """

    type: Type
    number: int | None = None  # of ours
    array: Array | None = None
    is_weight: bool = False
    name: str = ""

    @property
    def dims(self) -> tuple[Dim, ...]:
        return self.type.dims

    @property
    def rank(self) -> int:
        return len(self.type.dims)


def known_sizes(dims: Sequence[Dim]) -> tuple[int, ...] | None:
    """Return sizes if all of them are known, or None."""
    found = tuple(dim for dim in dims if isinstance(dim, int))
    return found if len(found) == len(dims) else None


def weight_of(array: Array, name: str = "") -> Value:
    """Return an array of the model's own as a value."""
    return Value(Type(SHORT[array.dtype], array.shape), array=array, is_weight=True, name=name)


def _renamed(found: Type, names: Mapping[str, str]) -> Type:
    return replace(found, dims=_renamed_in(found.dims, names))


def _renamed_in(found: Any, names: Mapping[str, str]) -> Any:
    """Return a size, a list of sizes, or a constraint with other names in it."""
    match found:
        case str():
            return names.get(found, found)
        case tuple():
            return tuple(_renamed_in(each, names) for each in found)
        case int():
            return found
    parts = (getattr(found, each.name) for each in fields(found))
    return type(found)(*(_renamed_in(each, names) for each in parts))


class KnownValues(Building):
    """A program so far, its sizes, and the weights that have become inputs."""

    def __init__(self, name: str, sizes: Sizes) -> None:
        super().__init__(name)
        self.sizes = sizes
        self.quotients: dict[tuple[Expression, Expression], str] = {}  # that may be no whole number
        self.measures: dict[str, int] = {}  # sizes as values
        self.weights: dict[str, Array] = {}

    def rename(self, names: Mapping[str, str]) -> None:
        """Give dimensions other names."""
        self.inputs = [replace(each, type=_renamed(each.type, names)) for each in self.inputs]
        self.equations = [replace(each, type=_renamed(each.type, names)) for each in self.equations]
        stated = self.sizes.constraints
        self.sizes.constraints = [_renamed_in(fact, names) for fact in stated]

    def unique(self, name: str) -> str:
        """Return a name that the text form can write, and no other input has."""
        found = re.sub(r"\W", "_", name)
        found = found if found and not found[0].isdigit() else f"_{found}"
        taken = {each.name for each in self.inputs}
        name, count = found, 0
        while name in taken:
            name, count = f"{found}_{count}", count + 1
        return name

    def without_unread(self, results: Sequence[int], count: int) -> list[int]:
        """Leave out equations that no result needs, with their weights; state what they assert."""
        needed = set(results)
        for at in reversed(range(len(self.equations))):
            if ~at in needed:
                needed.update(self.equations[at].operands)
        places: dict[int, int] = {}
        equations, inputs = self.equations, self.inputs
        self.equations, self.inputs = [], []
        for at, each in enumerate(inputs):
            if at < count or at in needed:
                places[at] = self.input(each.name, each.type)
            else:
                del self.weights[each.name]
        asserted: list[Constraint] = []
        for at, equation in enumerate(equations):
            if ~at in needed:
                operands = tuple(places[each] for each in equation.operands)
                self.equations.append(replace(equation, operands=operands))
                places[~at] = ~(len(self.equations) - 1)
            else:
                types = [
                    (inputs[each] if each >= 0 else equations[~each]).type
                    for each in equation.operands
                ]
                given = dict(equation.attributes)
                asserted += equation.op.asserted(types, equation.type, given)
        self.sizes.constraints += dict.fromkeys(asserted)
        return [places[each] for each in results]

    # Values.

    def number(self, value: Value) -> int:
        """Return the number of a value; what is known becomes an equation, or an input."""
        if value.number is None:
            if any(isinstance(dim, int) and dim < 1 for dim in value.dims):
                raise ShapeError(f"{value.name}: a size", expected="1 or more", got=value.dims)
            assert value.array is not None
            if value.array.dtype == object:
                value.number = self.measured_all(value.array, value.type)
            else:
                value.number = self.written(value, value.array)
        return value.number

    def written(self, value: Value, array: Array) -> int:
        """Return an array that is known, as a constant, a counter, or an input."""
        first, dtype = array.flat[0], value.type.dtype
        is_uniform = array.size == 1 or (not value.is_weight and bool((array == first).all()))
        if is_uniform and first == first:  # NaN cannot be written as a text
            plain = int(first) if dtype == "i1" else first.item()
            return self.emit("constant", (), value.dims, dtype, value=plain)
        if not value.is_weight and value.rank == 1 and dtype in ("i32", "i64"):
            steps = np.diff(array)
            if (steps == steps[0]).all():
                return self.counted(whole(int(first)), int(steps[0]), array.size, dtype)
        name = self.unique(value.name)
        self.weights[name] = array
        return self.input(name, value.type)

    def counted(self, start: Expression, step: int, count: Dim, dtype: str = "i64") -> int:
        """Return ``start``, ``start + step``, and so on."""
        found = self.emit("iota", (), (count,), dtype, axis=0)
        if step != 1:
            found = self.emit("mul", (found, self.scalar(step, dtype)), (count,))
        if start.terms:
            found = self.emit("add", (found, self.measured(start, dtype)), (count,))
        return found

    def measured_all(self, array: Array, type_: Type) -> int:
        """Return an array of sizes that are known when the program runs."""
        found = [self.measured(each, type_.dtype) for each in array.flat]
        if array.size > 1:
            found = [self.emit("reshape", (each,), (1,)) for each in found]
            found = [self.emit("concat", found, (array.size,), axis=0)]
        own = self.types(found[0]).dims
        return found[0] if own == type_.dims else self.emit("reshape", found, type_.dims)

    def measured(self, found: Expression, dtype: str) -> int:
        """Return a number that depends on sizes."""
        if found.constant is not None:
            return self.scalar(found.constant, dtype)
        terms = []
        for product, by in found.terms:
            factors = [self.measure(name) for name in product]
            if by != 1 or not factors:
                factors.append(self.scalar(by, "i64"))
            terms.append(reduce(lambda one, other: self.emit("mul", (one, other), ()), factors))
        total = reduce(lambda one, other: self.emit("add", (one, other), ()), terms)
        return total if dtype == "i64" else self.emit("convert", (total,), (), dtype)

    def measure(self, name: str) -> int:
        """Return a dimension as a value, from the shape of one that has it."""
        if name not in self.measures:
            values = [*range(len(self.inputs)), *(~at for at in range(len(self.equations)))]
            value = next(each for each in values if name in self.types(each).dims)
            dims = self.types(value).dims
            at, last = dims.index(name), len(dims) - 1
            shape = self.emit("shape_of", (value,), (len(dims),), "i64")
            own = self.emit("slice", (shape,), (1,), axis=0, start=at, drop=last - at)
            self.measures[name] = self.emit("reshape", (own,), ())
        return self.measures[name]

    def emit(
        self,
        op: str,
        operands: Sequence[int],
        dims: Sequence[Dim],
        dtype: str = "",
        /,
        **given: Any,
    ) -> int:
        """Add an equation, or the number that one of numbers gives."""
        kind = BY_NAME[op].kind
        dtype = dtype or self.types(operands[0]).dtype
        if kind in ("elementwise", "broadcast") or (kind == "reshape" and set(dims) <= {1}):
            numbers = [self.constant(each) for each in operands]
            if all(each is not None for each in numbers):
                with np.errstate(all="ignore"):
                    run = BY_NAME["convert"].run if kind != "elementwise" else BY_NAME[op].run
                    found: Array = np.asarray(run(*numbers, shape=())).astype(DTYPES[dtype])
                if found == found:
                    plain = int(found) if dtype == "i1" else found.item()
                    return super().emit("constant", (), dims, dtype, value=plain)
        return super().emit(op, operands, dims, dtype, **given)

    def constant(self, value: int) -> Any:
        """Return the one number that a value is known to be, or None."""
        equation = self.equations[~value] if value < 0 else None
        if equation is None or equation.op.name != "constant" or set(equation.type.dims) - {1}:
            return None
        return DTYPES[equation.type.dtype](dict(equation.attributes)["value"])

    def computed(self, number: int) -> Value:
        """Return what the program computes as a value of the model."""
        return Value(self.types(number), number)

    def known(self, value: Value) -> Array | None:
        """Return the elements of a small array of whole numbers, if they follow from sizes."""
        array = value.array
        if array is None or value.type.dtype not in WHOLE or array.size > SMALL:
            return None
        if array.dtype == object:
            return array
        return each_of(bool if value.type.dtype == "i1" else lambda x: whole(int(x)), array)

    def settled(self, found: Array, dtype: str) -> Value | None:
        """Return a value with known elements; None where one is unknown, or does not fit."""
        if any(each is None for each in found.flat):
            return None
        type_ = Type(dtype, found.shape)
        if dtype == "i1":
            return Value(type_, array=found.astype(np.bool_))
        numbers = [each.constant for each in found.flat]
        if None in numbers:
            return Value(type_, array=found)
        limits = np.iinfo(DTYPES[dtype])
        if not all(limits.min <= each <= limits.max for each in numbers):
            return None
        return Value(type_, array=np.array(numbers, DTYPES[dtype]).reshape(found.shape))

    # Sizes that meet.

    def tie(self, one: Dim, other: Dim, what: str) -> None:
        """State that two sizes are equal."""
        self.agreed((one, other), what)
        if one != other:
            self.sizes.constraints.append(Eq(one, other))

    def agreed(self, sizes: Sequence[Dim], what: str, hint: str | None = None) -> Dim:
        """Return one of sizes that operators take to be equal, a known one if there is any."""
        chosen = next((each for each in sizes if isinstance(each, int)), sizes[0])
        for each in sizes:
            one, other = self.sizes.of(chosen), self.sizes.of(each)
            if not may_be_equal(one, other):
                raise ShapeError(
                    f"{what}: sizes", expected="equal ones", got=f"{one}, {other}", hint=hint
                )
        return chosen

    def joint(self, shapes: Sequence[Sequence[Dim]], what: str) -> tuple[Dim, ...]:
        """Return the sizes of tensors that are broadcast to each other, from the last axis on."""
        found: list[Dim] = []
        for at in range(1, max(map(len, shapes), default=0) + 1):
            sizes = [dims[-at] for dims in shapes if at <= len(dims) and dims[-at] != 1]
            found.append(self.agreed(sizes, what, REPEATED) if sizes else 1)
        return tuple(reversed(found))

    def broadcast(self, number: int, dims: Sequence[Dim]) -> int:
        """Repeat a value along new axes, and along those of size 1."""
        own = self.types(number).dims
        if own == tuple(dims):
            return number
        axes = range(len(dims) - len(own), len(dims))
        return self.emit("broadcast", (number,), dims, dims=tuple(axes))

    def fit(self, value: Value, dims: Sequence[Dim]) -> int:
        """Return an operand of an elementwise operator: a number goes with every element."""
        own = value.dims
        if own != tuple(dims) and set(own) <= {1}:
            return self.number(self.reshaped(value, ()))
        pairs = zip(own, dims, strict=False)
        if len(own) == len(dims) and all(size != 1 or to == 1 for size, to in pairs):
            return self.number(value)
        return self.broadcast(self.number(value), dims)

    # Operators that are also computed of what is known.

    def elementwise(self, op: str, operands: Sequence[Value], dtype: str = "") -> Value:
        """Apply an operator to tensors that are broadcast to each other."""
        dims = self.joint([each.dims for each in operands], op)
        dtype = dtype or operands[0].type.dtype
        arrays = [self.known(each) for each in operands]
        if op in KNOWN and all(each is not None for each in arrays):
            found = self.settled(each_of(KNOWN[op], *arrays), dtype)
            if found is not None:
                return found
        if op == "div" and dtype == "i64":
            raise UsageError(
                "Div of i64",
                expected="a quotient of sizes that is whole",
                got="one that is rounded",
            )
        return self.computed(
            self.emit(op, [self.fit(each, dims) for each in operands], dims, dtype)
        )

    def reshaped(self, value: Value, dims: Sequence[Dim]) -> Value:
        """Give the same elements other axes."""
        if value.dims == tuple(dims):
            return value
        sizes = known_sizes(dims)
        if value.array is not None and self.known(value) is not None and sizes is not None:
            return Value(Type(value.type.dtype, sizes), array=value.array.reshape(sizes))
        return self.computed(self.emit("reshape", (self.number(value),), dims))

    def taken(
        self, value: Value, axis: int, start: Expression, step: int, size: Expression
    ) -> Value:
        """Take ``size`` elements of an axis, from ``start`` on, every ``step``."""
        dims, array = list(value.dims), self.known(value)
        first, count = start.constant, size.constant
        if array is not None and first is not None and count is not None:
            taken = np.take(array, first + step * np.arange(count), axis)
            found = self.settled(taken, value.type.dtype)
            assert found is not None
            return found
        drop = (self.sizes.of(dims[axis]) - start - size).constant
        dims[axis] = self.sizes.dim(size)
        number = self.number(value)
        if step != 1 or first is None or drop is None:
            places = self.counted(start, step, dims[axis])
            return self.computed(self.gathered(number, axis, places))
        if first == drop == 0:
            return value
        return self.computed(self.emit("slice", (number,), dims, axis=axis, start=first, drop=drop))

    def converted(self, value: Value, dtype: str) -> Value:
        """Return a tensor with other element types."""
        array, own = self.known(value), value.type.dtype
        if own == dtype:
            return value
        if array is not None and dtype in WHOLE:
            if own == "i1":
                array = each_of(lambda each: whole(int(each)), array)
            found = self.settled(each_of(_is_true, array) if dtype == "i1" else array, dtype)
            if found is not None:
                return found
        return self.computed(self.emit("convert", (self.number(value),), value.dims, dtype))

    def unidirectional(self, op: str, value: Value, other: Value) -> Value:
        """Apply an operator to a tensor and one that is broadcast to it."""
        dims = self.joint([value.dims, other.dims], op)
        is_longer = len(dims) > value.rank
        if is_longer or any(own == 1 != dim for own, dim in zip(value.dims, dims, strict=True)):
            raise ShapeError(f"{op}: sizes to be repeated", expected=value.dims, got=other.dims)
        return self.elementwise(op, [value, other])

    def scaled(self, value: Value, by: float) -> Value:
        """Multiply a tensor by a number."""
        if by == 1:
            return value
        dtype = value.type.dtype
        if dtype in WHOLE:
            raise UsageError("a factor of whole numbers", expected=1, got=by)
        return self.elementwise("mul", [value, self.computed(self.scalar(by, dtype))])

    def multiplied(self, left: Value, right: Value) -> Value:
        """Multiply matrices, after their batches are broadcast to each other."""
        batch = self.joint([left.dims[:-2], right.dims[:-2]], "a matrix product")
        self.agreed((left.dims[-1], right.dims[-2]), "a matrix product")
        numbers = [
            self.broadcast(self.number(each), (*batch, *each.dims[-2:])) for each in (left, right)
        ]
        dims = (*batch, left.dims[-2], right.dims[-1])
        return self.computed(self.emit("matmul", numbers, dims))

    def quotient(self, above: Sequence[Expression], below: Sequence[Expression]) -> Dim:
        """Return a size that times others is a product of others."""
        over, under = Counter(above), Counter(below)
        rest, divisor = product_of((over - under).elements()), product_of((under - over).elements())
        found = rest.divided(divisor)
        if found is not None:
            return self.sizes.dim(found)
        if rest.constant is not None and divisor.constant is not None:
            raise ShapeError("a size", expected=f"a multiple of {divisor}", got=rest)
        if (rest, divisor) not in self.quotients:
            self.quotients[rest, divisor] = self.sizes.declare()
        return self.quotients[rest, divisor]

    def gathered(self, table: int, axis: int, places: int) -> int:
        """Take places of an axis; the axes of the places are put where it was."""
        own, new = self.types(table).dims, self.types(places).dims
        others = [at for at in range(len(own)) if at != axis]
        table = self.transposed(table, (axis, *others))
        found = self.emit("gather", (table, places), (*new, *(own[at] for at in others)))
        count = len(new)
        rest = range(count, count + len(others))
        return self.transposed(found, (*rest[:axis], *range(count), *rest[axis:]))

    def transposed(self, number: int, perm: Sequence[int]) -> int:
        """Put axes into another order."""
        if list(perm) == sorted(perm):
            return number
        dims = [self.types(number).dims[at] for at in perm]
        return self.emit("transpose", (number,), dims, perm=tuple(perm))


# What is computed of numbers that follow from sizes.


def each_of(function: Callable[..., Any], *arrays: Array | None) -> Array:
    """Apply a function to all elements of arrays that are broadcast to each other."""
    found = np.frompyfunc(function, len(arrays), 1)(*arrays)
    array = np.empty(np.shape(found), object)
    array[...] = found
    return array


def _is_true(found: Expression) -> bool | None:
    is_known = found.constant is not None or is_at_least(found, 1)
    return found.constant != 0 if is_known else None


def _less(one: Expression, other: Expression) -> bool | None:
    if is_at_least(other - one, 1):
        return True
    return False if is_at_least(one - other, 0) else None


def _equal(one: Any, other: Any) -> bool | None:
    if one == other:
        return True
    is_known = isinstance(one, bool) or not may_be_equal(one, other)
    return False if is_known else None


def _larger(one: Any, other: Any) -> Any:
    if isinstance(one, bool):
        return one or other
    is_less = _less(one, other)
    return None if is_less is None else other if is_less else one


def _smaller(one: Any, other: Any) -> Any:
    if isinstance(one, bool):
        return one and other
    is_less = _less(one, other)
    return None if is_less is None else one if is_less else other


def _quotient(one: Expression, other: Expression) -> Expression | None:
    above, below = one.constant, other.constant
    if above is None or not below:
        return one.divided(other)
    sign = 1 if (above < 0) == (below < 0) else -1
    return whole(sign * (abs(above) // abs(below)))


KNOWN: Mapping[str, Callable[..., Any]] = {
    "add": lambda one, other: one + other,
    "sub": lambda one, other: one - other,
    "mul": lambda one, other: one * other,
    "div": _quotient,
    "neg": lambda one: -one,
    "max": _larger,
    "min": _smaller,
    "less": _less,
    "equal": _equal,
    "not": lambda one: not one,
    "select": lambda is_first, one, other: one if is_first else other,
}
