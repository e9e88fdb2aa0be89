"""Groups are merged just where no cycle closes, and stay in order: against trying by hand."""

from __future__ import annotations

import random
from collections.abc import Mapping

import pytest
from cases import Tried

from mlc_course.dynamic_shape.fusion.order import Order


def arrows(
    groups: Mapping[int, set[int]], readers: Mapping[int, list[int]]
) -> set[tuple[int, int]]:
    """Which group is read by which."""
    of = {member: name for name, members in groups.items() for member in members}
    pairs = {(of[one], of[other]) for one, others in readers.items() for other in others}
    return {(one, other) for one, other in pairs if one != other}


def has_cycle(names: set[int], found: set[tuple[int, int]]) -> bool:
    """Take away what nothing left is before, until nothing is left or nothing can be taken."""
    while names:
        first = {name for name in names if not any((other, name) in found for other in names)}
        if not first:
            return True
        names = names - first
    return False


def longest(name: int, found: set[tuple[int, int]]) -> int:
    """How many arrows there are on the longest way to a group."""
    return max((1 + longest(first, found) for first, last in found if last == name), default=0)


@pytest.mark.fuzz
def test_groups_merge_just_where_no_cycle_closes(full: bool, seed: int, tried: Tried) -> None:
    rng = random.Random(seed)
    merged = refused = 0
    for _ in range(5000 if full else 500):
        count = rng.randint(2, 12)
        readers = {
            at: [later for later in range(at + 1, count) if rng.random() < 0.25]
            for at in range(count)
        }
        order, groups = Order(readers, range(count)), {at: {at} for at in range(count)}
        for _ in range(count):
            if len(groups) < 2:
                break
            one, other = rng.sample(list(groups), 2)
            joined = {name: set(members) for name, members in groups.items()}
            joined[one] |= joined.pop(other)
            closes = has_cycle(set(joined), arrows(joined, readers))
            assert order.is_between(one, other) == closes
            assert order.merge(one, other) == (not closes)
            groups = groups if closes else joined
            merged, refused = merged + (not closes), refused + closes
            found = arrows(groups, readers)
            assert all(order.place[first] < order.place[last] for first, last in found)
            assert order.place.keys() == groups.keys()
            assert order.depths() == {name: longest(name, found) for name in groups}
            for name in groups:
                assert order.after[name] == {last for first, last in found if first == name}
                assert order.before[name] == {first for first, last in found if last == name}
    tried("groups merged", merged)
    assert merged > 0 < refused
