"""What is asked of an answer? Right results, structure, counts, speed, equal graphs.

Read ``checking`` first, the form that all checks have and what a student sees below an answer, then
``correctness``.
"""

from mlc_course.grading.checks.boxed_kernels import runs
from mlc_course.grading.checks.checking import (
    RATIO,
    Demand,
    Examined,
    check,
    examine,
    findings_here,
    recording,
)
from mlc_course.grading.checks.correctness import (
    agrees,
    check_returned,
    computes,
    equals,
    returns,
)
from mlc_course.grading.checks.counted import axis_kinds, inner_stride, lanes, misses, spills
from mlc_course.grading.checks.mugraphs import operators, read, same_border, same_program
from mlc_course.grading.checks.prediction import breaks, check_parts, holds, predicts, seal, sealed
from mlc_course.grading.checks.pruning import plain, prunes
from mlc_course.grading.checks.ratio import UNFUSED, Faster, faster, race
from mlc_course.grading.checks.superoptimized import least_bytes, moves, same_graph

__all__ = [
    "Demand",
    "Examined",
    "Faster",
    "RATIO",
    "UNFUSED",
    "agrees",
    "axis_kinds",
    "breaks",
    "check",
    "check_parts",
    "check_returned",
    "computes",
    "equals",
    "examine",
    "faster",
    "findings_here",
    "holds",
    "inner_stride",
    "lanes",
    "least_bytes",
    "misses",
    "moves",
    "operators",
    "plain",
    "predicts",
    "prunes",
    "race",
    "read",
    "recording",
    "returns",
    "runs",
    "same_border",
    "same_graph",
    "same_program",
    "seal",
    "sealed",
    "spills",
]
