"""Simplify a program by what is known of its sizes: equal sizes share a name, and less is left.

The rewrites are those of BladeDISC's ``disc-shape-optimization`` and ``disc-algebraic-simplifier``
that keep every bit of the results; so ``x + 0`` stays, which turns -0 into 0. One thing differs: a
signalling NaN is returned as it was given where ``x * 1`` would have made it a quiet one.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from math import copysign
from typing import Any, assert_never

from mlc_course.dynamic_shape.ir import (
    BY_NAME,
    LARGEST,
    AffineEq,
    AtMost,
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
from mlc_course.dynamic_shape.solve import Facts, Proved, Solver
from mlc_course.errors import Contradiction

SAME_IF = {  # attributes with which an operator returns its operand
    "slice": {"start": 0, "drop": 0},
    "pad": {"low": 0, "high": 0},
    "split": {"parts": 1},
}
NEUTRAL = {"mul": 1, "div": 1, "sub": 0}  # numbers that keep every other operand


def simplified(module: Module) -> Module:
    """Return a program with the same results, bit by bit, for the same inputs.

    Sizes that are proved equal share a name, or are a number. Operators that move nothing are left
    out, two that rename or move are one, equal ones are computed once, and what no result needs is
    not computed. What only they asserted is stated, so the same sizes are taken; and simplifying
    again changes nothing. Raises ``Contradiction`` where it is seen that no sizes keep the facts.
    """
    while (found := _simpler(module)) != module:
        module = found
    return module


def _simpler(module: Module) -> Module:
    """Simplify a program once; what is left may show that more sizes are equal."""
    shared = _shared(module)
    found = shared
    while True:
        function = _Rewriter(found.function).function()
        if function == found.function:
            return replace(found, constraints=(*found.constraints, *_lost(shared, found)))
        found = replace(found, function=function)


def _lost(before: Module, after: Module) -> list[Constraint]:
    """Return facts that follow no more, or that a size is computed from which no input has."""
    kept = dict.fromkeys(after.facts())
    lost = [fact for fact in before.facts() if fact not in kept and not _is_trivial(fact)]
    if not lost:
        return []
    solver = Solver(Facts({dim.name: dim for dim in after.dims}, tuple(kept)))
    bound = {dim for each in after.function.inputs for dim in each.type.dims}
    return [
        fact
        for fact in lost
        if not bound.issuperset(dim for dim in dims_of(fact) if isinstance(dim, str))
        or not isinstance(solver.ask(fact), Proved)
    ]


def _shared(module: Module) -> Module:
    """Give equal sizes one name, or a number."""
    facts = Facts({dim.name: dim for dim in module.dims}, module.facts())
    same: defaultdict[Any, list[SymbolicDim]] = defaultdict(list)
    for dim in module.dims:
        same[facts.normal_form((dim.name,))].append(dim)
    names: dict[str, Dim] = {}
    dims = []
    for form, equal in same.items():
        joined, size = _joined(equal), _constant(form)
        if size is None:
            dims.append(joined)
        elif not joined.may_be(size):
            what = f"the size of @{joined.name}"
            raise Contradiction(what, expected=list(joined.ranges), got=size)
        names |= dict.fromkeys((dim.name for dim in equal), size or joined.name)
    function = module.function
    inputs = tuple(Input(each.name, _renamed(each.type, names)) for each in function.inputs)
    equations = tuple(replace(each, type=_renamed(each.type, names)) for each in function.equations)
    constraints = dict.fromkeys(_constraint(each, names) for each in module.constraints)
    return Module(
        replace(function, inputs=inputs, equations=equations),
        tuple(dims),
        tuple(each for each in constraints if not _is_trivial(each)),
    )


def _constant(form: Any) -> int | None:
    """Return the size that a normal form is, if it is a number that can be written."""
    size = 1
    for key, times in form:
        if isinstance(key, str) or times not in range(LARGEST.bit_length()):
            return None
        size *= key ** int(times)
    return size if size <= LARGEST else None


def _joined(equal: Sequence[SymbolicDim]) -> SymbolicDim:
    """One dimension of the ranges that all have, and of all likely sizes in them."""
    first, *others = equal
    ranges = first.ranges
    for other in others:
        ranges = _united(
            (max(low, least), high if most is None else most if high is None else min(high, most))
            for low, high in ranges
            for least, most in other.ranges
            if (most is None or low <= most) and (high is None or least <= high)
        )
    if not ranges:
        raise Contradiction(
            f"{', '.join(f'@{dim.name}' for dim in equal)} are equal",
            expected="a size that is in a range of each",
            got=[list(dim.ranges) for dim in equal],
        )
    joined = replace(first, ranges=ranges, likely=())
    likely = dict.fromkeys(size for dim in equal for size in dim.likely)
    return replace(joined, likely=tuple(size for size in likely if joined.may_be(size)))


def _united(ranges: Iterable[tuple[int, int | None]]) -> tuple[tuple[int, int | None], ...]:
    """The same sizes, in rising ranges that do not overlap."""
    found: list[tuple[int, int | None]] = []
    for low, high in sorted(ranges, key=lambda each: each[0]):
        least, most = found[-1] if found else (low, 0)
        if most is not None and low > most:
            found.append((low, high))
        else:
            found[-1] = least, None if most is None or high is None else max(most, high)
    return tuple(found)


def _renamed(type_: Type, names: Mapping[str, Dim]) -> Type:
    return replace(type_, dims=tuple(names.get(str(dim), dim) for dim in type_.dims))


def _constraint(constraint: Constraint, names: Mapping[str, Dim]) -> Constraint:
    def of(dim: Dim) -> Dim:
        return names.get(str(dim), dim)

    def all_of(dims: Sequence[Dim]) -> tuple[Dim, ...]:
        return tuple(map(of, dims))

    match constraint:
        case Eq(left, right):
            return Eq(of(left), of(right))
        case Less(small, large):
            return Less(of(small), of(large))
        case Divisible(sizes, by):
            return Divisible(all_of(sizes), all_of(by))
        case MulEq(size, factors):
            return MulEq(of(size), all_of(factors))
        case ProductEq(left_, right_):
            return ProductEq(all_of(left_), all_of(right_))
        case AffineEq(size, terms, constant):
            return AffineEq(of(size), tuple((by, of(dim)) for by, dim in terms), constant)
        case AtMost(sizes, limit):
            return AtMost(all_of(sizes), limit)
    assert_never(constraint)


def _is_trivial(constraint: Constraint) -> bool:
    """Tell whether a constraint says nothing: of numbers alone, or of the same on both sides."""
    if all(isinstance(dim, int) for dim in dims_of(constraint)):
        return holds(constraint, {})
    match constraint:
        case Eq(left, right):
            return left == right
        case MulEq(size, factors):
            return _counted((size,)) == _counted(factors)
        case ProductEq(left_, right_):
            return _counted(left_) == _counted(right_)
        case Divisible(sizes, by):
            return _counted(by) <= _counted(sizes)
        case AffineEq(size, terms, constant):
            sums = Counter({size: -1})
            for times, dim in terms:
                sums[dim] += times
            return constant == 0 and not any(sums.values())
    return False


def _counted(dims: Sequence[Dim]) -> Counter[Dim]:
    return Counter(dim for dim in dims if dim != 1)


class _Rewriter:
    """Writes a function anew, operator by operator."""

    def __init__(self, old: Function) -> None:
        self.old, self.count = old, len(old.inputs)
        self.types = [each.type for each in old.inputs]
        self.made: list[Equation] = []
        self.known: dict[tuple[Equation, str], int] = {}

    def function(self) -> Function:
        numbers = list(range(self.count))
        for equation in self.old.equations:
            operands = tuple(numbers[each] for each in equation.operands)
            numbers.append(self.value(replace(equation, operands=operands)))
        return self._live(tuple(numbers[each] for each in self.old.results))

    def value(self, equation: Equation) -> int:
        """Return the number of an equation's value; it may be one that there is."""
        equation = self.lighter(equation)
        if (same := self.operand_kept(equation)) is not None:
            return same
        key = equation, repr(equation.attributes)  # 0.0 == -0.0
        if key not in self.known:
            self.known[key] = len(self.types)
            self.types.append(equation.type)
            self.made.append(equation)
        return self.known[key]

    def by(self, value: int, *names: str) -> Equation | None:
        """Return the equation of a value if its operator is one of these."""
        if value < self.count or self.made[value - self.count].op.name not in names:
            return None
        return self.made[value - self.count]

    def operand_kept(self, equation: Equation) -> int | None:
        """Return the operand that an operator returns as it is."""
        name, given = equation.op.name, dict(equation.attributes)
        operands = [each for each in equation.operands if self.types[each] == equation.type]
        if not operands:
            return None
        first = equation.operands[0]
        is_first = operands[0] == first
        if name in ("reshape", "convert") or (name == "concat" and len(equation.operands) == 1):
            return first
        if name in SAME_IF and is_first and SAME_IF[name].items() <= given.items():
            return first
        if name in ("broadcast", "transpose"):
            axes: Any = given["dims" if name == "broadcast" else "perm"]
            return first if list(axes) == list(range(len(equation.type.dims))) else None
        if name in NEUTRAL and (name, equation.type.dtype) != ("div", "i64"):  # divided as f64
            ours = [_is(self.by(each, "constant"), NEUTRAL[name]) for each in equation.operands]
            if is_first and ours[1]:
                return first
            if name == "mul" and ours[0] and equation.operands[1] in operands:
                return equation.operands[1]
        return None

    def lighter(self, equation: Equation) -> Equation:
        """Return an equation of the same value that does less, or the same."""
        name, given = equation.op.name, dict(equation.attributes)
        if equation.op.kind == "elementwise":
            return replace(equation, operands=self._scalars(equation))
        if name == "transpose":
            perm: Any = given["perm"]
            operand = equation.operands[0]
            if inner := self.by(operand, "transpose"):
                before: Any = dict(inner.attributes)["perm"]
                composed = tuple(before[axis] for axis in perm)
                return replace(equation, operands=inner.operands, attributes=(("perm", composed),))
            dims = self.types[operand].dims
            moving = [axis for axis in perm if dims[axis] != 1]
            if moving == sorted(moving):
                return Equation(BY_NAME["reshape"], (operand,), equation.type)
        if name == "reshape" and (inner := self.by(equation.operands[0], "reshape")):
            return replace(equation, operands=inner.operands)
        if name == "broadcast":
            to: Any = given["dims"]
            if inner := self.by(equation.operands[0], "broadcast"):
                before = dict(inner.attributes)["dims"]
                composed = tuple(to[axis] for axis in before)
                return replace(equation, operands=inner.operands, attributes=(("dims", composed),))
            if inner := self.by(equation.operands[0], "reshape"):
                wide, source = inner.type.dims, self.types[inner.operands[0]].dims
                places = [axis for axis, dim in enumerate(wide) if dim != 1]
                if tuple(wide[axis] for axis in places) == source:
                    composed = tuple(to[axis] for axis in places)
                    operands = inner.operands
                    return replace(equation, operands=operands, attributes=(("dims", composed),))
        return equation

    def _scalars(self, equation: Equation) -> tuple[int, ...]:
        """Take a number itself where it was given to every element, if one operand has axes."""
        if not equation.type.dims:
            return equation.operands
        found = list(equation.operands)
        for at, operand in enumerate(found):
            inner = self.by(operand, "broadcast")
            others = [*found[:at], *found[at + 1 :]]
            is_scalar = inner is not None and not self.types[inner.operands[0]].dims
            if inner and is_scalar and any(self.types[other].dims for other in others):
                found[at] = inner.operands[0]
        return tuple(found)

    def _live(self, results: tuple[int, ...]) -> Function:
        """Leave out what no result needs."""
        needed = set(results)
        for at in reversed(range(len(self.made))):
            if at + self.count in needed:
                needed.update(self.made[at].operands)
        numbers = {value: value for value in range(self.count)}
        equations: list[Equation] = []
        for at, equation in enumerate(self.made, self.count):
            if at in needed:
                numbers[at] = self.count + len(equations)
                operands = tuple(numbers[each] for each in equation.operands)
                equations.append(replace(equation, operands=operands))
        return Function(
            self.old.name,
            self.old.inputs,
            tuple(equations),
            tuple(numbers[each] for each in results),
        )


def _is(constant: Equation | None, number: int) -> bool:
    if constant is None:
        return False
    value: Any = dict(constant.attributes)["value"]
    return value == number and copysign(1, value) > 0  # x - -0.0 turns -0.0 into 0.0
