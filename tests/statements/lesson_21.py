"""What lesson 21 says of cuts, tests, bytes and time, held against what its cells found."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from printed import Printed

FOUND = {  # what a cell must say, whatever the machine
    "data-lines": r"adds up d.*launches=6",
    "rewrite-late": r"Y = div\(product, rms\).*equal: a difference would be missed",
    "equal-wrong": r"right: passes 20 of 20",
    "equal-proof": r"right: equal.*wrong: different",
    "cheap-best": r"31 of 49 tilings fit",
    "cuts-reveal": r"\b32\b",
    "cheap-reveal": r"20 %",
}
# Kernels, megabytes, and times NumPy, which a long mark in brackets moves next to the megabytes.
SPEED = re.compile(r"^(yours|unfused) +\d+ +\d+\.\d *(\d+\.\d\d)", re.MULTILINE)
FOLLOWS = 1.1  # times as fast, from which on time is said to follow the bytes


def faults(said: Mapping[str, str]) -> Iterator[str]:
    for cell, pattern in FOUND.items():
        if not re.search(pattern, said[cell], re.S):
            yield f"{cell}: {said[cell][:300]}"
    passed = int(re.findall(r"wrong: passes (\d+) of 20", said["equal-wrong"])[0])
    if passed > 5:
        yield f"a test modulo 31 hardly tells: {said['equal-wrong']}"
    counted = [int(each) for each in re.findall(r"bytes=(\d+)", said["break-rooms"])]
    if not counted[1] > counted[2] > counted[3] > counted[0]:
        yield f"room in a block does not matter as the text says: {said['break-rooms']}"
    speeds = dict(SPEED.findall(said["race-run"]))
    gain = Printed.of(speeds["yours"]) / Printed.of(speeds["unfused"])
    sentence = " ".join(said["end-sentence"].split())
    words = {
        "less time": gain.may_exceed(FOLLOWS),
        "the same time": gain.may_be(Printed(1 / FOLLOWS, FOLLOWS)),
        "more time": Printed(0, 1 / FOLLOWS).may_be(gain),
    }
    told = next((each for each in words if f"it takes {each}" in sentence), "")
    if not told or not words[told]:
        yield f"{gain} times as fast, and the sentence says: {sentence}"
    if "in 1 launch in place of 6" not in sentence:
        yield f"the last sentence has other numbers: {sentence}"
