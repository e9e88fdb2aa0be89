"""How many instructions of a hot loop wait for each other: the chain behind a sum.

A processor starts several additions in a cycle, but the result of one is there some cycles later.
What adds to that result has to wait. The longest such chain is a lower bound on the time of one
turn of the loop, whatever else the processor can do at the same time.
"""

from __future__ import annotations

import re

from mlc_course.tensor_program.assembly import Assembly

OPERANDS = re.compile(r", (?![^(\[]*[)\]])")  # not the commas inside an address
REGISTER = re.compile(r"%[xyz]mm(\d+)|\b[vqdsz](\d+)\b")
# Multiply-adds that add to their destination: all of x86's; of ARM's, those without a fourth name.
ADDS_TO = re.compile(r"vfn?m|fn?m(l[as]|ad|sb)\b")
PAIR = re.compile(r"ldp\b")


def longest_chain(found: Assembly) -> int:
    """Of the arithmetic in one turn of the hot loop, the most that must run one after the other."""
    waits: dict[str, int] = {}  # register -> how many instructions its value has behind it
    for text, does in zip(found.hot_loop, found.kinds, strict=True):
        arithmetic = "arithmetic" in does
        written, read = _registers(text, arithmetic=arithmetic)
        behind = max((waits.get(each, 0) for each in read), default=0) + arithmetic
        waits.update(dict.fromkeys(written, behind))
    return max(waits.values(), default=0)


def _registers(instruction: str, *, arithmetic: bool) -> tuple[list[str], list[str]]:
    """The vector registers that an instruction writes, and those that it reads."""
    name, _, rest = instruction.partition(" ")
    operands = OPERANDS.split(rest)
    if "%" in instruction:  # x86: the destination is the last one, if that is a register
        *sources, target = operands
        targets = [] if "(" in target else [target]
        if arithmetic and (ADDS_TO.match(name) or len(operands) == 2):
            sources = operands
        return _numbers(targets), _numbers(sources if targets else operands)
    if name.startswith("st"):
        return [], _numbers(operands)
    count = 2 if PAIR.match(name) else 1
    sources = operands if ADDS_TO.match(name) else operands[count:]
    return _numbers(operands[:count]), _numbers(sources)


def _numbers(operands: list[str]) -> list[str]:
    return [found[1] or found[2] for each in operands for found in REGISTER.finditer(each)]
