from __future__ import annotations

from mlc_course.lessons.kit.comparison import (
    Row,
    aligned_rows,
    one_program,
    program_lines,
    side_by_side,
)
from mlc_course.tensor_program.problems import matmul
from mlc_course.tensor_program.tir import Schedule


def test_what_tvm_writes_above_every_program_is_left_out() -> None:
    lines = program_lines(Schedule(matmul(8, 8, 8).program()).mod.script())
    assert lines[0] == "@T.prim_func(s_tir=True)"
    assert lines[1].startswith("def main(")


def test_two_columns_a_level_are_shown_as_four_are() -> None:
    assert program_lines("f:\n  block:\n    y = x\n") == ["f:", "    block:", "        y = x"]
    assert program_lines("f:\n    y = x\n        z = y") == ["f:", "    y = x", "        z = y"]


def test_changed_lines_stand_side_by_side() -> None:
    rows = list(aligned_rows(["for i", "  body"], ["for j", "  body"], context=None))
    assert rows == [Row("for i", "for j", changed=True), Row("  body", "  body")]


def test_a_line_without_a_counterpart_faces_nothing() -> None:
    assert list(aligned_rows(["a"], ["a", "b"], context=None))[-1] == Row(None, "b", changed=True)


def test_equal_lines_far_from_a_change_are_counted() -> None:
    same = [str(number) for number in range(20)]
    rows = list(aligned_rows([*same, "old"], [*same, "new"], context=2))
    assert rows[0].skipped == 18
    assert rows[-1] == Row("old", "new", changed=True)


def test_equal_programs_have_nothing_to_show() -> None:
    assert [row.skipped for row in aligned_rows(["a", "b"], ["a", "b"], context=5)] == [2]


def test_programs_are_text_and_not_markup() -> None:
    table = side_by_side("a < b", "a < c", titles=("<i>", "after"))
    assert "a &lt; b" in table
    assert "&lt;i&gt;" in table


def test_changes_are_marked_on_both_sides() -> None:
    table = side_by_side("one", "two")
    assert 'class="gone"' in table
    assert 'class="new"' in table


def test_one_program_can_stand_alone() -> None:
    table = one_program("# imports\na < b", title="<i>")
    assert "a &lt; b" in table
    assert "&lt;i&gt;" in table
    assert "imports" not in table
    assert 'class="new"' not in table
