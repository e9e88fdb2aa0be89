from __future__ import annotations

import json
from pathlib import Path

import pytest

from mlc_course.errors import SizeError, UsageError
from mlc_course.instruction_selection.isa import level_of
from mlc_course.instruction_selection.prove import Proved, prove_cell
from mlc_course.instruction_selection.search import (
    Found,
    Rules,
    Selecting,
    decoded,
    encoded,
    select_program,
)
from mlc_course.instruction_selection.spec import CATALOGUE

AVX2 = level_of("avx2")
FAST = ("sat_add_u8", "avg_floor_u8", "requant_u8", "gauss3x3_u8", "sobel_x_u8", "dot4_u7s8")


def cell(name: str):  # type: ignore[no-untyped-def]
    return CATALOGUE[name].specification.cell


def rules(tmp_path: Path, *, shipped: bool = False) -> Rules:
    made = Rules(tmp_path / "rules.json")
    if not shipped:
        made._shipped = {}
    return made


@pytest.mark.parametrize("name", FAST)
def test_a_selection_is_proved_and_says_what_was_tried(name: str) -> None:
    found = select_program(cell(name), AVX2)
    assert found.program is not None
    assert isinstance(prove_cell(found.cell, found.program), Proved)
    assert found.certificate is not None
    assert found.tried > 100
    assert "tried" in found.coverage


def test_a_long_filter_is_found_by_its_parts_and_lighter_than_by_widening() -> None:
    found = select_program(cell("gauss3x3_u8"), AVX2)
    assert found.weight <= 31  # widening nine inputs alone takes 18, adding them 16
    assert "pmaddubsw" in str(found.program)


@pytest.mark.parametrize("name", ["avg_floor_u8", "requant_u8", "sobel_x_u8"])
def test_the_same_seed_gives_the_same_program(name: str) -> None:
    first, second = (select_program(cell(name), AVX2, seconds=s) for s in (60.0, 120.0))
    assert str(first.program) == str(second.program)
    assert first.tried == second.tried


@pytest.mark.parametrize("seed", [1, 2])
def test_another_seed_gives_a_program_of_the_same_weight(seed: int) -> None:
    here = select_program(cell("avg_floor_u8"), AVX2)
    assert select_program(cell("avg_floor_u8"), AVX2, seed=seed).weight == here.weight


def test_a_second_search_is_none(tmp_path: Path) -> None:
    first = select_program(cell("requant_u8"), AVX2, rules=rules(tmp_path))
    second = select_program(cell("requant_u8"), AVX2, rules=rules(tmp_path))
    assert (first.recorded, second.recorded) == (False, True)
    assert str(first.program) == str(second.program)
    assert second.tried == first.tried
    assert second.coverage.startswith("recorded: ")


def test_a_rule_is_for_one_cell_at_one_level(tmp_path: Path) -> None:
    known = rules(tmp_path)
    select_program(cell("dot4_u7s8"), AVX2, rules=known)
    assert not select_program(cell("dot4_u8s8"), level_of("vnni"), rules=known).recorded


def lying(path: Path, change: object) -> None:
    data = json.loads(path.read_text())
    for each in data.values():
        change(each)  # type: ignore[operator]
    path.write_text(json.dumps(data))


def _other_row(rule: dict[str, list[dict[str, object]]]) -> None:
    rule["program"][-1] |= {"row": "paddb", "reads": "u8, u8 -> u8"}


def _unknown_row(rule: dict[str, list[dict[str, object]]]) -> None:
    rule["program"][-1]["row"] = "pfindb"


def _value_that_is_not_there(rule: dict[str, list[dict[str, object]]]) -> None:
    rule["program"][-1]["of"] = [0, 7]


def _too_few_operands(rule: dict[str, list[dict[str, object]]]) -> None:
    rule["program"][-1]["of"] = [0]


def _unknown_input(rule: dict[str, list[dict[str, object]]]) -> None:
    rule["program"][0]["input"] = "x9"


def _other_lanes(rule: dict[str, list[dict[str, object]]]) -> None:
    rule["program"][0]["lanes"] = 3


def _no_program(rule: dict[str, object]) -> None:
    rule["program"] = []


def _a_number(rule: dict[str, object]) -> None:
    rule["program"] = 7


@pytest.mark.parametrize(
    "change",
    [
        _other_row,
        _unknown_row,
        _value_that_is_not_there,
        _too_few_operands,
        _unknown_input,
        _other_lanes,
        _no_program,
        _a_number,
    ],
)
def test_a_rule_that_lies_is_not_used(tmp_path: Path, change: object) -> None:
    select_program(cell("sat_add_u8"), AVX2, rules=rules(tmp_path))
    lying(tmp_path / "rules.json", change)
    found = select_program(cell("sat_add_u8"), AVX2, rules=rules(tmp_path))
    assert not found.recorded
    assert str(found.program) == "paddusb(A, B)"


@pytest.mark.parametrize("text", ["", "{", "[1, 2]", "\x00"])
def test_a_file_that_holds_no_rules_is_refused_and_left_alone(tmp_path: Path, text: str) -> None:
    (tmp_path / "rules.json").write_text(text)
    with pytest.raises(UsageError, match="rules cannot be read"):
        Rules(tmp_path / "rules.json")
    assert (tmp_path / "rules.json").read_text() == text


@pytest.mark.parametrize("name", ["requant_u8", "blend_u8", "dot4_u7s8"])
def test_a_program_is_read_as_it_was_written(name: str) -> None:
    program = select_program(cell(name), AVX2).program
    assert program is not None
    assert decoded(json.loads(json.dumps(encoded(program))), AVX2.rows) == program


def test_a_search_that_is_stopped_keeps_what_it_found() -> None:
    search = Selecting(cell("gauss_121_u8"), AVX2, seconds=60)
    for event in search:
        if isinstance(event, Found) and event.cell is search.cell:
            break
    assert search.result.program is not None
    early = Selecting(cell("sobel_u8"), AVX2, seconds=60)
    next(iter(early))
    assert early.result.program is None


def test_a_time_that_is_too_short_says_what_comes_next() -> None:
    found = select_program(cell("mul_norm_u8"), AVX2, seconds=0.05)
    assert found.program is None
    assert "next come those of" in found.coverage or "programs were tried" in found.coverage


@pytest.mark.parametrize("seconds", [0.0, -1.0])
def test_a_time_limit_must_be_above_zero(seconds: float) -> None:
    with pytest.raises(SizeError, match="time limit"):
        select_program(cell("sat_add_u8"), AVX2, seconds=seconds)
