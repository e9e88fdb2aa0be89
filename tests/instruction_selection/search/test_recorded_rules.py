"""The rules that the course ships, and the program that records them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from mlc_course.instruction_selection.isa import LEVELS, level_of
from mlc_course.instruction_selection.prove import Proved, prove_cell
from mlc_course.instruction_selection.search import Rules, record, select_program
from mlc_course.instruction_selection.search.rewriting import canonical
from mlc_course.instruction_selection.spec import CATALOGUE

LEAST = {"neon": 20}  # of the catalogue; all of it at other levels


@pytest.mark.parametrize("level", LEVELS)
def test_the_catalogue_is_recorded_and_each_rule_is_proved(level: str) -> None:
    rules, proved = Rules(), 0
    for entry in CATALOGUE.values():
        cell, _ = canonical(entry.specification.cell)
        rule = rules.find(cell, level_of(level))
        if rule is not None:
            assert isinstance(prove_cell(cell, rule.program), Proved), entry.name
            proved += 1
    assert proved >= LEAST.get(level, len(CATALOGUE))


def test_a_recorded_program_takes_no_search() -> None:
    cell = CATALOGUE["blend_u8"].specification.cell
    found = select_program(cell, level_of("avx2"), seconds=0.001, rules=Rules())
    assert found.recorded and found.program is not None


def test_rules_of_some_levels_are_written_anew_and_others_are_kept(tmp_path: Path) -> None:
    path = tmp_path / "rules.json"
    assert record.record(path, ["sat_add_u8", "rshift_s16"], ["avx2", "neon"], 1) == []
    before = json.loads(path.read_text())
    assert len(before) == 4
    assert record.record(path, ["sat_add_u8"], ["avx2"], 1) == []
    after = json.loads(path.read_text())
    assert len(after) == 3
    assert all(before[key] == data for key, data in after.items() if key.startswith("neon"))
    cell, _ = canonical(CATALOGUE["sat_add_u8"].specification.cell)
    assert Rules(path).find(cell, level_of("avx2")) is not None


def test_what_is_not_found_in_the_time_is_told() -> None:
    told = record.recorded("gauss3x3_u8", "avx2", 0.001)
    assert isinstance(told, str)
    assert told.startswith("gauss3x3_u8 at avx2 is not recorded: found None, and the time limit")


def test_the_program_says_what_it_wrote(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "rules.json"
    monkeypatch.setattr(record, "CATALOGUE", ["sat_add_u8"])
    assert record.main(["--levels", "avx2", "--jobs", "1", "--out", str(path)]) == 0
    assert capsys.readouterr().out == f"all recorded in {path}\n"
    monkeypatch.setattr(record, "record", lambda *arguments: ["not recorded"])
    assert record.main(["--levels", "avx2", "--out", str(path)]) == 1
    assert "not recorded" in capsys.readouterr().out
