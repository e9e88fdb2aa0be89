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
NOT_HERE = -1


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
