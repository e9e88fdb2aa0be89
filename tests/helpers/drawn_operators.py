"""Programs of all operators and element types, with sizes that keep their facts."""

from __future__ import annotations

import random
from collections.abc import Sequence

import numpy as np

from mlc_course.dynamic_shape.ir import (
    BY_NAME,
    DTYPES,
    AffineEq,
    Constraint,
    Dim,
    Divisible,
    Eq,
    Equation,
    Function,
    Input,
    Less,
    Module,
    MulEq,
    ProductEq,
    SymbolicDim,
    Type,
    dims_of,
    holds,
)
from mlc_course.dynamic_shape.ir.operators import Array, Value

FLOATS = ("f32", "f16", "f64")
NUMBERS = (*FLOATS, "i64", "i32", "i8")
CONSTANTS: Sequence[int | float] = (0, 1, 0.0, -0.0, 1.0, -1, 2, 0.5, float("inf"), 200, -1e30)
ELEMENTWISE = [op for op in BY_NAME.values() if op.kind == "elementwise"]
REDUCTIONS = [op.name for op in BY_NAME.values() if op.kind == "reduction"]
ROWS = "rows"  # begins the name of an input that gather may read
SPECIAL = (0.0, -0.0, np.nan, -np.nan, np.inf, -np.inf, 1.0, 0.5, -2.0, 6e4, 1e-7)


