"""What lesson 19 says of barriers, banks, bytes and checks, held against what its cells counted."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

NUMBER = r"([\d,]*\d)"
ITERATIONS = 32


def faults(said: Mapping[str, str]) -> Iterator[str]:
    without = re.findall(r"without barrier \d: (\w+)", said["barriers-each"])
    if "None" in without or "with all three: None" not in said["barriers-each"]:
        yield f"each of the three barriers is needed: {said['barriers-each'][:300]}"
    inside = len(without) - 1  # one is behind the loop
    if f"{inside} barriers ({inside})" not in said["barriers-reveal"]:
        yield f"{inside} barriers in an iteration: {said['barriers-reveal']}"
    before, now = whole_numbers(said["banks-reveal"], NUMBER + ".* plain rows, " + NUMBER)
    if now >= before:
        yield f"layouts save no wavefronts: {before} and {now}"
    for number in (before, now, inside * ITERATIONS + 1):
        if not re.search(rf"\b{number:,}\b", said["end-sentence"]):
            yield f"{number:,} is missing at the end: {said['end-sentence']}"
    loaded = [float(each) for each in re.findall(r"load ([\d.]+) MB", said["grid-reveal"])]
    if not 0.5 < loaded[1] / loaded[0] < 1:
        yield f"a wider tile loads less, and not half: {loaded}"
    rows = said["broken-all"].strip().splitlines()
    harmless = [row for row in rows if row.endswith("nothing: it is right")]
    if len(rows) != 7 or len(harmless) != 1 or "numbers differ" in harmless[0]:
        yield f"one of seven changes is right: {said['broken-all']}"
    shown = sum("numbers differ" in row for row in rows)
    if f"Of 6 mistakes, numbers alone showed {shown};" not in said["end-sentence"]:
        yield f"numbers show {shown} of 6: {said['end-sentence']}"


def whole_numbers(text: str, pattern: str) -> list[int]:
    found = re.search(pattern, text)
    return [int(each.replace(",", "")) for each in found.groups()] if found else [0, 0]
