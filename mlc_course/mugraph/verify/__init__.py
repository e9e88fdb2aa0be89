"""Are two graphs equal? Random tests over finite fields, with a bound on the chance of an error.

Read ``equivalence`` first, which says in which order the tests are made, then ``batch_sizes`` and
``uninterpreted`` (tests at the given sizes), then ``field`` and ``primes`` (numbers that know exp)
and ``false_accept_bound`` (the theorem and its proof).
"""

from mlc_course.mugraph.verify.batch_sizes import batch, core
from mlc_course.mugraph.verify.counterexample import difference
from mlc_course.mugraph.verify.digits import differ_in_digits, differing_output
from mlc_course.mugraph.verify.equivalence import (
    Verdict,
    compared,
    formulas,
    plain_verdict,
    read_verdict,
    screen,
    together,
    verify,
)
from mlc_course.mugraph.verify.false_accept_bound import (
    Levels,
    meeting,
    needed_tests,
    order_chance,
)
from mlc_course.mugraph.verify.field import Field, Level, Residues
from mlc_course.mugraph.verify.formula_bounds import Bounds
from mlc_course.mugraph.verify.free_maxima import FreeMaxima
from mlc_course.mugraph.verify.primes import Successors, Tower, draw
from mlc_course.mugraph.verify.runs import missed_by_runs
from mlc_course.mugraph.verify.small_sizes import family
from mlc_course.mugraph.verify.uninterpreted import (
    Divisor,
    Growth,
    Growths,
    Uninterpreted,
    kept_axes,
)

__all__ = [
    "Bounds",
    "Divisor",
    "Field",
    "FreeMaxima",
    "Growth",
    "Growths",
    "Level",
    "Levels",
    "Residues",
    "Successors",
    "Tower",
    "Uninterpreted",
    "Verdict",
    "compared",
    "batch",
    "core",
    "differ_in_digits",
    "difference",
    "differing_output",
    "draw",
    "family",
    "formulas",
    "kept_axes",
    "meeting",
    "missed_by_runs",
    "needed_tests",
    "order_chance",
    "plain_verdict",
    "read_verdict",
    "screen",
    "together",
    "verify",
]
