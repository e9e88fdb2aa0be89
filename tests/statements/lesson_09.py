"""What lesson 9 says about its own numbers, held against numbers that are worked out here."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from printed import Printed

REGISTERS = re.compile(r"(\d+) registers of \d+ bits, which is W = (\d+) float32 each")
NUMBER = r"(\d+(?:\.\d+)?)"
ADDITION = re.compile(rf"^(\w+): {NUMBER} ns an addition", re.M)
CHAINS = re.compile(r"(\d+) lanes?, (\d+) additions, a chain of (\d+): (.*)")
EVERY = re.compile(rf"(\d+) sums? in +(\d+) registers? .*every {NUMBER} ns")
WAITING = re.compile(
    rf"Waiting, one takes {NUMBER} ns; at best one begins every {NUMBER} ns: about (\d+)"
)
WAIT = re.compile(r"(\d+) sums: +(\d+) additions wait")
TILE = re.compile(r"(\d+) x (\d+) +needs +(\d+) of (\d+) registers, +(\d+) spills(.*)")
RULE = re.compile(r"spills in (\d+) of (\d+) cases")
SLOWER = 1.2  # an addition is said to take so many times as long, or about as long
ERROR = re.compile(rf"sums: +(\d+)  error {NUMBER}e-(\d+)")


def faults(said: Mapping[str, str]) -> Iterator[str]:
    """Yield each statement of the lesson that its own counts deny."""
    yield from hook(said)
    yield from rounding(said)
    yield from chains(said)
    yield from needed(said)
    yield from waiting(said)
    yield from register_rule(said)


def machine(said: Mapping[str, str]) -> tuple[int, int]:
    """Return the vector registers and the lanes of the machine that the lesson ran on."""
    found = REGISTERS.search(said["hook-registers"])
    assert found, said["hook-registers"]
    return int(found[1]), int(found[2])


def hook(said: Mapping[str, str]) -> Iterator[str]:
    """The sentence tells the ratio of the two lines above it."""
    times = [Printed.of(ns) for _, ns in ADDITION.findall(said["hook-race"])]
    told = re.search(rf"takes {NUMBER} times as long|\({NUMBER} times\)", said["hook-race"])
    if len(times) != 2 or not told:
        yield "hook-race: no two times, or no sentence"
        return
    ratio = Printed.of(told[1] or told[2])
    if not ratio.may_be(times[0] / times[1]):
        yield f"hook-race: {told[0]!r} beside {times}"
    if bool(told[1]) != (ratio.least > SLOWER) and not ratio.may_be(SLOWER):
        yield f"hook-race: {told[0]!r} is said of {times}"


def rounding(said: Mapping[str, str]) -> Iterator[str]:
    """More sums have a smaller error exactly where the figures say so."""
    text = said["see-rounding-rows"]
    errors = [float(f"{a}e-{b}") for _, a, b in ERROR.findall(text)]
    if len(errors) != 3:
        yield f"see-rounding-rows: {len(errors)} errors in place of 3"
        return
    answer = "smaller" if errors[-1] < errors[0] else "larger"
    ratio = errors[-1] / errors[0]
    if not 0.75 < ratio < 1.3 and f"the error is {answer}" not in text:
        yield f"see-rounding-rows: {errors}, and not {answer!r}"


def chains(said: Mapping[str, str]) -> Iterator[str]:
    """In so many registers of sums there are as many chains; written out, a sum is still one."""
    _, lanes = machine(said)
    for line in said["chains-count"].splitlines():
        sums, found = re.search(r"(\d+) sums?", line), CHAINS.search(line)
        if not sums or not found:
            continue
        wide, total, chain, words = int(found[1]), int(found[2]), int(found[3]), found[4]
        if wide > max(int(sums[1]), 1):
            yield f"chains-count: {wide} lanes for {sums[1]} sums"
        expected = max(int(sums[1]) // lanes, 1)
        if total // chain != expected and int(sums[1]) <= 8 * lanes:
            yield f"chains-count: {total // chain} chains for {sums[1]} sums, not {expected}"
        if (chain == total) != ("each waits" in words):
            yield f"chains-count: {words!r} for a chain of {chain} in {total}"
    found = CHAINS.search(said["unroll-race"])
    if not found or found[2] != found[3] or found[1] != "1":
        yield f"unroll-race: one sum is one chain, not {found and found[0]!r}"


def needed(said: Mapping[str, str]) -> Iterator[str]:
    """The chains that are needed are the time that waits over the time between two starts."""
    _, lanes = machine(said)
    text = said["sums-measure"]
    every = {int(sums): float(ns) for sums, _, ns in EVERY.findall(text)}
    told = WAITING.search(text)
    if not told or lanes not in every:
        yield "sums-measure: no sentence about waiting"
        return
    alone, start, count = float(told[1]), float(told[2]), int(told[3])
    if abs(every[lanes] - alone) > 0.011:
        yield f"sums-measure: {alone} ns is not the time with {lanes} sums"
    least = min(ns for sums, ns in every.items() if sums >= lanes)
    if abs(least - start) > 0.011:
        yield f"sums-measure: {start} ns is not the least, {least}"
    if start > 0.05 and not alone / start * 0.8 - 1 <= count <= alone / start * 1.2 + 1:
        yield f"sums-measure: {count} chains for {alone} and {start} ns"


def waiting(said: Mapping[str, str]) -> Iterator[str]:
    """N / c + c additions of a row wait, for the 64 terms of the short rows."""
    found = WAIT.findall(said["lose-short"])
    if len(found) != 5:
        yield f"lose-short: {len(found)} rows in place of 5"
    for sums, told in found:
        if 64 // int(sums) + int(sums) != int(told):
            yield f"lose-short: {told} additions wait in {sums} sums"


def register_rule(said: Mapping[str, str]) -> Iterator[str]:
    """A tile's registers are counted rightly, and the rule's hits too."""
    (registers, lanes), right = machine(said), 0
    found = TILE.findall(said["tiles-rule"])
    for rows, columns, needs, have, spills, remark in found:
        vectors = int(columns) // lanes
        if int(needs) != int(rows) * vectors + vectors + 1 or int(have) != registers:
            yield f"tiles-rule: {rows} x {columns} needs {needs} of {have}"
        agrees = (int(needs) > int(have)) == (int(spills) > 0)
        right += agrees
        if agrees == ("otherwise" in remark):
            yield f"tiles-rule: {rows} x {columns}: {spills} spills, {remark!r}"
    told = RULE.search(said["tiles-rule"])
    if not told or (int(told[1]), int(told[2])) != (right, len(found)):
        yield f"tiles-rule: {told and told[0]!r}, and {right} of {len(found)} are"
