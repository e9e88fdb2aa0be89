"""The candidate race: which programs stand after so many random tests, and after the proof."""

from __future__ import annotations

import html
from typing import Any

import traitlets

from mlc_course.lessons.kit import Choice, Widget, charts, in_range
from mlc_course.lessons.lesson_14_instruction_selection.bits_picture import bits_said, bits_svg
from mlc_course.lessons.lesson_14_instruction_selection.candidate_races import (
    PROOF,
    RACED,
    STOPS,
    race_for,
)
from mlc_course.lessons.lesson_14_instruction_selection.standing_picture import (
    candidates_svg,
    curve_said,
    curve_svg,
)

START = "mul_q15_sat"
AXIS = [f"{stop:,} random tests" for stop in STOPS] + ["the proof"]


class CandidateRace(Widget):
    """Candidates for a specification, each struck out by the input that refutes it.

    ``specification`` is one of ``RACED``. ``place`` is the slider's: the number of a
    stop in ``STOPS`` (4, 8, ... 2^20 random tests), or ``PROOF`` after them. ``chosen`` is the
    number of a listed candidate, whose bits are shown; moving the slider chooses one that has just
    been refuted. ``race`` holds the data. Raises ``UsageError`` for values that it cannot show.
    """

    specification = Choice(START, RACED)
    place = traitlets.Int(0).tag(sync=True)
    chosen = traitlets.Int(0).tag(sync=True)

    specifications: Any = traitlets.List().tag(sync=True)
    stops: Any = traitlets.List(AXIS).tag(sync=True)
    count = traitlets.Int(1).tag(sync=True)
    line = traitlets.Unicode("").tag(sync=True)
    curve = traitlets.Unicode("").tag(sync=True)
    candidates = traitlets.Unicode("").tag(sync=True)
    bits = traitlets.Unicode("").tag(sync=True)
    said = traitlets.Unicode("").tag(sync=True)

    def __init__(self, specification: str = START, *, place: int = 0, chosen: int = 0) -> None:
        self.race = race_for(specification)
        self._held = True  # while several traits change together
        super().__init__(
            specification=specification,
            place=place,
            chosen=chosen,
            specifications=list(RACED),
        )
        self._held = False
        self._draw()

    @traitlets.validate("place")
    def _check_place(self, proposal: Any) -> int:
        return in_range("place", 0, PROOF, proposal.value)

    @traitlets.validate("chosen")
    def _check_chosen(self, proposal: Any) -> int:
        return in_range("candidate", 0, len(self.race.listed) - 1, proposal.value)

    @traitlets.observe("specification", "place", "chosen")
    def _change(self, change: Any) -> None:
        if self._held:
            return
        self._held = True
        if change.name == "specification":
            self.race = race_for(self.specification)
            self.place = self.chosen = 0
        elif change.name == "place":
            before, now = change.old, change.new
            fallen = [
                number
                for number, each in enumerate(self.race.listed)
                if each.stands(before) and not each.stands(now)
            ]
            self.chosen = fallen[0] if fallen else self.chosen
        self._held = False
        self._draw()

    def _draw(self) -> None:
        """Pictures and sentences of the present choice; everything in them is recorded."""
        self.curve = curve_svg(self.race, self.place)
        self.candidates = candidates_svg(self.race, self.place, self.chosen)
        self.count, self.line = len(self.race.listed), self.race.line
        candidate = self.race.listed[self.chosen]
        self.bits = bits_svg(self.race, candidate, self.place)
        self.said = bits_said(self.race, candidate, self.place)
        self.status = curve_said(self.race, self.place)

    def static_html(self) -> str:
        """Return the whole race after the proof, and the bits of what only the proof refutes."""
        wrong = [each for each in self.race.listed if not each.is_right]
        first = min(wrong, key=lambda each: each.fell is not None, default=self.race.listed[0])
        number = self.race.listed.index(first)
        left = charts(curve_svg(self.race, PROOF), candidates_svg(self.race, PROOF, number))
        right = charts(bits_svg(self.race, first, PROOF))
        return (
            f"<p><code>{html.escape(self.race.line)}</code></p>"
            f"<p>{html.escape(curve_said(self.race, PROOF))}</p>"
            f'<div class="mlc-race"><div>{left}</div><div>{right}'
            f"<p>{html.escape(bits_said(self.race, first, PROOF))}</p></div></div>"
        )
