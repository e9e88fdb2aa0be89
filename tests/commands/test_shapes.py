"""``mlc-course shapes`` proves, refutes, and says from what."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from mlc_course.commands.shapes import PROVED, REFUTED, run
from mlc_course.dynamic_shape.ir import parse, text
from mlc_course.dynamic_shape.programs import program
from mlc_course.errors import TextError, UsageError

Captured = pytest.CaptureFixture[str]


def test_a_proof_names_the_facts_that_it_comes_from(capsys: Captured) -> None:
    assert run(source="residual_layer_norm", queries=["B*S == T"], as_json=False) == PROVED
    out = capsys.readouterr().out
    assert "T*H == B*S*H                     %0 = reshape" in out
    assert "B*S == T\n  proved\n  B*S == T: from T*H == B*S*H\n" in out


def test_a_refuted_claim_comes_with_sizes_and_status_1(capsys: Captured) -> None:
    queries = ["B*S == T", "B < T"]
    assert run(source="residual_layer_norm", queries=queries, as_json=True) == REFUTED
    proved, refuted = json.loads(capsys.readouterr().out)["answers"]
    assert proved["answer"] == "proved" and refuted["answer"] == "refuted"
    assert refuted["sizes"]["B"] >= refuted["sizes"]["T"]


def test_a_file_is_read_and_without_a_query_its_facts_are_printed(
    tmp_path: Path, capsys: Captured
) -> None:
    path = tmp_path / "mine.shapes"
    path.write_text(text(program("append_to_cache")), encoding="utf-8")
    assert run(source=str(path), queries=[], as_json=False) == PROVED
    assert "P == Q                           stated" in capsys.readouterr().out


def test_a_program_is_written_with_less_to_do(tmp_path: Path, capsys: Captured) -> None:
    path = tmp_path / "less.shapes"
    assert run(source="split_heads", queries=[], as_json=False, simplify_path=path) == PROVED
    after = parse(path.read_text(encoding="utf-8"))
    assert {dim.name for dim in after.dims} == {"B", "S", "W", "A", "D", "W0"}
    with pytest.raises(UsageError, match="cannot write"):
        run(source="split_heads", queries=[], as_json=False, simplify_path=tmp_path)


def test_what_cannot_be_read_is_named(tmp_path: Path) -> None:
    path = tmp_path / "mine.shapes"
    with pytest.raises(UsageError, match="no such file, and no program of the course"):
        run(source=str(path), queries=[], as_json=False)
    path.write_text("func @main(", encoding="utf-8")
    with pytest.raises(TextError, match="line 1, column 12") as refused:
        run(source=str(path), queries=[], as_json=False)
    assert refused.value.__notes__ == [f"in {path}"]
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(UsageError, match="cannot be read"):
        run(source=str(path), queries=[], as_json=False)
    with pytest.raises(TextError, match="of a formula"):
        run(source="bias_gelu", queries=["B ~ S"], as_json=False)
