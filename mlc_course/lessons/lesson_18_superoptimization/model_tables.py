"""What the cost model says: all tilings of one graph, and two graphs term by term."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from IPython.display import HTML

from mlc_course.lessons.kit import side_by_side
from mlc_course.lessons.lesson_18_superoptimization.choices_picture import choices_svg
from mlc_course.lessons.lesson_18_superoptimization.tables import shown, text_table
from mlc_course.mugraph.cost import Target, cost, counts, fits
from mlc_course.mugraph.ir import KernelGraph, parse

SMALL = 0.005e-6  # seconds: smaller terms are shown as 0.00


def why_table(first: KernelGraph, second: KernelGraph, target: Target, names: str) -> HTML:
    """Return a table of the terms of two graphs; ``names`` are their names, with a bar between.

    Terms that are nothing in both are left out; the largest difference comes first.
    """
    one, two = (cost(graph, target) for graph in (first, second))
    rows = [
        (name, float(one.terms[name]), float(two.terms[name]))
        for name in one.terms
        if max(one.terms[name], two.terms[name]) >= SMALL
    ]
    rows.sort(key=lambda row: -abs(row[1] - row[2]))
    rows.append(("in all", float(one.total), float(two.total)))
    lines = [
        (name, f"{1e6 * a:.2f}", f"{1e6 * b:.2f}", f"{1e6 * (b - a):+.2f}".replace("-", "−"))
        for name, a, b in rows
    ]
    head = (f"µs on the {target.name}", *names.split(" | "), "difference")
    return text_table(head, lines)


def beside(first: KernelGraph, second: KernelGraph, names: str) -> HTML:
    """Return two graphs side by side; ``names`` are their names, with a bar between."""
    left, right = names.split(" | ")
    text = side_by_side(str(first), str(second), titles=(left, right), context=None)
    return HTML(text)  # type: ignore[no-untyped-call]


@dataclass(frozen=True)
class Tiling:
    """Blocks along x, iterations of k, and what the model makes of that."""

    x: int
    k: int
    seconds: float

    def __str__(self) -> str:
        return f"x={self.x}, k={self.k}"


@dataclass(frozen=True)
class Tilings:
    """All tilings of one graph that fit into shared memory, in the order of their blocks."""

    target: Target
    by_hand: Tiling
    every: tuple[Tiling, ...]

    @property
    def cheapest(self) -> Tiling:
        return min(self.every, key=lambda each: each.seconds)

    def picture(self) -> HTML:
        """Draw the model's time of each by its blocks, with the cheapest and your own marked."""
        marked = {"by hand": self.by_hand, "cheapest": self.cheapest}
        named = {f"{name}: {each}": (each.x, each.seconds) for name, each in marked.items()}
        dots = [(each.x, each.seconds) for each in self.every]
        said = "; ".join(f"{name}: {1e6 * s:.1f} microseconds" for name, (_, s) in named.items())
        return shown(
            choices_svg(dots, named, self.target.multiprocessors),
            f"Modelled time of {len(dots)} tilings by their number of blocks. {said}",
        )


def tilings(graph: KernelGraph, target: Target) -> Tilings:
    """Cost every grid and extent of a graph whose first block has a grid x and a loop k."""
    ((_, block), *_) = graph.blocks
    x, k = dict(block.grid)["x"], dict(block.loops)["k"]
    here = Tiling(x, k, float(cost(graph, target).total))
    return Tilings(target, here, tuple(_every(graph, (x, k), target)))


def _every(graph: KernelGraph, drawn: tuple[int, int], target: Target) -> Iterator[Tiling]:
    n, d = graph.size_of["n"], graph.size_of["d"]
    x, k = drawn
    was = f"grid(x={x}) loop(k={k})"
    for blocks in (b for b in range(1, n + 1) if n % b == 0):
        for turns in (t for t in range(1, d + 1) if d % t == 0):
            other = parse(str(graph).replace(was, f"grid(x={blocks}) loop(k={turns})"))
            if fits(counts(other, target)[0], target):
                yield Tiling(blocks, turns, float(cost(other, target).total))
