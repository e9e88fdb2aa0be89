"""Searches and banks as the lesson shows them: what was tried, kept and found, and how fast."""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from IPython.display import HTML

from mlc_course.errors import UsageError
from mlc_course.grading.checks import operators
from mlc_course.lessons.kit import charts
from mlc_course.lessons.lesson_18_superoptimization.growth_picture import growth_svg
from mlc_course.lessons.lesson_18_superoptimization.tables import text_table
from mlc_course.mugraph.cost import A100, cost
from mlc_course.mugraph.enumeration import PRUNINGS, Level, Tree
from mlc_course.mugraph.expressions import Terms, said, terms
from mlc_course.mugraph.ir import KernelGraph
from mlc_course.mugraph.search import (
    EQUALITY,
    EXPRESSIONS,
    ORDER,
    Found,
    Kept,
    Limits,
    Nest,
    Problem,
    Start,
    Tried,
    expressions,
    grow,
    start,
    superoptimize,
)

A_SECOND = 1e6  # graphs that somebody who lists them could look at in a second
YEAR_S = 365.25 * 24 * 3600
CUTS = {"order": ORDER, "equality": EQUALITY, "expressions": EXPRESSIONS}


@dataclass(frozen=True)
class Search:
    """A search that is over; ``found`` has the cheapest graph first."""

    program: KernelGraph
    seconds: float
    tried: tuple[Tried, ...]
    found: tuple[Found, ...]

    @property
    def candidates(self) -> int:
        """The number of times that an operator was tried."""
        return sum(each.candidates for each in self.tried)

    @property
    def values(self) -> int:
        """The number of values that all banks together kept."""
        return sum(each.values for each in self.tried)

    def __str__(self) -> str:
        return (
            f"{self.seconds:.1f} s: an operator was tried {self.candidates:,} times,\n"
            f"{self.values} values were kept, and {len(self.found)} graphs were found"
        )

    def best(self, how: str) -> Found:
        """Return the cheapest graph of a nest; raises ``UsageError`` where there is none."""
        for each in self.found:
            if each.how == how:
                return each
        raise UsageError(f"no graph: {how}", expected=" | ".join(e.how for e in self.found))

    def ranked(self) -> HTML:
        """Return a table of what was found, the program in the last row."""
        last = float(cost(self.program, A100).total)
        rows = [(each.how, each.graph, float(each.cost.total)) for each in self.found]
        rows.append(("the program, as given", self.program, last))
        head = ("graph", "operators", "kernels", "µs, estimated", "times faster")
        lines = [
            (
                how,
                sum(1 for _ in operators(graph)),
                len(graph.equations),
                f"{1e6 * seconds:.1f}",
                f"{last / seconds:.2f}",
            )
            for how, graph, seconds in rows
        ]
        return text_table(head, lines)

    def nests(self) -> HTML:
        """Return a table of the banks of the whole program: values, and graphs read off them."""
        rows = [
            (each.nests, each.values, f"{each.instances:,}")
            for each in self.tried
            if each.part == self.program.name
        ]
        return text_table(("nest", "values", "grids and extents"), rows)


def searched(program: KernelGraph) -> Search:
    """Search for all graphs of a program, for an A100, and time it."""
    began = time.perf_counter()
    events = list(superoptimize(program))
    seconds = time.perf_counter() - began
    found = [event for event in events if isinstance(event, Found)]
    found.sort(key=lambda each: (float(each.cost.total), each.operators))
    tried = tuple(event for event in events if isinstance(event, Tried))
    return Search(program, seconds, tried, tuple(found))


@dataclass(frozen=True)
class Grown:
    """The bank of one nest; ``cut`` says which limit ended it, "" where it is complete."""

    start: Start
    cut: str

    @property
    def values(self) -> list[Kept]:
        return self.start.bank.values

    def __str__(self) -> str:
        bank = self.start.bank
        lines = [f"{len(bank.values)} values of {bank.tried:,} candidates"]
        lines += [f"{count:>6,} cut: {reason}" for reason, count in bank.pruned.items()]
        return "\n".join([*lines, f"cut off by a limit: {self.cut or 'no'}"])

    def needed(self) -> list[int]:
        """Return the numbers of the values that the output is made of, inputs first."""
        found = [number for number in self.start.found() if number is not None]
        for number in found:
            found += [n for n in self.values[number].ways[0].operands if n not in found]
        return sorted(found)

    def expression(self, value: Kept) -> str:
        return said(terms(self.start.bank.goal.among, value.facts.poly))

    def read_off(self) -> HTML:
        """Return a table of the values that the output is made of, and how each was made."""
        rows = [self.values[number] for number in self.needed()]
        head = ("value", "made by", "abstract expression")
        lines = [(f"%{v.number}", str(v.ways[0]), self.expression(v)) for v in rows]
        return text_table(head, lines, code=True)

    def all_values(self, **short: str) -> HTML:
        """Return a table of all values; ``short`` has names of expressions that are often there."""
        used, rows = self.needed(), []
        for value in self.values:
            made = self.expression(value).replace("+ -1 ", "− ")
            for name, expression in short.items():
                made = made.replace(expression, name)
            mark = "★" if value.number in used else ""
            rows.append((mark, f"%{value.number}", str(value.ways[0]), made))
        return text_table(("", "value", "made by", "abstract expression"), rows, code=True)

    def other_ways(self) -> Iterator[str]:
        """Yield the values of the output that were made in several ways."""
        for number in self.needed():
            ways = self.values[number].ways
            if len(ways) > 1:
                yield f"%{number:<4}{'  or  '.join(map(str, ways))}"

    def sizes(self) -> str:
        """Say how long each dimension is in a tile, and how often each loop turns."""
        known: dict[str, int] = {}
        for value in self.values[: self._inputs()]:
            known |= zip(value.facts.dims, value.facts.shape, strict=True)
        shown = ", ".join(f"{dim} = {size}" for dim, size in known.items() if dim)
        turns = ", ".join(map(str, self.start.bank.turns))
        return f"in a tile: {shown}; iterations of the loop: {turns}"

    def _inputs(self) -> int:
        return sum(not value.ways[0].operands for value in self.values)


