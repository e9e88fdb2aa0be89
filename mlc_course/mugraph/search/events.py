"""What a search tells as it goes on: a progress bar, a log and a test read the same stream."""

from __future__ import annotations

from dataclasses import dataclass, field

from mlc_course.mugraph.cost import Cost
from mlc_course.mugraph.kernel import KernelGraph
from mlc_course.mugraph.verify import Verdict


@dataclass(frozen=True)
class Started:
    """``tasks`` pieces of work are to come, each of which ends with a ``Tried``."""

    tasks: int


@dataclass(frozen=True)
class Tried:
    """One bank was grown: ``candidates`` were tried, ``values`` kept, ``instances`` costed.

    ``part`` names the part of the program, ``nests`` its loops. ``cut`` are the limits that ended
    the growth; without one the bank is complete.
    """

    part: str
    nests: str
    candidates: int
    values: int
    instances: int
    cut: tuple[str, ...]


@dataclass(frozen=True)
class Pruned:
    """So many of a bank's candidates, or of the graphs read off it, were no use, for one reason."""

    part: str
    nests: str
    reason: str
    count: int


@dataclass(frozen=True)
class Found:
    """A graph that is equal to the program, and what it is expected to take.

    It is the cheapest of ``instances`` choices of grids and extents, of which ``fit`` the machine.
    """

    graph: KernelGraph
    verdict: Verdict
    cost: Cost
    how: str
    operators: int
    instances: int
    fit: int


@dataclass(frozen=True)
class Ended:
    """The search is over. Without a graph ``closest`` is what came closest to one.

    ``cut`` are all limits that were reached, in words.
    """

    found: int
    closest: str = ""
    cut: tuple[str, ...] = field(default=())


Event = Started | Tried | Pruned | Found | Ended
