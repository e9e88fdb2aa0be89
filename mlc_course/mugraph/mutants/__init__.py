"""Is the verifier's word good? Wrong graphs made from right ones, for tests, benchmarks, lessons.

Read ``mutations`` first. ``near_misses`` are pairs that differ by little.
"""

from mlc_course.mugraph.mutants import near_misses
from mlc_course.mugraph.mutants.mutations import mutants
from mlc_course.mugraph.mutants.near_misses import EQUALS, NEAR_MISSES, Pair, pair
from mlc_course.mugraph.mutants.refusals import (
    ACCEPTED,
    REFUSED,
    UNDECIDED,
    Base,
    Judged,
    base,
    differ,
    drawn,
    given,
    judged,
    table,
    tally,
)

__all__ = [
    "ACCEPTED",
    "Base",
    "EQUALS",
    "Judged",
    "NEAR_MISSES",
    "Pair",
    "REFUSED",
    "UNDECIDED",
    "base",
    "differ",
    "drawn",
    "given",
    "judged",
    "mutants",
    "near_misses",
    "pair",
    "table",
    "tally",
]
