"""The candidate race: which programs stand after so many random tests, and after the proof."""

from __future__ import annotations

import traitlets

from mlc_course.lessons.kit import Choice, Widget

SPECIFICATIONS = ("mul_q15_sat", "avg_floor_u8", "gauss_121_u8", "dot4_u8s8", "dot4_s8s8_full")


class CandidateRace(Widget):
    """Candidates for a specification, each struck out by the input that refutes it.

    ``CandidateRace("mul_q15_sat")`` at the end of a cell shows it. ``place`` is the slider's: 0 to
    18 for 4, 8, ... 2**20 random tests, 19 for the proof.
    """

    specification = Choice("mul_q15_sat", SPECIFICATIONS)
    place = traitlets.Int(0).tag(sync=True)

    def __init__(self, specification: str = "mul_q15_sat", *, place: int = 0) -> None:
        super().__init__(specification=specification, place=place)

    def static_html(self) -> str:
        """Return the race after all tests, and after the proof."""
        return ""
