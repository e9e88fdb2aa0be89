from __future__ import annotations

import pytest

from mlc_course.errors import UsageError
from mlc_course.lessons.kit.prediction import predict, review

CHOICES = {"as fast": 1.0, "half as fast": 0.5, "a tenth as fast": 0.1}


def test_a_number_stands_for_the_nearest_answer() -> None:
    question = predict("How fast?", CHOICES)
    question.guess = "half as fast"
    assert "half as fast (0.44)</b>, as you said" in question.reveal(0.44).data
    assert "a tenth as fast (0.2)</b>, you said half as fast" in question.reveal(0.2).data


def test_a_large_number_is_written_out() -> None:
    question = predict("How many?", {"about 1,000": 1e3, "about 50,000": 5e4})
    assert "about 50,000 (45,210)" in question.reveal(45_210).data


def test_words_can_be_answers_too() -> None:
    question = predict("Which is faster?", ["rows", "columns"])
    question.guess = "rows"
    assert "columns</b>, you said rows. Because." in question.reveal("columns", "Because.").data


def test_without_a_guess_the_answer_says_so() -> None:
    assert "You made no prediction" in predict("How fast?", CHOICES).reveal(1.0).data


def test_a_guess_that_is_no_answer_is_refused() -> None:
    question = predict("How fast?", CHOICES)
    with pytest.raises(UsageError):
        question.guess = "very"


@pytest.mark.parametrize("answer", ["very", 3.0])
def test_an_answer_that_was_not_to_choose_from_is_refused(answer: object) -> None:
    with pytest.raises(UsageError):
        predict("Which?", ["rows", "columns"]).reveal(answer)  # type: ignore[arg-type]


def test_a_question_needs_two_answers() -> None:
    with pytest.raises(UsageError):
        predict("Which?", ["rows"])


def test_where_no_widgets_run_the_question_can_be_read() -> None:
    data, _ = predict("Which is <faster>?", CHOICES)._repr_mimebundle_()
    assert "Which is &lt;faster&gt;?" in data["text/html"]
    assert "<li>half as fast</li>" in data["text/html"]


def test_at_the_end_what_was_said_stands_beside_what_came_out() -> None:
    speed, order = predict("How fast?", CHOICES), predict("Which?", ["rows", "columns"])
    speed.guess = "as fast"
    speed.reveal(0.44)
    order.reveal("rows")
    shown = review(speed, order).data
    assert "<td>How fast?</td><td>as fast</td><td>half as fast (0.44)</td>" in shown
    assert "<td>Which?</td><td>no prediction</td><td>rows</td>" in shown


def test_a_prediction_that_is_not_revealed_yet_has_no_review() -> None:
    with pytest.raises(UsageError, match="not revealed yet"):
        review(predict("Which?", ["rows", "columns"]))
