"""Counts of the lesson, and the sentences that follow from its measurements."""

from __future__ import annotations

import mmap
import statistics
from collections.abc import Callable, Mapping, Sequence

import numpy as np
import psutil

from mlc_course.drawing import PAGE_INK, PAGE_OURS, document, line, rect, text
from mlc_course.machine import describe
from mlc_course.measure import Comparison
from mlc_course.tensor_program.problems import Array
from mlc_course.units import milliseconds, size_text
from mlc_course.words import tr

Call = Callable[[], object]
NEAR = 0.1  # a ratio that is wrong by less is called right
ASSUMED = 8 << 20  # bytes of the largest cache, where the system does not tell
MOST = 256 << 20  # bytes of the sweep


# --- the first call -------------------------------------------------------------------------------


def page_faults() -> int:
    """Return the number of page faults of this process so far."""
    try:
        import resource
    except ImportError:  # Windows
        return int(getattr(psutil.Process().memory_info(), "num_page_faults", 0))
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt


def untouched(like: Array) -> Array:
    """An array of this size and type, in memory that the system has only promised so far."""
    return np.frombuffer(mmap.mmap(-1, like.nbytes), like.dtype).reshape(like.shape)


def where_faults_are(faults: Sequence[int]) -> str:
    """Return the answer of the prediction: the calls in which the system handed out pages."""
    if faults[0] > 2 * max(faults[1:]):
        return tr("in the first call")
    return tr("in every call, about as many")


# --- two times, two ratios ------------------------------------------------------------------------


def two_times(first: Sequence[float], second: Sequence[float]) -> str:
    """Say what the medians of two runs of the same call are, and how far apart they are."""
    quiet, busy = statistics.median(first), statistics.median(second)
    apart = max(quiet, busy) / min(quiet, busy)
    return tr(
        "NumPy took {first}\nNumPy took {second}\n"
        "The same product: one median is {ratio:.2f} times the other.",
        first=milliseconds(quiet),
        second=milliseconds(busy),
        ratio=apart,
    )


def neither(first: Sequence[float], second: Sequence[float]) -> str:
    """Answer the lesson's question with the reader's own two times."""
    quiet, busy = (milliseconds(statistics.median(each)) for each in (first, second))
    return tr(
        "Neither {first} nor {second} is NumPy's time: each belongs to its moment.",
        first=quiet,
        second=busy,
    )


def verdict(claimed: float, calm: float) -> str:
    """Return the answer of the prediction: how far a ratio is from that of a calm comparison."""
    if abs(claimed / calm - 1) <= NEAR:
        return tr("within 10 % of the calm ratio")
    return tr("more than 10 % too high") if claimed > calm else tr("more than 10 % too low")


def moved(calm: Comparison, crowded: Comparison) -> dict[str, float]:
    """Return the relative change of each figure between two comparisons."""
    figures: dict[str, Callable[[Comparison], float]] = {
        tr("mean of ours"): lambda each: statistics.mean(each.timing.seconds),
        tr("median of ours"): lambda each: each.timing.median_s,
        tr("best of ours"): lambda each: each.timing.best_s,
        tr("NumPy / ours"): lambda each: each.ratio,
    }
    return {name: figure(crowded) / figure(calm) - 1 for name, figure in figures.items()}


def moved_said(changes: Mapping[str, float]) -> str:
    """Say which figure moved least, and which most."""
    order = sorted(changes, key=lambda name: abs(changes[name]))
    least, most = order[0], order[-1]
    return tr(
        "Least: {least}, {little:+.0%}. Most: {most}, {much:+.0%}.",
        least=least,
        little=changes[least],
        most=most,
        much=changes[most],
    )


WIDTH, LABELS, ROW = 720, 150, 34


def moved_svg(changes: Mapping[str, float]) -> str:
    """Draw how far each figure moved, as bars from zero on one scale."""
    low, high = min(0.0, *changes.values()), max(0.1, *changes.values())
    scale = (WIDTH - LABELS - 150) / (high - low)
    zero = LABELS + 60 - scale * low
    parts = []
    for place, (name, change) in enumerate(changes.items()):
        y = 8 + ROW * place
        ratio = name == tr("NumPy / ours")
        left, wide = min(zero, zero + scale * change), abs(scale * change)
        parts.append(text(LABELS - 8, y + 18, name, size=14, anchor="end", bold=ratio))
        parts.append(rect(left, y, max(wide, 1), 24, fill=PAGE_OURS, line=0, round_by=0))
        at = max(zero, zero + scale * change) + 8
        parts.append(text(at, y + 18, f"{change:+.0%}", size=14, bold=ratio, anchor="start"))
    bottom = 8 + ROW * len(changes)
    parts.append(line((zero, 2), (zero, bottom), colour=PAGE_INK))
    said = tr("change of the figure when neighbours came, % of its calm value")
    parts.append(text(LABELS, bottom + 18, said, size=13, anchor="start"))
    spoken = ", ".join(f"{name} {change:+.0%}" for name, change in changes.items())
    return document(
        WIDTH, bottom + 26, tr("How far each figure moved: {figures}", figures=spoken), parts
    )


# --- roofs and caches -----------------------------------------------------------------------------


def floor_said(best_s: float, floor_s: float) -> str:
    """Compare a best time with its floor."""
    both = {"best": milliseconds(best_s), "floor": milliseconds(floor_s)}
    if best_s < floor_s:
        return tr(
            "our best is {best}, the floor {floor}: impossible. A neighbour spoiled the roof; "
            "measure it again.",
            **both,
        )
    return tr(
        "our best is {best}, the floor {floor}: {ratio:.2f} times the floor.",
        **both,
        ratio=best_s / floor_s,
    )


def addition() -> tuple[Call, int]:
    """An addition whose arrays fill half of the second-level cache, and their bytes."""
    size = (describe().l2_bytes or ASSUMED // 16) // 4  # of each of the two arrays
    v = np.ones(size // 4, dtype=np.float32)
    total = np.empty_like(v)
    return lambda: np.add(v, v, out=total), 2 * size


def sweep() -> tuple[Call, int]:
    """A call that reads an array larger than the caches, up to ``MOST``, and its bytes."""
    size = min(2 * (_largest() or ASSUMED), MOST)
    array = np.ones(size // 4, dtype=np.float32)
    return array.sum, size


def _largest() -> int:
    return max(describe().l2_bytes, describe().l3_bytes)


def cold_said(small: int, large: int) -> str:
    """Say what must have left the caches, counted in bytes before anything is timed."""
    second, largest = describe().l2_bytes or ASSUMED // 16, _largest() or ASSUMED
    sizes = {
        "small": size_text(small),
        "second": size_text(second),
        "large": size_text(large),
        "largest": size_text(largest),
    }
    start = tr(
        "The addition uses {small}; your second-level cache holds {second}.\n"
        "The sweep reads {large}; your largest cache holds {largest}.\n",
        **sizes,
    )
    if large > largest:
        return start + tr("After the sweep, the addition's arrays are no longer in any cache.")
    return start + tr(
        "After the sweep, the addition's arrays are no longer in the second-level cache."
    )


def longer(alone_s: float, between_s: float) -> str:
    """Return the answer of the prediction: how much longer a call takes after the sweep."""
    ratio = between_s / alone_s
    if ratio < 1.2:
        return tr("as long as before, within 20 %")
    return tr("1.2 to 3 times as long") if ratio < 3 else tr("3 times as long or more")
