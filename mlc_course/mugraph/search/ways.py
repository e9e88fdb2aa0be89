"""From values back to graphs: the lightest ways to make what was found.

A value has several ways, its operands have several each, so the graphs that make it are many. They
are put together from the operands up, and of those that make one value the lightest few are kept.
A value that is used twice is made once, so the weight of a graph is no sum over its operands' and
the lightest may be missed among the few; the cost model (``cost.py``) chooses in the end.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence

from mlc_course.mugraph import ops
from mlc_course.mugraph.search.bank import Bank
from mlc_course.mugraph.search.labels import extent
from mlc_course.mugraph.search.values import Kept, Made

Derivation = Mapping[int, Made]  # how each value that it needs is made
Weigh = Callable[[Kept, Made], float]
KEPT = 6


def derivations(
    bank: Bank, targets: Sequence[int], weigh: Weigh, keep: int = KEPT
) -> list[Derivation]:
    """Different graphs that make all targets, the lightest first, at most ``keep``."""
    best: dict[int, list[Derivation]] = {}
    for number in sorted(_needed(bank, targets), key=lambda n: (bank.values[n].depth, n)):
        value = bank.values[number]
        found: list[Derivation] = [
            {**below, number: way}
            for way in value.ways
            for below in _joined([best[n] for n in way.operands])
        ]
        best[number] = _lightest(bank, found, weigh, keep)
    return _lightest(bank, _joined([best[n] for n in targets]), weigh, keep)


def _needed(bank: Bank, targets: Sequence[int]) -> set[int]:
    needed, rest = set[int](), list(targets)
    while rest:
        number = rest.pop()
        if number not in needed:
            needed.add(number)
            rest += [n for way in bank.values[number].ways for n in way.operands]
    return needed


def _joined(choices: Sequence[Sequence[Derivation]]) -> list[Derivation]:
    """Every choice of one each, where they agree on how to make what they share."""
    found: list[Derivation] = []
    for chosen in itertools.product(*choices):
        whole: dict[int, Made] = {}
        if all(whole.setdefault(n, way) == way for each in chosen for n, way in each.items()):
            found.append(whole)
    return found


def _lightest(bank: Bank, found: Sequence[Derivation], weigh: Weigh, keep: int) -> list[Derivation]:
    def weight(each: Derivation) -> float:
        return sum(weigh(bank.values[n], way) for n, way in each.items())

    return sorted(found, key=weight)[:keep]


def weigher(extents: Mapping[str, int], turns: Sequence[int], bank: Bank) -> Weigh:
    """Work by elements made and multiplied, for tiles of these extents and loops of these turns."""

    def weigh(value: Kept, way: Made) -> float:
        if isinstance(way.op, str):
            return 0.0
        facts = value.facts
        times: float = math.prod(turns[n] for n in facts.varies)
        if getattr(way.op, "carried", "") == "accumulate":
            times *= turns[facts.level]
        work: float = math.prod(extent(label, extents) for label in facts.dims)
        read = [bank.values[n].facts.dims for n in way.operands]
        if way.op is ops.matmul:
            work += work * extent(read[0][-1], extents) / 8
        else:
            work = max(work, *(math.prod(extent(d, extents) for d in dims) for dims in read))
        return float(work * times + 1)

    return weigh
