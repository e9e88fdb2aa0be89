"""What does nbgrader do for the course? It makes exercises of solutions, and keeps a gradebook.

Read ``exercise_release`` first (what students get), then ``gradebook`` (where their marks go).
Importing this room takes two seconds, and needs nbgrader, which only instructors have.
"""

from mlc_course.grading.nbgrader import exercise_release, gradebook
from mlc_course.grading.nbgrader.exercise_release import release, settings
from mlc_course.grading.nbgrader.gradebook import (
    STUDENT,
    Entry,
    extra_credit,
    points_by_person,
    record_marks,
)

__all__ = [
    "STUDENT",
    "Entry",
    "exercise_release",
    "gradebook",
    "extra_credit",
    "points_by_person",
    "record_marks",
    "release",
    "settings",
]
