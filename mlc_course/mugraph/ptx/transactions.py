"""Transactions of a warp's access: wavefronts of the banks, sectors of global memory.

Shared memory has 32 banks of 4 bytes. One wavefront serves one word of each bank, to all lanes that
ask for it. Lanes with 4 bytes or less are served together, with 8 bytes one half of the warp after
the other, with 16 bytes, and so ``ldmatrix``, a quarter after the other. Of global memory, whole
sectors of 32 bytes are moved.
"""

from __future__ import annotations

import numpy as np

from mlc_course.mugraph.ir import Array

WARP, BANKS, WORD, SECTOR = 32, 32, 4, 32
LINE = 128  # bytes: all banks, four sectors
NOT_HERE = -1
MOST_KNOWN = 10_000


class Counter:
    """Transactions of accesses by a block's threads; a pattern that was counted is remembered.

    A pattern is where lanes access, from the line of memory of the first of them on.
    """

    def __init__(self, threads: int) -> None:
        self.threads = threads
        self.known: dict[tuple[str, int, bytes, bytes], tuple[int, int, int]] = {}

    def shared(self, lanes: Array, places: Array, size: int) -> tuple[int, int, int]:
        """Return the requests of warps, their wavefronts, and the fewest these could be."""
        return self._counted("shared", lanes, places, size)

    def of_global(self, lanes: Array, addresses: Array, size: int) -> tuple[int, int, int]:
        """Return the requests of warps, their sectors, and the fewest these could be."""
        return self._counted("global", lanes, addresses.astype(np.int64), size)

    def _counted(self, space: str, lanes: Array, places: Array, size: int) -> tuple[int, int, int]:
        base = int(places[0]) // LINE * LINE
        moved = places - base
        who = b"" if len(lanes) == self.threads else lanes.tobytes()
        key = space, size, who, moved.tobytes()
        found = self.known.get(key)
        if found is None:
            # Lanes may be below the first one: what is subtracted is a multiple of all units.
            moved -= int(moved.min()) // LINE * LINE
            lines = by_warp(lanes, moved, self.threads)
            count = wavefronts if space == "shared" else sectors
            found = (len(lines), *count(lines, size))
            if len(self.known) < MOST_KNOWN:
                self.known[key] = found
        return found


def by_warp(lanes: Array, addresses: Array, threads: int) -> Array:
    """Return the addresses of a block's threads, a line for each warp that takes part.

    A lane that does not has ``NOT_HERE``.
    """
    warps = -(-threads // WARP)
    whole = np.full(warps * WARP, NOT_HERE, np.int64)
    whole[lanes] = addresses
    lines = whole.reshape(warps, WARP)
    return lines if len(lanes) == warps * WARP else lines[(lines != NOT_HERE).any(axis=1)]


def wavefronts(addresses: Array, size: int) -> tuple[int, int]:
    """Return the wavefronts of requests, a line each, and the fewest for as many words."""
    per_lane = max(1, size // WORD)
    words = np.where(addresses == NOT_HERE, NOT_HERE, addresses // WORD)
    if per_lane > 1:
        spread = words[:, :, None] + np.arange(per_lane)
        words = np.where(words[:, :, None] == NOT_HERE, NOT_HERE, spread)
    phases = np.sort(words.reshape(-1, WARP), axis=1)  # 32 words are asked for in each
    new = _first_of_each(phases)
    bank = np.arange(len(phases))[:, None] * BANKS + (phases & (BANKS - 1))
    served = np.bincount(bank[new], minlength=len(phases) * BANKS).reshape(-1, BANKS)
    if per_lane > 1:
        new = _first_of_each(np.sort(phases.reshape(len(addresses), -1), axis=1))
    least = -(-new.sum(axis=1) // BANKS)
    return int(served.max(axis=1).sum()), int(least.sum())


def _first_of_each(ordered: Array) -> Array:
    """Where lines that are in order have a number for the first time."""
    new = np.ones(ordered.shape, bool)
    new[:, 1:] = ordered[:, 1:] != ordered[:, :-1]
    new &= ordered != NOT_HERE
    return new


def sectors(addresses: Array, size: int) -> tuple[int, int]:
    """Return the sectors of requests, a line each, and the fewest for as many bytes."""
    numbers = np.where(addresses == NOT_HERE, NOT_HERE, addresses // SECTOR)
    moved = _first_of_each(np.sort(numbers, axis=1)).sum()
    wanted = _first_of_each(np.sort(addresses, axis=1)).sum(axis=1) * size
    return int(moved), int((-(-wanted // SECTOR)).sum())
