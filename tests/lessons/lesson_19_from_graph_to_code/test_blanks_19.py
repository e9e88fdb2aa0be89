"""The lines that the reader of lesson 19 writes: right ones, and what wrong ones are told."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from mlc_course.lessons.lesson_19_from_graph_to_code.blanks import crosses_threads, place_of_chunk


@pytest.mark.parametrize(
    "line",
    [
        lambda writer, reader: writer != reader,
        lambda writer, reader: any(w != r for w, r in zip(writer, reader, strict=True)),
    ],
    ids=["as a whole", "one by one"],
)
def test_values_cross_where_one_element_has_another_reader(line: Callable[..., Any]) -> None:
    assert crosses_threads(line).right


@pytest.mark.parametrize(
    ("line", "words"),
    [
        (lambda writer, reader: set(writer) != set(reader), "thread 3 reads element 2"),
        (lambda writer, reader: writer == reader, "a wrong result for ([0, 1, 2, 3]"),
        (lambda writer, reader: writer[0] != reader[0], "thread 3 reads element 2"),
        (lambda writer, reader: len(set(writer)) > 1, "expected  False"),
    ],
    ids=["sets", "the other way round", "the first alone", "several writers"],
)
def test_a_wrong_line_is_told_a_case(line: Callable[..., Any], words: str) -> None:
    found = crosses_threads(line)
    assert not found.right and words in str(found)


@pytest.mark.parametrize(
    "line",
    [lambda r, c: c ^ (r % 8), lambda r, c: (c + r) % 16, lambda r, c: (c - 3 * r) % 16],
    ids=["exclusive or", "moved on", "moved back by three"],
)
def test_any_order_that_puts_a_column_apart_is_right(line: Callable[..., Any]) -> None:
    assert place_of_chunk(line).right


@pytest.mark.parametrize(
    ("line", "words"),
    [
        (lambda r, c: c, "chunk 0 of rows 0 and 1 is in the same banks"),
        (lambda r, c: c + r, "row 1, chunk 15: not a place of this row"),
        (lambda r, c: (c + r // 2) % 16, "chunk 0 of rows 0 and 1"),
        (lambda r, c: (c + 8 * r) % 16, "places 8 apart are in the same banks"),
        (lambda r, c: (c | r) % 16, "row 1: two chunks at place 1"),
        (lambda r, c: c * 1.0, "row 0, chunk 0: not a place"),
        (lambda r, c: c / 0, "ZeroDivisionError"),
    ],
    ids=["none", "no wrap", "pairs of rows", "by eight", "or", "a float", "an error"],
)
def test_a_wrong_order_is_told_where(line: Callable[..., Any], words: str) -> None:
    found = place_of_chunk(line)
    assert not found.right and words in str(found)


def test_what_is_not_written_yet_is_not_wrong() -> None:
    assert crosses_threads(lambda writer, reader: ...).empty
    assert place_of_chunk(lambda r, c: ...).empty
