"""The largest value of a sum over whole numbers that are not negative, with a proof.

Rational arithmetic throughout: the simplex method with Bland's rule, and the cuts of R. E. Gomory,
"Outline of an algorithm for integer solutions to linear programs" (1958). Every bound is a cut: a
multiple of the equations and of earlier cuts, rounded down. So one rule checks them all.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from math import floor, lcm
from typing import Any

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, linprog, milp
from scipy.sparse import csr_array, vstack

from mlc_course.dynamic_shape.solve.echelon import Multipliers, add_to

MOST_ROUNDS = 40
MOST_WORK = 400_000  # numbers of up to 64 bits that are changed, about a second
FEW, MANY = 60, 400  # unknowns: up to these, exact arithmetic is the fastest, or fast enough
LARGEST = 10_000  # what floating-point numbers may be rounded to
ZERO, ONE = Fraction(0), Fraction(1)
Sum = Mapping[str, Fraction | int]  # multiples of unknowns


@dataclass(frozen=True)
class Equation:
    """A sum that is equal to a constant; ``fact`` is its number."""

    fact: int
    sum: Sum
    constant: Fraction


@dataclass(frozen=True)
class Cut:
    """A sum with whole coefficients that is at most ``bound``, for all whole unknowns from 0 on.

    It is rounded down from a multiple of equations, by fact, and of earlier cuts, by place, which
    is not negative. A stated inequality has neither.
    """

    sum: Mapping[str, int]
    bound: int
    equations: Multipliers = field(default_factory=dict)
    cuts: Multipliers = field(default_factory=dict)


@dataclass(frozen=True)
class Bounded:
    """The goal is at most what was asked; the last cut says so, or that there is no solution."""

    cuts: tuple[Cut, ...]


@dataclass(frozen=True)
class Beyond:
    """A solution at which the goal is larger than what was asked."""

    point: dict[str, int]


def at_most(
    goal: Sum, target: int, equations: Sequence[Equation], stated: Sequence[Cut] = ()
) -> Bounded | Beyond | None:
    """Decide whether a sum is at most ``target`` at all solutions; None if it takes too long.

    Where there are many unknowns, SciPy's solvers look for an answer in floating-point numbers, and
    it counts only if it is right in whole ones.
    """
    count = len(_names(goal, equations, stated))
    if count > FEW and (found := _by_floats(goal, target, equations, stated)):
        return found
    if count > MANY:
        return None
    try:
        return _exactly(goal, target, equations, stated, _Work(MOST_WORK))
    except _TooMuch:
        return None if count > FEW else _by_floats(goal, target, equations, stated)


class _TooMuch(Exception):
    """More work than allowed."""


class _Work:
    """A limit to what may still be computed."""

    def __init__(self, left: int) -> None:
        self.left = left

    def take(self, amount: int) -> None:
        """Raise ``_TooMuch`` where no more is left."""
        self.left -= amount
        if self.left < 0:
            raise _TooMuch


def _names(goal: Sum, equations: Sequence[Equation], stated: Sequence[Cut]) -> list[str]:
    sums = [goal, *(each.sum for each in equations), *(each.sum for each in stated)]
    return sorted({name for sum_ in sums for name in sum_})


def _exactly(
    goal: Sum, target: int, equations: Sequence[Equation], stated: Sequence[Cut], work: _Work
) -> Bounded | Beyond | None:
    cuts = list(stated)
    for _ in range(MOST_ROUNDS):
        found = _Tableau(goal, equations, cuts, work)
        if not found.is_feasible:
            return Bounded((*cuts, found.cut({}, found.infeasible())))
        if found.ray is not None:
            start = _exactly({}, -1, equations, cuts, work)
            if not isinstance(start, Beyond):
                return start
            value = sum(by * start.point.get(name, 0) for name, by in goal.items())
            rise = sum(by * found.ray[name] for name, by in goal.items() if name in found.ray)
            steps = max(0, floor((target - value) / rise) + 1)
            names = start.point.keys() | found.ray.keys()
            ray = found.ray
            return Beyond({n: start.point.get(n, 0) + steps * ray.get(n, 0) for n in names})
        if floor(found.value) <= target:
            whole = {name: floor(by) for name, by in goal.items()}
            return Bounded((*cuts, found.cut(whole, found.multipliers())))
        if all(value.denominator == 1 for value in found.point.values()):
            return Beyond({name: int(value) for name, value in found.point.items()})
        cuts += found.gomory()
    return None


def _by_floats(
    goal: Sum, target: int, equations: Sequence[Equation], stated: Sequence[Cut]
) -> Bounded | Beyond | None:
    names = _names(goal, equations, stated)
    place = {name: at for at, name in enumerate(names)}

    def matrix(sums: Sequence[Sum]) -> Any:
        entries = [
            (row, place[name], by) for row, sum_ in enumerate(sums) for name, by in sum_.items()
        ]
        rows, columns, values = zip(*entries, strict=True) if entries else ((), (), ())
        shape = (len(sums), len(names))
        return csr_array((np.array(values, float), (rows, columns)), shape=shape)

    equal, constants = (
        matrix([each.sum for each in equations]),
        [float(e.constant) for e in equations],
    )
    below, bounds = matrix([each.sum for each in stated]), [each.bound for each in stated]
    wanted = matrix([goal]).toarray()[0]
    if goal:
        given = {"A_ub": below, "b_ub": bounds} if stated else {}
        largest = linprog(-wanted, A_eq=equal, b_eq=constants, **given)
        if largest.status == 0 and -largest.fun < target + 1:
            cut = _rounded(goal, largest, equations, stated)
            if cut is not None and cut.bound <= target:
                return Bounded((*stated, cut))
    found = milp(
        np.ones(len(names)),
        integrality=np.ones(len(names)),
        bounds=Bounds(0, LARGEST),
        constraints=[
            LinearConstraint(equal, constants, constants),
            LinearConstraint(
                vstack([below, wanted[None]]),
                [-np.inf] * len(stated) + [target + 1],
                [*bounds, np.inf],
            ),
        ],
        options={"time_limit": 5.0, "mip_rel_gap": 10.0},
    )
    if found.x is None:
        return None
    point = {name: round(value) for name, value in zip(names, found.x, strict=True)}
    return Beyond(point) if _solves(point, goal, target, equations, stated) else None


def _rounded(
    goal: Sum, largest: Any, equations: Sequence[Equation], stated: Sequence[Cut]
) -> Cut | None:
    """Return the bound that a linear program's multipliers prove, if they do when rounded."""
    of = {
        each.fact: Fraction(-times).limit_denominator(LARGEST)
        for each, times in zip(equations, map(float, largest.eqlin.marginals), strict=True)
    }
    by = {
        at: Fraction(-times).limit_denominator(LARGEST)
        for at, times in enumerate(map(float, largest.ineqlin.marginals))
    }
    of, by = ({key: value for key, value in each.items() if value} for each in (of, by))
    constants = {each.fact: each.constant for each in equations}
    bound = sum((times * constants[fact] for fact, times in of.items()), ZERO)
    bound += sum((times * stated[at].bound for at, times in by.items()), ZERO)
    cut = Cut({name: int(times) for name, times in goal.items()}, floor(bound), of, by)
    return cut if is_cut(cut, {each.fact: each for each in equations}, stated) else None


