"""Results of a class: marks, and what a person gave, put together."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

from mlc_course.grading.course import ByPerson, Late, Marks, Result, Submission
from mlc_course.grading.reports.by_hand import Given, Place, Points
from mlc_course.grading.reports.questions import Question, answer

NO_ANSWER = "no answer"

Work = tuple[str, str]  # a student and an assignment
Answers = Mapping[tuple[str, str], Mapping[str, str]]  # by assignment and question: by student


def answers_to(questions: Sequence[Question], submissions: Sequence[Submission]) -> Answers:
    """What each student wrote, in the order of their names; empty where there is no answer."""
    by_name = sorted(submissions, key=lambda each: each.student)
    return {
        (question.assignment, question.name): {
            each.student: answer(question, each.notebook)
            for each in by_name
            if each.assignment == question.assignment
        }
        for question in questions
    }


def results_of(
    marks: Sequence[Marks],
    questions: Sequence[Question],
    answers: Answers,
    points: Points,
    overruled: Mapping[Place, float],
    late: Mapping[Work, Late],
    extra: Mapping[Place, float] | None = None,
) -> list[Result]:
    """The result of each submission; an answer that is not there needs no person to have 0.

    ``overruled`` are a person's points for cells of tests, and ``extra`` their extra credit.
    """
    credit: defaultdict[Work, dict[str, float]] = defaultdict(dict)
    for place, more in (extra or {}).items():
        credit[place.student, place.assignment][place.question] = more
    found = []
    for each in marks:
        hand = [
            _by_person(question, each.student, answers, points)
            for question in questions
            if question.assignment == each.assignment
        ]
        places = {t.grade_id: Place(each.assignment, t.grade_id, each.student) for t in each.tests}
        own = {name: overruled[place] for name, place in places.items() if place in overruled}
        work = each.student, each.assignment
        found.append(Result(each, tuple(hand), own, late.get(work, Late()), credit[work]))
    return found


def _by_person(question: Question, student: str, answers: Answers, points: Points) -> ByPerson:
    given = points.get(Place(question.assignment, question.name, student), Given())
    text = answers[question.assignment, question.name].get(student, "")
    if given.points is None and not text:
        return ByPerson(question.name, question.out_of, 0.0, given.comment or NO_ANSWER, True)
    return ByPerson(question.name, question.out_of, given.points, given.comment)
