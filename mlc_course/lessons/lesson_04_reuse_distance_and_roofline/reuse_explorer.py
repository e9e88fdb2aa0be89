"""The reuse histogram under this machine's caches: choose a program and a cache, see the misses."""

from __future__ import annotations

import html
from collections.abc import Callable, Mapping
from typing import Any

import traitlets

from mlc_course.lessons.kit import INTERRUPT, Choice, Widget, charts, in_range, one_of, table
from mlc_course.lessons.lesson_04_reuse_distance_and_roofline.limits import (
    bytes_into,
    least_seconds,
)
from mlc_course.lessons.lesson_04_reuse_distance_and_roofline.programs import (
    PROGRAMS,
    distances,
    family,
)
from mlc_course.lessons.lesson_04_reuse_distance_and_roofline.reuse_picture import reuse_svg
from mlc_course.lessons.lesson_04_reuse_distance_and_roofline.time_picture import times_svg
from mlc_course.machine import describe
from mlc_course.measure import Comparison
from mlc_course.tensor_program.ladders import race
from mlc_course.tensor_program.memory import Roofs, levels
from mlc_course.tensor_program.memory import roofs as kept_roofs
from mlc_course.tensor_program.processor import flops
from mlc_course.tensor_program.tir import Schedule
from mlc_course.units import milliseconds, size_text

POWERS = tuple(1 << power for power in range(10, 28))  # sizes that may be chosen, in bytes
HEAD = ("cache", "misses", "bytes fetched", "from", "takes at least")
BUDGET_S = 0.8  # of timing, for the programs of one family
Race = Callable[..., Mapping[str, Comparison]]


