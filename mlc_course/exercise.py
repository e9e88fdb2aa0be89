"""The vocabulary of exercises: ``check``, the kinds of answers, and the kinds of demands.

>>> check(scheduled(along_rows, matmul(64, 48, 80)), computes(), inner_stride("C"), misses(9_000))
"""

from mlc_course.errors import UnmetCheck
from mlc_course.grading.checks import (
    agrees,
    axis_kinds,
    breaks,
    check,
    computes,
    equals,
    faster,
    holds,
    inner_stride,
    lanes,
    misses,
    predicts,
    prunes,
    returns,
    runs,
    same_program,
    seal,
    sealed,
    spills,
)
from mlc_course.grading.process import Program, boxed, called, given, problem, scheduled, written

__all__ = [
    "Program",
    "UnmetCheck",
    "agrees",
    "axis_kinds",
    "breaks",
    "boxed",
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
    "predicts",
    "problem",
    "prunes",
    "returns",
    "runs",
    "same_program",
    "seal",
    "sealed",
    "scheduled",
    "spills",
    "written",
]
