"""The class's table believes nothing that it has not verified, and no line of the file stops it."""

from __future__ import annotations

import json
import os
import unicodedata
from collections.abc import Iterator
from pathlib import Path
from textwrap import indent

import pytest

from mlc_course.commands import cli, table
from mlc_course.errors import StepError, UnmetCheck, UsageError
from mlc_course.lessons.lesson_21_capstone import (
    CLASS_PROGRAMS,
    ClassTable,
    as_page,
    as_text,
    class_table,
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


def test_an_indented_graph_is_measured() -> None:
    graph = fused(CLASS_PROGRAMS[PROGRAM])
    assert measured(indent(graph, "      ")) == measured(graph)


class SlowBench:
    """Spends 200 seconds on each graph, and none of ours."""

    spent = 0.0

    def load_graph(self, text: str, program: str) -> None:
        self.spent += 200
        raise UnmetCheck("the process of the program has ended", got=f"after {self.spent:g} s")

    def stop(self) -> None:
        pass


def test_a_graph_has_time_of_its_own_and_a_refusal_says_the_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "class.jsonl"
    file.write_text("".join(line(graph=f"{number}") for number in range(4)))
    monkeypatch.setattr(ClassTable, "_bench", lambda _: SlowBench())
    said = ClassTable().judge(handed_in(file)[0])
    assert [each.partition(" ended: ")[2] for each in said] == ["after 200 s", "after 400 s"] * 2


def test_judging_is_stopped_and_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "class.jsonl"
    file.write_text("".join(line(graph=f"{number}") for number in range(3)))
    monkeypatch.setattr(ClassTable, "_judged", lambda *_: "no graph")
    known, (entries, _) = ClassTable(), handed_in(file)
    for left in (2, 1, 0):
        assert len(known.judge(entries, patience=-1.0)) == 3 - left
        assert known.waiting(entries) == left and len(known.rows(entries)) == 1


def test_an_equal_graph_that_cannot_be_timed_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def race(*_: object) -> None:
        raise StepError("no kernel for it")

    monkeypatch.setattr(class_table, "race", race)
    file = tmp_path / "class.jsonl"
    file.write_text(line())
    known, (entries, _) = ClassTable(timed=True), handed_in(file)
    assert known.judge(entries) == ["Ada, chain_1: equal, but not timed: no kernel for it"]
    (row,) = known.rows(entries)
    assert (row.solved, row.launches, row.ratio) == (1, 1, None)


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
    entries, faults = handed_in(file)
    assert [each.student for each in entries] == ["Ada"] and faults == ["line 2 has no end yet"]
    assert handed_in(tmp_path / "none.jsonl")[0] == []


def test_what_a_stopped_writer_has_left_takes_no_line_of_the_next(tmp_path: Path) -> None:
    file = tmp_path / "class.jsonl"
    file.write_text(line("Bob")[:-20])
    hand_in(lambda text: text, "Ada", file)
    entries, (fault,) = handed_in(file)
    assert [each.program for each in entries] == [*CLASS_PROGRAMS]
    assert fault.startswith("line 1 is skipped")


@pytest.mark.parametrize("graph", [None, 3, "x" * 20_000])
def test_what_the_table_would_skip_is_not_handed_in(tmp_path: Path, graph: object) -> None:
    file = tmp_path / "class.jsonl"
    with pytest.raises(UsageError, match="no graph of chain_1; nothing is handed in"):
        hand_in(lambda text: graph, "Ada", file)  # type: ignore[arg-type, return-value]
    assert not file.exists()


def test_a_name_is_the_same_however_its_letters_are_composed(tmp_path: Path) -> None:
    file = tmp_path / "class.jsonl"
    forms = [unicodedata.normalize(form, "Zo\u00eb") for form in ("NFC", "NFD")]
    file.write_text("".join(line(name, graph="") for name in forms))
    assert len({each.student for each in handed_in(file)[0]}) == 1
    hand_in(lambda text: text, forms[1], file)
    assert len({each.student for each in handed_in(file)[0]}) == 1


def test_columns_are_straight_below_wide_letters() -> None:
    names = ("Ada", "\u5b66\u751f", "a\u0304")
    rows = [class_table.Row(name, 1, 1, 0.5, None, "") for name in names]
    lines = as_text(rows).splitlines()
    places = [line.index("1 of 6") for line in lines[1:]]
    assert places == [9, 9 - 2, 9 + 1]  # in characters; two letters take two columns each


def test_few_of_many_faults_are_shown() -> None:
    faults = [f"line {number} is skipped" for number in range(1, 101)]
    for shown in (as_text([], faults), as_page([], faults)):
        assert "line 20 is" in shown and "line 21 is" not in shown and "80 more" in shown


def test_what_is_no_plain_file_is_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path, tmp_path / "pipe"):
        with pytest.raises(UsageError, match="not a class's file|Is a directory"):
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
    for every in ("0", "99999999999999999999"):
        assert cli.main(["table", str(file), "--every", every]) == 2


def test_a_watch_goes_on_through_faults_of_the_file_and_of_the_page(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    file, page = tmp_path / "class.jsonl", tmp_path / "class.html"
    monkeypatch.setattr(ClassTable, "_judged", lambda *_: "no graph")
    file.write_text(line())
    written, said = table.write_text, []

    def full(path: Path, text: str) -> None:
        raise UsageError(f"cannot write {path}", got="No space left on device")

    def next_look(seconds: float) -> None:
        said.append(capsys.readouterr().out)
        match len(said):
            case 1:
                file.unlink()
                file.mkdir()
                monkeypatch.setattr(table, "write_text", full)
            case 2:
                file.rmdir()
                file.write_text(line() + line("Bob"))
                monkeypatch.setattr(table, "write_text", written)
            case 3:
                raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        table.run(file=file, html_path=page, watch=True, sleep=next_look)
    assert "Ada" in said[0]
    assert "Ada" in said[1] and "Is a directory" in said[1] and "No space left" in said[1]
    assert "Bob" in said[2] and "No space" not in said[2] and "Bob" in page.read_text()


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