def _solves(
    point: Mapping[str, int],
    goal: Sum,
    target: int,
    equations: Sequence[Equation],
    stated: Sequence[Cut],
) -> bool:
    def value(sum_: Sum) -> Fraction:
        return sum((Fraction(by) * point[name] for name, by in sum_.items()), ZERO)

    return (
        min(point.values(), default=0) >= 0
        and all(value(each.sum) == each.constant for each in equations)
        and all(value(each.sum) <= each.bound for each in stated)
        and value(goal) > target
    )


class _Tableau:
    """The simplex method on: the largest goal where equations hold and cuts are kept."""

    def __init__(
        self, goal: Sum, equations: Sequence[Equation], cuts: Sequence[Cut], work: _Work
    ) -> None:
        self.equations, self.cuts, self.work = equations, cuts, work
        rows: list[Equation | Cut] = [*equations, *cuts]
        self.names = _names(goal, equations, cuts)
        place = {name: at for at, name in enumerate(self.names)}
        self.width = len(self.names) + len(cuts)
        self.rows: list[list[Fraction]] = []  # unknowns, slacks of cuts, the constant
        self.origins: list[Multipliers] = []  # by place among equations and cuts
        for at, each in enumerate(rows):
            constant = each.constant if isinstance(each, Equation) else each.bound
            row = [ZERO] * (self.width + 1)
            for name, by in each.sum.items():
                row[place[name]] = Fraction(by)
            if isinstance(each, Cut):
                row[len(self.names) + at - len(equations)] = ONE
            row[-1] = Fraction(constant)
            sign = -1 if constant < 0 else 1
            self.rows.append([sign * value for value in row])
            self.origins.append({at: Fraction(sign)})
        self.basis = [-1] * len(self.rows)  # -1: an artificial unknown
        self.ray: dict[str, int] | None = None
        self._begin()
        self.is_feasible = not any(
            row[-1] for row, basic in zip(self.rows, self.basis, strict=True) if basic < 0
        )
        self.costs = [Fraction(goal.get(name, 0)) for name in self.names] + [ZERO] * len(cuts)
        if self.is_feasible:
            self._drop_artificial()
            self._improve()

    def _begin(self) -> None:
        """Make the sum of the artificial unknowns as small as it can be."""
        for at, row in enumerate(self.rows):  # a slack or a lone unknown may begin
            for column in range(len(self.names), self.width):
                if row[column] == 1:
                    self.basis[at] = column
        while True:
            free = [row for row, basic in zip(self.rows, self.basis, strict=True) if basic < 0]
            if not any(row[-1] for row in free):
                return
            entering = next((j for j in range(self.width) if sum(r[j] for r in free) > 0), None)
            if entering is None:
                return
            self._pivot(self._leaving(entering), entering)

    def _drop_artificial(self) -> None:
        """Solve the rows of artificial unknowns for others; a row without any says nothing."""
        for at in reversed(range(len(self.rows))):
            if self.basis[at] >= 0:
                continue
            entering = next((j for j in range(self.width) if self.rows[at][j]), None)
            if entering is None:
                for each in (self.rows, self.origins, self.basis):
                    del each[at]
            else:
                self._pivot(at, entering)

    def _improve(self) -> None:
        """Make the goal as large as it can be."""
        while True:
            entering = next((j for j in range(self.width) if self._gain(j) > 0), None)
            if entering is None:
                return
            leaving = self._leaving(entering)
            if leaving < 0:
                self._keep_ray(entering)
                return
            self._pivot(leaving, entering)

    def _gain(self, column: int) -> Fraction:
        paid = zip(self.rows, self.basis, strict=True)
        return self.costs[column] - sum(
            (self.costs[basic] * row[column] for row, basic in paid if row[column]), ZERO
        )

    def _leaving(self, column: int) -> int:
        """The row whose unknown is the first to reach zero, or -1."""
        best, leaving = None, -1
        for at, row in enumerate(self.rows):
            if row[column] > 0:
                reached = (row[-1] / row[column], self.basis[at])
                if best is None or reached < best:
                    best, leaving = reached, at
        return leaving

    def _pivot(self, at: int, column: int) -> None:
        by = self.rows[at][column]
        row = self.rows[at] = [value / by for value in self.rows[at]]
        origin = self.origins[at] = {key: value / by for key, value in self.origins[at].items()}
        bits = max(value.numerator.bit_length() for value in row)
        changed = sum(bool(old[column]) for old in self.rows)
        self.work.take(changed * len(row) * (1 + bits // 64))
        for other, old in enumerate(self.rows):
            if other != at and (times := old[column]):
                self.rows[other] = [
                    a - times * b if b else a for a, b in zip(old, row, strict=True)
                ]
                add_to(self.origins[other], origin, -times)
        self.basis[at] = column

    def _keep_ray(self, entering: int) -> None:
        steps = {entering: ONE}
        for row, basic in zip(self.rows, self.basis, strict=True):
            if row[entering]:
                steps[basic] = -row[entering]
        scale = lcm(*(step.denominator for step in steps.values()))
        count = len(self.names)
        self.ray = {self.names[at]: int(step * scale) for at, step in steps.items() if at < count}

    @property
    def point(self) -> dict[str, Fraction]:
        """The values of all unknowns."""
        found = dict.fromkeys(self.names, ZERO)
        for row, basic in zip(self.rows, self.basis, strict=True):
            if basic < len(self.names):
                found[self.names[basic]] = row[-1]
        return found

    @property
    def value(self) -> Fraction:
        """The goal at the point."""
        paid = zip(self.rows, self.basis, strict=True)
        return sum((self.costs[basic] * row[-1] for row, basic in paid), ZERO)

    def multipliers(self) -> Multipliers:
        """The multiple of equations and cuts that bounds the goal."""
        total = Multipliers()
        for origin, basic in zip(self.origins, self.basis, strict=True):
            if self.costs[basic]:
                add_to(total, origin, self.costs[basic])
        return total

    def infeasible(self) -> Multipliers:
        """A multiple of equations and cuts that no solution can keep: zero is at most -1."""
        total, excess = Multipliers(), ZERO
        for row, origin, basic in zip(self.rows, self.origins, self.basis, strict=True):
            if basic < 0:
                add_to(total, origin, -ONE)
                excess += row[-1]
        return {at: value / excess for at, value in total.items()}

    def gomory(self) -> list[Cut]:
        """The cuts that the rows with a fraction give."""
        return [
            self.cut(None, origin)
            for row, origin in zip(self.rows, self.origins, strict=True)
            if row[-1].denominator != 1
        ]

    def cut(self, goal: Mapping[str, int] | None, origin: Multipliers) -> Cut:
        """Round a multiple of equations and cuts down; the sum is the goal's, if there is one."""
        count, total, bound = len(self.equations), dict[str, Fraction](), ZERO
        of, cuts = Multipliers(), Multipliers()
        for at, times in origin.items():
            if at < count:
                equation = self.equations[at]
                of[equation.fact] = times
                add_to(total, _exact(equation.sum), times)
                bound += times * equation.constant
            elif by := times if goal is not None else times - floor(times):
                cuts[at - count] = by
                add_to(total, _exact(self.cuts[at - count].sum), by)
                bound += by * self.cuts[at - count].bound
        rounded = {name: floor(value) for name, value in total.items() if floor(value)}
        return Cut(rounded if goal is None else goal, floor(bound), of, cuts)


def _exact(found: Sum) -> dict[str, Fraction]:
    return {name: Fraction(value) for name, value in found.items()}


def is_cut(cut: Cut, equations: Mapping[int, Equation], earlier: Sequence[Cut]) -> bool:
    """Check that a cut follows from equations and earlier cuts."""
    total, bound = dict[str, Fraction](), ZERO
    for fact, times in cut.equations.items():
        add_to(total, _exact(equations[fact].sum), times)
        bound += times * equations[fact].constant
    for at, times in cut.cuts.items():
        if times < 0:
            return False
        add_to(total, _exact(earlier[at].sum), times)
        bound += times * earlier[at].bound
    covered = all(by <= total.get(name, 0) for name, by in cut.sum.items())
    rest = all(total[name] >= 0 for name in total.keys() - cut.sum.keys())
    whole = all(isinstance(by, int) for by in cut.sum.values())
    return covered and rest and whole and cut.bound >= floor(bound)
