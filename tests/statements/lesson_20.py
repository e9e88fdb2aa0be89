"""What lesson 20 says of facts, kernels and guards, held against what its cells found."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

FOUND = {  # what a cell must say, whatever the machine
    "proof-combined": r"claim = 1 x \(a\*b == c\*d\) \+ 1 x .*claim = 1/2 x",
    "proof-ask": r"T == B\*S: proved.*T % S == 0: proved.*T == H: refuted by",
    "merge-levels": r"1 kernel.{0,12}\(1\)",
    "merge-facts": r"rests on B\*S == T.*\beq\s+\d+\s+2\b",
    "missing-plan": r"loop stores %3\s+loop stores %4",
    "code-kernel": r"\bx\[16\*\(\(4\*r \+ q\)\*H_by_16\).*\bv0\[16\*\(\(4\*r \+ q\)",
    "break-guard": r"admits 20: False.*60 of 60 floats are wrong; 12 were never written",
    "break-facts": r"a constraint does not hold.*P == Q",
}


def faults(said: Mapping[str, str]) -> Iterator[str]:
    for cell, pattern in FOUND.items():
        if not re.search(pattern, said[cell], re.S):
            yield f"{cell}: {said[cell][:300]}"
    rows = said["merge-facts"]
    product, every = (re.search(rf"\b{at}\s+(\d+)\s+(\d+)", rows) for at in ("product", "all"))
    if not product or not every or product.groups() != every.groups():
        yield f"facts that are stated change the plan: {rows}"
    calls = [
        int(each.replace(",", "")) for each in re.findall(r"\d s\s+([\d,]+)", said["hook-lengths"])
    ]
    if len(calls) != 4 or min(calls) < 300:
        yield f"a compilation takes as long as few calls: {said['hook-lengths']}"
    short = [float(each) for each in re.findall(r"takes ([\d.]+) times", said["guards-reveal"])]
    if len(short) != 6:
        yield f"not the rows that end with three single floats: {said['guards-reveal']}"
    counted = re.findall(r"[\d,]+(?= as written| with facts)", said["code-divisions"])
    numbers = [int(each.replace(",", "")) for each in counted]
    if len(numbers) != 2 or not numbers[1] < numbers[0] / 100:
        yield f"facts save next to no divisions: {said['code-divisions']}"
        return
    sentence = " ".join(said["end-sentence"].split())
    left = f"and of {counted[0]} divisions that find elements {counted[1]} are left."
    if f"18 operators became 1 kernel, {left}" not in sentence:
        yield f"the last sentence has other numbers: {sentence}"
