"""What lesson 12 says, held against what its own figures say."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

NUMBER = r"(\d+\.\d+)"


def faults(said: Mapping[str, str]) -> Iterator[str]:
    """Yield what the cells printed and is not so."""
    yield from _permission(said["permit-designs"], said["permit-reveal"])
    yield from _search(said["evolve-race"])
    yield from _model(said["model-saves"])
    yield from _gene(said["break-dead-gene"])
    yield from _recordings(said["explain-best"], said["end-sentence"])


def _permission(designs: str, revealed: str) -> Iterator[str]:
    """No design packs B as it comes, and every one does once that is permitted."""
    counts = re.findall(r"packed in (\d+) of (\d+) designs", designs)
    if len(counts) != 2:
        yield "permit-designs: two lists of designs are counted"
        return
    (none, first), (every, second) = counts
    if int(none) or every != second or int(first) < 3:
        yield f"permit-designs: B is packed in {none} of {first}, then in {every} of {second}"
    if "none, until you permit it; then all of them" not in revealed:
        yield "permit-reveal: no design before, all of them after"


def _search(text: str) -> Iterator[str]:
    """A child is called faster only where its middle is higher."""
    found = re.search(
        rf"middle child \({NUMBER}\) is (faster|no faster) than .* draw \({NUMBER}\)", text, re.S
    )
    if not found:
        yield "evolve-race: the middles are compared"
    elif (found[2] == "faster") != (float(found[1]) > float(found[3])) and found[1] != found[3]:
        yield f"evolve-race: {found[0]}"
    bests = re.search(rf"best of 16: evolving {NUMBER}, blind {NUMBER}", text)
    if not bests or min(map(float, bests.groups())) <= 0:
        yield "evolve-race: 16 trials of each are compared"


def _model(text: str) -> Iterator[str]:
    """The model's choice is praised only where it beats the mean of a blind one."""
    found = re.search(
        rf"best of the model's 6: {NUMBER} x, (better|no better) than .*\({NUMBER} x", text
    )
    if not found:
        yield "model-saves: six trials are compared with six chosen blindly"
    elif (found[2] == "better") != (float(found[1]) > float(found[3])) and found[1] != found[3]:
        yield f"model-saves: {found[0]}"
    shares = re.search(r"(\d+)% of the trials and (\d+)% of the time", text)
    if not shares or int(shares[2]) > int(shares[1]):
        yield "model-saves: what the model leaves out takes longest"


def _gene(text: str) -> Iterator[str]:
    if "same program: True" not in text or "is the same program as before" not in text:
        yield "break-dead-gene: the gene is dead on every machine"


def _recordings(best: str, ending: str) -> Iterator[str]:
    """The sentence at the end has the bests of the table, and packing is above the others."""
    tops = {
        line.split("  ")[0].strip(): float(first[1])
        for line in best.splitlines()
        if (first := re.search(rf"best three {NUMBER}", line))
    }
    told = re.search(rf"{NUMBER} x NumPy without panels in the space, {NUMBER} x with", ending)
    if not told or len(tops) != 4:
        yield "end-sentence: four searches are told"
        return
    others = max(ratio for name, ratio in tops.items() if not name.startswith("packing"))
    packing = next(ratio for name, ratio in tops.items() if name.startswith("packing"))
    if (float(told[1]), float(told[2])) != (others, packing):
        yield f"end-sentence: it is {others} without and {packing} with panels"
    if packing <= others:
        yield "explain-best: the space with panels has the best program"
    if "a fifth" not in best:
        yield "explain-best: the best of forty tilings is near a fifth on every recorded machine"
