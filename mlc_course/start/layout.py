"""Where the boxes of the map are, and how the arrows between them run.

Lessons are in reading order in rows of a few columns; each part begins a row. An arrow runs in the
gaps between rows and columns, where each has a lane for itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from mlc_course.drawing import Point
from mlc_course.start.course import Course

WIDE, HIGH = 172.0, 94.0  # a box
ASIDE, EDGE = 26.0, 22.0  # between columns; beside the first one
LANE, HEADING = 8.0, 30.0
PORT = 16.0  # between the ends of arrows at one side of a box
DOWN = 6.0  # between lanes beside a column

Spots = dict[int, tuple[int, int]]  # a lesson's row and column


@dataclass(frozen=True)
class Place:
    """The left upper corner of a lesson's box, with its row and column."""

    x: float
    y: float
    row: int
    column: int


@dataclass(frozen=True)
class Layout:
    """A place for each lesson, the line of each part's heading, and each arrow's corners."""

    width: float
    height: float
    places: dict[int, Place]
    headings: dict[str, float]
    arrows: dict[tuple[int, int], tuple[Point, ...]]


@dataclass
class _Lanes:
    """Lanes of one gap; two stretches that touch are never in the same one."""

    taken: list[list[tuple[float, float]]] = field(default_factory=list)

    def take(self, start: float, end: float, *, apart: float) -> int:
        low, high = min(start, end) - apart / 2, max(start, end) + apart / 2
        for number, lane in enumerate(self.taken):
            if all(high <= a or b <= low for a, b in lane):
                lane.append((low, high))
                return number
        self.taken.append([(low, high)])
        return len(self.taken) - 1


def arrange(course: Course, columns: int) -> Layout:
    """Place the lessons of a course in rows of some columns."""
    rows = [
        lessons[at : at + columns]
        for part in dict.fromkeys(lesson.part for lesson in course.lessons)
        for lessons in (course.part(part),)
        for at in range(0, len(lessons), columns)
    ]
    spots = {
        lesson.number: (row, column)
        for row, lessons in enumerate(rows)
        for column, lesson in enumerate(lessons)
    }
    pairs = [(before.number, after.number) for before, after in course.arrows()]
    routes = _Routes(spots, [pair for pair in pairs if not _is_next(spots, pair)])
    tops, headings, y = [], {}, 0.0
    for row, lessons in enumerate(rows):
        if not row or rows[row - 1][0].part != lessons[0].part:
            y += HEADING
            headings[lessons[0].part] = y - 9
        y += 14 + LANE * len(routes.above[row].taken)
        tops.append(y)
        y += HIGH + 6
    places = {
        number: Place(routes.lefts[column], tops[row], row, column)
        for number, (row, column) in spots.items()
    }
    arrows = {
        pair: _level(places, pair) if _is_next(spots, pair) else routes.corners(pair, tops)
        for pair in pairs
    }
    return Layout(routes.lefts[-1] + WIDE + EDGE, y + 4, places, headings, arrows)


def _is_next(spots: Spots, pair: tuple[int, int]) -> bool:
    (row, column), other = spots[pair[0]], spots[pair[1]]
    return other == (row, column + 1)


def _level(places: dict[int, Place], pair: tuple[int, int]) -> tuple[Point, ...]:
    """The corners of an arrow to the next box of a row."""
    a, b = places[pair[0]], places[pair[1]]
    return ((a.x + WIDE, a.y + HIGH / 2), (b.x, b.y + HIGH / 2))


class _Routes:
    """The lanes that arrows take: ``above`` each row, and beside columns.

    Columns begin at ``lefts``, which leave room for the lanes beside them.
    """

    def __init__(self, spots: Spots, pairs: list[tuple[int, int]]) -> None:
        self.spots, self.pairs = spots, pairs
        self.above = [_Lanes() for _ in range(1 + max(row for row, _ in spots.values()))]
        beside = [_Lanes() for _ in range(1 + max(column for _, column in spots.values()))]
        down = {}
        for pair in pairs:
            (row, _), (last, column) = (spots[number] for number in pair)
            if last - row > 1:
                down[pair] = beside[column].take(row + 1, last, apart=1)
        self.lefts: list[float] = []
        x = 0.0
        for column, lanes in enumerate(beside):
            x += max(ASIDE if column else EDGE, 12 + DOWN * len(lanes.taken))
            self.lefts.append(x)
            x += WIDE
        leaves, enters = self._ports(0), self._ports(1)
        self._step_aside(leaves, enters)
        self._lanes: dict[tuple[int, int], tuple[float, float, float, int, int]] = {}
        for pair in pairs:
            (row, _), (last, column) = (spots[number] for number in pair)
            leave, enter = leaves[pair], enters[pair]
            if pair in down:
                across = self.lefts[column] - 8 - DOWN * down[pair]
                first = self.above[row + 1].take(leave, across, apart=PORT)
                lane = self.above[last].take(across, enter, apart=PORT)
                self._lanes[pair] = (leave, across, enter, first, lane)
            else:
                lane = self.above[last].take(leave, enter, apart=PORT)
                self._lanes[pair] = (leave, leave, enter, 0, lane)

    def _gap(self, pair: tuple[int, int]) -> int:
        """The row above which an arrow begins: its box's own, if it goes to the same row."""
        row, last = self.spots[pair[0]][0], self.spots[pair[1]][0]
        return row + (row != last)

    def _ports(self, end: int) -> dict[tuple[int, int], float]:
        """Where each arrow begins (0) or ends (1) at the side of its box."""
        ports = {}
        for number, (_, column) in self.spots.items():
            here = [pair for pair in self.pairs if pair[end] == number]
            for place, pair in enumerate(here):
                aside = PORT * (place - (len(here) - 1) / 2)
                if not end and self._gap(pair) == self.spots[number][0]:
                    aside += 3 * PORT / 4  # a box above may have an arrow that begins in the middle
                ports[pair] = self.lefts[column] + WIDE / 2 + aside
        return ports

    def _step_aside(
        self, leaves: dict[tuple[int, int], float], enters: dict[tuple[int, int], float]
    ) -> None:
        """Move the ends at a box where another arrow begins above them: the two would be one."""
        for number, (row, _) in self.spots.items():
            here = [pair for pair in self.pairs if pair[1] == number]
            others = [pair for pair in leaves if self._gap(pair) == row]
            for aside in (0.0, PORT / 2, PORT / 4, PORT / 8):
                moved = {pair: enters[pair] + aside for pair in here}
                if all(
                    abs(x - leaves[other]) > 1
                    for pair, x in moved.items()
                    for other in others
                    if other != pair
                ):
                    enters.update(moved)
                    break

    def corners(self, pair: tuple[int, int], tops: Sequence[float]) -> tuple[Point, ...]:
        """Return the corners of an arrow, where the boxes of each row begin at ``tops``."""
        (row, _), (last, _) = self.spots[pair[0]], self.spots[pair[1]]
        leave, across, enter, first, lane = self._lanes[pair]
        start = tops[row] + (0 if row == last else HIGH)
        far = tops[last] - 12 - LANE * lane
        points = [(leave, start)]
        if across != leave:
            near = tops[row + 1] - 12 - LANE * first
            points += [(leave, near), (across, near)]
        points += [(across, far), (enter, far), (enter, tops[last])]
        if leave == across == enter:
            points = [points[0], points[-1]]
        return tuple(points)
