"""Bytes moved before and after a fusion, how often each stage is computed, and what it gains."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any

import traitlets

from mlc_course.lessons.kit import (
    INTERRUPT,
    Choice,
    Widget,
    charts,
    one_of,
    side_by_side,
)
from mlc_course.lessons.lesson_08_fusion.staged_problems import PROBLEMS, Counted, Staged, staged
from mlc_course.lessons.lesson_08_fusion.traffic_picture import traffic_svg
from mlc_course.measure import Comparison
from mlc_course.tensor_program.ladders import race
from mlc_course.tensor_program.problems import Workload
from mlc_course.tensor_program.tir import outline

BUDGET_S = 0.7  # of timing, for each way to run a problem
Race = Callable[..., Mapping[str, Comparison]]


@functools.cache
def counted(problem: str, fusion: str) -> Counted:
    """Count what a fusion of a problem moves and computes: once, then from memory."""
    return staged(problem).count(fusion)


@functools.cache
def compared(problem: str, fusion: str) -> tuple[str, str]:
    """Return the program apart and fused, side by side, and the picture in a sentence."""
    chosen = staged(problem)
    names = chosen.fusions[0].name, fusion
    outlines = [outline(chosen.small(name)) for name in names]
    program = side_by_side(*outlines, titles=names, context=None)
    return program, _said(*(counted(problem, name) for name in names))


class TrafficWidget(Widget):
    """Bytes between memory and caches, work and speed of a problem, apart and fused.

    ``problem`` is one of ``PROBLEMS``, ``fusion`` one of its ways to run; setting them changes
    ``svg``, ``reason`` and ``program``. ``measure`` times every way against NumPy. Raises
    ``UsageError`` for values that it cannot show.
    """

    problem = Choice("scale_shift_clip", PROBLEMS)
    fusion = traitlets.Unicode("all inlined").tag(sync=True)

    problems = traitlets.List(list(PROBLEMS)).tag(sync=True)
    fusions: Any = traitlets.List().tag(sync=True)
    svg = traitlets.Unicode("").tag(sync=True)
    said = traitlets.Unicode("").tag(sync=True)
    reason = traitlets.Unicode("").tag(sync=True)
    program = traitlets.Unicode("").tag(sync=True)
    status = traitlets.Unicode("Bytes and work are counted; speed is not measured yet.")
    status.tag(sync=True)

    def __init__(
        self, problem: str = "scale_shift_clip", fusion: str | None = None, *, race: Race = race
    ) -> None:
        self._race = race
        self.found: dict[tuple[str, str], Comparison] = {}
        ways = [each.name for each in staged(problem).fusions]
        chosen = one_of("fusion", ways, ways[-1] if fusion is None else fusion)
        self._shown = ("", "")
        super().__init__(fusions=ways)
        with self.hold_trait_notifications():
            self.problem, self.fusion = problem, chosen
        self._change_choice(None)

    @property
    def staged(self) -> Staged:
        """Return the problem that is shown."""
        return staged(self.problem)

    # --- what may be chosen ---------------------------------------------------------------------

    @traitlets.validate("fusion")
    def _check_fusion(self, proposal: Any) -> str:
        known = [each.name for each in self.staged.fusions]
        return one_of("fusion", known, proposal.value)

    # --- what is shown --------------------------------------------------------------------------

    @traitlets.observe("problem", "fusion")
    def _change_choice(self, change: Any) -> None:
        self.fusions = [each.name for each in self.staged.fusions]
        if self.fusion not in self.fusions:
            self.fusion = self.fusions[1]  # comes back here
        elif self._shown != (self.problem, self.fusion):
            self._draw()

    def _draw(self) -> None:
        """Draw the problem and the fusion that are chosen, and write their texts."""
        self._shown = (self.problem, self.fusion)
        svg = self._picture(self.problem, self.fusion)
        program, said = compared(self.problem, self.fusion)
        with self.hold_sync():  # picture and words reach the page together
            self.svg, self.program, self.said = svg, program, said
            self.reason = self.staged.fusion(self.fusion).why

    def _picture(self, problem: str, fusion: str) -> str:
        return self.once((problem, fusion), lambda: self._drawn_now(problem, fusion))

    def _drawn_now(self, problem: str, fusion: str) -> str:
        chosen = staged(problem)
        names = [each.name for each in chosen.fusions]
        return traffic_svg(
            counted(problem, names[0]),
            counted(problem, fusion),
            names=(names[0], fusion),
            heading=f"{problem}: counted at {_sizes(chosen.counted)}, "
            f"measured at {_sizes(chosen.measured)}",
            measured={name: self.found.get((problem, name)) for name in names},
        )

    def draw_all(self) -> None:
        """Count and draw every fusion beforehand, so that a choice is answered at once."""
        every = [(name, each.name) for name in PROBLEMS for each in staged(name).fusions]
        self.draw_ahead(functools.partial(compared, *each) for each in every)
        self.draw_ahead(functools.partial(self._picture, *each) for each in every)

    def static_html(self) -> str:
        """Return the picture and what it says, for a page on which nothing can be clicked."""
        ways = "".join(f"<li><b>{e.name}</b> {e.why}</li>" for e in self.staged.fusions)
        return f"{charts(self.svg)}<p>{self.said}</p><ul>{ways}</ul>"

    # --- measuring ------------------------------------------------------------------------------

    def measure(self) -> None:
        """Time every way to run the problem here, now; an interrupt keeps what is done."""
        problem, done = self.problem, 0
        ways = [each.name for each in self.staged.fusions]
        self.busy = True
        try:
            for done, name in enumerate(ways):
                self.status = (
                    f"Measuring {name}, {done + 1} of {len(ways)}. "
                    f"{INTERRUPT} and keeps what is done."
                )
                self._measure_one(problem, name)
            self.draw_ahead(functools.partial(self._picture, problem, name) for name in ways)
            self.status = f"Measured here, one thread each: {len(ways)} ways and NumPy."
        except KeyboardInterrupt:
            self.status = f"Stopped: {done} of {len(ways)} are measured."
        finally:
            self.busy = False

    def _measure_one(self, problem: str, name: str) -> None:
        each = staged(problem)
        programs = {name: each.quick(name)}
        found = self._race(each.measured, programs, budget_s=BUDGET_S)
        self.found[problem, name] = found[name]
        for way in staged(problem).fusions:
            self._drawn.pop((problem, way.name), None)
        self._draw()


def _sizes(work: Workload) -> str:
    return " x ".join(map(str, work.sizes.values()))


def _said(before: Counted, after: Counted) -> str:
    """Return the picture in a sentence, for those who do not see it."""
    old, new = before.traffic.bytes(), after.traffic.bytes()
    fewer = f"{old / new:.2f} times fewer" if new < old else "no fewer"
    repeated = [s for s in after.stages if s.times > 1]
    again = "; ".join(f"{s.block} is computed {s.times:,.3g} times" for s in repeated)
    return (
        f"Bytes to and from memory: {old:,} apart, {new:,} now ({fewer}). "
        f"Operations: {before.flops:,} apart, {after.flops:,} now"
        + (f"; {again}." if again else ".")
    )
