"""The blanks of lesson 21: cuts, a division that may wait, a map, a test, the cheapest."""

from __future__ import annotations

from mlc_course.exercise import called, returns
from mlc_course.lessons.kit import Blank, asks

cuts_of = Blank(
    asks(
        called,
        returns(1, result=1, hint="one line is one kernel"),
        returns(2, result=2, hint="together, or apart"),
        returns(3, result=4, hint="between lines 1 and 2, between 2 and 3, at both, or nowhere"),
        returns(6, result=32),
        returns(23, result=4_194_304, hint="22 places, each a border or not"),
    ),
    (
        "Between two neighbouring lines there is a border, or there is none.",
        "n lines have n - 1 places between them. Each place doubles the number of ways.",
    ),
    "return 2 ** (n - 1)",
)
may_wait = Blank(
    asks(
        called,
        returns(["b", "1"], 1, result=True, hint="one number for each row: all of it is divided"),
        returns(["b", "d"], 1, result=False, hint="each element has a divisor of its own"),
        returns(["1", "d"], 1, result=False, hint="what is added up has several divisors"),
        returns(["1", "d"], 0, result=True, hint="along axis 0 the divisor stays the same"),
        returns(["b", "1"], 0, result=False, hint="along axis 0 the divisor changes"),
        returns(["1", "1"], 0, result=True),
    ),
    (
        "x1 / r + x2 / r = (x1 + x2) / r: the divisor has to be the same for all that is added up.",
        'A divisor with "1" as its dimension along the axis has one element there.',
        "return divisor[axis] ...",
    ),
    'return divisor[axis] == "1"',
)
place_of = Blank(
    asks(
        called,
        returns(["b", "d"], "d", result=1),
        returns(["b", "d"], "b", result=0),
        returns(["1", "d"], "b", result=None, hint="a tensor without the dimension is not cut"),
        returns(["d", "n"], "d", result=0),
    ),
    (
        "A map has the number of the dimension that is cut. `index` finds a place in a tuple.",
        "What if the dimension is not there? Then the tensor is loaded whole: None.",
        "return dims.index(dim) if ... else None",
    ),
    "return dims.index(dim) if dim in dims else None",
)
fewest = Blank(
    asks(
        called,
        returns([[1, 900, 70], [1, 500, 90]], 80, result=[1, 900, 70], hint="90 does not fit"),
        returns([[1, 900, 70], [1, 500, 90]], 90, result=[1, 500, 90], hint="90 fits into 90"),
        returns([[2, 300, 10], [1, 500, 10]], 80, result=[1, 500, 10], hint="launches come first"),
        returns([[1, 400, 10], [1, 300, 80]], 80, result=[1, 300, 80], hint="then bytes"),
    ),
    (
        "Two things: leave out what does not fit, then take the least.",
        "Lists are compared by their first numbers, and by the second where these are the same.",
        "return min(each for each in counts if each[2] ... room)",
    ),
    "return min(each for each in counts if each[2] <= room)",
)
