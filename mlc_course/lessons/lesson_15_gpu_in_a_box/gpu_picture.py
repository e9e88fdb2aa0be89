"""A picture of a GPU: device memory, level 2 cache, multiprocessors, and the blocks they hold."""

from __future__ import annotations

from collections.abc import Iterator

from mlc_course.drawing import AMBER, GREEN, PAGE_OURS, PAGE_PAPER, PAGE_TINT, document, rect, text
from mlc_course.mugraph.cost import Target
from mlc_course.mugraph.kernels import WARP

WIDE, MARGIN = 980.0, 14.0
# Of a multiprocessor of compute capability 8.0 and 9.0 (NVIDIA, CUDA C++ Programming Guide).
THREADS_PER_SM = 2048
SHOWN = 3  # multiprocessors that are drawn, of all
UNIT, GAP = 300.0, 26.0


def gpu_svg(machine: Target, *, blocks: int, threads: int, shared_bytes: int) -> str:
    """Draw a GPU with the blocks of a grid on it, as many as its shared memory has room for.

    ``blocks`` has the grid, each of ``threads`` threads and ``shared_bytes`` of shared memory.
    """
    resident = resident_blocks(machine, threads, shared_bytes)
    said = gpu_words(machine, blocks=blocks, threads=threads, shared_bytes=shared_bytes)
    parts = [
        text(MARGIN, 24, f"A GPU ({machine.name.upper()})", bold=True, anchor="start"),
        rect(MARGIN, 36, WIDE - 2 * MARGIN, 40, fill=PAGE_TINT),
        text(WIDE / 2, 61, f"device memory: every array, {_rate(machine.memory_bytes_per_s)}"),
        rect(MARGIN, 92, WIDE - 2 * MARGIN, 34, fill=PAGE_PAPER),
        text(WIDE / 2, 114, f"level 2 cache, for all: {_rate(machine.near_bytes_per_s)}"),
    ]
    for number in range(SHOWN):
        parts += _multiprocessor(number, machine, resident, threads, shared_bytes)
    more = machine.multiprocessors - SHOWN
    parts.append(
        text(WIDE - MARGIN, 382, f"and {more} more multiprocessors", size=14, anchor="end")
    )
    return document(WIDE, 394, said, parts)


def resident_blocks(machine: Target, threads: int, shared_bytes: int) -> int:
    """Return how many blocks a multiprocessor holds at a time: threads and memory are limited."""
    reserved = machine.shared_bytes_per_sm - machine.shared_bytes  # of each block, by the system
    room = machine.shared_bytes_per_sm // (shared_bytes + reserved)
    warps = -(-threads // WARP)
    return max(1, min(machine.blocks_per_sm, THREADS_PER_SM // (warps * WARP), room))


def gpu_words(machine: Target, *, blocks: int, threads: int, shared_bytes: int) -> str:
    """Return in words what the picture shows."""
    resident = resident_blocks(machine, threads, shared_bytes)
    at_once = resident * machine.multiprocessors
    when = "all at once" if blocks <= at_once else f"at most {at_once:,} of them at a time"
    return (
        f"{machine.multiprocessors} multiprocessors. A grid of {blocks:,} blocks runs {when}: a "
        f"block of {threads} threads is {-(-threads // WARP)} warps of {WARP}, and with "
        f"{shared_bytes:,} bytes of shared memory each, {resident} blocks are resident on a "
        "multiprocessor."
    )


def _rate(bytes_per_s: float) -> str:
    return f"{bytes_per_s / 1e12:.1f} TB/s at most"


def _multiprocessor(
    number: int, machine: Target, resident: int, threads: int, shared_bytes: int
) -> Iterator[str]:
    x = MARGIN + number * (UNIT + GAP)
    yield rect(x, 142, UNIT, 222, fill=PAGE_PAPER, stroke=PAGE_OURS, line=2)
    yield text(x + 10, 162, f"multiprocessor {number}", bold=True, anchor="start", size=14)
    shown = min(resident, 2)
    for which in range(shown):
        y = 172 + which * 82
        yield rect(x + 10, y, UNIT - 20, 74, fill=PAGE_TINT)
        block = number + which * machine.multiprocessors
        yield text(x + 18, y + 18, f"block {block}", anchor="start", size=14)
        yield text(x + UNIT - 18, y + 18, f"{-(-threads // WARP)} warps", anchor="end", size=14)
        for warp in range(min(8, -(-threads // WARP))):
            yield rect(x + 18 + warp * 33, y + 26, 29, 14, fill=PAGE_OURS, line=0.6, round_by=2)
        yield rect(x + 18, y + 48, UNIT - 36, 20, fill=AMBER, line=0.8)
        words = f"shared memory, {shared_bytes:,} bytes"
        yield text(x + UNIT / 2, y + 63, words, size=13, colour="#222221")
    if resident > shown:
        words = f"room for {resident - shown} more blocks"
        yield text(x + UNIT / 2, 354, words, size=13, colour=GREEN)
