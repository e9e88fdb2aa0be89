"""Lesson 16's graphs are what the lesson says they are."""

from __future__ import annotations

import pytest

from mlc_course.errors import UsageError
from mlc_course.lessons.lesson_16_mu_graphs.examples import NAMES, example
from mlc_course.mugraph.ir import parse
from mlc_course.mugraph.verify import difference


@pytest.mark.parametrize("name", NAMES)
def test_an_example_stands_as_it_is_written(name: str) -> None:
    assert str(parse(example(name))) == example(name)


def test_one_kernel_computes_what_seven_do() -> None:
    assert not difference(parse(example("one_kernel")), parse(example("seven_kernels")))


def test_another_letter_computes_something_else() -> None:
    text = example("one_kernel").replace("load(W, imap={y: 1}", "load(W, imap={x: 1}")
    said = difference(parse(text), parse(example("seven_kernels")))
    assert said.startswith("18432 of 24576 elements differ")


def test_an_unknown_name_is_refused() -> None:
    with pytest.raises(UsageError, match="no example 'x'"):
        example("x")
