"""The sentences that the lesson prints, each computed from what was measured or counted."""

from __future__ import annotations

from collections.abc import Mapping

from mlc_course.measure import Comparison

CLOSE = 0.05


def beside(ratio: float, other: str) -> str:
    """Return ``1.90 times as fast as NumPy``, or that the two are equally fast."""
    if abs(ratio - 1) < CLOSE:
        return f"as fast as {other}, within {CLOSE:.0%}"
    return f"{ratio:.2f} times as fast as {other}"


def copy_sentence(found: Mapping[str, Comparison], copied: int) -> str:
    """Return whether copying B first paid for itself in a race of the two programs."""
    ratio = found["copy first"].ratio / found["in place"].ratio
    if abs(ratio - 1) < CLOSE:
        verdict = "it makes no clear difference here"
    else:
        verdict = (
            "the copy pays for itself here"
            if ratio > 1
            else "the copy costs more than it saves here"
        )
    return (
        f"copy first reads and writes {2 * copied / 1e6:.0f} MB more, and is "
        f"{beside(ratio, 'in place')}: {verdict}."
    )


def rows_sentence(ratios: Mapping[int, float]) -> str:
    """Return from how many rows of A on the copy paid, by its speed beside ``in place``."""
    pays = [rows for rows, ratio in ratios.items() if ratio > 1 + CLOSE]
    loses = [rows for rows, ratio in ratios.items() if ratio < 1 - CLOSE]
    if pays and loses and min(pays) > max(loses):
        return f"The copy loses up to {max(loses)} rows, and pays from {min(pays)} rows on."
    if pays and not loses:
        return f"The copy pays from {min(pays)} rows on, and loses at none of these sizes."
    if loses and not pays:
        return f"The copy loses up to {max(loses)} rows, and pays at none of these sizes."
    if not pays:
        return "The copy makes no clear difference at any of these sizes."
    return "Gains and losses alternate: a neighbour disturbs this race. Run the cell again."


def fastest_sentence(found: Mapping[str, Comparison]) -> str:
    """Return which program won a race, and which others are as fast within the limit."""
    best = max(found.values(), key=lambda each: each.ratio).ratio
    first = [name for name, each in found.items() if each.ratio > best * (1 - CLOSE)]
    return f"fastest here: {' and '.join(first)}"


def tiled_answer(ratio: float) -> str:
    """Return the answer to the first question: the speed of the tiled program beside NumPy."""
    bounds = ((0.75, 0), (0.5, 1), (0.25, 2))
    return TILED[next((place for least, place in bounds if ratio >= least), 3)]


TILED = (
    "about as fast: three quarters of NumPy's speed, or more",
    "half to three quarters",
    "a quarter to half",
    "less than a quarter",
)
LOADS = ("as many as the formula says", "more", "fewer")
WIDER = ("a little more, because B is larger", "about as much", "less than two thirds")


def loads_answer(promised: float, counted: float) -> str:
    """Return the answer to the second question: loads in the code beside those of the formula."""
    if abs(counted / promised - 1) < CLOSE:
        return LOADS[0]
    return LOADS[1 if counted > promised else 2]


def wider_answer(narrow: int, wide: int) -> str:
    """Return the answer to the third question: bytes fetched of the wider B beside the other."""
    ratio = wide / narrow
    if ratio < 2 / 3:
        return WIDER[2]
    return WIDER[0 if ratio > 1 + CLOSE / 5 else 1]


def loads_sentence(loads: float) -> str:
    """Return what part of the peak so many loads for each multiply-add allow."""
    return (
        f"{loads:.2f} loads for each multiply-add: "
        f"they allow at most {min(1.0, 1 / loads):.0%} of the peak"
    )


def end_sentence(first: float, last: float) -> str:
    """Return how far the lesson came: the tiled program and the last rung beside NumPy."""
    if abs(last - 1) < CLOSE:
        verdict = "The last rung is level with NumPy"
    else:
        verdict = f"The last rung is {'ahead of' if last > 1 else 'behind'} NumPy"
    return f"{verdict} ({last:.2f} x); the lesson began at {first:.2f} x."
