"""How is a class graded? From solution notebooks and submissions to marks and feedback.

Read ``exam`` first (what a solution asks), then ``grader`` (one submission), ``batch`` (a class)
and ``result`` (what counts in the end).
"""

from mlc_course.grading.course import batch, feedback
from mlc_course.grading.course.batch import Settings, exams_in, grade_all, prepare, race_all
from mlc_course.grading.course.exam import SETTINGS, Exam, grading_of, read_exam, source_of
from mlc_course.grading.course.grader import GRADED, Marks, TestMarks, grade, run_races
from mlc_course.grading.course.result import ByPerson, Late, Result
from mlc_course.grading.course.store import Store, as_csv, percent
from mlc_course.grading.course.submission import Submission, grade_ids

__all__ = [
    "ByPerson",
    "Exam",
    "GRADED",
    "Late",
    "Marks",
    "Result",
    "SETTINGS",
    "Settings",
    "Store",
    "Submission",
    "TestMarks",
    "as_csv",
    "batch",
    "exams_in",
    "feedback",
    "grade",
    "grade_all",
    "grade_ids",
    "grading_of",
    "percent",
    "prepare",
    "race_all",
    "read_exam",
    "run_races",
    "source_of",
]
