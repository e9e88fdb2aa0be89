"""What does an instructor read and fill in? Tables and pages made of a class's marks.

Read ``questions`` first (what a person grades), then ``sheets`` (tables that a person fills in),
``by_hand`` (points from there), ``question_page``, ``rules`` (what being late costs), ``results``,
``table``, ``totals``, ``platforms`` (the tables of Canvas and Moodle), ``similarity`` (answers that
are the same) and ``class_page``.
"""

from mlc_course.grading.reports import by_hand, platforms
from mlc_course.grading.reports.by_hand import Given, Place, Points
from mlc_course.grading.reports.class_page import page_of_class
from mlc_course.grading.reports.question_page import page_of
from mlc_course.grading.reports.questions import Question, answer, questions_in
from mlc_course.grading.reports.results import Answers, answers_to, results_of
from mlc_course.grading.reports.rules import Rules, read_rules
from mlc_course.grading.reports.similarity import Same, same_answers
from mlc_course.grading.reports.table import marks_table, remarks
from mlc_course.grading.reports.totals import totals_table

__all__ = [
    "Answers",
    "Given",
    "Place",
    "Points",
    "Question",
    "answer",
    "answers_to",
    "Rules",
    "Same",
    "by_hand",
    "marks_table",
    "page_of",
    "page_of_class",
    "platforms",
    "questions_in",
    "read_rules",
    "remarks",
    "results_of",
    "same_answers",
    "totals_table",
]