class Drawing:
    """A program that grows by one value at a time."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.sizes: dict[str, int] = {}
        self.types: list[Type] = []
        self.inputs: list[Input] = []
        self.equations: list[Equation] = []
        self.indices: list[int] = []  # inputs that gather may read

    def of(self, dims: Sequence[Dim]) -> tuple[int, ...]:
        return tuple(dim if isinstance(dim, int) else self.sizes[dim] for dim in dims)

    def dim(self, size: int) -> Dim:
        """A dimension of a size: a number, one that there is, or a new one."""
        chance = self.rng.random()
        if chance < (0.5 if size == 1 else 0.08):
            return size
        same = [name for name, other in self.sizes.items() if other == size]
        if same and chance < 0.8:
            return self.rng.choice(same)
        self.sizes[f"S{len(self.sizes)}"] = size
        return f"S{len(self.sizes) - 1}"

    def renamed(self, dims: Sequence[Dim]) -> tuple[Dim, ...]:
        return tuple(self.dim(*self.of([dim])) if self.rng.random() < 0.15 else dim for dim in dims)

    def input(self) -> None:
        rng = self.rng
        dims = tuple(self.dim(rng.choice((1, 2, 2, 3, 4, 6))) for _ in range(rng.randint(0, 3)))
        is_index = rng.random() < 0.15
        dtype = rng.choice(("i64", "i32") if is_index else (*FLOATS, "f32", "f32", *DTYPES))
        if is_index:
            self.indices.append(len(self.types))
        self.types.append(Type(dtype, dims))
        name = f"{ROWS if is_index else 'x'}{len(self.inputs)}"
        self.inputs.append(Input(name, self.types[-1]))

    def add(
        self, op: str, operands: Sequence[int], dtype: str, dims: Sequence[Dim], /, **given: Value
    ) -> int:
        type_ = Type(dtype, self.renamed(dims))
        self.equations.append(Equation(BY_NAME[op], tuple(operands), type_, tuple(given.items())))
        self.types.append(type_)
        return len(self.types) - 1

    def like(self, at: int, dtype: str, *, or_scalar: bool = True) -> int:
        """A value of the same sizes and of an element type, or a number; a new one if none is."""
        shape = self.of(self.types[at].dims)
        found = [
            value
            for value, type_ in enumerate(self.types)
            if type_.dtype == dtype
            and (self.of(type_.dims) == shape or (or_scalar and not type_.dims))
        ]
        if found and self.rng.random() < 0.6:
            return self.rng.choice(found)
        number = self.constant(dtype)
        if or_scalar and self.rng.random() < 0.4:
            return number
        return self.add("broadcast", [number], dtype, self.types[at].dims, dims=())

    def constant(self, dtype: str, dims: Sequence[Dim] = ()) -> int:
        if dtype == "i1":
            values: Sequence[int | float] = (0, 1, 0.5)
        elif dtype in FLOATS:
            values = CONSTANTS
        else:
            values = (0, 1, 1.0, -0.0, -1, 2, 100)
        return self.add("constant", (), dtype, dims, value=self.rng.choice(values))

    def step(self) -> None:
        """Add an operator, mostly to one of the last values."""
        rng = self.rng
        at = max(rng.randrange(len(self.types)) for _ in range(3))
        type_ = self.types[at]
        dtype, dims = type_.dtype, type_.dims
        axis = rng.randrange(len(dims)) if dims else 0
        size = self.of(dims)[axis] if dims else 0

        def along(new: int) -> list[Dim]:
            return [*dims[:axis], self.dim(new), *dims[axis + 1 :]]

        moves = ("transpose", "concat", "slice", "split", "pad", "broadcast to itself")
        moves += ("reduction", "iota", "gather", "shape_of", "matmul", "broadcast")
        kind = rng.choice(
            (
                "elementwise",
                "elementwise",
                "elementwise",
                "neutral",
                "again",
                "constant",
                "broadcast",
                "convert",
            )
            + ("reshape", "reshape to ones", *moves) * bool(dims)
        )
        match kind:
            case "elementwise":
                self.elementwise(at)
            case "neutral":
                name = rng.choice(("mul", "div", *(["sub"] if dtype != "i1" else [])))
                number = self.add("constant", (), dtype, (), value=int(name != "sub"))
                if rng.random() < 0.5:
                    number = self.add("broadcast", [number], dtype, dims, dims=())
                pair = [at, number] if rng.random() < 0.7 else [number, at]
                self.add(name, pair, dtype, dims)
            case "again" if self.equations:
                old = rng.choice(self.equations)
                self.add(
                    old.op.name, old.operands, old.type.dtype, old.type.dims, **dict(old.attributes)
                )
            case "constant":
                self.constant(rng.choice((*NUMBERS, "i1")), rng.choice((dims, ())))
            case "convert":
                self.add("convert", [at], rng.choice((dtype, *DTYPES)), dims)
            case "broadcast":
                rank = len(dims) + rng.randint(0, 2)
                to = sorted(rng.sample(range(rank), len(dims)))
                wide: list[Dim] = [self.dim(rng.choice((1, 2, 3))) for _ in range(rank)]
                for place, dim in zip(to, dims, strict=True):
                    wide[place] = dim if dim != 1 or rng.random() < 0.6 else wide[place]
                self.add("broadcast", [at], dtype, wide, dims=tuple(to))
            case "broadcast to itself":
                self.add("broadcast", [at], dtype, dims, dims=tuple(range(len(dims))))
            case "reshape":
                self.reshape(at)
            case "reshape to ones":
                place = rng.randint(0, len(dims))
                if len(dims) > 3 or (1 in dims and rng.random() < 0.5):
                    self.add("reshape", [at], dtype, [dim for dim in dims if dim != 1])
                else:
                    self.add("reshape", [at], dtype, [*dims[:place], 1, *dims[place:]])
            case "transpose":
                perm = rng.sample(range(len(dims)), len(dims))
                self.add("transpose", [at], dtype, [dims[each] for each in perm], perm=tuple(perm))
            case "concat":
                other = self.like(at, dtype, or_scalar=False)
                many = rng.choice(([at], [at, at], [at, other], [other, at, at]))
                self.add("concat", many, dtype, along(size * len(many)), axis=axis)
            case "slice":
                start = rng.choice((0, rng.randrange(size)))
                drop = rng.choice((0, rng.randrange(size - start)))
                dims_ = along(size - start - drop) if start + drop else dims
                self.add("slice", [at], dtype, dims_, axis=axis, start=start, drop=drop)
            case "split":
                parts = rng.choice([each for each in range(1, size + 1) if size % each == 0])
                part = rng.randrange(parts)
                dims_ = along(size // parts)
                self.add("split", [at], dtype, dims_, axis=axis, parts=parts, part=part)
            case "pad":
                low, high = rng.randint(0, 1), rng.randint(0, 2)
                value = rng.choice((0, 0.0, -0.0, 1) if dtype in FLOATS else (0, 1))
                given: dict[str, Value] = {"axis": axis, "low": low, "high": high, "value": value}
                self.add("pad", [at], dtype, along(size + low + high), **given)
            case "reduction":
                axes = tuple(rng.sample(range(len(dims)), rng.randint(0, len(dims))))
                kept = [dim for place, dim in enumerate(dims) if place not in axes]
                self.add(rng.choice(REDUCTIONS), [at], dtype, kept, axes=axes)
            case "iota":
                self.add("iota", [], rng.choice(NUMBERS), dims, axis=axis)
            case "shape_of":
                self.add("shape_of", [at], "i64", [len(dims)])
            case "gather" if self.indices:
                rows = rng.choice(self.indices)
                if len(self.types[rows].dims) + len(dims) < 5:
                    self.add("gather", [at, rows], dtype, [*self.types[rows].dims, *dims[1:]])
            case "matmul" if len(dims) > 1:
                perm = [*range(len(dims) - 2), len(dims) - 1, len(dims) - 2]
                turned = [dims[each] for each in perm]
                other = self.add("transpose", [at], dtype, turned, perm=tuple(perm))
                pair = rng.choice(([at, other], [other, at]))
                one, two = (self.types[each].dims for each in pair)
                self.add("matmul", pair, dtype, [*one[:-1], two[-1]])

    def elementwise(self, at: int) -> None:
        dtype, dims = self.types[at].dtype, self.types[at].dims
        op = self.rng.choice(ELEMENTWISE)
        if op.name in ("neg", "sub", "sigmoid", "round", "clamp") and dtype == "i1":
            return
        if op.name == "not" and dtype != "i1":
            return
        if op.name == "select":
            self.add("select", [self.like(at, "i1"), at, self.like(at, dtype)], dtype, dims)
            return
        assert op.count
        operands = [at, *(self.like(at, dtype) for _ in range(op.count - 1))]
        self.rng.shuffle(operands)
        self.add(op.name, operands, "i1" if op.name in ("less", "equal") else dtype, dims)

    def reshape(self, at: int) -> None:
        """Join two axes or take one apart, or go back to the sizes of another value."""
        rng = self.rng
        dtype, dims = self.types[at].dtype, self.types[at].dims
        count = int(np.prod(self.of(dims)))
        axis = rng.randrange(len(dims))
        (size,) = self.of([dims[axis]])
        same = [each.dims for each in self.types if np.prod(self.of(each.dims)) == count]
        if rng.random() < 0.4:
            new: Sequence[Dim] = rng.choice(same)
        elif axis + 1 < len(dims):
            whole = self.dim(size * self.of(dims)[axis + 1])
            new = [*dims[:axis], whole, *dims[axis + 2 :]]
        else:
            part = rng.choice([each for each in range(1, size + 1) if size % each == 0])
            new = [*dims[:axis], self.dim(part), self.dim(size // part)]
        self.add("reshape", [at], dtype, new)

    def stated(self) -> list[Constraint]:
        """A few constraints that are true of these sizes."""
        found: list[Constraint] = []
        names = list(self.sizes)
        for _ in range(self.rng.randint(0, 4) if names else 0):
            one, two, three = self.rng.choices(names, k=3)
            a, b, c = self.of([one, two, three])
            drawn: list[Constraint] = [Eq(one, a), Eq(one, two), Less(one, two)]
            drawn += [Divisible((one,), (two,)), MulEq(one, (two, three))]
            drawn += [ProductEq((one, two), (three, 2))]
            drawn += [AffineEq(one, ((2, two), (-1, three)), a - 2 * b + c)]
            found.append(self.rng.choice([fact for fact in drawn if holds(fact, self.sizes)]))
        return found

    def declared(self, name: str) -> SymbolicDim:
        """A dimension of any size, or with ranges that hold its own."""
        rng, size = self.rng, self.sizes[name]
        if rng.random() < 0.8:
            return SymbolicDim(name)
        mine = (rng.randint(1, size), rng.choice((None, size, size + 3)))
        ranges = rng.sample((mine, (7, 9), (20, 20)), rng.randint(1, 3))
        return SymbolicDim(name, tuple(dict.fromkeys((*ranges, mine))), (size,) * rng.randint(0, 1))


def drawn_program(rng: random.Random, operators: int) -> tuple[Module, dict[str, int]]:
    """A program of about as many operators, and a size for each dimension."""
    drawing = Drawing(rng)
    for _ in range(rng.randint(1, 4)):
        drawing.input()
    for _ in range(operators):
        drawing.step()
    count = len(drawing.types)
    results = [rng.randrange(count) for _ in range(rng.randint(1, 3))] + [count - 1]
    function = Function("f", tuple(drawing.inputs), tuple(drawing.equations), tuple(results))
    stated = tuple(dict.fromkeys(drawing.stated())) if rng.random() < 0.5 else ()
    named = {dim for type_ in drawing.types for dim in type_.dims}
    named |= {dim for fact in stated for dim in dims_of(fact)}
    dims = tuple(drawing.declared(name) for name in drawing.sizes if name in named)
    return Module(function, dims, stated), drawing.sizes


def drawn_array(rng: np.random.Generator, given: Input, shape: Sequence[int]) -> Array:
    """Numbers of all kinds; those of rows are in a table of any size."""
    name = given.type.dtype
    dtype = DTYPES[name]
    if name in FLOATS:
        values = rng.choice(SPECIAL, shape)
        return np.where(rng.random(shape) < 0.5, values, rng.standard_normal(shape)).astype(dtype)
    if name == "i1":
        return rng.random(shape) < 0.5
    if given.name.startswith(ROWS):
        return rng.integers(-1, 1, shape, dtype)
    info = np.iinfo(dtype)
    return rng.integers(info.min, info.max, shape, dtype, endpoint=True)
