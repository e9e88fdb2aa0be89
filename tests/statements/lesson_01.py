"""What lesson 1 says beside what is counted: bytes, lanes, loads, and who wins each race."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from mlc_course.lessons.lesson_01_primitive_tensor_functions import chains
from mlc_course.tensor_program.processor import assembly

ABOUT = 1.5  # on a busy machine, the interval of such a ratio may still hold 1
RESULTS = 4 * (200 + 200 + 200 + 10)  # bytes of P1, S1, H and P2 for one image


def faults(said: Mapping[str, str]) -> Iterator[str]:
    """Yield what does not fit in the text that each cell printed, by the cell's id."""
    yield from _bytes(said["transform-memory-count"], said["transform-by-hand"])
    yield from _folder(said["deploy-folder"], said["end-sentence"])
    yield from _winners(said["explain-winners"], said["end-sentence"])
    yield from _loops(said["explain-loops"], said["transform-add"], said["explain-hardware"])
    yield from _calls(said["explain-call-cost"])


def _bytes(counted: str, inlined: str) -> Iterator[str]:
    found = re.findall(r"([\d,]+) bytes between, +([\d,]+) inside", counted)
    totals = [_number(between) + _number(inside) for between, inside in found]
    if totals != [RESULTS, RESULTS]:
        yield f"bytes: {totals}, where fusing moves {RESULTS} and drops none"
    if "none" not in counted.split("\n", 2)[-1]:
        yield "bytes: fusing drops none, and the prediction is answered otherwise"
    before, after = map(_number, re.findall(r"inside: ([\d,]+) bytes, then ([\d,]+)", inlined)[0])
    if (before, after) != (1600, 800):
        yield f"bytes: inlining S leaves {after} of {before}, where it drops 800 of 1600"


def _folder(parts: str, end: str) -> Iterator[str]:
    total = float(re.findall(r"has ([\d.]+) MB", parts)[0])
    sizes = [float(size) for size in re.findall(r"^  .* ([\d.]+) MB$", parts, re.M)]
    if abs(sum(sizes) - total) > 0.1:
        yield f"folder: parts of {sum(sizes):.2f} MB, and {total} MB in all"
    if f"to {total:.1f} MB" not in end:
        yield f"folder: {total} MB, and the last cell says another size"


def _winners(winners: str, end: str) -> Iterator[str]:
    """Each sentence about a race, beside the ratios of the last cell."""
    ratios = re.findall(r"compiled as written ([\d.]+) x .*?([\d.]+) x NumPy's", end)
    sentences = [line.strip(" ;.") for line in winners.strip().splitlines()]
    for place, pair in enumerate(ratios):
        for name, ratio in (("five functions", pair[0]), ("the library", pair[1])):
            (sentence,) = (s for s in sentences[2 * place : 2 * place + 2] if name in s)
            first = sentence.split(": ")[-1].startswith(name)
            about = "about as fast" in sentence
            faster = float(ratio) > 1
            if not about and first != faster:
                yield f"race: {ratio} x NumPy's speed, and the sentence is {sentence!r}"
            if about and not 1 / ABOUT < float(ratio) < ABOUT:
                yield f"race: {ratio} x NumPy's speed is called about as fast"


def _loops(loops: str, add: str, hardware: str) -> Iterator[str]:
    """Counts of instructions, against those for the processor that the run names as its own."""
    named = re.findall(r"^(\S+), the last line, is yours", hardware, re.M)
    if not named:
        yield "lanes: this processor is not named"
        return
    _, five, fused, library = chains()
    for stage in (fused, library):
        counted = assembly(stage.functions[0].program, cpu=named[0])
        (line,) = (each for each in loops.splitlines() if each.startswith(stage.name))
        if f"{counted.lanes} float32 at a time" not in line:
            yield f"lanes: {counted.lanes} in {stage.name}, and the line is {line!r}"
        if f"{counted.loads} load" not in line:
            yield f"loads: {counted.loads} in {stage.name}, and the line is {line!r}"
    after = assembly(library.functions[0].program, cpu=named[0])
    if after.loads < 0.9 * after.histogram()["arithmetic"]:
        yield "loads: fewer than arithmetic instructions, and the text says about as many or more"
    if assembly(fused.functions[0].program, cpu=named[0]).lanes != 1 or after.lanes == 1:
        yield "lanes: not one before the reorder and several after it"
    lanes = assembly(five.functions[1].program, cpu=named[0]).lanes
    if f"works on {lanes} at a time" not in add:
        yield f"lanes: the machine code of add works on {lanes} at a time"


def _calls(told: str) -> Iterator[str]:
    share = int(re.findall(r"(\d+)% of that", told)[0])
    if share != 50 and ("mostly the price" in told) != (share > 50):  # 50 % may be 49.6 %
        yield f"calls: {share} % of the time, and the sentence says otherwise"


def _number(text: str) -> int:
    return int(text.replace(",", ""))
