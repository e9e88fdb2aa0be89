"""The lines that the reader of lesson 3 writes, and how they are judged."""

from __future__ import annotations

from mlc_course.exercise import called, returns
from mlc_course.lessons.kit import Blank, asks

lines_touched = Blank(
    asks(
        called,
        returns([0, 4, 60], result=1, hint="bytes 0 to 63 are one line"),
        returns([0, 64, 128, 64], result=3, hint="a line that comes again is no new line"),
        returns([60, 64], result=2, hint="byte 64 begins the second line"),
        returns([62, 63], result=1, hint="byte 63 is the last one of the first line"),
        returns([4096 * row for row in range(50)], result=50, hint="here every address is far off"),
    ),
    (
        "Which line holds byte 130, if bytes 0 to 63 are line 0?",
        "Divide by 64 and drop the remainder: address // 64.",
        "A set, {... for address in addresses}, keeps each number once; len counts them.",
    ),
    "return len({address // 64 for address in addresses})",
)

under_way = Blank(
    asks(
        called,
        returns(64.0, 1.0, result=1.0, hint="64 bytes in 64 ns are 1 GB/s: one line at a time"),
        returns(100.0, 16.0, result=25.0, hint="in 100 ns, 16 GB/s deliver 1600 bytes"),
        returns(2.0, 160.0, result=5.0, hint="in 2 ns, 160 GB/s deliver 320 bytes"),
        returns(3.0, 16.0, result=0.75, hint="in 3 ns, 16 GB/s deliver 48 bytes: part of a line"),
    ),
    (
        "1 GB/s is one byte in a nanosecond. How many bytes arrive while one line is on its way?",
        "latency_ns * gb_per_s bytes. How many lines is that?",
        "A line has 64 bytes, so divide the bytes by 64.",
    ),
    "return latency_ns * gb_per_s / 64",
)

sets_reached = Blank(
    asks(
        called,
        returns([0, 64, 128], 64, result=3, hint="lines 0, 1 and 2 go to sets 0, 1 and 2"),
        returns([0, 4096, 8192], 64, result=1, hint="lines 0, 64 and 128 all go to set 0"),
        returns([0, 4, 8], 64, result=1, hint="these three bytes are in one line"),
        returns([4160 * row for row in range(32)], 16, result=16, hint="there are only 16 sets"),
    ),
    (
        "First find the line of each address, as in the blank above.",
        "The set is the remainder of the line's number after division by the number of sets.",
        "In Python the remainder is %: address // 64 % sets. Count the different ones.",
    ),
    "return len({address // 64 % sets for address in addresses})",
)
