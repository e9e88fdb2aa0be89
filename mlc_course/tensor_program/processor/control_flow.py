"""Basic blocks of LLVM's assembly, and the loops among them.

Source: A. Aho et al., Compilers, 2nd edition, sections 8.4 and 9.6.
"""

from __future__ import annotations

import re
from collections.abc import Sequence, Set
from dataclasses import dataclass
from functools import cached_property

FUNCTION = re.compile(r"\.cfi_startproc(.*?)\.cfi_endproc", re.DOTALL)
LABEL = re.compile(r"^(\.?LBB\d+_\d+):")
JUMP = re.compile(r"^\w.*?(\.?LBB\d+_\d+)$")
NO_WAY_ON = re.compile(r"(jmpq?|b|br|retq?|ud2|brk)\b(?!\.)")  # what follows is not run next


@dataclass(frozen=True, eq=False)
class Function:
    """The basic blocks of one function: only the last instruction of a block jumps.

    ``successors`` are the numbers of the blocks that may run after each.
    """

    blocks: tuple[tuple[str, ...], ...]
    successors: tuple[frozenset[int], ...]

    @property
    def listing(self) -> tuple[str, ...]:
        """All its instructions."""
        return tuple(each for block in self.blocks for each in block)

    @cached_property
    def loops(self) -> dict[int, set[int]]:
        """The blocks of each loop, by the block at which it is entered."""
        return natural_loops(self.successors)

    def before(self, block: int) -> list[int]:
        """The blocks after which this one may run."""
        return [each for each, after in enumerate(self.successors) if block in after]

    def instructions(self, blocks: Set[int]) -> tuple[str, ...]:
        return tuple(each for block in sorted(blocks) for each in self.blocks[block])


def functions(text: str) -> list[Function]:
    """The functions of a listing for x86-64 or AArch64."""
    return [_function(each) for each in FUNCTION.findall(text)]


def _function(text: str) -> Function:
    blocks: list[list[str]] = [[]]
    places: dict[str, int] = {}
    for line in text.splitlines():
        if label := LABEL.match(line):
            blocks.append([])
            places[label[1]] = len(blocks) - 1
        elif line[:1].isspace() and line.strip() and line.lstrip()[0] not in ".#;/":
            blocks[-1].append(" ".join(line.split()))  # one space for each tab
            if JUMP.match(blocks[-1][-1]):
                blocks.append([])
    successors = []
    for place, block in enumerate(blocks, start=1):
        last = block[-1] if block else ""
        follow = {place} if place < len(blocks) and not NO_WAY_ON.match(last) else set()
        target = {places[jump[1]]} if (jump := JUMP.match(last)) else set()
        successors.append(frozenset(follow | target))
    return Function(tuple(map(tuple, blocks)), tuple(successors))


def natural_loops(successors: Sequence[Set[int]]) -> dict[int, set[int]]:
    """The blocks of each loop, by its head, where block 0 is the entry.

    The head of a loop dominates a block that jumps back to it: every path from the entry to that
    block goes through the head. Blocks that no path reaches belong to no loop.
    """
    reached, waiting = {0}, [0]
    while waiting:
        new = set(successors[waiting.pop()]) - reached
        reached |= new
        waiting += new
    nodes = sorted(reached)
    before = {node: [each for each in nodes if node in successors[each]] for node in nodes}
    dominators = {node: set(nodes) for node in nodes} | {0: {0}}
    changed = True
    while changed:
        changed = False
        for node in nodes[1:]:
            found = set(nodes).intersection(*(dominators[each] for each in before[node])) | {node}
            changed |= found != dominators[node]
            dominators[node] = found
    loops: dict[int, set[int]] = {}
    for tail in nodes:
        for head in successors[tail] & dominators[tail]:
            inside, waiting = loops.setdefault(head, {head}), [tail]
            while waiting:
                if (node := waiting.pop()) not in inside:
                    inside.add(node)
                    waiting += before[node]
    return loops
