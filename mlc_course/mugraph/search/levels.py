"""How much there is at each depth of a search: of graphs (``tree.py``), and of values."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass

from mlc_course.errors import UsageError
from mlc_course.mugraph.kernel import KernelGraph
from mlc_course.mugraph.search import bank
from mlc_course.mugraph.search.grow import Limits, grow
from mlc_course.mugraph.search.nest import Nest, Problem, start
from mlc_course.mugraph.search.values import Made

ORDER, EQUALITY, EXPRESSIONS = PRUNINGS = ("order", "equal", "expressions")
_IN_BANK = dict(zip(PRUNINGS, (bank.ORDER, bank.EQUALITY, bank.EXPRESSIONS), strict=True))

Key = tuple[int, ...]  # of a node: the number of each candidate that was taken


@dataclass(frozen=True)
class Level:
    """What there is with ``depth`` operators, and how much was cut on the way, by the reason.

    ``complete`` is False where the search ended before: the numbers are then lower bounds.
    """

    depth: int
    alive: int
    cut: dict[str, int]
    found: int
    complete: bool
    solutions: tuple[Key, ...] = ()  # of a tree: one node for each set of operators


def checked(prunings: Collection[str]) -> frozenset[str]:
    """Some of ``PRUNINGS``; raises ``UsageError`` for others."""
    unknown = sorted(set(prunings) - set(PRUNINGS))
    if unknown:
        raise UsageError("prunings", expected=" | ".join(PRUNINGS), got=", ".join(unknown))
    return frozenset(prunings)


def values(
    program: KernelGraph,
    nest: Nest | None = None,
    prunings: Collection[str] = PRUNINGS,
    *,
    seed: int = 0,
    limits: Limits | None = None,
) -> list[Level]:
    """The library's own search: each value once, whatever graphs make it.

    ``depth`` is the number of operators on the longest way from an input to the value, ``alive``
    counts values, at depth 0 the inputs. Where a limit ends the search, no level is complete.
    """
    cut = Counter[tuple[int, str]]()

    def watch(made: Made, reason: str) -> None:
        if made.operands and reason:
            depth = 1 + max(begun.bank.values[number].depth for number in made.operands)
            cut[depth, reason] += 1

    asked = frozenset(_IN_BANK[each] for each in checked(prunings))
    begun = start(Problem(program), nest or Nest(), seed=str(seed), prunings=asked, watch=watch)
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
