from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

from mlc_course.background import interruptible, pushed


def test_items_arrive_in_order_from_another_thread() -> None:
    def items() -> Iterator[tuple[int, int]]:
        for number in range(5):
            yield number, threading.get_ident()

    found = list(interruptible(items()))
    assert [number for number, _ in found] == list(range(5))
    assert {thread for _, thread in found} != {threading.get_ident()}


def test_an_error_is_raised_where_the_items_are_read_after_those_before_it() -> None:
    def run(push: object) -> None:
        push("one")  # type: ignore[operator]
        raise ZeroDivisionError

    items = pushed(run)
    assert next(items) == "one"
    with pytest.raises(ZeroDivisionError):
        next(items)


def test_none_is_an_item() -> None:
    assert list(interruptible([None, 1, None])) == [None, 1, None]
