"""Lines of a kernel's text, each with the equations of the graph that it comes from.

The text has comments: the lines below ``# xg = mul of x, g`` compute xg. A value without a comment
of its own is computed inside another one's lines: squares and sums in those of their accumulator.
The lines of a load are the copies into its tile.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from mlc_course.mugraph.ir import KernelGraph

GRID, LOOP = "grid", "loop"  # of no value: what the head of a block graph says
REMARK = re.compile(r"^\s*(?:#|//) (\w+)(?: = |: )")
REASON = re.compile(r"^\s*(?:#|//) \w+: .* wavefronts")
COPY = re.compile(r"^\s*copy(?:_async<\d+>\()? ?(\w+)")
DECLARED = re.compile(r"^\s*(?:shared|registers|private|(?:half|float)\*? (?:const )?)\s*(\w+)")
SUFFIX = re.compile(r"_(?:share|lanes|part|parts|panel|\d+)$")
DEFINES = re.compile(r"^\s*(\w+) = (\w+)\((.*)\)$")
OPTION = re.compile(r"\b\w+=(\{[^}]*\}|[^,]+)")  # of an operator: imap={x: 0}, by=1/d
BLOCKS = re.compile(r"^\s*(?:blocks |const int block_\w+ = )")
KERNEL_LOOP = re.compile(r"^(?:  )(?:for (\w+) < \d+:|for \(int (\w+) = 0;)")


@dataclass(frozen=True)
class Line:
    """A line of text, and the names of the equations that it comes from."""

    text: str
    of: tuple[str, ...]


def graph_lines(graph: KernelGraph) -> list[Line]:
    """Return the lines of a graph, each with what it defines; the block's head has its axes."""
    found = []
    for text in str(graph).splitlines():
        head = text.lstrip().startswith("block ")
        made = DEFINES.match(text)
        found.append(Line(text, (GRID, LOOP) if head else (made[1],) if made else ()))
    return found


def kernel_lines(graph: KernelGraph, text: str) -> list[Line]:
    """Return the lines of a kernel's text, in the course's form or in C, with where they are from.

    The kernel is that of a graph with one block graph.
    """
    made = dict(_definitions(graph))
    loops = {axis for _, block in graph.blocks for axis, _ in block.loops}
    lines = text.splitlines()
    told = {match[1] for match in map(REMARK.match, lines) if match and match[1] in made}
    told |= {match[1] for match in map(COPY.match, lines) if match and match[1] in made}
    found, region, depth = [], "", 0
    for line in lines:
        indent = len(line) - len(line.lstrip())
        is_remark = line.lstrip().startswith(("# ", "// "))
        if is_remark or (line.strip() and indent < depth):
            remark = None if REASON.match(line) else REMARK.match(line)
            region = remark[1] if remark and remark[1] in made else ""
            depth = indent
        names = dict.fromkeys(_sources(line, region, made, told, loops))
        found.append(Line(line, tuple(names)))
    return found


def _sources(
    line: str, region: str, made: dict[str, tuple[str, ...]], told: set[str], loops: set[str]
) -> Iterator[str]:
    """Yield the equations that a line comes from; those computed in its lines come after it."""
    if BLOCKS.match(line):
        yield GRID
        return
    loop = KERNEL_LOOP.match(line)
    if loop and _is_one_of(loop[1] or loop[2], loops):
        yield LOOP
        return
    if line.strip() in ("barrier", "__syncthreads();", "}"):
        return
    copied, declared = COPY.match(line), DECLARED.match(line)
    name = region
    if REASON.match(line) and (reason := REMARK.match(line)):
        name = _base(reason[1], made)
    if copied and copied[1] in made:
        name = copied[1]
    elif declared and not region:
        name = _base(declared[1], made)
    if name:
        yield name
        yield from _inside(name, made, told)


def _is_one_of(number: str, loops: set[str]) -> bool:
    """Tell whether it counts a loop of the graph; where a tensor has its name, it is ``k_2``."""
    return number in loops or SUFFIX.sub("", number) in loops


def _base(name: str, made: dict[str, tuple[str, ...]]) -> str:
    while name not in made and SUFFIX.search(name):
        name = SUFFIX.sub("", name)
    return name if name in made else ""


def _inside(name: str, made: dict[str, tuple[str, ...]], told: set[str]) -> Iterator[str]:
    """Yield the values that are computed within the lines of another one."""
    for operand in made[name]:
        if operand in made and operand not in told:
            yield operand
            yield from _inside(operand, made, told)


def _definitions(graph: KernelGraph) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield each value that a line of a graph defines, with its operands."""
    for text in str(graph).splitlines():
        made = DEFINES.match(text)
        if made:
            yield made[1], tuple(re.findall(r"\b[A-Za-z_]\w*\b", OPTION.sub("", made[3])))


def words(lines: Sequence[Line], name: str) -> str:
    """Say which lines come from an equation, in numbers from 1."""
    numbers = [n for n, line in enumerate(lines, 1) if name in line.of]
    if not numbers:
        return f"{name}: no line of the kernel."
    runs: list[list[int]] = []
    for n in numbers:
        if runs and n == runs[-1][1] + 1:
            runs[-1][1] = n
        else:
            runs.append([n, n])
    said = [str(a) if a == b else f"{a} to {b}" for a, b in runs]
    return f"{name}: line{'s' * (len(numbers) > 1)} {', '.join(said)} of the kernel."
