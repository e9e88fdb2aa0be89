"""The cache theatre: a small program on a small cache, access by access."""

from __future__ import annotations

import functools
import html
from collections.abc import Mapping
from typing import Any

import traitlets

from mlc_course.lessons.kit import Choice, Widget, charts, in_range, one_of, table
from mlc_course.lessons.lesson_03_memory_hierarchy.bar_pictures import race_svg
from mlc_course.lessons.lesson_03_memory_hierarchy.plays import PLAYS, Performance, perform
from mlc_course.lessons.lesson_03_memory_hierarchy.theatre_picture import across, boxes, theatre_svg
from mlc_course.measure import Comparison
from mlc_course.tensor_program.memory import AddressTrace, Cache, address_trace

SETS, WAYS, LINES = (1, 2, 4, 8, 16), (1, 2, 4, 8, 16), (4, 8, 16, 32)
HEAD = ("program", "cache", "accesses", "misses")
KEPT = 6


class Theatre(Widget):
    """A program of ``PLAYS`` on a cache of ``sets`` x ``ways`` lines of ``line`` bytes.

    ``step`` is the number of accesses that are done. Setting any of them changes ``svg`` and
    ``status``; ``table`` keeps the last combinations that were looked at, with their misses.
    ``timed`` is a race of the same programs at a large size: ``bars`` shows it, with the bar of
    the chosen program marked. Raises ``UsageError`` for values that it cannot show.
    """

    program = Choice("columns", PLAYS)
    sets, ways, line = Choice(8, SETS), Choice(2, WAYS), Choice(16, LINES)
    step = traitlets.Int(0).tag(sync=True)

    programs = traitlets.List(list(PLAYS)).tag(sync=True)
    sizes: Any = traitlets.Dict({"sets": SETS, "ways": WAYS, "line": LINES}).tag(sync=True)
    stage = traitlets.Unicode("").tag(sync=True)
    frames: Any = traitlets.Dict().tag(sync=True)
    table = traitlets.Unicode("").tag(sync=True)
    bars: Any = traitlets.Dict().tag(sync=True)

    def __init__(
        self,
        program: str = "columns",
        timed: Mapping[str, Comparison] | None = None,
        title: str = "",
    ) -> None:
        self._seen: dict[tuple[str, Cache], Performance] = {}
        found = timed or {}
        self._bars = {name: race_svg(found, title, name) for name in found}
        if found:
            self._bars[""] = race_svg(found, title)
        super().__init__(program=one_of("program", tuple(PLAYS), program), bars=self._bars)
        self._perform()

    @property
    def cache(self) -> Cache:
        """The cache that is chosen."""
        return Cache(self.sets * self.ways * self.line, self.ways, self.line)

    @property
    def performance(self) -> Performance:
        """The accesses of the chosen program on the chosen cache."""
        return self._seen[self.program, self.cache]

    @property
    def svg(self) -> str:
        """The picture after ``step`` accesses."""
        return theatre_svg(self.performance, self.step, self._heading())

    # --- what may be chosen ---------------------------------------------------------------------

    @traitlets.validate("step")
    def _check_step(self, proposal: Any) -> int:
        return in_range("step", 0, len(self.performance.visits), proposal.value)

    # --- what is shown --------------------------------------------------------------------------

    @traitlets.observe("program", "sets", "ways", "line")
    def _change_scene(self, change: Any) -> None:
        self._perform()

    @traitlets.observe("step")
    def _change_step(self, change: Any) -> None:
        self.status = self.performance.said(self.step)

    def _perform(self) -> None:
        """A new performance, from its first access on."""
        key = self.program, self.cache
        show = self._seen.pop(key, None) or perform(_stream(self.program), self.cache)
        self._seen[key] = show  # the latest last
        self.step = 0
        self.status = show.said(0)
        with self.hold_sync():
            self.frames = _frames(show)
            self.stage = theatre_svg(show, 0, self._heading())
            self.table = self._table()

    def _heading(self) -> str:
        return f"{self.program}: {PLAYS[self.program].why}"

    def _table(self) -> str:
        rows = (
            (
                name,
                f"{_many(c.sets, 'set')} x {_many(c.ways, 'way')} x {c.line} bytes",
                len(s.visits),
                s.misses,
            )
            for (name, c), s in list(self._seen.items())[-KEPT:]
        )
        return table(HEAD, rows)

    def static_html(self) -> str:
        """The middle of the performance, and every program's misses in this cache."""
        show = self.performance
        picture = theatre_svg(show, self.step or len(show.visits) // 2, self._heading())
        misses = "".join(
            f"<li><b>{html.escape(name)}</b>: {each.misses} misses in {len(each.visits)} accesses. "
            f"{html.escape(play.why)}</li>"
            for name, play in PLAYS.items()
            for each in (perform(_stream(name), self.cache),)
        )
        timed = self._bars.get(self.program, self._bars.get("", ""))
        return f"{charts(picture)}<ul>{misses}</ul>{charts(timed)}"


def _many(number: int, word: str) -> str:
    return f"{number} {word}{'' if number == 1 else 's'}"


@functools.cache
def _stream(name: str) -> AddressTrace:
    """Return the accesses of a program, which are the same for every cache."""
    return address_trace(PLAYS[name].program())


def _frames(show: Performance) -> dict[str, Any]:
    """Return everything that the page needs to show any step."""
    squares = boxes(show)
    names = ("-".join(map(str, (visit.buffer, *visit.element))) for visit in show.visits)
    return {
        "held": [[-1 if line is None else line for line in places] for places in show.held],
        "labels": {str(line): label for line, label in show.labels.items()},
        "place": [visit.set * show.cache.ways + visit.way for visit in show.visits],
        "hit": [visit.hit for visit in show.visits],
        "box": [squares[name] for name in names],
        "across": across(show),
        "said": [show.said(step) for step in range(len(show.visits) + 1)],
    }
