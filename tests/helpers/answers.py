"""The tests of every exercise: wrong answers are told why, other right ones earn the points."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest

from mlc_course.grading.checks import Faster

Complain = Callable[..., str]


def both_tests(
    assignment: str, wrong: Sequence[tuple[str, str, str]], right: Sequence[tuple[str, str]]
) -> tuple[Callable[..., None], Callable[..., None]]:
    """The two tests of an assignment.

    ``wrong`` has a graded cell, an answer, and words of what its student is told: by the visible
    part, or where that is content by the hidden one. ``right`` has graded cells and answers.
    """

    @pytest.mark.parametrize(("test", "answer", "words"), wrong)
    def wrong_answers(complain: Complain, test: str, answer: str, words: str) -> None:
        said = complain(assignment, test, answer, hidden=False) or complain(
            assignment, test, answer
        )
        assert words in said, said

    @pytest.mark.parametrize(("test", "answer"), right)
    def right_answers(complain: Complain, test: str, answer: str) -> None:
        said = complain(assignment, test, answer)
        assert said == "", said

    return wrong_answers, right_answers


@pytest.fixture
def no_races(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine that runs tests is too busy to race on."""
    monkeypatch.setattr(Faster, "judge", lambda self, answer: "not raced in tests")
