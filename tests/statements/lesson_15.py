"""What lesson 15 says of its three transposes, held against counts that are made anew here."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

SIDE = 32  # of the matrix; a warp has as many threads
SECTOR_ELEMENTS = 8


def faults(said: Mapping[str, str]) -> Iterator[str]:
    along = SIDE * SIDE // SECTOR_ELEMENTS * 32  # bytes, where a warp reads or writes a row
    across = SIDE * SIDE * 32  # where it writes a column: a sector for each element
    moved = {"straight": along + across, "by_a_tile": 2 * along}
    for name, right in moved.items():
        if not re.search(rf"{name} +right: True, bytes moved: {right:,}\b", said["hook-run"]):
            yield f"{name} moves {right:,} bytes, and the lesson says {said['hook-run']}"
    times = moved["straight"] / moved["by_a_tile"]
    if f"fewer by a factor of {times:.1f}" not in said["measure-words"]:
        yield f"{times:.1f} times as many bytes: {said['measure-words']}"
    numbers = [int(each.replace(",", "")) for each in re.findall(r"[\d,]*\d", said["end-sentence"])]
    for right in (*moved.values(), 2 * SIDE, SIDE + SIDE * SIDE):
        if right not in numbers:
            yield f"{right:,} is missing at the end: {said['end-sentence']}"
    if "1,024 bytes" not in said["sectors-reveal"]:
        yield f"32 sectors of 32 bytes: {said['sectors-reveal']}"
