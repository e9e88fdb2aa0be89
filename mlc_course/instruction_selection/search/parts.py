"""Ways to compute a goal in parts: some of its sub-expressions first, and the rest from them.

A cut replaces sub-expressions by variables that may have any value of their interval. What is
proved of the rest then holds whatever computes them, so that proofs of the parts are a proof of the
whole. Rake lifts an expression and lowers it in this order, sub-expressions first.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product

import numpy as np

from mlc_course.instruction_selection.integers import (
    S16,
    Formula,
    IntType,
    bits_for,
    const,
    evaluate,
    maximum,
    minimum,
    node,
    rebuilt,
    saturate,
    shift_right,
    substituted,
    var,
    variables,
    walk,
    wrap,
)
from mlc_course.instruction_selection.spec import Cell, CellOperand

MOST_OPERANDS = 3  # of a part that is searched for at once
_MOST_CUTS = 6
_NARROW = S16
_MOST_CORNERS = 6  # variables of a polynomial of which all corners are looked at


@dataclass(frozen=True)
class Cut:
    """A goal in parts: ``rest`` reads the results of ``parts``, by the parts' names."""

    rest: Cell
    parts: tuple[Cell, ...]


def cuts(cell: Cell) -> Iterator[Cut]:
    """Yield ways to compute a cell in parts, of which each has few operands.

    The goal of a cell is a value of the result's type. So is what is left of it, once the parts are
    variables that know nothing of each other: it is wrapped where its interval has become wider.
    """
    for cut in _all_cuts(cell):
        goal = wrap(cell.result, cut.rest.goal)
        if goal is not cell.goal:
            yield Cut(replace(cut.rest, goal=goal), cut.parts)


def _all_cuts(cell: Cell) -> Iterator[Cut]:
    yield from sums(cell)
    yield from _negated(cell)
    yield from _narrowed_early(cell)
    for frontier in _frontiers(cell.goal):
        inner = [each for each in frontier if each.op != "var"]
        if not inner:
            continue
        for types in product(*(_types_for(each) for each in inner)):
            yield _cut(cell, dict(zip(inner, types, strict=True)))


def _negated(cell: Cell) -> Iterator[Cut]:
    """Yield the difference of two products as a sum: a b - c d is a b + c (-d)."""
    goal = cell.goal
    if goal.op != "sub" or any(each.op != "mul" for each in goal.operands):
        return
    left, right = goal.operands
    for kept, other in (right.operands, right.operands[::-1]):
        part = 0 - other
        name = "part0"
        for of in _types_for(part)[:1]:
            operand = CellOperand(name, of, 1, part.lo, part.hi)
            changed = left + kept * operand.variables()[0]
            rest = cell_for(cell.name, changed, cell.result, (*cell.operands, operand))
            yield Cut(rest, (cell_for(name, part, of, cell.operands),))


def _narrowed_early(cell: Cell) -> Iterator[Cut]:
    """Yield a clamped shift of 32 bits as a shift to 16 bits, which may saturate, and the rest.

    clamp((x + c) >> k, lo, hi) is clamp((sat16(x >> j) + (c >> j)) >> (k - j), lo, hi) where 2**j
    divides c, since (x + c) >> k is ((x >> j) + (c >> j)) >> (k - j), and where the ends of 16 bits
    are clamped to the same lo and hi as all that is beyond them.
    """
    found = _clamped_shift(cell.goal)
    if found is None or bits_for(found[0].lo, found[0].hi) <= _NARROW.bits:
        return
    shifted, amount, lo, hi = found
    (parts, constant) = terms(shifted)
    x = total(parts)
    for left in range(min(amount, _NARROW.bits - cell.result.bits), 0, -1):
        early = amount - left
        rounded = constant >> early
        ends = (_NARROW.lo - 1, _NARROW.lo, _NARROW.hi, _NARROW.hi + 1)
        low, lower, high, higher = (saturated(e, rounded, left, lo, hi) for e in ends)
        if constant % (1 << early) or (low, lower, high, higher) != (lo, lo, hi, hi):
            continue
        part = saturate(_NARROW, shift_right(x, early))
        operand = CellOperand("part0", _NARROW, 1, part.lo, part.hi)
        goal = minimum(maximum((operand.variables()[0] + rounded) >> left, lo), hi)
        rest = cell_for(cell.name, goal, cell.result, (*cell.operands, operand))
        yield Cut(rest, (cell_for("part0", part, _NARROW, cell.operands),))
        return


