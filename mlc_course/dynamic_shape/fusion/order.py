"""Groups of operators in an order in which each comes after those that it reads.

Merging two groups must not close a cycle: a kernel cannot wait for another that waits for it. The
search is bounded by the places of the two groups (Pearce and Kelly, "A dynamic topological sort
algorithm for directed acyclic graphs", 2006).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping


class Order:
    """Groups, each named by a number, with the groups before and after each."""

    def __init__(self, readers: Mapping[int, Iterable[int]], members: Iterable[int]) -> None:
        """Begin with one group a member; members are given in an order that is valid."""
        self.place: dict[int, int] = {each: at for at, each in enumerate(members)}
        self.after: dict[int, set[int]] = {each: set(readers.get(each, ())) for each in self.place}
        self.before: dict[int, set[int]] = {each: set() for each in self.place}
        for each, later in self.after.items():
            for other in later:
                self.before[other].add(each)

    def merge(self, one: int, other: int) -> bool:
        """Make the two groups one, named ``one``; return False where that closes a cycle."""
        first, last = sorted((one, other), key=self.place.__getitem__)
        later = self._reached(first, self.after, self.place[first], self.place[last], last)
        if later is None:
            return False
        earlier = self._reached(last, self.before, self.place[first], self.place[last], first)
        assert earlier is not None
        places = sorted(self.place[each] for each in (*earlier, first, last, *later))
        earlier.sort(key=self.place.__getitem__)
        later.sort(key=self.place.__getitem__)
        for each, place in zip((*earlier, one, *later), places, strict=False):
            self.place[each] = place
        for there, back in ((self.after, self.before), (self.before, self.after)):
            for each in there.pop(other):
                back[each].discard(other)
                if each != one:
                    back[each].add(one)
                    there[one].add(each)
            there[one].discard(other)
        del self.place[other]
        return True

    def is_between(self, one: int, other: int) -> bool:
        """Tell whether one of two groups waits for a third that waits for the other."""
        first, last = sorted((one, other), key=self.place.__getitem__)
        low, high = self.place[first], self.place[last]
        if len(self.before[last]) < len(self.after[first]):
            return self._reached(last, self.before, low, high, first) is None
        return self._reached(first, self.after, low, high, last) is None

    def depths(self) -> dict[int, int]:
        """Return the length of the longest chain of groups that each group waits for."""
        found: dict[int, int] = {}
        for each in sorted(self.place, key=self.place.__getitem__):
            found[each] = max((1 + found[other] for other in self.before[each]), default=0)
        return found

    def _reached(
        self, start: int, there: Mapping[int, set[int]], low: int, high: int, end: int
    ) -> list[int] | None:
        """Groups between two places that are reached from one; None if ``end`` is one of them."""
        found: list[int] = []
        waiting = [each for each in there[start] if each != end]
        seen = set(waiting)
        while waiting:
            each = waiting.pop()
            if not low < self.place[each] < high:
                continue
            found.append(each)
            for other in there[each]:
                if other == end:
                    return None
                if other not in seen:
                    seen.add(other)
                    waiting.append(other)
        return found
