"""The blanks of lesson 13: the answer is right, and typical wrong lines are told what is wrong."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from mlc_course.lessons.kit import Blank
from mlc_course.lessons.lesson_13_computational_graphs import blanks
from mlc_course.tensor_program.schedule import steps
from mlc_course.tensor_program.tir import is_const, is_op, op, wildcard

X, S, W = wildcard(), is_const(), wildcard()
PATTERN = is_op("relax.matmul")(is_op("relax.multiply")(X, S), W)


def written(blank: Blank, signature: str, line: str, **names: object) -> Any:
    """The function of the lesson's cell with this line in it."""
    scope = dict(names)
    exec(f"def filled({signature}):\n    {line}", scope)
    return scope["filled"]


def point(line: str) -> Any:
    return written(blanks.meeting_point, "paths", line)


def finish(line: str) -> Any:
    return written(blanks.finish_rows, "sch", line, steps=steps)


def scale(line: str) -> Any:
    rewrite = written(blanks.scale_weights, "call, found", line, op=op, x=X, s=S, w=W)
    return PATTERN, rewrite


BLANKS: dict[str, tuple[Blank, Callable[[str], Any]]] = {
    "meeting_point": (blanks.meeting_point, point),
    "finish_rows": (blanks.finish_rows, finish),
    "scale_weights": (blanks.scale_weights, scale),
}


@pytest.mark.parametrize("name", BLANKS)
def test_the_answer_is_right_and_an_empty_blank_says_so(name: str) -> None:
    blank, fill = BLANKS[name]
    assert blank(fill(blank.answer)).right
    assert blank(fill("...")).empty
    assert len(blank.hints) == 3


@pytest.mark.parametrize(
    ("name", "line", "words"),
    [
        ("meeting_point", "return paths[0][0]", "s is on one of the two paths only"),
        ("meeting_point", "return paths[0][-1]", "on a single path, the first reader decides"),
        (
            "meeting_point",
            "return min(set(paths[0]).intersection(*paths), default=None)",
            "got       'c'",
        ),
        (
            "meeting_point",
            "return [n for n in paths[0] if all(n in p for p in paths)][0]",
            "IndexError",
        ),
        ("finish_rows", 'steps.fuse_consumer(sch, "compute", into="matmul", at="i0")', "compute"),
        ("finish_rows", 'steps.fuse_consumer(sch, "T_add", into="matmul", at="k")', "not complete"),
        ("finish_rows", 'steps.fuse_consumer(sch, "T_add", into="matmul", at="i1")', "complete"),
        ("finish_rows", 'steps.inline(sch, "T_add")', "refused"),
        ("finish_rows", "return sch", "320 B inside, for 8 images"),
        ("scale_weights", "return op.matmul(op.multiply(found[x], found[s]), found[w])", "pixels"),
        ("scale_weights", "return op.matmul(found[x], found[w])", "expected  6.125"),
        (
            "scale_weights",
            "return op.multiply(op.matmul(found[x], found[w]), found[s])",
            "still done for every image",
        ),
        ("scale_weights", "return op.multiply(found[w], found[s])", "another shape"),
    ],
)
def test_a_wrong_line_is_told_what_is_wrong(name: str, line: str, words: str) -> None:
    blank, fill = BLANKS[name]
    judged = blank(fill(line))
    assert not judged.right and not judged.empty
    assert words in str(judged), str(judged)
