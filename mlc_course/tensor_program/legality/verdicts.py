"""Verdicts on a change to a program: legal, illegal with a witness, or unknown."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

from mlc_course.errors import UsageError

Kind = Literal[
    "flow",  # written, then read
    "anti",  # read, then written
    "output",  # written twice
    "missing",  # done before, and not any more
    "extra",  # done now, and never before
    "twice",  # done once more than before
    "outside",  # done on an element that the buffer does not have
    "race",  # two iterations of a parallel or vectorized loop
    "axis",  # two values of axes that are declared spatial
]
GROUPS: dict[str, str] = {
    **dict.fromkeys(("flow", "anti", "output"), "dependence"),
    **dict.fromkeys(("missing", "extra", "twice", "outside"), "coverage"),
    "race": "race",
    "axis": "axis kind",
}
NOW: dict[str, str] = {"reads": "read", "updates": "updated", "reads and writes": "read"}


@dataclass(frozen=True)
class Iteration:
    """One execution of a statement: the values of its loops, outermost first, and what it does."""

    at: Mapping[str, int]
    does: str  # "reads", "writes", "updates" (a term of a sum) or "reads and writes"
    block: str = ""  # or "statement 2" where there are no blocks; empty where there is only one

    def __str__(self) -> str:
        place = ", ".join(f"{name}={value}" for name, value in self.at.items())
        return " at ".join(filter(None, (self.block, place))) or "the only statement"


@dataclass(frozen=True)
class Legal:
    """The verdict that every instance is run once, and after all that it depends on.

    ``instances`` is the number that were compared. In ``reordered_sums`` elements the terms of a
    sum (or product, minimum, maximum) come in another order, which changes the rounding only.
    ``recomputed`` instances are run again with the same result. ``because`` says it in words.
    """

    instances: int
    reordered_sums: int = 0
    recomputed: int = 0
    because: str = "no dependence is reversed"

    def __str__(self) -> str:
        more = ""
        if self.reordered_sums:
            more += f"; {self.reordered_sums:,} sums take their terms in another order (rounding)"
        if self.recomputed:
            more += f"; {self.recomputed:,} are computed again, with the same result"
        return f"legal: {self.instances:,} instances, {self.because}{more}"


@dataclass(frozen=True)
class Illegal:
    """The verdict with a witness: an element, and the iterations that conflict over it, in order.

    The order is the one before the change. The kinds ``missing``, ``extra`` and ``outside`` have
    one iteration, the others two.
    """

    kind: Kind
    buffer: str
    element: tuple[int, ...]
    iterations: tuple[Iteration, ...]
    sentence: str

    @property
    def group(self) -> str:
        """The group of its kind: ``dependence``, ``coverage``, ``race`` or ``axis kind``."""
        return GROUPS[self.kind]

    @property
    def place(self) -> str:
        """The element as the program writes it: ``X[1, 2]``."""
        return place(self.buffer, self.element)

    def __str__(self) -> str:
        name = self.group if self.kind in ("race", "axis") else f"{self.kind} {self.group}"
        if self.group == "coverage":
            name = f"coverage, {self.kind}"
        return f"illegal ({name}): {self.sentence}"


@dataclass(frozen=True)
class Unknown:
    """The verdict that nothing can be said, with the reason."""

    reason: str
    hint: str = ""

    def __str__(self) -> str:
        return f"unknown: {self.reason}" + (f" ({self.hint})" if self.hint else "")


Verdict = Legal | Illegal | Unknown


def unknown(error: UsageError) -> Unknown:
    """The verdict on a program that an analysis cannot follow."""
    got = "" if error.got is None else f": {error.got}"
    return Unknown(f"{error.what}{got}", error.hint or "")


def values_of(loops: Iterable[str], values: Iterable[int]) -> dict[str, int]:
    """The value of each loop by its name; the second loop of a name gets a prime."""
    found: dict[str, int] = {}
    for name, value in zip(loops, values, strict=True):
        found[name if name not in found else f"{name}'"] = int(value)
    return found


def place(buffer: str, element: tuple[int, ...]) -> str:
    """An element as the program writes it: ``X[1, 2]``."""
    return f"{buffer}[{', '.join(map(str, element))}]"


def broken_dependence(
    kind: Kind, buffer: str, element: tuple[int, ...], first: Iteration, second: Iteration
) -> Illegal:
    """The verdict on ``first``, which ran before ``second`` and now runs after it."""
    what = f"{first} {first.does} {place(buffer, element)}"
    if kind == "flow":
        now = NOW[second.does]
        end = f"which {second} {second.does}: before it was written first, now it is {now} first"
    elif kind == "anti":
        end = f"which {second} writes: before it was read first, now it is written first"
    else:
        end = f"which {second} writes, too: before {second} wrote last, now {first} does"
    return Illegal(kind, buffer, element, (first, second), f"{what}, {end}")


def race(
    loop: str,
    how: str,
    buffer: str,
    element: tuple[int, ...],
    pair: tuple[Iteration, Iteration],
) -> Illegal:
    """The verdict on two iterations of a loop that is ``how``: parallel or vectorized."""
    first, second = pair
    sentence = (
        f"{first} {first.does} {place(buffer, element)}, which {second} {second.does}: "
        f"the iterations of the {how} loop {loop} have no order among themselves"
    )
    return Illegal("race", buffer, element, pair, sentence)


def axis_kind(
    block: str, axes: str, buffer: str, element: tuple[int, ...], pair: tuple[Iteration, Iteration]
) -> Illegal:
    """The verdict on two instances of a block that differ in axes declared spatial."""
    first, second = pair
    sentence = (
        f"{axes} of block {block} are declared spatial, but "
        f"{first} {first.does} {place(buffer, element)}, which {second} {second.does}"
    )
    return Illegal("axis", buffer, element, pair, sentence)


def coverage(
    kind: Kind, buffer: str, element: tuple[int, ...], iterations: tuple[Iteration, ...]
) -> Illegal:
    """The verdict on an instance that is not run exactly once."""
    first, where = iterations[0], place(buffer, element)
    if kind == "missing":
        sentence = f"before, {first} {first.does} {where}; now no iteration does that"
    elif kind == "extra":
        sentence = f"now {first} {first.does} {where}; before, no iteration did that"
    elif kind == "twice":
        sentence = f"now {first} and {iterations[1]} do the same to {where}; before, fewer did"
    else:
        sentence = f"{first} {first.does} {where}, which is outside of {buffer}"
    return Illegal(kind, buffer, element, iterations, sentence)
