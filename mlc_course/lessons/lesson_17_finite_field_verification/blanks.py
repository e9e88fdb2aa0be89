"""The blanks of lesson 17: a quotient, what tests leave, the order of a residue."""

from __future__ import annotations

from mlc_course.exercise import called, returns
from mlc_course.lessons.kit import Blank, asks

quotient = Blank(
    asks(
        called,
        returns(1, 7, 31, result=9, hint="7 * 9 = 63, which is 1 modulo 31"),
        returns(20, 25, 31, result=7, hint="the result times 25 must be 20 again, modulo 31"),
        returns(3, 5, 7, result=2, hint="the result is a number from 0 to p - 1"),
    ),
    (
        "Dividing by b means multiplying by the inverse of b.",
        "pow(b, -1, p) is the inverse. Multiply a by it. What if the product is p or more?",
    ),
    "return a * pow(b, -1, p) % p",
)
left_over = Blank(
    asks(
        called,
        returns(3, 31, 1, result=3 / 31, hint="one test: the lemma's share"),
        returns(1, 31, 3, result=1 / 31**3, hint="three independent tests all accept: multiply"),
        returns(2, 5, 4, result=0.0256, hint="the lemma's share is d / p"),
    ),
    (
        "How likely is it that one test accepts? The lemma gives the share of points.",
        "Independent tests all accept with the product of their probabilities.",
    ),
    "return (degree / p) ** tests",
)
order = Blank(
    asks(
        called,
        returns(2, 31, result=5, hint="the powers of 2 are 1, 2, 4, 8, 16, and then 1 again"),
        returns(3, 31, result=30, hint="see the list of powers of 3 above"),
        returns(1, 31, result=1, hint="1 to the power 1 is 1; the power 0 does not count"),
        returns(30, 31, result=2, hint="30 is -1, and (-1)(-1) is 1"),
    ),
    (
        "Powers repeat as soon as one of them is 1 again. Which n do you try first?",
        "Count n up from 1 until pow(w, n, p) is 1.",
        "next(n for n in range(1, p) if ...) is the first n that meets a condition.",
    ),
    "return next(n for n in range(1, p) if pow(w, n, p) == 1)",
)
