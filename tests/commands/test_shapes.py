"""``mlc-course shapes`` proves, refutes, and says from what."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import onnx
import onnx.parser
import pytest
from shape_programs import program_of

from mlc_course.commands import main
from mlc_course.commands.names import SHAPE_FORMS
from mlc_course.commands.shape_questions import read_question
from mlc_course.commands.shapes import PROVED, REFUTED, UNKNOWN, run
from mlc_course.dynamic_shape.ir import parse, text, to_buffers
from mlc_course.dynamic_shape.programs import program
from mlc_course.errors import CourseError, TextError, UsageError

Captured = pytest.CaptureFixture[str]


def test_a_proof_names_the_facts_that_it_comes_from(capsys: Captured) -> None:
    assert run(source="residual_layer_norm", queries=["B*S == T"]) == PROVED
    out = capsys.readouterr().out
    assert "T*H == B*S*H                     %0 = reshape" in out
    assert "B*S == T\n  proved\n  B*S == T: from T*H == B*S*H\n" in out


def test_a_refuted_claim_comes_with_sizes_and_status_1(capsys: Captured) -> None:
    queries = ["--query", "B*S == T", "--query", "B < T"]
    assert main(["shapes", "residual_layer_norm", *queries, "--json", "-"]) == REFUTED
    proved, refuted = json.loads(capsys.readouterr().out)["answers"]
    assert proved["answer"] == "proved" and refuted["answer"] == "refuted"
    assert refuted["sizes"]["B"] >= refuted["sizes"]["T"]


def test_a_file_is_read_and_without_a_query_its_facts_are_printed(
    tmp_path: Path, capsys: Captured
) -> None:
    path = tmp_path / "mine.shapes"
    path.write_text(text(program("append_to_cache")), encoding="utf-8")
    assert run(source=str(path), queries=[]) == PROVED
    assert "P == Q                           stated" in capsys.readouterr().out


def test_a_program_is_written_with_less_to_do(tmp_path: Path, capsys: Captured) -> None:
    path = tmp_path / "less.shapes"
    assert run(source="split_heads", queries=[], simplify_path=path) == PROVED
    after = parse(path.read_text(encoding="utf-8"))
    assert {dim.name for dim in after.dims} == {"B", "S", "W", "A", "D", "W0"}
    with pytest.raises(UsageError, match="cannot write"):
        run(source="split_heads", queries=[], simplify_path=tmp_path)


def test_a_program_is_written_on_buffers_and_answers_the_same(
    tmp_path: Path, capsys: Captured
) -> None:
    path = tmp_path / "buffers.shapes"
    given = ["shapes", "append_to_cache", "--query", "K == V"]
    assert main([*given, "--buffers", str(path)]) == PROVED
    said_of_tensors = capsys.readouterr().out
    assert parse(path.read_text(encoding="utf-8")) == to_buffers(program("append_to_cache"))
    assert main(["shapes", str(path), "--query", "K == V"]) == PROVED
    assert capsys.readouterr().out == said_of_tensors
    with pytest.raises(UsageError, match="cannot write"):
        run(source="split_heads", queries=[], buffers_path=tmp_path)


ANSWERS = {  # of @residual_layer_norm, and others that are named; the first two lines of an answer
    "same_shape %x %4": ("same_shape %x [T, H] %4 [T, H]", "proved"),
    "same_shape %0  %4": ("same_shape %0 [B, S, H] %4 [T, H]", "refuted"),
    "same_count %0 %4": ("same_count %0 [B, S, H] %4 [T, H]", "proved"),
    "same_count %0 %5": ("same_count %0 [B, S, H] %5 [T]", "refuted"),
    "equal_prefixes %0 2 %4 1": ("equal_prefixes %0 [B, S, H] 2 %4 [T, H] 1", "proved"),
    "equal_prefixes %0 1 %4 1": ("equal_prefixes %0 [B, S, H] 1 %4 [T, H] 1", "refuted"),
    "is_divisible %4 1": ("is_divisible %4 [T, H] 1", "proved"),
    "is_divisible %4 8": ("is_divisible %4 [T, H] 8", "refuted"),
    "broadcast_is_redundant %1": (
        "broadcast_is_redundant %1 [B, S, H] from [H]",
        "refuted",
    ),
    "reshape_kind %0": (
        "reshape_kind %0 [B, S, H] from [T, H]",
        "proved: expand, [T] -> [B, S], [H] -> [H]",
    ),
    "reshape_kind %4": (
        "reshape_kind %4 [T, H] from [B, S, H]",
        "proved: collapse, [B, S] -> [T], [H] -> [H]",
    ),
    " fits %5 4 48K ": ("fits %5 [T] 4 48K", "refuted"),
}


@pytest.mark.parametrize("query", ANSWERS)
def test_a_query_of_values_is_printed_with_their_shapes_and_answered(
    query: str, capsys: Captured
) -> None:
    text, answer = ANSWERS[query]
    expected = REFUTED if answer == "refuted" else PROVED
    assert run(source="residual_layer_norm", queries=[query]) == expected
    lines = capsys.readouterr().out.splitlines()
    assert lines[lines.index("") + 1 :][:2] == [text, f"  {answer}"]
    assert "1 == 1" not in "".join(lines)


def test_ranges_make_tensors_fit_and_some_queries_stay_open(tmp_path: Path) -> None:
    path = tmp_path / "mine.shapes"
    module = program_of(
        "x [N, 64]; y [A, B]",
        """
        %0 = reshape(%y) : [C]
        %1 = broadcast(%x) {dims = [0, 1]} : [N, 64]
        """,
        "%0, %1",
        "tie_predicate_affine_eq(C, A, B) {affine = [1, 1] + 0}",
    )
    n, *others = module.dims
    path.write_text(text(replace(module, dims=(replace(n, ranges=((1, 192),)), *others))))
    for query, status in (
        ("fits %x 4 48K", PROVED),
        ("fits %x 4 47K", REFUTED),
        ("broadcast_is_redundant %1", PROVED),
        ("fits %y 1 4", UNKNOWN),  # A*B == A + B, so all are 2: no procedure finds that
        ("A == B", UNKNOWN),
    ):
        assert run(source=str(path), queries=[query]) == status


def test_a_reshape_is_written_as_json_with_its_groups(capsys: Captured) -> None:
    queries = ["--query", "reshape_kind %0", "--query", "same_shape %0 %4"]
    assert main(["shapes", "residual_layer_norm", *queries, "--json", "-"]) == REFUTED
    reshape, refuted = json.loads(capsys.readouterr().out)["answers"]
    assert reshape["answer"] == "proved" and reshape["kind"] == "expand"
    assert reshape["groups"] == ["[T] -> [B, S]", "[H] -> [H]"]
    assert reshape["steps"] == ["B*S == T: from T*H == B*S*H"]
    assert refuted["claim"] == "same_shape %0 [B, S, H] %4 [T, H]" and refuted["sizes"]


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("same_shap %0 %4", "did you mean same_shape?"),
        ("H", "no query 'H'"),
        ("same_shape", "such as same_shape %3 %7"),
        ("same_shape %0", "such as same_shape %3 %7"),
        ("same_shape %0 %4 %5", "such as same_shape %3 %7"),
        ("same_shape %0 B", "no value 'B'"),
        ("same_shape %0 %99", "no value '%99'"),
        ("fits 4 %5 48K", "no value '4'"),
        ("fits %5 %4 48K", "a number"),
        ("fits %5 4 48KB", "a number"),
        ("fits %5 0 48K", "bytes"),
        ("fits %5 4 9999999999G", "bytes"),
        ("equal_prefixes %0 4 %4 1", "a number of first axes"),
        ("is_divisible %0 0", "a size"),
        ("reshape_kind %x", "got       an input"),
        ("reshape_kind %1", "got       broadcast"),
        ("broadcast_is_redundant %0", "got       reshape"),
        ("same_shape %0, %4", "of a formula"),
        ("", "of a formula"),
    ],
)
def test_a_query_that_cannot_be_read_is_refused(query: str, message: str) -> None:
    with pytest.raises(CourseError, match=re.escape(message)):
        run(source="residual_layer_norm", queries=[query])


def test_a_query_that_cannot_be_read_is_named() -> None:
    with pytest.raises(CourseError) as refused:
        run(source="residual_layer_norm", queries=[" reshape_kind %x"])
    assert refused.value.__notes__ == ["in the query reshape_kind %x"]


def test_help_shows_each_query_and_each_can_be_asked_so(capsys: Captured) -> None:
    with pytest.raises(SystemExit):
        main(["shapes", "--help"])
    shown = capsys.readouterr().out
    module = program_of(
        "x [N, 8]",
        """
        %0 = exp(%x) : [N, 8]
        %1 = exp(%x) : [N, 8]
        %2 = exp(%x) : [N, 8]
        %3 = exp(%x) : [N, 8]
        %4 = reshape(%x) : [N, 8]
        %5 = exp(%x) : [N, 8]
        %6 = exp(%x) : [N, 8]
        %7 = exp(%x) : [N, 8]
        %8 = broadcast(%x) {dims = [0, 1]} : [N, 8]
        """,
        "%8",
    )
    for name, (form, meaning) in SHAPE_FORMS.items():
        assert form in shown and meaning in shown
        assert read_question(form, module).text.startswith(name)


MODEL = """<ir_version: 10, opset_import: ["" : 20]>
g (float[past,8] old, float[seq,8] x) => (float[total,8] y) {
  all = Concat<axis = 0>(old, x)
  y = Softmax(all)
}"""


def test_a_model_of_onnx_is_read(tmp_path: Path, capsys: Captured) -> None:
    path = tmp_path / "model.onnx"
    onnx.save(onnx.parser.parse_model(MODEL), path)
    queries = ["total == past + seq", "past == seq"]
    assert run(source=str(path), queries=queries) == REFUTED
    out = capsys.readouterr().out
    assert out.startswith("@g: past, seq, ")
    assert "total == past + seq\n  proved" in out and "past == seq\n  refuted" in out
    onnx.save(onnx.parser.parse_model(MODEL.replace("Softmax", "Hardmax")), path)
    with pytest.raises(UsageError, match="y: no operator Hardmax") as refused:
        run(source=str(path), queries=[])
    assert refused.value.__notes__ == [f"in {path}"]


def test_what_cannot_be_read_is_named(tmp_path: Path) -> None:
    path = tmp_path / "mine.shapes"
    with pytest.raises(UsageError, match="no such file, and no program of the course"):
        run(source=str(path), queries=[])
    path.write_text("func @main(", encoding="utf-8")
    with pytest.raises(TextError, match="line 1, column 12") as refused:
        run(source=str(path), queries=[])
    assert refused.value.__notes__ == [f"in {path}"]
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(UsageError, match="cannot be read"):
        run(source=str(path), queries=[])
    with pytest.raises(TextError, match="of a formula"):
        run(source="bias_gelu", queries=["B ~ S"])
