"""A program on tensors of unknown sizes, beside what is known of these sizes.

The tensors' types name symbolic dimensions; operators carry no constraints. So the same constraints
serve tensors and buffers, and a program that is lowered from one to the other loses none.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import count, islice

from mlc_course.dynamic_shape.ir.constraints import Constraint, dims_of
from mlc_course.dynamic_shape.ir.dims import LARGEST, Dim, SymbolicDim
from mlc_course.dynamic_shape.ir.operators import Attributes, Op, Type
from mlc_course.errors import GraphError, UsageError, check_known


@dataclass(frozen=True)
class Input:
    """A tensor that a function is given."""

    name: str
    type: Type


@dataclass(frozen=True)
class Equation:
    """Value number ``len(inputs) + i`` of a function, where i is this equation's place."""

    op: Op
    operands: tuple[int, ...]
    type: Type
    attributes: Attributes = ()


@dataclass(frozen=True)
class Function:
    """Inputs, equations, and the values that are returned."""

    name: str
    inputs: tuple[Input, ...]
    equations: tuple[Equation, ...]
    results: tuple[int, ...]

    @cached_property
    def types(self) -> tuple[Type, ...]:
        """The types of all values, by number."""
        return (*(each.type for each in self.inputs), *(each.type for each in self.equations))

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The names of all values: of an input its own, of others a number that is no input's."""
        own = [each.name for each in self.inputs]
        taken = set(own)
        free = (str(number) for number in count() if str(number) not in taken)
        return (*own, *islice(free, len(self.equations)))

    def name_of(self, value: int) -> str:
        """Return the name of a value in the text form."""
        return f"%{self.names[value]}"


@dataclass(frozen=True)
class Module:
    """A function, the symbolic dimensions in its types, and the constraints between them.

    Raises ``GraphError`` or ``ShapeError`` where an operator is given what it cannot take, and
    ``UsageError`` for a dimension that is not declared.
    """

    function: Function
    dims: tuple[SymbolicDim, ...]
    constraints: tuple[Constraint, ...] = ()

    def __post_init__(self) -> None:
        """Check names, the order of values, and what each operator is given."""
        names = dict.fromkeys(dim.name for dim in self.dims)
        if len(names) != len(self.dims):
            twice = ", ".join(sorted(dim.name for dim in self.dims))
            raise GraphError("a dimension is declared twice", got=twice)
        for type_ in self.function.types:
            for dim in type_.dims:
                _check_size(dim, names)
        for constraint in self.constraints:
            for dim in dims_of(constraint):
                _check_size(dim, names)
        for at, equation in enumerate(self.function.equations):
            known = len(self.function.inputs) + at
            if not all(0 <= operand < known for operand in equation.operands):
                raise GraphError(f"{self._name_of(at)}: an operand that is not computed yet")
            for _ in self.facts_of(at):
                pass  # raises where the operator cannot take what it is given

    def facts_of(self, at: int) -> Iterator[Constraint]:
        """Yield the constraints that an equation's operator asserts."""
        equation, types = self.function.equations[at], self.function.types
        operands = [types[operand] for operand in equation.operands]
        try:
            yield from equation.op.asserted(operands, equation.type, dict(equation.attributes))
        except Exception as error:
            error.add_note(f"in {self._name_of(at)} = {equation.op.name}(...)")
            raise

    def _name_of(self, at: int) -> str:
        return self.function.name_of(len(self.function.inputs) + at)

    def facts(self) -> list[Constraint]:
        """Return the stated constraints, and those that the operators assert."""
        return list(self.origins())

    def origins(self) -> dict[Constraint, str]:
        """Return all facts, each with where it was first stated."""
        found = dict.fromkeys(self.constraints, "stated")
        for fact, where in self.asserted().items():
            found.setdefault(fact, where)
        return found

    def asserted(self) -> dict[Constraint, str]:
        """Return the facts that operators assert, stated or not, each with the first that does."""
        found: dict[Constraint, str] = {}
        for at, equation in enumerate(self.function.equations):
            for fact in self.facts_of(at):
                found.setdefault(fact, f"{self._name_of(at)} = {equation.op.name}")
        return found

    def binding(self, name: str) -> tuple[Input, int] | None:
        """Return the first input and axis that have a dimension, or None."""
        for each in self.function.inputs:
            if name in each.type.dims:
                return each, each.type.dims.index(name)
        return None


def _check_size(dim: Dim, names: Collection[str]) -> None:
    if isinstance(dim, str):
        check_known("no symbolic dimension", dim, names)
    elif not 1 <= dim <= LARGEST:
        raise UsageError("a size", expected=f"1 to {LARGEST}", got=dim)