class ReuseExplorer(Widget):
    """Reuse distances of a program, and the misses of a cache of any size.

    ``program`` is one of ``PROGRAMS``; ``place`` chooses a size in ``sizes``, which has the powers
    of two and this machine's own caches. Setting them changes ``svg``, ``table`` and ``said``.
    ``measure`` times the chosen program, and those that compute the same, against NumPy; ``bars``
    shows them. Raises ``UsageError`` for values that it cannot show.
    """

    program = Choice("products, vector by vector", PROGRAMS)
    place = traitlets.Int(0).tag(sync=True)

    programs = traitlets.List(list(PROGRAMS)).tag(sync=True)
    labels: Any = traitlets.List().tag(sync=True)
    own: Any = traitlets.Dict().tag(sync=True)
    svg = traitlets.Unicode("").tag(sync=True)
    bars = traitlets.Unicode("").tag(sync=True)
    said = traitlets.Unicode("").tag(sync=True)
    reason = traitlets.Unicode("").tag(sync=True)
    table = traitlets.Unicode("").tag(sync=True)
    status = traitlets.Unicode("Distances are counted; nothing is timed yet.").tag(sync=True)

    def __init__(
        self,
        program: str = "products, vector by vector",
        *,
        roofs: Roofs | None = None,
        race: Race = race,
    ) -> None:
        self._race = race
        self._roofs = roofs or kept_roofs(1)
        self._caches = levels(describe())
        self._own = {f"L{n}": cache.bytes for n, cache in enumerate(self._caches, start=1)}
        self.sizes = tuple(sorted({*POWERS, *self._own.values()}))
        self.found: dict[str, Mapping[str, Comparison]] = {}
        self._flops = {name: _operations(name) for name in PROGRAMS}
        for name in PROGRAMS:
            distances(name)  # now, so that every choice is answered at once
        super().__init__(
            program=one_of("program", tuple(PROGRAMS), program),
            labels=[_size(size) for size in self.sizes],
            own={name: self.sizes.index(size) for name, size in self._own.items()},
            place=self.sizes.index(self._caches[0].bytes),
        )
        self._draw()

    @property
    def size(self) -> int:
        """The size of the cache that is chosen, in bytes."""
        return int(self.sizes[self.place])

    # --- what may be chosen ---------------------------------------------------------------------

    @traitlets.validate("place")
    def _check_place(self, proposal: Any) -> int:
        return in_range("size", 0, len(self.sizes) - 1, proposal.value)

    # --- what is shown --------------------------------------------------------------------------

    @traitlets.observe("program", "place")
    def _change(self, change: Any) -> None:
        self._draw()

    def _draw(self) -> None:
        found, chosen = distances(self.program), PROGRAMS[self.program]
        sizes = ", ".join(f"{k} {v}" for k, v in chosen.work().sizes.items())
        with self.hold_sync():
            self.svg = reuse_svg(found, self._own, f"{self.program} ({sizes})", chosen=self.size)
            self.reason, self.said = chosen.why, self._said()
            self.table, self.bars = self._table(), self._bars()

    def _said(self) -> str:
        """What the chosen cache does for the chosen program, for those who do not see it."""
        found = distances(self.program)
        lines = self.size // found.line
        misses = found.misses(lines)
        return (
            f"A cache of {_size(self.size)} ({lines:,} lines) misses {misses:,} of "
            f"{found.uses:,} uses; {found.lines:,} of these are first uses, which every cache "
            f"misses. It fetches {size_text(misses * found.line)}."
        )

    def _table(self) -> str:
        found = distances(self.program)
        fetched = bytes_into(found, self._caches)
        least = least_seconds(self._flops[self.program], fetched, self._roofs)
        sources = list(self._roofs.sources)
        rows: list[tuple[object, ...]] = []
        for n, (cache, moved) in enumerate(zip(self._caches, fetched, strict=True), start=1):
            source = sources[n - 1] if n <= len(sources) else "memory"
            rows.append(
                (
                    f"L{n}, {_size(cache.bytes)}",
                    f"{found.misses(cache.bytes // found.line):,}",
                    size_text(moved) if moved else "none: all of it stays",
                    f"{source}, {self._roofs.sources.get(source, 0):.0f} GB/s",
                    _time(least.get(source, 0.0)),
                )
            )
        peak = f"peak, {self._roofs.gflops:.0f} GFLOP/s"
        work = f"{self._flops[self.program] / 1e6:,.3g} M operations"
        rows.append(("arithmetic", "", work, peak, _time(least["arithmetic"])))
        return table(HEAD, rows, kind="mlc-runs mlc-loads")

    def _bars(self) -> str:
        found = self.found.get(PROGRAMS[self.program].family)
        if not found:
            return ""
        least = {name: self.least(name) for name in found}
        heading = f"Time of a call, one thread: {PROGRAMS[self.program].family}"
        return times_svg(found, least, heading=heading, selected=self.program)

    def least(self, name: str) -> float:
        """The least seconds that its bytes and operations leave a program on this machine."""
        fetched = bytes_into(distances(name), self._caches)
        return max(least_seconds(self._flops[name], fetched, self._roofs).values())

    def static_html(self) -> str:
        """The chosen program as it is shown, and what each other program misses."""
        others = "".join(
            f"<li><b>{html.escape(name)}</b>: {html.escape(each.why)} Misses: "
            + ", ".join(
                f"{cache} {distances(name).misses(size // distances(name).line):,}"
                for cache, size in self._own.items()
            )
            + f" of {distances(name).uses:,} uses.</li>"
            for name, each in PROGRAMS.items()
        )
        return (
            f"{charts(self.svg)}<p>{html.escape(self.said)}</p>{self.table}{charts(self.bars)}"
            f"<ul>{others}</ul>"
        )

    # --- measuring ------------------------------------------------------------------------------

    def measure(self) -> Mapping[str, Comparison]:
        """Time the chosen program's family and NumPy in turn, on one thread, at the size shown."""
        kin = PROGRAMS[self.program].family
        names = family(self.program)
        with self.measuring(f"{kin} ... {INTERRUPT}."):
            work = PROGRAMS[self.program].work()
            programs = {name: PROGRAMS[name].apply for name in names}
            found = self._race(work, programs, budget_s=BUDGET_S)
        self.found[kin] = found
        self.status = _summary(found)
        self._draw()
        return found

    def measure_all(self) -> None:
        """Time all families, and choose the program that was chosen before."""
        chosen = self.program
        for kin in dict.fromkeys(each.family for each in PROGRAMS.values()):
            self.program = next(name for name, e in PROGRAMS.items() if e.family == kin)
            self.measure()
        self.program = chosen
        self.status = "Distances are counted; times were measured here, one thread."


def _operations(name: str) -> float:
    program = PROGRAMS[name]
    sch = Schedule(program.work().program())
    program.order(sch)
    return flops(sch)


def _summary(found: Mapping[str, Comparison]) -> str:
    return "; ".join(
        f"{name} {milliseconds(e.timing.median_s)}, {e.ratio:.2f} x NumPy's speed{e.mark}"
        for name, e in found.items()
    )


def _size(size: int) -> str:
    for unit, name in ((1 << 20, "MiB"), (1 << 10, "KiB")):
        if size >= unit:
            return f"{size / unit:.4g} {name}"
    return f"{size} bytes"


def _time(seconds: float) -> str:
    return milliseconds(seconds) if seconds else "no time"
