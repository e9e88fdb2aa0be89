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
    new = np.ones(phases.shape, bool)
    new[:, 1:] = phases[:, 1:] != phases[:, :-1]
    new &= phases != NOT_HERE
    bank = np.arange(len(phases))[:, None] * BANKS + (phases & (BANKS - 1))
    served = np.bincount(bank[new], minlength=len(phases) * BANKS).reshape(-1, BANKS)
    different = new.reshape(len(addresses), -1).sum(axis=1)
    if per_lane > 1:
        different = np.array(
            [len(np.unique(each[each >= 0])) for each in words.reshape(len(addresses), -1)]
        )
    least = -(-different // BANKS)
    return int(served.max(axis=1).sum()), int(least.sum())


def sectors(addresses: Array, size: int) -> tuple[int, int]:
    """Return the sectors of requests, a line each, and the fewest for as many bytes."""
    numbers = np.sort(np.where(addresses == NOT_HERE, NOT_HERE, addresses // SECTOR), axis=1)
    new = np.ones(numbers.shape, bool)
    new[:, 1:] = numbers[:, 1:] != numbers[:, :-1]
    moved = int((new & (numbers != NOT_HERE)).sum())
    places = np.sort(addresses, axis=1)
    other = np.ones(places.shape, bool)
    other[:, 1:] = places[:, 1:] != places[:, :-1]
    wanted = (other & (places != NOT_HERE)).sum(axis=1) * size
    return moved, int((-(-wanted // SECTOR)).sum())