def grown(program: KernelGraph, *dims: str) -> Grown:
    """Grow the bank of a program in one nest: a loop over each of ``dims``."""
    begun = start(Problem(program), Nest(dims), seed="0")
    return Grown(begun, grow(begun.bank, begun.offer, Limits()))


def solutions(tree: Tree) -> list[str]:
    """Return the graphs of a tree that compute the program and in which every line is used."""
    found = []
    for level in tree.count():
        for key in level.solutions:
            node = tree.node(key)
            used = {operand for term in node.values for operand in term.operands}
            if all(term in used for term in node.values[len(tree.root.values) : -1]):
                found.append("; ".join(step.text for step in node.steps))
    return found


def expressions_of(tree: Tree) -> dict[str, Terms]:
    """Return the expression of each input and each line of a tree's program, at its sizes."""
    program = tree.program.resized(tree.sizes)
    among, polynomials = expressions(program)
    made = (terms(among, each) for each in polynomials)
    return dict(zip(program.names, made, strict=True))


def without_each(tree: Tree, limit: int) -> dict[str, list[Level]]:
    """Count a tree with all prunings, without each of them in turn, and without any."""
    curves = {"all three": tree.pruned(PRUNINGS).count(limit)}
    for name, left in CUTS.items():
        others = [each for each in PRUNINGS if each != left]
        curves[f"without {name}"] = tree.pruned(others).count(limit)
    return curves | {"none of them": tree.pruned(()).count(limit)}


def worth(curves: Mapping[str, Sequence[Level]]) -> tuple[str, str]:
    """Return which pruning is missed most, and the counts that say so, at one depth for all."""
    depth = min(complete(levels)[-1].depth for levels in curves.values())
    counts = {name: levels[depth].alive for name, levels in curves.items()}
    order = sorted(counts, key=lambda name: counts[name])
    lines = [f"{name:<20}{counts[name]:>7,} graphs of {depth} operators" for name in order]
    missed = max(CUTS, key=lambda name: counts[f"without {name}"])
    return missed, "\n".join(lines)


def growth(curves: Mapping[str, Sequence[Level]], what: str) -> HTML:
    """Draw how many there are of each length, on a logarithmic axis."""
    drawn = charts(growth_svg(curves, what))
    return HTML(f'<div class="mlc">{drawn}</div>')  # type: ignore[no-untyped-call]


def complete(levels: Sequence[Level]) -> list[Level]:
    """Return the levels whose counts no limit has ended."""
    return [level for level in levels if level.complete and level.alive]


def extrapolated(levels: Sequence[Level], many: int) -> float:
    """Return how many graphs of ``many`` operators there are if the last factor stays."""
    before, last = complete(levels)[-2:]
    return last.alive * (last.alive / before.alive) ** (many - last.depth)


def growth_of(levels: Sequence[Level], many: int) -> str:
    """Say how a tree grows, and how many graphs of ``many`` operators that makes."""
    before, last = complete(levels)[-2:]
    return (
        f"{' → '.join(f'{level.alive:,}' for level in complete(levels))}\n"
        f"The last factor is {last.alive / before.alive:.0f}. If it stays, there are "
        f"{power_of_ten(extrapolated(levels, many))} graphs of {many} operators."
    )


def time_for(levels: Sequence[Level], many: int) -> str:
    """Say how long it would take to look at all graphs of ``many`` operators."""
    years = extrapolated(levels, many) / A_SECOND / YEAR_S
    return f"At {A_SECOND:,.0f} graphs a second, that takes {years:.2g} years."


def power_of_ten(number: float) -> str:
    """``3 · 10^15``."""
    exponent = math.floor(math.log10(number))
    return f"{number / 10**exponent:.0f} · 10^{exponent}"


def same_operators(graph: KernelGraph, other: KernelGraph) -> bool:
    """Return True where two graphs have the same operators, each as often."""
    return Counter(operators(graph)) == Counter(operators(other))
