"""The last words of lesson 19, with what the lesson counted."""

from __future__ import annotations

from collections.abc import Mapping

from mlc_course.lessons.lesson_19_from_graph_to_code.changes import CHANGES, NOTHING, float_error
from mlc_course.lessons.lesson_19_from_graph_to_code.knobs import Form, form
from mlc_course.mugraph.box import Request
from mlc_course.mugraph.kernels import Buffer, evaluate

SEEN = 1e-6  # a larger error of the largest element is no rounding


def last_sentence(lowered: Form, caught: Mapping[str, str]) -> str:
    """Return the last sentence; ``caught`` says of each of ``CHANGES`` which check refuses it."""
    wrong = [name for name in CHANGES if caught[name] != NOTHING]
    shown = sum(float_error(lowered, name) > SEEN for name in wrong)
    bare = form(lowered.graph, "no swizzle").counts
    return (
        "A graph says what is computed on which tile. The lowering decides the rest, and each\n"
        f"decision has a reason that can be counted: {lowered.counts.waits} waits where values "
        "cross threads,\n"
        f"{lowered.counts.wavefronts:,} wavefronts instead of {bare.wavefronts:,} by layouts that "
        "keep threads out of each\n"
        "other's banks, and slots for the copies under way.\n"
        "You need not trust the kernel. A run without values checks races and bounds, and a run\n"
        "on finite fields checks what it computes.\n"
        f"Of {len(wrong)} mistakes, numbers alone showed {shown}; the two checks together refused\n"
        f"all {len(wrong)}, and accepted the change that "
        "is right."
    )


def column_of(tile: Buffer) -> Request:
    """Return the access of 32 threads that read 16 bytes each, from 16 rows and two chunks."""
    places = [evaluate(tile.flat((t % 16, 8 * (t // 16))), {}) for t in range(32)]
    return Request(tuple(2 * int(n) for n in places), 16, "shared")
