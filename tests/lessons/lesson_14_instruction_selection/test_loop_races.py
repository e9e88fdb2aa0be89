"""Races of loops: recorded where a machine lacks the level, and sentences that follow the ratio."""

from __future__ import annotations

from dataclasses import replace

import pytest

from mlc_course.errors import UsageError
from mlc_course.instruction_selection.insert import processor_has, select
from mlc_course.instruction_selection.spec import block_specification, entry
from mlc_course.lessons import lesson_14_instruction_selection as lesson
from mlc_course.lessons.lesson_14_instruction_selection import bytes_matmul, loop_races

BLUR = entry("gauss_121_u8").specification
TEXT = loop_races.RECORDED["gauss_121_u8"]
EIGHT = (
    "paddd(C, paddd(pmaddwd(pand:u16(A, {255}), pmaddubsw({1, 0}, B)), "
    "pmaddwd(psrlw #8(A), psraw #8(B))))"
)
Captured = pytest.CaptureFixture[str]


@pytest.mark.parametrize("level", ["avx2", "avx512"])
@pytest.mark.parametrize("name", loop_races.RECORDED)
def test_every_race_of_the_lesson_is_recorded_with_machine_and_date(name: str, level: str) -> None:
    race = lesson.recorded_race(name, level)
    assert race.recorded and race.machine in race.where
    assert race.recorded in race.picture().data
    assert race.verdict.endswith(f"{race.where}.")
    assert loop_races.LoopRace.from_json(race.to_json()) == race


def test_a_machine_without_the_level_shows_the_recording(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loop_races, "processor_has", lambda level: False)
    race = lesson.loop_race(BLUR, lesson.read_program(TEXT, BLUR.cell))
    assert race == lesson.recorded_race("gauss_121_u8", "avx2")
    with pytest.raises(UsageError, match="no race is recorded"):
        lesson.recorded_race("gauss_121_u8", "neon")


@pytest.mark.skipif(not processor_has("avx2"), reason="needs AVX2")
def test_a_race_here_counts_instructions_and_needs_no_recording() -> None:
    race = lesson.loop_race(BLUR, lesson.read_program(TEXT, BLUR.cell), rounds=2)
    assert not race.recorded and not race.where
    assert race.ours.instructions == 4
    assert race.ours.names == "2 vpavgb, 1 vpaddb, 1 vpsubb"
    assert "vpmovzxbw" in race.listing()


@pytest.mark.parametrize(
    ("ratios", "words"),
    [
        ((2.9, 3.1, 3.3), "is 3.1 times as fast as LLVM's best loop"),
        ((0.98, 1.01, 1.05), "is as fast as LLVM's best loop: 1.01 times"),
        ((0.5, 0.6, 0.7), "is slower than LLVM's best loop: 0.60 times as fast"),
    ],
)
def test_the_verdict_follows_the_quartiles(ratios: tuple[float, float, float], words: str) -> None:
    race = replace(lesson.recorded_race("gauss_121_u8", "avx2"), over_llvm=ratios)
    assert words in race.verdict


def test_the_last_sentence_says_what_was_found_or_that_nothing_was() -> None:
    race = replace(lesson.recorded_race("gauss_121_u8", "avx2"), over_llvm=(2.9, 3.1, 3.3))
    found = lesson.searched(entry("avg_floor_u8").specification, seconds=20)
    sentence = " ".join(lesson.last_sentence(found, race).split())
    assert f"among {found.tried:,} programs, is right on all 2^16 inputs" in sentence
    assert "is 3.1 times as fast as the compiler's because it never leaves 8 bits" in sentence
    slow = replace(race, over_llvm=(0.9, 1.0, 1.1))
    assert "1.00 times as fast" in " ".join(lesson.last_sentence(found, slow).split())
    wide = lesson.searched(entry("requant_u8").specification, seconds=20)
    assert "it needs 16 bits" in " ".join(lesson.last_sentence(wide, race).split())
    nothing = replace(found, program=None, certificate=None)
    assert "found none here" in lesson.last_sentence(nothing, race)


def test_the_matmul_is_recorded_and_its_program_is_right(monkeypatch: pytest.MonkeyPatch) -> None:
    sch = lesson.matmul_schedule()
    spec = block_specification(sch, "C")
    select(sch, "C", level="avx2", program=lesson.read_program(EIGHT, spec.cell), spec=spec)
    monkeypatch.setenv("MLC_COURSE_BUDGET", "0.1")
    if processor_has("avx2"):
        assert " x LLVM, " in lesson.matmul_race(sch).data
    monkeypatch.setattr(bytes_matmul, "processor_has", lambda level: False)
    assert "recorded on" in lesson.matmul_race(sch).data


def test_tvms_dot_product_is_wrong_with_and_without_its_instructions(
    capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = lesson.tvm_dot()
    assert (found.described[0], found.implemented[0]) == (129_540, 65_534)
    module = "mlc_course.lessons.lesson_14_instruction_selection.shipped_intrinsic.run_intrinsic"
    monkeypatch.setattr(module, lambda name, values: replace(found, processor=None))
    capsys.readouterr()
    lesson.tvm_dot()
    assert "65,534   recorded: " in capsys.readouterr().out
