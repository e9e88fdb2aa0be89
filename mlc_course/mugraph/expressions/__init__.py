"""Can a value be a part of the goal? Abstract expressions, which prune the search.

Read ``normal_form`` first, then ``abstract`` (what operators do to expressions) and
``subexpression``, the test itself.
"""

from mlc_course.mugraph.expressions.abstract import Abstract, AbstractArithmetic
from mlc_course.mugraph.expressions.normal_form import (
    EXP,
    Cancelled,
    Expressions,
    Poly,
    TooLong,
)
from mlc_course.mugraph.expressions.pruners import Pruner, Terms, asked, said, terms, why_not
from mlc_course.mugraph.expressions.subexpression import Goal, Role

__all__ = [
    "Abstract",
    "AbstractArithmetic",
    "Cancelled",
    "EXP",
    "Expressions",
    "Goal",
    "Poly",
    "Pruner",
    "Role",
    "Terms",
    "TooLong",
    "asked",
    "said",
    "terms",
    "why_not",
]
