"""The class's table believes nothing that it has not verified, and no line of the file stops it."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from mlc_course.commands import cli, table
from mlc_course.errors import UsageError
from mlc_course.lessons.lesson_21_capstone import (
    CLASS_PROGRAMS,
    ClassTable,
    as_page,
    as_text,
    hand_in,
    handed_in,
    measured,
    read_program,
)

PROGRAM = "chain_1"
EVIL = "<script>alert(1)</script>"


def fused(text: str) -> str:
    """One kernel of a chain of operators on single elements: a grid over rows and columns."""
    program = read_program(text)
    made = {line.name for line in program.lines}
    rows, cols = program.dims[program.outputs[0]]
    inside = []
    for name in dict.fromkeys(o for line in program.lines for o in line.operands):
        if name not in made:
            at = {rows: "x", cols: "y"}
            dims = program.dims[name]
            axes = [f"{at[dim]}: {n}" for n, dim in enumerate(dims) if dim in at]
            inside.append(f"    t_{name} = load({name}, imap={{{', '.join(axes)}}})")
    for line in program.lines:
        operands = ", ".join(f"t_{each}" for each in line.operands)
        inside.append(f"    t_{line.name} = {line.op}({operands})")
    (out,) = program.outputs
    inside.append(f"    {out} = store(t_{out}, omap={{x: 0, y: 1}})")
    first = "  block grid(x=64, y=8):"
    return "\n".join([program.head, first, *inside, f"  return {out}"])


def line(student: str = "Ada", program: str = PROGRAM, graph: str | None = None) -> str:
    found = fused(CLASS_PROGRAMS[program]) if graph is None else graph
    return json.dumps({"student": student, "program": program, "graph": found}) + "\n"


def test_students_are_ranked_by_what_is_verified(tmp_path: Path) -> None:
    file = tmp_path / "class.jsonl"
    hand_in(lambda text: text, "Bob", file)
    wrong = fused(CLASS_PROGRAMS[PROGRAM]).replace("t_", "u_").replace("add(", "sub(", 1)
    file.write_text(file.read_text() + line("Eve", graph=wrong) + line() + line("Ada", graph="x"))
    entries, faults = handed_in(file)
    assert not faults and len(entries) == len(CLASS_PROGRAMS) + 3
    known = ClassTable()
    refused = known.judge(entries)
    assert [each.split(":")[0] for each in refused] == ["Eve, chain_1", "Ada, chain_1"]
    rows = {row.student: row for row in known.rows(entries)}
    assert [*rows] == ["Bob", "Ada", "Eve"]
    assert rows["Bob"].solved == len(CLASS_PROGRAMS) and rows["Bob"].share == pytest.approx(1)
    assert rows["Ada"].launches == 1 and 0.2 < rows["Ada"].share < 0.4
    assert rows["Eve"].solved == 0
    assert "0 of 6" in as_text([*rows.values()])


def test_a_graph_is_judged_once_and_the_best_one_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "class.jsonl"
    file.write_text(line() + line("Ada", graph=CLASS_PROGRAMS[PROGRAM]) + line("Bob"))
    known = ClassTable()
    entries, _ = handed_in(file)
    assert not known.judge(entries)
    monkeypatch.setattr(ClassTable, "_judged", None)
    assert not known.judge(entries)
    assert {row.launches for row in known.rows(entries)} == {1}


def broken() -> Iterator[tuple[str, str]]:
    yield "{", "Expecting"
    yield "[]", "not the fields"
    yield "[" * 100_000, "longer than"
    yield "[" * 15_000, "recursion"
    yield '{"student": "Ada"}', "not the fields"
    yield line(program=PROGRAM).strip()[:-1] + ', "time": 0.1}', "not the fields"
    yield json.dumps({"student": 3, "program": PROGRAM, "graph": ""}), "not a text"
    yield json.dumps({"student": "Ada", "program": "other", "graph": ""}), "no program"
    yield json.dumps({"student": " ", "program": PROGRAM, "graph": ""}), "a name of"
    yield json.dumps({"student": "a" * 99, "program": PROGRAM, "graph": ""}), "a name of"
    yield "\udcff\x00", "Expecting"


@pytest.mark.parametrize(("text", "words"), [*broken()])
def test_a_broken_line_is_named_and_skipped(tmp_path: Path, text: str, words: str) -> None:
    file = tmp_path / "class.jsonl"
    file.write_bytes((line() + text + "\n" + line("Bob")).encode("utf-8", "surrogateescape"))
    entries, (fault,) = handed_in(file)
    assert [each.student for each in entries] == ["Ada", "Bob"]
    assert fault.startswith("line 2 is skipped") and words in fault
    assert len(fault) < 120


def test_a_line_that_is_being_written_is_left_for_the_next_time(tmp_path: Path) -> None:
    file = tmp_path / "class.jsonl"
    file.write_text(line() + line("Bob")[:-20])
    assert [each.student for each in handed_in(file)[0]] == ["Ada"]
    assert handed_in(tmp_path / "none.jsonl")[0] == []


def test_what_is_no_plain_file_is_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path, tmp_path / "pipe"):
        with pytest.raises(UsageError, match="not a class's file"):
            handed_in(path)


@pytest.mark.slow
def test_names_and_faults_are_escaped(tmp_path: Path) -> None:
    file = tmp_path / "class.jsonl"
    file.write_text(line(EVIL[:40]) + line("Ada\u202e\x1b[31m") + f"{EVIL}\n")
    entries, faults = handed_in(file)
    known = ClassTable()
    refused = known.judge(entries)
    rows = known.rows(entries)
    page = as_page(rows, [*faults, *refused, EVIL], seconds=3)
    assert "<script" not in page and "&lt;script&gt;" in page
    assert 'http-equiv="refresh" content="3"' in page
    assert "\x1b" not in as_text(rows) and "\u202e" not in as_text(rows)


@pytest.mark.parametrize("name", ["", " \n", "a" * 41])
def test_a_name_is_asked_for(tmp_path: Path, name: str) -> None:
    with pytest.raises(UsageError):
        hand_in(lambda text: text, name, tmp_path / "class.jsonl")


@pytest.mark.slow
def test_the_command_prints_writes_and_goes_on(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file, page, found = (tmp_path / name for name in ("class.jsonl", "class.html", "found.json"))
    file.write_text(line())
    assert cli.main(["table", str(file), "--json", str(found), "--html", str(page)]) == 0
    assert "Ada" in capsys.readouterr().out
    (row,) = json.loads(found.read_text())["rows"]
    assert (row["student"], row["solved"], row["launches"], row["ratio"]) == ("Ada", 1, 1, None)
    looks = []

    def more(seconds: float) -> None:
        looks.append(seconds)
        if len(looks) == 2:
            raise KeyboardInterrupt
        file.write_text(line() + line("Bob"))

    with pytest.raises(KeyboardInterrupt):
        table.run(file=file, html_path=page, watch=True, seconds=5, sleep=more)
    assert looks == [5, 5] and "Bob" in page.read_text() and 'content="5"' in page.read_text()
    assert cli.main(["table", str(file), "--watch", "--json", str(found)]) == 2
    assert cli.main(["table", str(file), "--every", "0"]) == 2


@pytest.mark.slow
def test_graphs_are_timed_where_it_is_asked(tmp_path: Path) -> None:
    file = tmp_path / "class.jsonl"
    file.write_text(line())
    known = ClassTable(timed=True)
    entries, _ = handed_in(file)
    assert not known.judge(entries)
    (row,) = known.rows(entries)
    assert row.ratio is not None and row.ratio > 0
    assert measured(entries[0].graph).launches == 1
