"""Candidates on tests and in the proof, and a search as a reader sees it."""

from __future__ import annotations

import pytest

from mlc_course.instruction_selection.prove import Proved, Refuted
from mlc_course.instruction_selection.spec import entry, specification
from mlc_course.lessons.lesson_14_instruction_selection import judged, searched, standing_table
from mlc_course.lessons.lesson_14_instruction_selection.standing import input_text, verdict_text

Captured = pytest.CaptureFixture[str]
FLOOR = entry("avg_floor_u8").specification


def test_a_right_program_is_exposed_by_no_test_and_proved() -> None:
    right, wrong = judged(FLOOR, ["psubb(paddb(A, B), pavgb(A, B))", "pavgb(A, B)"], tests=1000)
    assert right.exposed == 0 and isinstance(right.verdict, Proved)
    assert 400 < wrong.exposed < 600 and isinstance(wrong.verdict, Refuted)
    assert "equal for all inputs" in verdict_text(right.verdict)
    assert "A = " in verdict_text(wrong.verdict)
    shown = standing_table([right, wrong]).data
    assert "wrong on, of 1,000" in shown and "pavgb(A, B)" in shown


def test_tests_keep_to_promised_ranges() -> None:
    line = "s16 A in 0..100 -> s16 O: abs(A)"
    (negative,) = judged(specification(line), ["psubw({0}, psubw({0}, A))"], tests=1000)
    assert negative.exposed == 0 and isinstance(negative.verdict, Proved)


def test_a_search_prints_what_it_refuted_and_found(capsys: Captured) -> None:
    found = searched(entry("gauss_121_u8").specification, seconds=60)
    said = capsys.readouterr().out
    assert f"tried    {found.tried:,} programs" in said
    assert found.program is not None and f"found    {found.program}" in said
    assert "refuted  " in said and "x0" not in said


def test_a_search_that_finds_nothing_says_what_it_covered(capsys: Captured) -> None:
    line = "s32 A, s32 B -> s32 O: (s64(A) * B + 1073741824) >> 31"
    assert searched(specification(line), seconds=4).program is None
    said = " ".join(capsys.readouterr().out.split())
    assert "found none. Every program of at most" in said


def test_an_input_has_numbers_only_where_an_operand_has_several_lanes() -> None:
    assert input_text({"A[0]": 3, "B[0]": -1}) == "A = 3, B = -1"
    assert input_text({"A[0]": 3, "A[1]": 4, "C[0]": 5}) == "A[0] = 3, A[1] = 4, C = 5"
