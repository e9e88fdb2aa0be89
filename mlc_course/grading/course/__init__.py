"""How is a class graded? From solution notebooks and submissions to marks and feedback.

Read ``exam`` first (what a solution asks), then ``grader`` (one submission) ``batch`` (a class).
"""

from mlc_course.grading.course import batch, exercise_release, feedback, gradebook
from mlc_course.grading.course.batch import Settings, exams_in, grade_all, prepare, race_all
from mlc_course.grading.course.exam import Exam, grading_of, read_exam, source_of
from mlc_course.grading.course.exercise_release import SETTINGS, release, settings
from mlc_course.grading.course.gradebook import Entry, record_marks
from mlc_course.grading.course.grader import GRADED, Marks, grade, run_races
from mlc_course.grading.course.store import Store, percent, table
from mlc_course.grading.course.submission import Submission, find, without_notebook

__all__ = [
    "Entry",
    "Exam",
    "GRADED",
    "Marks",
    "SETTINGS",
    "Settings",
    "Store",
    "Submission",
    "batch",
    "exams_in",
    "exercise_release",
    "feedback",
    "find",
    "grade",
    "grade_all",
    "gradebook",
    "grading_of",
    "percent",
    "prepare",
    "race_all",
    "read_exam",
    "record_marks",
    "release",
    "run_races",
    "settings",
    "source_of",
    "table",
    "without_notebook",
]