def saturated(x: int, constant: int, amount: int, lo: int, hi: int) -> int:
    """Return clamp((x + constant) >> amount, lo, hi)."""
    return min(max((x + constant) >> amount, lo), hi)


def _clamped_shift(goal: Formula) -> tuple[Formula, int, int, int] | None:
    """Return x, k, lo and hi of the goal clamp(x >> k, lo, hi), if it is one."""
    lo, hi, each = goal.lo, goal.hi, goal
    while each.op in ("min", "max"):
        inner = [x for x in each.operands if x.op != "const"]
        if len(inner) != 1:
            return None
        each = inner[0]
    if each is goal or each.op != "shr" or each.lo > lo or each.hi < hi:
        return None
    return each.operands[0], int(str(each.params[0])), lo, hi


def _cut(cell: Cell, inner: Mapping[Formula, IntType]) -> Cut:
    names = {each: f"part{at}" for at, each in enumerate(inner)}
    fresh = {each: var(f"{name}[0]", each.lo, each.hi) for each, name in names.items()}
    (goal,) = substituted([cell.goal], fresh)
    parts = tuple(cell_for(names[each], each, of, cell.operands) for each, of in inner.items())
    made = [CellOperand(names[each], of, 1, each.lo, each.hi) for each, of in inner.items()]
    return Cut(cell_for(cell.name, goal, cell.result, (*cell.operands, *made)), parts)


def cell_for(name: str, goal: Formula, result: IntType, operands: Sequence[CellOperand]) -> Cell:
    """Return the cell of a goal, with the operands that it reads in the order of reading."""
    by_variable = {x: each for each in operands for x in each.variables()}
    read = dict.fromkeys(by_variable[x] for x in variables(goal))
    return Cell(name, tuple(read), result, goal)


def _types_for(each: Formula) -> list[IntType]:
    """Return the narrowest type that holds a sub-expression, and 16 bits where 8 do."""
    found = [
        of
        for bits in (8, 16, 32)
        if (of := IntType(signed=each.lo < 0, bits=bits)).holds(each.lo, each.hi)
    ]
    return found[:2] if found and found[0].bits == 8 else found[:1]


def _frontiers(goal: Formula) -> list[tuple[Formula, ...]]:
    """Return sets of sub-expressions that separate a goal from its variables."""
    if _is_long_sum(goal):
        return []
    first = _separated(goal.operands)
    found = [first] if len(first) <= MOST_OPERANDS else []
    for frontier in found:  # grows while it is read
        for at, each in enumerate(frontier):
            if each.op == "var" or _is_long_sum(each):
                continue
            wider = _separated((*frontier[:at], *each.operands, *frontier[at + 1 :]))
            if len(wider) <= MOST_OPERANDS and wider not in found and len(found) < _MOST_CUTS:
                found.append(wider)
    for frontier in list(found):  # a sum without its constant
        for at, each in enumerate(frontier):
            parts, constant = terms(each)
            if constant and len(parts) > 1:
                without = total(parts)
                changed = (*frontier[:at], without, *frontier[at + 1 :])
                if _contains(goal, without) and changed not in found:
                    found.append(changed)
    return sorted(found, key=lambda each: sum(x.op != "var" for x in each) * 4 + len(each))


def _is_long_sum(each: Formula) -> bool:
    """Return whether a formula is a sum of three variables or more, with factors."""
    parts, _ = terms(each)
    return (
        each.op in ("add", "sub")
        and all(x.op != "const" for x in each.operands)
        and len(parts) >= MOST_OPERANDS
        and all(x.op == "var" for x in parts)
    )


def _separated(nodes: Sequence[Formula]) -> tuple[Formula, ...]:
    return tuple(dict.fromkeys(each for each in nodes if each.op != "const"))


def _contains(goal: Formula, part: Formula) -> bool:
    return any(each is part for each in walk(goal))


