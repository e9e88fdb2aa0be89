"""Does a claim on unknown sizes follow from what is known? A proof, a counter-example, or neither.

Read ``systems`` first: what a constraint means for products and for sums. ``echelon`` and
``integers`` solve these, ``facts`` lets each learn from the other, ``ask`` proves, ``models``
refutes, ``check`` checks a proof on its own, and ``explain`` puts it in words. ``queries`` is what
a compiler asks of shapes.
"""

from mlc_course.dynamic_shape.solve.answers import Answer, Certificate, Proved, Refuted, Unknown
from mlc_course.dynamic_shape.solve.ask import Solver
from mlc_course.dynamic_shape.solve.check import check_certificate
from mlc_course.dynamic_shape.solve.explain import explained
from mlc_course.dynamic_shape.solve.facts import Facts
from mlc_course.dynamic_shape.solve.queries import (
    AllProved,
    AxisGroup,
    Claims,
    Reshape,
    ask_all,
    broadcast_is_redundant,
    equal_prefixes,
    equal_products,
    fits,
    is_divisible,
    products_apart,
    reshape_kind,
    same_count,
    same_shape,
)

__all__ = [
    "AllProved",
    "Answer",
    "AxisGroup",
    "Certificate",
    "Claims",
    "Facts",
    "Proved",
    "Refuted",
    "Reshape",
    "Solver",
    "Unknown",
    "ask_all",
    "broadcast_is_redundant",
    "check_certificate",
    "equal_prefixes",
    "equal_products",
    "explained",
    "fits",
    "is_divisible",
    "products_apart",
    "reshape_kind",
    "same_count",
    "same_shape",
]
