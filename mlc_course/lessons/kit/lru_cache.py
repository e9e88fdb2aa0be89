"""A small cache that drops its least recently used line, access by access."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass


@dataclass(frozen=True)
class Access:
    """One access: its ``line`` is now in ``place``, and ``held`` has the line of each place.

    Places are counted set by set; None is an empty one. ``out`` is the line that was dropped.
    """

    line: int
    place: int
    hit: bool
    out: int | None
    held: tuple[int | None, ...]


def accesses(lines: Iterable[int], *, sets: int, ways: int) -> Iterator[Access]:
    """Look up lines of memory, one after the other, in a cache of ``sets`` x ``ways`` lines."""
    places: list[int | None] = [None] * (sets * ways)
    used = [0] * len(places)  # the number of the last access to each place
    for number, line in enumerate(lines, start=1):
        first = line % sets * ways
        ways_of_set = range(first, first + ways)
        hit = line in places[first : first + ways]
        oldest = min(ways_of_set, key=used.__getitem__)
        place = next((p for p in ways_of_set if places[p] == line), oldest)
        out = None if hit else places[place]
        places[place], used[place] = line, number
        yield Access(line, place, hit, out, tuple(places))
