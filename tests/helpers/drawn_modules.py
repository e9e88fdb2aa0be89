"""Programs on unknown sizes that are drawn, with sizes that keep all facts."""

from __future__ import annotations

import random
from collections.abc import Sequence

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

    def add(
        self, op: str, operands: tuple[int, ...], sizes: Sequence[Dim], /, **given: object
    ) -> None:
        """Add an operator with a result of these sizes."""
        type_ = Type("f32", self.renamed(sizes))
        attributes = tuple(given.items())
        self.equations.append(Equation(BY_NAME[op], operands, type_, attributes))  # type: ignore[arg-type]
        self.types.append(type_)

    def step(self) -> None:
        """Add an operator that fits a value, mostly one of the last."""
        rng = self.rng
        at = max(rng.randrange(len(self.types)) for _ in range(3))
        dims = self.types[at].dims
        kind = rng.random()
        if kind < 0.3 or not dims:
            shape = [self.of(dim) for dim in dims]
            like = [v for v, t in enumerate(self.types) if list(map(self.of, t.dims)) == shape]
            self.add("add", (at, rng.choice(like)), dims)
        elif kind < 0.4:
            self.add(rng.choice(["exp", "neg"]), (at,), dims)
        elif kind < 0.65:
            first = rng.randrange(len(dims))
            axes = range(first, len(dims)) if rng.random() < 0.8 else [first]
            kept = [dim for axis, dim in enumerate(dims) if axis not in axes]
            self.add(rng.choice(["reduce_sum", "reduce_max"]), (at,), kept, axes=tuple(axes))
        elif kind < 0.8 and len(dims) < 3:
            place = len(dims) if rng.random() < 0.7 else rng.randint(0, len(dims))
            new: Dim = rng.choice([*self.sizes, rng.choice(SIZES)])
            to = tuple(axis for axis in range(len(dims) + 1) if axis != place)
            self.add("broadcast", (at,), [*dims[:place], new, *dims[place:]], dims=to)
        elif kind < 0.92 and len(dims) > 1:
            axis = rng.randrange(len(dims) - 1)
            whole = self.name(self.of(dims[axis]) * self.of(dims[axis + 1]))
            self.add("reshape", (at,), [*dims[:axis], whole, *dims[axis + 2 :]])
        elif kind < 0.96 and len(dims) > 1:
            perm = rng.sample(range(len(dims)), len(dims))
            self.add("transpose", (at,), [dims[axis] for axis in perm], perm=tuple(perm))
        else:
            axis = rng.randrange(len(dims))
            double = self.name(2 * self.of(dims[axis]))
            self.add("concat", (at, at), [*dims[:axis], double, *dims[axis + 1 :]], axis=axis)

    def facts(self) -> list[Constraint]:
        """A few facts that are true of these sizes."""
        found: list[Constraint] = []
        names = list(self.sizes)
        for _ in range(self.rng.randint(0, 3)):
            one, *others = self.rng.choices(names, k=3)
            for other in others:
                if one != other and self.sizes[one] == self.sizes[other]:
                    found.append(Eq(one, other))
            for whole in names:
                if self.sizes[whole] == self.sizes[one] * self.sizes[others[0]]:
                    found.append(ProductEq((whole,), (one, others[0])))
        return found


def drawn_module(rng: random.Random) -> tuple[Module, dict[str, int]]:
    """A program of up to 14 operators, and a size for each dimension."""
    drawing = Drawing(rng)
    inputs = []
    for at in range(rng.randint(1, 3)):
        dims = tuple(drawing.name(rng.choice(SIZES)) for _ in range(rng.randint(1, 3)))
        drawing.types.append(Type("f32", dims))
        inputs.append(Input(f"x{at}", drawing.types[-1]))
    for _ in range(rng.randint(2, 14)):
        drawing.step()
    last = len(drawing.types) - 1
    results = {last, *rng.sample(range(len(inputs), last + 1), rng.randint(0, 1))}
    function = Function("main", tuple(inputs), tuple(drawing.equations), tuple(sorted(results)))
    facts = dict.fromkeys(drawing.facts()) if rng.random() < 0.7 else {}
    dims_ = tuple(map(SymbolicDim, drawing.sizes))
    return Module(function, dims_, tuple(facts)), drawing.sizes
