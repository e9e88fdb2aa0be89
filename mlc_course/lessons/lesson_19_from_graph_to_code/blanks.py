"""The lines that the reader of lesson 19 writes, and their judges."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from mlc_course.errors import UnmetCheck
from mlc_course.grading.checks import Examined, returns
from mlc_course.grading.process import called
from mlc_course.lessons.kit import Blank, asks

CHUNKS, ROWS, APART = 16, 16, 8


@dataclass(frozen=True)
class Spread:
    """An order of chunks in each row that puts a column of eight neighbouring rows apart."""

    kind: ClassVar[str] = "structure"

    def judge(self, answer: Examined) -> str:
        assert answer.call is not None
        places = [[answer.call(r, c) for c in range(CHUNKS)] for r in range(ROWS)]
        for r, row in enumerate(places):
            for c, place in enumerate(row):
                self._check_place(r, c, place)
            self._check_row(r, row)
        for c in range(CHUNKS):
            self._check_column(c, [row[c] for row in places])
        return "each row keeps its chunks, and eight rows of a column are in eight banks"

    def _check_place(self, r: int, c: int, place: object) -> None:
        if type(place) is not int or not 0 <= place < CHUNKS:
            raise UnmetCheck(
                f"row {r}, chunk {c}: not a place of this row",
                expected=f"a whole number from 0 to {CHUNKS - 1}",
                got=place,
            )

    def _check_row(self, r: int, row: Sequence[int]) -> None:
        for place in range(CHUNKS):
            here = [c for c in range(CHUNKS) if row[c] == place]
            if len(here) > 1:
                raise UnmetCheck(
                    f"row {r}: two chunks at place {place}",
                    expected="each chunk at a place of its own",
                    got=f"chunks {here[0]} and {here[1]}",
                )

    def _check_column(self, c: int, column: Sequence[int]) -> None:
        for first in range(0, ROWS, APART):
            seen: dict[int, int] = {}
            for r in range(first, first + APART):
                bank = column[r] % APART  # eight chunks of 16 bytes are all 32 banks
                if bank in seen:
                    raise UnmetCheck(
                        f"chunk {c} of rows {seen[bank]} and {r} is in the same banks",
                        expected="eight neighbouring rows in eight different banks",
                        got=f"places {column[seen[bank]]} and {column[r]}",
                        hint="places 8 apart are in the same banks",
                    )
                seen[bank] = r


crosses_threads = Blank(
    asks(
        called,
        returns([0, 1, 2, 3], [0, 1, 2, 3], result=False),
        returns([0, 1, 2, 3], [0, 1, 3, 2], result=True, hint="thread 3 reads element 2"),
        returns([5, 5], [5, 5], result=False, hint="a thread may write several elements"),
        returns([0, 1], [0, 0], result=True, hint="it is enough that one element crosses"),
        returns([7], [7], result=False),
    ),
    (
        "A barrier is needed as soon as one element has another reader than writer.",
        "Compare the two lists element by element. Python can compare them as a whole, too.",
        "return writer ... reader",
    ),
    "return writer != reader",
)
place_of_chunk = Blank(
    asks(called, Spread()),
    (
        "Row 0 may keep its order. In row 1 every chunk has to be somewhere else.",
        "Move the chunks of row r by r places. What happens to those that would leave the row?",
        "return (c + r) % ...",
    ),
    "return (c + r) % 16    # or c ^ (r % 8)",
)
