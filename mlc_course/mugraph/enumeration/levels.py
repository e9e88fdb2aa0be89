"""Levels of a search: how many values, or graphs (``tree``), there are at each depth."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass

from mlc_course.errors import check_known
from mlc_course.mugraph.ir import KernelGraph
from mlc_course.mugraph.search import PRUNINGS, Limits, Made, Nest, Problem, grow, start

Key = tuple[int, ...]  # of a node: the number of each candidate that was taken


@dataclass(frozen=True)
class Level:
    """The counts at one depth: what is alive, and what was cut there, by the reason.

    ``complete`` is False where the search ended before: the numbers are then lower bounds.
    """

    depth: int
    alive: int
    cut: dict[str, int]
    found: int
    complete: bool
    solutions: tuple[Key, ...] = ()  # of a tree: one node for each set of operators


def checked(prunings: Collection[str]) -> frozenset[str]:
    """Return these prunings; raise ``UsageError`` for any that is not in ``PRUNINGS``."""
    for name in prunings:
        check_known("no pruning", name, PRUNINGS)
    return frozenset(prunings)


def values(
    program: KernelGraph,
    nest: Nest | None = None,
    prunings: Collection[str] = PRUNINGS,
    *,
    seed: int = 0,
    limits: Limits | None = None,
) -> list[Level]:
    """Count the library's own search: each value once, whatever graphs make it.

    ``depth`` is the number of operators on the longest way from an input to the value, ``alive``
    counts values, at depth 0 the inputs. Where a limit ends the search, no level is complete.
    """
    cut = Counter[tuple[int, str]]()

    def watch(made: Made, reason: str) -> None:
        if made.operands and reason:
            depth = 1 + max(begun.bank.values[number].depth for number in made.operands)
            cut[depth, reason] += 1

    begun = start(
        Problem(program),
        nest or Nest(),
        seed=str(seed),
        prunings=checked(prunings),
        watch=watch,
    )
    ended = grow(begun.bank, begun.offer, limits or Limits())
    alive = Counter(each.depth for each in begun.bank.values)
    found = [begun.bank.values[number].depth for number in begun.found() if number is not None]
    whole = max(found) if len(found) == len(begun.outputs) else None
    return [
        Level(
            depth,
            alive[depth],
            {reason: many for (at, reason), many in sorted(cut.items()) if at == depth},
            int(depth == whole),
            not ended,
        )
        for depth in range(max(*alive, *(at for at, _ in cut)) + 1)
    ]
