from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mlc_course.errors import UsageError
from mlc_course.lessons.lesson_03_memory_hierarchy.plays import (
    PLAYS,
    Performance,
    perform,
    total,
    transpose,
)
from mlc_course.lessons.lesson_03_memory_hierarchy.theatre_picture import across, boxes, theatre_svg
from mlc_course.tensor_program.memory import Cache, count
from mlc_course.tensor_program.problems import matmul

SMALL = Cache(256, 2, 16)  # 8 sets of 2 ways


def play(name: str, cache: Cache = SMALL) -> Performance:
    return perform(PLAYS[name].program(), cache)


@settings(max_examples=12, deadline=None)
@given(
    name=st.sampled_from(list(PLAYS)),
    sets=st.sampled_from((1, 2, 4, 8, 16)),
    ways=st.integers(1, 9),
    line=st.sampled_from((4, 8, 16, 32, 64)),
)
def test_the_misses_are_those_that_the_simulator_counts(
    name: str, sets: int, ways: int, line: int
) -> None:
    cache = Cache(sets * ways * line, ways, line)
    show = play(name, cache)
    (counts,) = count(PLAYS[name].program(), cache)
    assert (len(show.visits), show.misses) == (counts.accesses, counts.misses)


@pytest.mark.parametrize("name", PLAYS)
def test_each_step_follows_from_the_one_before(name: str) -> None:
    show = play(name)
    for visit, before, after in zip(show.visits, show.held, show.held[1:], strict=False):
        place = visit.set * show.cache.ways + visit.way
        assert visit.line % show.cache.sets == visit.set
        assert after[place] == visit.line
        assert visit.hit == (visit.line in before)
        assert visit.out == (None if visit.hit else before[place])
        changed = [n for n, (old, new) in enumerate(zip(before, after, strict=True)) if old != new]
        assert changed == ([] if visit.hit else [place])


def test_the_plays_show_what_they_are_for() -> None:
    misses = {name: play(name).misses for name in PLAYS}
    assert misses["rows"] == 16 * 16 // 4 + 1  # and the sum's own line
    assert misses["columns"] == 16 * 16 + 1
    assert misses["columns, padded"] == misses["rows"]
    assert misses["one column, four times"] == 4 * 16 + 1
    assert misses["transpose, tiled"] < 0.6 * misses["transpose"]
    assert play("columns", Cache(256, 16, 16)).misses == misses["rows"]  # one set


def test_it_is_said_in_words() -> None:
    show = play("columns")
    assert show.said(0) == "An empty cache; 257 accesses to come."
    assert show.said(1) == "Access 1 of 257: X[0, 0] is in set 0: miss. 1 miss so far."
    assert show.said(5) == (
        "Access 5 of 257: X[4, 0] is in set 0: miss; X[0, 0..3] is dropped. 5 misses so far."
    )
    assert play("rows").said(2).endswith("set 0: hit. 1 miss so far.")


def test_lines_are_named_by_their_elements() -> None:
    assert set(perform(total(2, 6), Cache(64, 2, 16)).labels.values()) == {
        "X[0, 0..3]",
        "X[0, 4]...",
        "X[1, 2..5]",
        "S[0]",
    }
    assert perform(total(1, 2), Cache(8, 1, 4)).labels[1] == "X[0, 1]"


def test_the_transpose_is_one() -> None:
    names = [visit.buffer for visit in perform(transpose(2, 3), SMALL).visits]
    assert names == ["X", "Y"] * 6


def test_what_nobody_would_watch_is_refused() -> None:
    with pytest.raises(UsageError, match="too long to watch"):
        perform(matmul(16, 16, 16).program(), SMALL)


# --- the picture ----------------------------------------------------------------------------------


def test_the_picture_shows_the_cache_after_a_step() -> None:
    show = play("columns")
    svg = theatre_svg(show, 5, "columns & rows")
    assert "columns &amp; rows" in svg
    assert svg.count('class="held"') == len([line for line in show.held[5] if line is not None])
    assert 'id="place-0" class="full miss"' in svg
    assert ">X[4, 0..3]</text>" in svg
    assert ">X[0, 0..3]</text>" not in svg
    assert theatre_svg(show, 0).count('class="held"') == 0
    assert 'class="full hit"' in theatre_svg(play("rows"), 2)


def test_the_curve_grows_from_left_to_right() -> None:
    show = play("rows")
    xs = across(show)
    assert len(xs) == len(show.visits) + 1
    assert xs == sorted(xs)
    assert f'width="{xs[9] - xs[0]:.1f}"' in theatre_svg(show, 9)


@pytest.mark.parametrize("name", PLAYS)
def test_matrices_stand_side_by_side_and_inside_the_stage(name: str) -> None:
    show = play(name)
    squares = boxes(show)
    elements = sum(each.bytes // each.element_bytes for each in show.buffers)
    assert len(squares) == len({(x, y) for x, y, _ in squares.values()}) == elements
    assert all(x >= 0 and x + side <= 520 and side >= 12 for x, _, side in squares.values())


def test_more_ways_than_sets_are_shown_as_rows() -> None:
    svg = theatre_svg(play("columns", Cache(256, 16, 16)), 200)
    assert ">way 15</text>" in svg
    assert 'class="hidden"' not in svg


def test_a_step_that_there_is_not_is_refused() -> None:
    with pytest.raises(UsageError, match="no such step"):
        theatre_svg(play("rows"), 258)
