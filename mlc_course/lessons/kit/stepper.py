"""The pass stepper: a program's stages one by one, each beside the one before it."""

from __future__ import annotations

import html
from collections.abc import Sequence
from typing import Any

from mlc_course.extras import brought_by

with brought_by("lab"):
    import traitlets

from mlc_course.errors import UsageError
from mlc_course.lessons.kit.comparison import one_program, side_by_side
from mlc_course.lessons.kit.widget import Widget, charts, in_range, one_of
from mlc_course.tensor_program.schedule import Stage
from mlc_course.words import tr


class Stepper(Widget):
    """Stages of a program: passes over a graph, or the steps of a schedule.

    ``stage`` names the one that is selected at first, the first by default; ``selected`` is its
    place. ``whole`` shows programs in full, not only what differs. Setting them changes ``svg``,
    ``name``, ``reason``, ``program`` and ``status``. Raises ``UsageError`` for no stages at all,
    for two of one name, and for a stage that is not there.
    """

    selected = traitlets.Int(0).tag(sync=True)
    whole = traitlets.Bool(False).tag(sync=True)

    names: Any = traitlets.List().tag(sync=True)
    svg = traitlets.Unicode("").tag(sync=True)
    name = traitlets.Unicode("").tag(sync=True)
    reason = traitlets.Unicode("").tag(sync=True)
    program = traitlets.Unicode("").tag(sync=True)

    def __init__(self, stages: Sequence[Stage], *, stage: str | None = None) -> None:
        self._stages = tuple(stages)
        names = [each.name for each in self._stages]
        if not names or len(set(names)) < len(names):
            raise UsageError(
                "stepper: stages cannot be told apart" if names else "stepper: no stages",
                expected="one stage or more, each with a name of its own",
                got=", ".join(names) or "none",
            )
        first = names.index(one_of("stage", names, stage)) if stage is not None else 0
        super().__init__(names=names, selected=first)
        self._draw()

    @traitlets.validate("selected")
    def _check_selected(self, proposal: Any) -> int:
        return in_range("stage here", 0, len(self._stages) - 1, proposal.value)

    @traitlets.observe("selected", "whole")
    def _change(self, change: Any) -> None:
        self._draw()

    def _draw(self) -> None:
        """Picture and texts of the stage that is chosen."""
        chosen = self._stages[self.selected]
        self.name, self.reason, self.svg = chosen.name, chosen.reason, chosen.picture
        self.program = self._programs(self.selected, whole=self.whole)
        number, count = self.selected + 1, len(self._stages)
        self.status = tr("Stage {number} of {count}", number=number, count=count)

    def _programs(self, place: int, *, whole: bool) -> str:
        """A stage beside the one before it; the first stands alone."""
        after = self._stages[place]
        if place == 0:
            return one_program(after.program, title=after.name)
        before = self._stages[place - 1]
        titles = before.name, after.name
        context = None if whole else 5
        return side_by_side(before.program, after.program, titles=titles, context=context)

    def static_html(self) -> str:
        """Every stage, to be opened one by one, for a page on which no widgets run."""
        return "".join(self._static(place) for place in range(len(self._stages)))

    def _static(self, place: int) -> str:
        stage = self._stages[place]
        shown = " open" if place == self.selected else ""
        head = f"<b>{place + 1}. {html.escape(stage.name)}</b> {html.escape(stage.reason)}"
        programs = self._programs(place, whole=False)
        return (
            f"<details{shown}><summary>{head}</summary>{charts(stage.picture)}{programs}</details>"
        )