def tightened(goal: Formula) -> Formula:
    """Return the same formula with the exact intervals of its small polynomials.

    A polynomial in which no variable is multiplied by itself is linear in each of its variables, so
    that it has its least and its greatest value at corners of the box of its variables. A plain
    interval forgets that two factors depend on each other, as in a m + b (255 - m).
    """
    new: dict[Formula, Formula] = {}
    for each in walk(goal):
        made = rebuilt(each, [new[x] for x in each.operands])
        inputs = variables(each)
        if made.op in ("add", "sub") and len(inputs) <= _MOST_CORNERS and _is_multilinear(each):
            corners = list(product(*((x.lo, x.hi) for x in inputs)))
            values = evaluate(
                each,
                dict(zip(inputs, np.array(corners, dtype=object).T.astype(np.int64), strict=True)),
            )
            lo, hi = max(made.lo, int(values.min())), min(made.hi, int(values.max()))
            made = node(made.op, made.operands, made.params, lo, hi)
        new[each] = made
    return new[goal]


def _is_multilinear(root: Formula) -> bool:
    degrees: dict[Formula, frozenset[Formula]] = {}
    for each in walk(root):
        operands = [degrees[x] for x in each.operands]
        if each.op == "mul" and operands[0] & operands[1]:
            return False
        if each.op not in ("add", "sub", "mul", "var", "const"):
            return False
        degrees[each] = frozenset({each} if each.op == "var" else ()).union(*operands)
    return True


def terms(root: Formula) -> tuple[dict[Formula, int], int]:
    """Return a sum as factors of what is not a sum, and its constant."""
    found: dict[Formula, int] = {}
    constant = 0
    stack = [(root, 1)]
    while stack:
        each, factor = stack.pop()
        match each.op:
            case "add":
                stack += [(each.operands[1], factor), (each.operands[0], factor)]
            case "sub":
                stack += [(each.operands[1], -factor), (each.operands[0], factor)]
            case "mul" if each.operands[0].op == "const":
                stack.append((each.operands[1], factor * each.operands[0].lo))
            case "mul" if each.operands[1].op == "const":
                stack.append((each.operands[0], factor * each.operands[1].lo))
            case "const":
                constant += factor * each.lo
            case _:
                found[each] = found.get(each, 0) + factor
    return {each: factor for each, factor in found.items() if factor}, constant


def total(parts: Mapping[Formula, int], constant: int = 0) -> Formula:
    """Return the sum of factors times formulas."""
    made: Formula | None = None
    for each, factor in parts.items():
        if factor < 0 and made is not None:
            made = made - each * -factor
        else:
            made = each * factor if made is None else made + each * factor
    if made is None:
        return const(constant)
    return made + constant if constant else made


def sums(cell: Cell) -> Iterator[Cut]:
    """Yield a long sum as a sum of pairs of its terms."""
    found, constant = terms(cell.goal)
    if len(found) < MOST_OPERANDS or cell.goal.op not in ("add", "sub"):
        return
    ordered = sorted(found.items(), key=lambda item: (item[0].op != "var", -abs(item[1]), item[1]))
    for alone in (0, len(ordered) % 2) if len(ordered) % 2 else (0,):
        for last in (0, constant) if constant else (0,):
            groups = [dict(ordered[:alone])] if alone else []
            groups += [dict(ordered[at : at + 2]) for at in range(alone, len(ordered), 2)]
            pairs = [total(group) for group in groups]
            if last:
                pairs[-1] = total(groups[-1], last)
            yield from _sum_of(cell, pairs, constant - last)


def _sum_of(cell: Cell, pairs: Sequence[Formula], constant: int) -> Iterator[Cut]:
    bits = cell.result.bits
    parts, operands, goal = [], [], const(constant)
    for at, pair in enumerate(pairs):
        of = IntType(signed=pair.lo < 0, bits=bits)
        if not of.holds(pair.lo, pair.hi):
            return
        name = f"part{at}"
        parts.append(cell_for(name, pair, of, cell.operands))
        operands.append(CellOperand(name, of, 1, pair.lo, pair.hi))
        goal = goal + operands[-1].variables()[0]
    yield Cut(cell_for(cell.name, goal, cell.result, operands), tuple(parts))
