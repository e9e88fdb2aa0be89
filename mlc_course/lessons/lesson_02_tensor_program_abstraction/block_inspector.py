"""The block inspector of lesson 2: a small program, and which elements its iterations touch."""

from __future__ import annotations

import html
from collections.abc import Mapping
from typing import Any

import traitlets

from mlc_course.errors import AxisError, UsageError
from mlc_course.lessons.kit import Widget, one_of
from mlc_course.lessons.lesson_02_tensor_program_abstraction.inspection_picture import (
    inspector_svg,
    listing_html,
)
from mlc_course.lessons.lesson_02_tensor_program_abstraction.remarks import ONE, remark
from mlc_course.lessons.lesson_02_tensor_program_abstraction.small_programs import SMALL, Small
from mlc_course.tensor_program.legality import ALL, Inspection, blocks, inspected
from mlc_course.tensor_program.tir import IRModule, PrimFunc, Schedule


class BlockInspector(Widget):
    """Small programs, block by block, iteration by iteration.

    ``program`` is the name of one, ``block`` that of one of its blocks, ``at`` has the values of
    its loops, and ``moved`` is what is shown beside that iteration: nothing ("this iteration"),
    all iterations of one loop, or "all". ``more`` adds programs of yours by name. Setting a trait
    changes ``svg``, ``listing`` and ``status``. Raises ``UsageError`` for values that it cannot
    show.
    """

    program = traitlets.Unicode("matmul").tag(sync=True)
    block = traitlets.Unicode("P").tag(sync=True)
    moved = traitlets.Unicode(ONE).tag(sync=True)
    at: Any = traitlets.Dict().tag(sync=True)

    programs: Any = traitlets.List().tag(sync=True)
    blocks: Any = traitlets.List().tag(sync=True)
    loops: Any = traitlets.List().tag(sync=True)
    reason = traitlets.Unicode("").tag(sync=True)
    svg = traitlets.Unicode("").tag(sync=True)
    listing = traitlets.Unicode("").tag(sync=True)

    def __init__(
        self,
        program: str = "matmul",
        *,
        more: Mapping[str, IRModule | PrimFunc | Schedule] | None = None,
    ) -> None:
        yours = {name: Small(each, "A program of yours.") for name, each in (more or {}).items()}
        self._small = {**SMALL, **yours}
        name = one_of("program", tuple(self._small), program)
        self._seen = inspected(self._small[name].program)
        super().__init__(program=name, programs=list(self._small), **self._fresh())
        self._draw()

    @property
    def inspection(self) -> Inspection:
        """The program and the place in it that are shown."""
        return self._seen

    # --- what may be chosen ---------------------------------------------------------------------

    @traitlets.validate("program")
    def _check_program(self, proposal: Any) -> str:
        name = one_of("program", tuple(self._small), proposal.value)
        inspected(self._small[name].program)  # one of yours may be none that can be looked at
        return name

    @traitlets.validate("block")
    def _check_block(self, proposal: Any) -> str:
        return one_of("block", blocks(self._small[self.program].program), proposal.value)

    @traitlets.validate("moved")
    def _check_moved(self, proposal: Any) -> str:
        return one_of("moved", (ONE, *self._seen.loops, ALL), proposal.value)

    @traitlets.validate("at")
    def _check_at(self, proposal: Any) -> dict[str, int]:
        try:
            self._seen.moment(proposal.value)
        except (AxisError, TypeError) as error:
            ranges = ", ".join(f"{name} below {n}" for name, n in self._seen.loops.items())
            raise UsageError(
                "at: no such iteration", expected=ranges, got=proposal.value
            ) from error
        return dict(proposal.value)

    # --- what is shown --------------------------------------------------------------------------

    @traitlets.observe("program")
    def _change_program(self, change: Any) -> None:
        self._look(None)

    @traitlets.observe("block")
    def _change_block(self, change: Any) -> None:
        if change.new != self._seen.block:
            self._look(change.new)

    @traitlets.observe("at", "moved")
    def _change(self, change: Any) -> None:
        self._draw()

    def _look(self, block: str | None) -> None:
        """Another block: its first iteration, and what is moved if it has that loop."""
        self._seen = inspected(self._small[self.program].program, block)
        moved = self.moved if self.moved in (ONE, *self._seen.loops, ALL) else ONE
        with self.hold_trait_notifications():
            self.moved = moved
            for name, value in self._fresh().items():
                setattr(self, name, value)
        self._draw()

    def _fresh(self) -> dict[str, Any]:
        return {
            "block": self._seen.block,
            "blocks": list(blocks(self._seen.program)),
            "loops": [[name, extent] for name, extent in self._seen.loops.items()],
            "at": dict.fromkeys(self._seen.loops, 0),
        }

    def _draw(self) -> None:
        with self.hold_sync():
            self.reason = self._small[self.program].remark
            self.svg = inspector_svg(self._seen, self.moved, self.at)
            self.listing = listing_html(self._seen, self.moved, self.at)
            self.status = remark(self._seen, self.moved, self.at)

    def static_html(self) -> str:
        """The chosen block: along each of its loops, and all its iterations."""
        parts = [f'<div class="mlc-listing">{self.listing}</div>']
        for moved in (*self._seen.loops, ALL):
            said = html.escape(remark(self._seen, moved, self.at))
            svg = inspector_svg(self._seen, moved, self.at)
            parts.append(f'<p>{said}</p><div class="mlc-chart mlc-narrow">{svg}</div>')
        return f"<p>{html.escape(self.reason)}</p>{''.join(parts)}"
