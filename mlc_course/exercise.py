"""What an exercise is written in: ``check``, the kinds of answers, and the kinds of demands.

check(scheduled(along_rows, matmul(64, 48, 80)), computes(), inner_stride("C"), misses(9_000))
"""

from mlc_course.errors import UnmetCheck
from mlc_course.grading.answers import called, given, scheduled, written
from mlc_course.grading.bench import Program
from mlc_course.grading.check import check
from mlc_course.grading.correctness import agrees, computes, equals, returns
from mlc_course.grading.counted import axis_kinds, inner_stride, lanes, misses, spills
from mlc_course.grading.mugraphs import same_program
from mlc_course.grading.prediction import breaks, holds, one_of, predicts
from mlc_course.grading.problems import problem
from mlc_course.grading.pruning import prunes
from mlc_course.grading.ratio import faster

__all__ = [
    "Program",
    "UnmetCheck",
    "agrees",
    "axis_kinds",
    "breaks",
    "called",
    "check",
    "computes",
    "equals",
    "faster",
    "given",
    "holds",
    "inner_stride",
    "lanes",
    "misses",
    "one_of",
    "predicts",
    "problem",
    "prunes",
    "returns",
    "same_program",
    "scheduled",
    "spills",
    "written",
]
