"""Files of rules that lie, are too large, are no rules at all, or are written by many at once."""

from __future__ import annotations

import json
import multiprocessing
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from mlc_course.errors import UsageError
from mlc_course.instruction_selection.integers import const
from mlc_course.instruction_selection.isa import level_of
from mlc_course.instruction_selection.search import Rule, Rules, select_program
from mlc_course.instruction_selection.search.solver import canonical, renamed
from mlc_course.instruction_selection.spec import specification

AVX2 = level_of("avx2")
CELL = specification("u8 A, u8 B -> u8 O: min(A + B, 255)").cell
INFINITY = float("inf")


def rules(path: Path) -> Rules:
    made = Rules(path)
    made._shipped = {}
    return made


def _line(row: str, *of: int) -> dict[str, Any]:
    return {"type": "u8", "lanes": 1, "row": row, "reads": "u8, u8 -> u8", "of": list(of)}


def _program(*more: dict[str, Any]) -> list[dict[str, Any]]:
    inputs = [{"type": "u8", "lanes": 1, "input": name} for name in ("x0", "x1")]
    return [*inputs, _line("paddusb", 0, 1), *more]


def _constant(lanes: int, *values: object) -> dict[str, Any]:
    return {"type": "u8", "lanes": lanes, "constant": list(values)}


CHANGES: dict[str, dict[str, Any]] = {
    "infinitely many programs": {"tried": INFINITY},
    "no number of programs": {"tried": float("nan")},
    "fewer than no programs": {"tried": -5},
    "a text for a number": {"tried": "99"},
    "a truth for a number": {"tried": True},
    "an infinite constant": {"program": _program(_constant(1, INFINITY))},
    "a text for a program": {"program": "abc"},
    "a dictionary for a program": {"program": {"a": 1}},
    "numbers for lines": {"program": [1]},
    "nothing for a line": {"program": [None]},
    "no certificate": {"certificate": None},
    "a text for a certificate": {"certificate": "all inputs"},
    "a list for a certificate": {"certificate": [1]},
    "a result of two bytes": {
        "program": [
            *_program(),
            {"type": "u16", "lanes": 1, "row": "punpck0b", "reads": "u8 -> u16", "of": [2]},
        ]
    },
    "a value of 3 GB": {"program": [_constant(3 << 30, 1), *_program()]},
    "a result of 3 GB": {"program": [*_program(), _constant(3 << 30, 1)]},
    # x = pminub(x, x) again and again: right, and its text has 2 ** 60 values
    "an endless text": {"program": _program(*(_line("pminub", x, x) for x in range(2, 62)))},
}


@pytest.mark.parametrize("name", CHANGES)
def test_a_rule_with_data_of_the_wrong_kind_is_not_used(tmp_path: Path, name: str) -> None:
    path = tmp_path / "rules.json"
    select_program(CELL, AVX2, rules=rules(path))
    data = json.loads(path.read_text())
    for each in data.values():
        each |= CHANGES[name]
    path.write_text(json.dumps(data))
    found = select_program(CELL, AVX2, rules=rules(path))
    assert not found.recorded
    assert str(found.program) == "paddusb(A, B)"


def test_the_certificate_of_a_rule_is_that_of_its_new_proof(tmp_path: Path) -> None:
    path = tmp_path / "rules.json"
    first = select_program(CELL, AVX2, rules=rules(path))
    data = json.loads(path.read_text())
    for each in data.values():
        each["certificate"] |= {"method": "all inputs", "inputs": 65536, "reason": "trust me"}
    path.write_text(json.dumps(data))
    found = select_program(CELL, AVX2, rules=rules(path))
    assert found.recorded
    assert str(found.certificate) == str(first.certificate)


@pytest.mark.parametrize("text", ["[" * 100_000, '{"a":' * 100_000 + "1" + "}" * 100_000])
def test_a_file_that_is_too_deep_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "rules.json").write_text(text)
    with pytest.raises(UsageError, match="rules cannot be read"):
        Rules(tmp_path / "rules.json")


EACH = 10


def _add_many(path: Path, first: int) -> None:
    found = select_program(CELL, AVX2)
    assert found.program is not None
    assert found.certificate is not None
    standard, names = canonical(CELL)
    program = renamed(found.program, {old: new for new, old in names.items()})
    writing = rules(path)
    for number in range(first, first + EACH):
        cell = replace(standard, goal=const(number))
        writing.add(cell, AVX2, Rule(program, found.certificate, 1))


@pytest.mark.parametrize("kind", [threading.Thread, multiprocessing.get_context("spawn").Process])
def test_rules_that_are_written_at_once_are_all_kept(
    tmp_path: Path, kind: Callable[..., threading.Thread]
) -> None:
    path = tmp_path / "rules.json"
    workers = [kind(target=_add_many, args=(path, EACH * at)) for at in range(3)]
    for each in workers:
        each.start()
    for each in workers:
        each.join()
    assert len(json.loads(path.read_text())) == 3 * EACH
    assert [each.name for each in tmp_path.iterdir()] == ["rules.json"]


def test_a_full_disk_leaves_the_rules_and_nothing_beside_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "own.json"
    path.write_text('{"another": 1}')
    written = Path.write_text

    def full(file: Path, text: str, **options: str) -> None:
        written(file, text[:5], **options)
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched, pytest.raises(OSError, match="No space left"):
        patched.setattr(Path, "write_text", full)
        select_program(CELL, AVX2, rules=rules(path))
    assert path.read_text() == '{"another": 1}'
    assert [each.name for each in tmp_path.iterdir()] == ["own.json"]


def test_a_link_to_a_file_of_rules_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    link, file = tmp_path / "own.json", tmp_path / "elsewhere" / "rules.json"
    link.symlink_to(file)
    select_program(CELL, AVX2, rules=rules(link))
    assert link.is_symlink() and len(json.loads(file.read_text())) == 1
