"""The lines that the reader of this lesson writes, and what judges them."""

from __future__ import annotations

from mlc_course.exercise import called, returns
from mlc_course.lessons.kit import Blank, asks

LINE, SETS = 64, 32

loads_per_multiply_add = Blank(
    asks(
        called,
        returns(1, 1, result=2.0, hint="one vector of B, one element of A, one multiply-add"),
        returns(4, 2, result=0.75, hint="4 elements of A and 2 vectors of B serve 8 multiply-adds"),
        returns(2, 8, result=0.625, hint="what grows with the sum, and what with the product?"),
    ),
    (
        "For one step of k: how many vectors of B does the tile load, and how many elements of A?",
        "It loads rows + vectors times. How many multiply-adds does it do with them?",
        "Every row meets every vector once. Divide the loads by that number.",
    ),
    "return (rows + vectors) / (rows * vectors)",
)

set_of = Blank(
    asks(
        called,
        returns(0, LINE, SETS, result=0),
        returns(64, LINE, SETS, result=1, hint="the next line belongs to the next set"),
        returns(100, LINE, SETS, result=1, hint="all bytes of a line are in one set"),
        returns(SETS * LINE, LINE, SETS, result=0, hint="after the last set comes set 0 again"),
        returns(130 * LINE + 5, LINE, SETS, result=2),
    ),
    (
        "First find the number of the line: how many whole lines lie before this address?",
        "That is address // line. Lines are dealt to the sets in turn, like cards.",
        "Dealing in turn means: the remainder of the line's number after division by sets.",
    ),
    "return address // line % sets",
)

place_in_panels = Blank(
    asks(
        called,
        returns(0, 0, 4, result=(0, 0, 0)),
        returns(0, 5, 4, result=(1, 0, 1), hint="column 5 is the second one of the second panel"),
        returns(7, 2, 4, result=(0, 7, 2), hint="inside a panel, row k stays row k"),
        returns(3, 11, 4, result=(2, 3, 3)),
    ),
    (
        "Which panel is column n in, if the first `width` columns make panel 0?",
        "The panel is n // width, and the row stays k. What is left of n inside its panel?",
        "The place inside the panel is the remainder: n % width. Return the three numbers in the "
        "order panel, row, place.",
    ),
    "return n // width, k, n % width",
)
