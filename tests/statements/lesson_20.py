"""What lesson 20 says of facts, kernels and guards, held against what its cells found."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

FOUND = {  # what a cell must say, whatever the machine
    "proof-combined": r"claim = 1 x \(a\*b == c\*d\) \+ 1 x .*claim = 1/2 x",
    "proof-ask": r"T == B\*S: proved.*T % S == 0: proved.*T == H: refuted by",
    "merge-levels": r"1 kernel.{0,12}\(1\)",
    "merge-facts": r"rests on B\*S == T.*\beq\s+\d+\s+2\b",
    "missing-plan": r"loop stores \['%3'\].*loop stores \['%4'\]",
    "break-guard": r"admits 20: False.*in 3 rows of 20: 48\b",
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
    counted = re.findall(r"[\d,]+(?= as it is written| with facts)", said["code-divisions"])
    numbers = [int(each.replace(",", "")) for each in counted]
    if len(numbers) != 2 or not numbers[1] < numbers[0] / 100:
        yield f"facts save next to no divisions: {said['code-divisions']}"
        return
    sentence = " ".join(said["end-sentence"].split())
    if f"18 operators became 1 kernel, and {counted[0]} divisions of indices {counted[1]}." not in (
        sentence
    ):
        yield f"the last sentence has other numbers: {sentence}"
