"""A planner knows all facts on a program's sizes, or only some, to see what each is worth."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable
from typing import Literal, get_args

from mlc_course.dynamic_shape.ir import Constraint, Dim, Eq, Module, SymbolicDim
from mlc_course.dynamic_shape.solve import Facts, Proved, Solver, equal_products
from mlc_course.errors import Contradiction, check_known

Level = Literal["none", "eq", "product", "frontend", "all"]
LEVELS: tuple[Level, ...] = get_args(Level)


class Knowledge:
    """A program's sizes, and the facts of one level.

    none: each axis of each tensor has a size of its own; eq: equal sizes share a name; product: and
    what operators assert; frontend: equal sizes, and what the program states; all: all of these.
    Raises ``UsageError`` for another level, ``Contradiction`` where no sizes keep the facts.
    """

    def __init__(self, module: Module, level: Level = "all") -> None:
        check_known("no level of facts", level, LEVELS)
        self.level = level
        types = module.function.types
        stated: Iterable[Constraint]
        if level == "none":
            first = len(module.function.inputs)
            taken = {dim.name for dim in module.dims}
            self.sizes = [
                tuple(
                    dim if isinstance(dim, int) else _own_size(value, axis, first, taken)
                    for axis, dim in enumerate(type_.dims)
                )
                for value, type_ in enumerate(types)
            ]
            names = {dim for dims in self.sizes for dim in dims if isinstance(dim, str)}
            self.dims = {name: SymbolicDim(name) for name in names}
            stated = ()
        else:
            self.sizes = [type_.dims for type_ in types]
            self.dims = {dim.name: dim for dim in module.dims}
            asserted, said = module.asserted(), set(module.constraints)
            stated = [
                fact
                for fact in module.facts()
                if level == "all"
                or (level == "frontend" and fact in said)
                or (fact in asserted and (level == "product" or isinstance(fact, Eq)))
            ]
        self.stated = tuple(stated)
        self.solver = Solver(Facts(self.dims, self.stated))
        self._keys: dict[tuple[Dim, ...], Hashable] = {}
        self._holds: dict[Constraint, bool] = {}
        self._possible: dict[tuple[Constraint, ...], bool] = {}

    def holds(self, claim: Constraint) -> bool:
        """Tell whether a claim on sizes is proved."""
        if claim not in self._holds:
            self._holds[claim] = isinstance(self.solver.ask(claim), Proved)
        return self._holds[claim]

    def is_possible(self, claims: tuple[Constraint, ...]) -> bool:
        """Tell whether the facts leave room for some more."""
        if claims not in self._possible:
            try:
                Facts(self.dims, (*self.stated, *claims))
                self._possible[claims] = True
            except Contradiction:
                self._possible[claims] = False
        return self._possible[claims]

    def key(self, dims: tuple[Dim, ...]) -> Hashable:
        """Return what is the same for products that are equal by facts on products."""
        if dims not in self._keys:
            self._keys[dims] = self.solver.facts.normal_form(dims)
        return self._keys[dims]

    def shared_names(self) -> dict[str, str]:
        """Return the first name of each size whose name is another one that is proved equal."""
        first: dict[Hashable, str] = {}
        names = dict.fromkeys(dim for dims in self.sizes for dim in dims if isinstance(dim, str))
        known = {name: first.setdefault(self.key((name,)), name) for name in names}
        return {name: other for name, other in known.items() if name != other}

    def are_equal(self, left: tuple[Dim, ...], right: tuple[Dim, ...]) -> bool:
        """Tell whether two products are proved equal."""
        return self.key(left) == self.key(right) or self.holds(equal_products(left, right))


def _own_size(value: int, axis: int, first: int, taken: Collection[str]) -> str:
    """Name the size of one axis; an input and a result may have the same name."""
    name = f"axis{axis}_of_" + (f"input{value}" if value < first else str(value - first))
    while name in taken:
        name += "_"
    return name
