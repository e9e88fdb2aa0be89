"""The lines that the reader of lesson 4 writes, and how they are judged."""

from __future__ import annotations

from mlc_course.exercise import called, returns
from mlc_course.lessons.kit import Blank, asks

distance = Blank(
    asks(
        called,
        returns([7, 7], 0, 1, result=0, hint="nothing was used between the two uses of line 7"),
        returns([7, 1, 7], 0, 2, result=1, hint="line 1 was used in between"),
        returns([7, 1, 2, 1, 7], 0, 4, result=2, hint="lines 1 and 2: a line counts once"),
        returns([7, 1, 7, 2, 7], 2, 4, result=1, hint="only what came after the last use counts"),
    ),
    (
        "Which part of the list lies between the two uses? It begins after place `before`.",
        "lines[before + 1 : at] has all the uses in between. Some lines may be in it twice.",
        "A set keeps each line once, and len counts them.",
    ),
    "return len(set(lines[before + 1 : at]))",
)

misses = Blank(
    asks(
        called,
        returns(10, [5, 4, 3, 2], 4, result=10, hint="every distance is below 4: first uses only"),
        returns(10, [5, 4, 3, 2], 2, result=15, hint="with 2 lines, distances 2 and 3 miss"),
        returns(0, [0, 0, 6], 2, result=6, hint="a distance of 2 needs room for 3 lines"),
        returns(3, [1, 1, 1], 1, result=5, hint="with 1 line, only distance 0 hits"),
    ),
    (
        "Every first use misses. Which later uses miss as well?",
        "Those at a distance of lines or more: again[lines], again[lines + 1], ...",
        "That is the end of the list, again[lines:]. Add its sum to first.",
    ),
    "return first + sum(again[lines:])",
)

roof = Blank(
    asks(
        called,
        returns(0.5, 100.0, 20.0, result=10.0, hint="0.5 operations a byte, 20 bytes in a ns"),
        returns(50.0, 100.0, 20.0, result=100.0, hint="no program is faster than the peak"),
        returns(5.0, 100.0, 20.0, result=100.0, hint="here both limits are the same"),
    ),
    (
        "bandwidth is bytes in a ns. How many operations can be done with so many bytes?",
        "intensity * bandwidth operations in a ns. The peak is the other limit.",
        "Of two limits the lower one holds: min(..., ...).",
    ),
    "return min(peak, intensity * bandwidth)",
)
