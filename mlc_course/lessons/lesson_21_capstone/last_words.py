"""The last sentence of lesson 21, with what its cells counted."""

from __future__ import annotations

from collections.abc import Sequence
from textwrap import fill

from mlc_course.lessons.lesson_21_capstone.against_the_library import YOURS, Contest
from mlc_course.lessons.lesson_21_capstone.lesson_tilings import Candidate
from mlc_course.lessons.lesson_21_capstone.plain_programs import measured
from mlc_course.units import plural

WIDTH, FOLLOWS = 84, 1.1  # times as fast, from which on time is said to follow
TIME = {"less": "less time", "the same": "the same time within a tenth", "more": "more time"}


def follows(found: Contest) -> str:
    """Say whether time followed the bytes: "less", "the same" or "more"."""
    if found.gain >= FOLLOWS:
        return "less"
    return "the same" if found.gain > 1 / FOLLOWS else "more"


def last_sentence(
    tilings: Sequence[Candidate], fitting: Sequence[Candidate], found: Contest
) -> str:
    """Return the last sentence: what was tried, kept, and reached, and what it leaves."""
    before, after = measured(found.program), found.moved(YOURS)
    launches = f"{after.launches} launch{'es' * (after.launches != 1)}"
    return fill(
        "A superoptimizer needs five parts: it cuts a program into kernels, rewrites it, tiles "
        "each part, tests whether the result is equal, and counts what it moves. Of "
        f"{plural(len(tilings), 'tiling')} of one kernel {len(fitting)} fit into a block, and the "
        f"cheapest moves {after.bytes / before.bytes:.2f} of the bytes in {launches} in place of "
        f"{before.launches}; beside the program unfused, it takes {TIME[follows(found)]} on this "
        "machine. Mine finds only what its rewritings and tilings make.",
        WIDTH,
    )
