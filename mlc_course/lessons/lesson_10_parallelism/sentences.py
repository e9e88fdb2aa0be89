"""The sentences that the lesson prints, each computed from what was measured or counted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from mlc_course.measure import Comparison
from mlc_course.tensor_program.processor import Timeline, amdahl

ONE_CORE = "One core: two threads cannot be compared with one here."


def gain(found: Comparison) -> str:
    """Return what a speed-up on two threads means, if its whole interval is on one side of 1."""
    low, high = found.interval
    if low > 1:
        return f"two threads are {found.ratio:.2f} times as fast as one"
    if high < 1:
        return f"two threads are slower than one ({found.ratio:.2f} x)"
    return "no clear difference between two threads and one in this run"


def gains(found: Mapping[str, Comparison]) -> str:
    """Return a line for each program; one line alone where there is one core."""
    if _one_core(found):
        return ONE_CORE
    return "\n".join(f"{name}: {gain(each)}" for name, each in found.items())


def break_even(found: Mapping[int, Comparison]) -> str:
    """Return from which number of rows on two threads won."""
    if any(each.timing.name == each.baseline.name for each in found.values()):
        return ONE_CORE
    wins = [rows for rows, each in found.items() if each.interval[0] > 1]
    loses = [rows for rows, each in found.items() if each.interval[1] < 1]
    if not wins:
        return "Two threads clearly win at none of these sizes: is your second core busy?"
    if loses and min(wins) < max(loses):
        return "Gains and losses alternate: a neighbour disturbs this. Run the cell again."
    return f"Two threads win from {min(wins):,} rows on."


def starts(once_s: float, often_s: float, count: int, work: int) -> str:
    """Return the price of a start, and what a core computes meanwhile.

    The same ``work`` in multiply-adds took ``once_s`` with one start, ``often_s`` with ``count``.
    """
    each = (often_s - once_s) / (count - 1)
    return (
        f"{1e6 * each:.1f} µs for each start; "
        f"meanwhile the outer program does {work * each / once_s:,.0f} multiply-adds"
    )


def lost(found: Sequence[float], right: float) -> str:
    """Return how many runs of the racing program lost additions."""
    wrong = [each for each in found if each != right]
    if not wrong:
        return f"right in all {len(found)} runs, although there is a race"
    return (
        f"wrong in {len(wrong)} of {len(found)} runs; the smallest S[0] is {min(found):,.0f}, "
        f"the right one {right:,.0f}"
    )


def rule_of_amdahl(name: str, serial: float, ratio: float, workers: int) -> str:
    """Return a measured speed-up beside the largest one that the serial share allows."""
    bound = amdahl(serial, workers)
    return (
        f"{name:<9} {serial:6.1%} serial: at most {bound:.2f} x on {workers} threads, "
        f"measured {ratio:.2f} x"
    )


def cure(before: Comparison, after: Comparison) -> str:
    """Return whether the fused program gained more from a second thread than the other."""
    if after.interval[0] > before.interval[1]:
        return "With exp inside the parallel loop, the second thread brings more."
    if after.interval[1] < before.interval[0]:
        return (
            "The serial share is gone and the gain is smaller: something else holds the workers up."
        )
    return "No clear difference in this run: something other than the serial share costs time."


def crowded(quiet: Mapping[str, Comparison], busy: Mapping[str, Comparison]) -> str:
    """Return each program's length and its speed-up before and with busy neighbours."""
    if _one_core(quiet):
        return ONE_CORE
    return "\n".join(
        f"{name:<7} {1e3 * quiet[name].baseline.median_s:8.3f} ms on one thread; two threads: "
        f"{quiet[name].ratio:.2f} x before, {each.ratio:.2f} x with neighbours"
        for name, each in busy.items()
    )


def turns(found: Timeline) -> str:
    """Return whether the threads of a timeline worked at the same time."""
    if found.workers < 2:
        return "one thread: it has all tasks"
    if found.took_turns:
        return "the threads took turns on one core"
    return "the threads worked at the same time"


def _one_core(found: Mapping[str, Comparison]) -> bool:
    return any(each.timing.name == each.baseline.name for each in found.values())
