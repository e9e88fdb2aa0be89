"""Does a claim on unknown sizes follow from what is known? A proof, a counter-example, or neither.

Read ``systems`` first: what a constraint means for products and for sums. ``echelon`` and
``integers`` solve these, ``facts`` lets each learn from the other, ``ask`` proves, ``models``
refutes, ``check`` checks a proof on its own, and ``explain`` puts it in words.
"""

from mlc_course.dynamic_shape.solve.answers import Answer, Certificate, Proved, Refuted, Unknown
from mlc_course.dynamic_shape.solve.ask import Solver
from mlc_course.dynamic_shape.solve.check import check_certificate
from mlc_course.dynamic_shape.solve.explain import explained
from mlc_course.dynamic_shape.solve.facts import Facts

__all__ = [
    "Answer",
    "Certificate",
    "Facts",
    "Proved",
    "Refuted",
    "Solver",
    "Unknown",
    "check_certificate",
    "explained",
]
