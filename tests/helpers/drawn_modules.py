"""Programs on unknown sizes that are drawn, with sizes that keep all facts."""

from __future__ import annotations

import random
from collections.abc import Sequence
from math import prod

from mlc_course.dynamic_shape.ir import (
    BY_NAME,
    Constraint,
    Dim,
    Eq,
    Equation,
    Function,
    Input,
    Module,
    ProductEq,
    SymbolicDim,
    Type,
)

SIZES = (2, 3, 4, 5)


class Drawing:
    """A program that grows by one operator at a time."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.sizes: dict[str, int] = {}
        self.types: list[Type] = []
        self.equations: list[Equation] = []

    def name(self, size: int) -> str:
        """A dimension of a size: one that there is, or a new one."""
        same = [name for name, other in self.sizes.items() if other == size]
        if same and self.rng.random() < 0.7:
            return self.rng.choice(same)
        self.sizes[f"S{len(self.sizes)}"] = size
        return f"S{len(self.sizes) - 1}"

    def of(self, dim: Dim) -> int:
        return dim if isinstance(dim, int) else self.sizes[dim]

    def renamed(self, dims: Sequence[Dim]) -> tuple[Dim, ...]:
        """Equal sizes, some by other names."""
        return tuple(
            self.name(self.of(dim)) if isinstance(dim, str) and self.rng.random() < 0.15 else dim
            for dim in dims
        )

    def dim(self, size: int) -> Dim:
        """A size: by a name, or for 1 mostly as the number."""
        return 1 if size == 1 and self.rng.random() < 0.8 else self.name(size)

    def add(
        self,
        op: str,
        operands: tuple[int, ...],
        sizes: Sequence[Dim],
        /,
        dtype: str = "f32",
        **given: object,
    ) -> int:
        """Add an operator with a result of these sizes; return its value."""
        type_ = Type(dtype, self.renamed(sizes))
        attributes = tuple(given.items())
        self.equations.append(Equation(BY_NAME[op], operands, type_, attributes))  # type: ignore[arg-type]
        self.types.append(type_)
        return len(self.types) - 1

    def alike(self, sizes: Sequence[Dim]) -> list[int]:
        """The values of these sizes."""
        wanted = list(map(self.of, sizes))
        return [
            value
            for value, type_ in enumerate(self.types)
            if type_.dtype == "f32" and list(map(self.of, type_.dims)) == wanted
        ]

    def step(self) -> None:
        """Add an operator that fits a value, mostly one of the last."""
        values = [value for value, type_ in enumerate(self.types) if type_.dtype == "f32"]
        at = max(self.rng.choice(values) for _ in range(3))
        kinds = [self.elementwise]
        weights = [30]
        if self.types[at].dims:
            kinds += [self.unary, self.reduction, self.broadcast, self.merged, self.parted]
            weights += [10, 25, 15, 12, 8]
            kinds += [self.like_another, self.transposed, self.moved, self.gathered]
            weights += [8, 4, 6, 3]
            kinds.append(self.product)
            weights.append(4)
        (kind,) = self.rng.choices(kinds, weights)
        kind(at, self.types[at].dims)

    def elementwise(self, at: int, dims: tuple[Dim, ...]) -> None:
        others = self.alike(dims) + (self.alike(()) if dims else [])
        self.add("add", (at, self.rng.choice(others)), dims)

    def unary(self, at: int, dims: tuple[Dim, ...]) -> None:
        self.add(self.rng.choice(["exp", "neg"]), (at,), dims)

    def reduction(self, at: int, dims: tuple[Dim, ...]) -> None:
        first = self.rng.randrange(len(dims))
        axes = range(first, len(dims)) if self.rng.random() < 0.8 else [first]
        kept = [dim for axis, dim in enumerate(dims) if axis not in axes]
        op = self.rng.choice(["reduce_sum", "reduce_max"])
        self.add(op, (at,), kept, axes=tuple(axes))

    def broadcast(self, at: int, dims: tuple[Dim, ...]) -> None:
        """Mostly along a new axis at the end; an axis of size 1 may be repeated."""
        rng = self.rng
        repeated = [axis for axis, dim in enumerate(dims) if dim == 1 and rng.random() < 0.3]
        sizes = [
            rng.choice([*self.sizes, 3]) if axis in repeated else dim
            for axis, dim in enumerate(dims)
        ]
        place = len(dims) if rng.random() < 0.7 else rng.randint(0, len(dims))
        if len(dims) > 3:
            self.add("broadcast", (at,), sizes, dims=tuple(range(len(dims))))
            return
        new: Dim = rng.choice([*self.sizes, rng.choice(SIZES), 1])
        to = tuple(axis for axis in range(len(dims) + 1) if axis != place)
        self.add("broadcast", (at,), [*sizes[:place], new, *sizes[place:]], dims=to)

    def merged(self, at: int, dims: tuple[Dim, ...]) -> None:
        """Make two axes one."""
        if len(dims) > 1:
            axis = self.rng.randrange(len(dims) - 1)
            whole = self.dim(self.of(dims[axis]) * self.of(dims[axis + 1]))
            self.add("reshape", (at,), [*dims[:axis], whole, *dims[axis + 2 :]])

    def parted(self, at: int, dims: tuple[Dim, ...]) -> None:
        """Make two axes of one; where its size is prime, one of them has size 1."""
        axis = self.rng.randrange(len(dims))
        size = self.of(dims[axis])
        factors = [by for by in range(1, size + 1) if size % by == 0]
        outer = self.rng.choice(factors[1:-1] or factors)
        parts = [dims[axis] if by == size else self.dim(by) for by in (outer, size // outer)]
        if len(dims) < 5:
            self.add("reshape", (at,), [*dims[:axis], *parts, *dims[axis + 1 :]])

    def like_another(self, at: int, dims: tuple[Dim, ...]) -> None:
        """Reshape to the sizes of another value with as many elements."""
        count = prod(map(self.of, dims))
        others = [t.dims for t in self.types if prod(map(self.of, t.dims)) == count and t.dims]
        self.add("reshape", (at,), self.rng.choice(others))

    def transposed(self, at: int, dims: tuple[Dim, ...]) -> int:
        perm = self.rng.sample(range(len(dims)), len(dims))
        return self.add("transpose", (at,), [dims[axis] for axis in perm], perm=tuple(perm))

    def moved(self, at: int, dims: tuple[Dim, ...]) -> None:
        """Join a value with itself, or leave a part of it out, or add to it."""
        rng = self.rng
        axis = rng.randrange(len(dims))
        size = self.of(dims[axis])
        low, high = rng.choice([0, 0, 1]), rng.choice([0, 1])
        choices: list[tuple[str, int, dict[str, object]]] = [
            ("concat", 2 * size, {"axis": axis}),
            ("pad", size + low + high, {"axis": axis, "low": low, "high": high, "value": 7}),
        ]
        if size > low + high:
            given = {"axis": axis, "start": low, "drop": high}
            choices.append(("slice", size - low - high, dict(given)))
        if size % 2 == 0:
            part = {"axis": axis, "parts": 2, "part": low}
            choices.append(("split", size // 2, dict(part)))
        op, new, more = rng.choice(choices)
        sizes = [*dims[:axis], self.dim(new), *dims[axis + 1 :]]
        self.add(op, (at, at) if op == "concat" else (at,), sizes, **more)

    def gathered(self, at: int, dims: tuple[Dim, ...]) -> None:
        """Read rows of a value, in their order, once or several times."""
        first = [dims[0]] if self.rng.random() < 0.5 else [dims[0], self.dim(2)]
        indices = self.add("iota", (), first, dtype="i64", axis=0)
        self.add("gather", (at, indices), [*first, *dims[1:]])

    def product(self, at: int, dims: tuple[Dim, ...]) -> None:
        """Multiply matrices: a value and one that fits, or two axes of it with themselves."""
        if len(dims) < 2:
            return
        *batch, rows, inner = dims
        fitting = [
            (value, type_.dims[-1])
            for value, type_ in enumerate(self.types)
            if type_.dtype == "f32"
            and len(type_.dims) == len(dims)
            and [*map(self.of, type_.dims[:-1])] == [*map(self.of, (*batch, inner))]
        ]
        perm = (*range(len(batch)), len(batch) + 1, len(batch))
        turned = self.add("transpose", (at,), [*batch, inner, rows], perm=perm)
        other, columns = self.rng.choice([*fitting, (turned, rows)])
        self.add("matmul", (at, other), [*batch, rows, columns])

    def facts(self) -> list[Constraint]:
        """A few facts that are true of these sizes."""
        found: list[Constraint] = []
        names = list(self.sizes)
        for _ in range(self.rng.randint(0, 3) if names else 0):
            one, *others = self.rng.choices(names, k=3)
            for other in others:
                if one != other and self.sizes[one] == self.sizes[other]:
                    found.append(Eq(one, other))
            for whole in names:
                if self.sizes[whole] == self.sizes[one] * self.sizes[others[0]]:
                    found.append(ProductEq((whole,), (one, others[0])))
        return found


def drawn_module(rng: random.Random) -> tuple[Module, dict[str, int]]:
    """A program of up to 14 steps, and a size for each dimension."""
    drawing = Drawing(rng)
    inputs = []
    for at in range(rng.randint(1, 3)):
        sizes = rng.choices([*SIZES, 1], k=rng.randint(1, 3))
        dims = tuple(map(drawing.dim, sizes))
        drawing.types.append(Type("f32", dims))
        inputs.append(Input(f"x{at}", drawing.types[-1]))
    steps = rng.randint(2, 14)
    while steps > 0 or not drawing.equations:
        drawing.step()
        steps -= 1
    last = len(drawing.types) - 1
    results = {last, *rng.sample(range(len(inputs), last + 1), rng.randint(0, 1))}
    function = Function("main", tuple(inputs), tuple(drawing.equations), tuple(sorted(results)))
    facts = dict.fromkeys(drawing.facts()) if rng.random() < 0.7 else {}
    dims_ = tuple(map(SymbolicDim, drawing.sizes))
    return Module(function, dims_, tuple(facts)), drawing.sizes
