"""A tree opened along one path: a column for each depth, what is cut in groups, where keys lead.

A *place* names what can be pointed at: ``root``, ``root-3-17`` for the child of a key, and
``root-3/1`` for a group of cut children of ``root-3``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

from mlc_course.errors import UsageError
from mlc_course.mugraph.enumeration import ANOTHER_ORDER, Child, Key, Node, Tree
from mlc_course.mugraph.search import CANCELS, EQUAL, NO_PART

ALIVE, CUT = 6, 4  # rows of a column, of a group that is open
SHORT = {
    NO_PART: "no part of the goal",
    EQUAL: "equal to one that is there",
    ANOTHER_ORDER: "built in another order",
    CANCELS: "without an expression",
}

Kind = Literal["alive", "found", "cut", "group", "more"]


@dataclass(frozen=True)
class Row:
    """A row of a column: where it leads, what it is, its two lines."""

    place: str
    kind: Kind
    words: str
    below: str = ""
    inside: bool = False  # a group


@dataclass(frozen=True)
class Place:
    """A key, and which group of its cut children."""

    key: Key
    group: int | None = None

    def __str__(self) -> str:
        group = "" if self.group is None else f"/{self.group}"
        return "-".join(["root", *map(str, self.key)]) + group


def parsed(place: str) -> Place:
    """The reverse of ``str``; raises ``UsageError``."""
    path, slash, group = place.partition("/")
    root, *key = path.split("-")
    if root != "root" or not all(each.isdecimal() for each in [*key, *[group] * bool(slash)]):
        raise UsageError("no such place", expected="root-3-17 or root-3/1", got=place)
    return Place(tuple(map(int, key)), int(group) if slash else None)


class Column:
    """The children of a node: alive first, then a group for each reason."""

    def __init__(self, node: Node) -> None:
        self.node = node
        children = node.children()
        self.alive = [each for each in children if not each.reason]
        groups: dict[str, list[Child]] = {}
        for each in children:
            if each.reason:
                groups.setdefault(each.reason, []).append(each)
        order = list(SHORT)
        self.groups = sorted(
            groups.items(),
            key=lambda group: (order.index(group[0]) if group[0] in SHORT else 99, group[0]),
        )

    def group_of(self, key: Key) -> int | None:
        """The number of the group that holds a cut child; None for a child that is alive."""
        found = (n for n, (_, cut) in enumerate(self.groups) if any(c.key == key for c in cut))
        return next(found, None)

    def places(self, opened: int | None) -> list[str]:
        """All rows, with those of the group that is open."""
        found = [str(Place(each.key)) for each in self.alive]
        for number, (_, cut) in enumerate(self.groups):
            found.append(str(Place(self.node.key, number)))
            found += [str(Place(each.key)) for each in cut if number == opened]
        return found

    def rows(self, chosen: str, opened: int | None) -> Iterator[Row]:
        """The rows that there is room for, around the chosen one."""
        yield from _window([_row(each) for each in self.alive], chosen, ALIVE)
        for number, (reason, cut) in enumerate(self.groups):
            place = str(Place(self.node.key, number))
            yield Row(place, "group", f"{len(cut)} cut", SHORT.get(reason, reason))
            if number == opened:
                inside = _window([_row(each) for each in cut], chosen, CUT)
                yield from (replace(row, inside=True) for row in inside)


def _row(child: Child) -> Row:
    kind: Kind = "cut" if child.reason else "found" if child.found else "alive"
    return Row(str(Place(child.key)), kind, child.step.text, child.step.expression)


def _window(rows: Sequence[Row], chosen: str, most: int) -> Iterator[Row]:
    """At most so many rows, and how many are before and after them."""
    if len(rows) <= most:
        yield from rows
        return
    at = next((n for n, each in enumerate(rows) if each.place == chosen), 0)
    first = min(max(0, at - most // 2), len(rows) - most)
    last = first + most
    if first:
        yield Row(rows[first - 1].place, "more", f"… {first} before")
    yield from rows[first:last]
    if last < len(rows):
        yield Row(rows[last].place, "more", f"… {len(rows) - last} more")


class Opened:
    """A tree with one place chosen. Raises ``UsageError`` for a place that is not there."""

    def __init__(self, tree: Tree, chosen: str = "root") -> None:
        self.tree, self.chosen = tree, chosen
        self.at = parsed(chosen)
        self.columns = [Column(tree.root)]
        self.path = list[Child]()
        for depth in range(len(self.at.key)):
            key = self.at.key[: depth + 1]
            child = self._child(key)
            self.path.append(child)
            if child.node is not None:
                self.columns.append(Column(child.node))
            elif key != self.at.key:
                raise _nowhere(chosen, f"{child.step.text} is cut: {child.reason}")
        groups = len(self.columns[-1].groups)
        if self.at.group is not None and (self.is_cut or self.at.group >= groups):
            raise _nowhere(chosen, "no such group")

    def _child(self, key: Key) -> Child:
        column = self.columns[-1]
        every = [*column.alive, *(child for _, cut in column.groups for child in cut)]
        for child in every:
            if child.key == key:
                return child
        raise _nowhere(self.chosen, "no such candidate")

    @property
    def is_cut(self) -> bool:
        """True where the chosen child is cut."""
        return bool(self.path and self.path[-1].reason)

    @cached_property
    def opened(self) -> int | None:
        """The group of the last column that is open."""
        return self.columns[-1].group_of(self.at.key) if self.is_cut else self.at.group

    @cached_property
    def on_path(self) -> frozenset[str]:
        """The chosen place, and all above it."""
        above = (str(Place(self.at.key[:n])) for n in range(len(self.at.key) + 1))
        return frozenset({*above, self.chosen})

    def rows(self, number: int) -> list[Row]:
        """The rows of a column."""
        last = number == len(self.columns) - 1
        chosen = self.chosen if last else str(Place(self.at.key[: number + 1]))
        return list(self.columns[number].rows(chosen, self.opened if last else None))

    @property
    def reason(self) -> str:
        """The reason why the chosen group, or child, is cut; "" where it is alive."""
        if self.at.group is not None:
            return self.columns[-1].groups[self.at.group][0]
        return self.path[-1].reason if self.path else ""

    @property
    def moves(self) -> dict[str, str]:
        """The move of each key: up and down in a column, right into a node or a group."""
        inside = self.is_cut or self.at.group is not None
        last = self.columns[-1]
        found = dict[str, str]()
        if inside or self.path:
            beside = last.places(self.opened) if inside else self.columns[-2].places(None)
            at = beside.index(self.chosen)
            found |= {"Home": beside[0], "ArrowUp": beside[max(0, at - 1)]}
            found |= {"End": beside[-1], "ArrowDown": beside[min(at + 1, len(beside) - 1)]}
            up = Place(self.at.key if self.at.group is not None else self.at.key[:-1])
            found["ArrowLeft"] = str(Place(up.key, self.opened) if self.is_cut else up)
        below = last.places(self.at.group)
        if self.at.group is not None:
            found["ArrowRight"] = below[below.index(self.chosen) + 1]
        elif below and not self.is_cut:
            found["ArrowRight"] = below[0]
        return found


def _nowhere(place: str, got: str) -> UsageError:
    return UsageError(f"no place {place} in this tree", expected="a child of a node", got=got)
