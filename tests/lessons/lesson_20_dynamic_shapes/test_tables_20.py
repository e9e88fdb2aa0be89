"""What lesson 20 counts, times and draws."""

from __future__ import annotations

import pytest

from mlc_course.dynamic_shape.codegen import compile_for_all_sizes
from mlc_course.dynamic_shape.programs import example_sizes, program
from mlc_course.errors import UsageError
from mlc_course.lessons import lesson_20_dynamic_shapes as lesson
from mlc_course.lessons.lesson_20_dynamic_shapes.constraint_picture import constraint_svg

Captured = pytest.CaptureFixture[str]


def test_a_claim_is_a_sum_of_facts_or_is_none(capsys: Captured) -> None:
    lesson.combination(["a*b == c*d", "c*e == f*b"], "a*e == d*f")
    lesson.combination(["a*a == b*b"], "a == b")
    lesson.combination(["a == b", "c == d"], "a*a == b*b")
    said = capsys.readouterr().out
    assert "claim = 1 x (a*b == c*d) + 1 x (c*e == f*b)" in said
    assert "claim = 1/2 x (a*a == b*b)" in said
    assert "claim = 2 x (a == b)\n" in said
    with pytest.raises(UsageError, match="does not follow"):
        lesson.combination(["a*b == c"], "a == c")
    with pytest.raises(UsageError, match="no equality"):
        lesson.combination(["a < b"], "a == b")


def test_the_solver_gives_each_kind_of_answer(capsys: Captured) -> None:
    lesson.asked(program("residual_layer_norm"), "T == B*S", "T == H")
    lesson.asked(program("append_to_cache"), "K == V")
    said = capsys.readouterr().out
    assert "T == B*S: proved" in said
    assert "T == H: refuted by B = " in said
    assert "K == V: proved" in said


def test_facts_save_divisions() -> None:
    sizes = example_sizes("residual_layer_norm", 1, 4, 1, 32)
    norm = program("residual_layer_norm")
    assert lesson.divisions(norm, sizes, folds=True) == 0
    assert lesson.divisions(norm, sizes, folds=False) > 0


def test_times_are_taken_at_each_size_and_told() -> None:
    made = compile_for_all_sizes(program("masked_softmax"), threads=1)
    shapes = [example_sizes("masked_softmax", 1, 2, 1, row) for row in (3, 16)]
    rows = lesson.at_lengths(made, shapes, "K")
    assert [row.size for row in rows] == [3, 16]
    assert all(min(row.ours_us, row.static_us, row.numpy_us, row.compile_s) > 0 for row in rows)
    assert "NumPy" in lesson.lengths_table(rows).data
    sentence = " ".join(lesson.last_sentence(made, rows, 24, 6).split())
    assert "became 1 kernel, and of 24 divisions that find elements 6 are left." in sentence


def test_calls_that_a_compilation_costs_are_counted() -> None:
    row = lesson.tables.Length(48, ours_us=4, static_us=3, numpy_us=23, compile_s=0.1)
    assert row.calls_lost == pytest.approx(25_000)
    assert "25,000" in lesson.lengths_table([row]).data


def test_a_listing_has_inputs_operators_and_results(capsys: Captured) -> None:
    lesson.listing(program("residual_layer_norm"))
    first, second, *_, last = capsys.readouterr().out.splitlines()
    assert first.startswith("inputs %x [T, H], %bias [H]")
    assert "%residual [B, S, H]" in first and second.strip() == "%inverse_width []"
    assert last == "return %3, %20"
    lesson.listing(lesson.without_facts())
    said = capsys.readouterr().out
    assert "%0 = concat(%old_k, %new_k)  [B, A, K, D]\n" in said
    assert "\N{NO-BREAK SPACE}" not in said


def test_a_fact_is_drawn_once_with_all_who_state_it() -> None:
    drawn = constraint_svg(program("residual_layer_norm"))
    assert drawn.count("T*H == B*S*H") == 2  # in the picture, and in its words
    assert "%0 = reshape, %4 = reshape" in drawn
    cache = constraint_svg(program("append_to_cache"))
    assert "P == Q" in cache and "stated" in cache
