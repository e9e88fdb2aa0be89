"""The visible checks of exercises 12."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mlc_course.exercise import UnmetCheck, breaks, called, check, given, holds, returns, shown
from mlc_course.measure import rank_correlation

KNOWN, UNKNOWN = 0.85, 0.75  # the rank correlations that are asked for
KNOWN_SPEEDS = """
    0.070 0.009 0.084 0.186 0.249 0.051 0.027 0.086 0.314 0.020
    0.087 0.208 0.118 0.186 0.202 0.057 0.358 0.022 0.027 0.017
    0.184 0.050 0.016 0.278 0.043 0.009 0.024 0.004 0.152 0.219
    0.216 0.021 0.159 0.018 0.056 0.018 0.040 0.351 0.200 0.077
"""


def neighbours(answer: Callable[..., Any]) -> None:
    """1. All neighbours."""
    check(
        called(answer),
        returns(
            [8, 6],
            64,
            result=[[1, 48], [2, 24], [4, 12], [16, 3], [24, 2], [48, 1]],
            hint="2, 4 and 8 may leave the 8, and 2, 3 and 6 the 6",
        ),
        returns(
            [8, 6],
            12,
            result=[[4, 12], [16, 3], [24, 2], [48, 1]],
            hint="24 and 48 are above most",
        ),
        returns([1, 7], 64, result=[[7, 1]], hint="a prime moves as a whole; 1 has no factor"),
        returns(
            [4, 1, 3],
            2,
            result=[[4, 3, 1], [12, 1, 1]],
            hint="only the innermost factor has a limit, and the old tile may be above it",
        ),
    )


# --- 2. A cost model ------------------------------------------------------------------------------


def model(answer: object) -> None:
    """2. A cost model."""
    check(given(answer), holds(_orders_the_known, kind="counter-example"))


def _orders_the_known(guesses: Any) -> str:
    return ranked(guesses, "known", [float(each) for each in KNOWN_SPEEDS.split()])


def ranked(guesses: Any, name: str, true: list[float]) -> str:
    """Say how well one of the two lists ranks; raises ``UnmetCheck`` where it is not enough."""
    form = '{"known": [40 numbers], "unknown": [20 numbers]}'
    if type(guesses) is not dict or sorted(guesses) != ["known", "unknown"]:
        raise UnmetCheck("not two lists of guesses", expected=form, got=shown(guesses))
    for key, count in (("known", 40), ("unknown", 20)):
        each = guesses[key]
        number = type(each) is list and all(type(g) in (int, float) and g == g for g in each)
        if not number or len(each) != count:
            got = shown(each)
            if type(each) is list:
                got = f"{len(each)} values{'' if number else ', not all of them numbers'}"
            hint = "make it a list: list(map(float, guesses))" if type(each) is not list else None
            raise UnmetCheck(f"{key}: not a guess for each", expected=form, got=got, hint=hint)
        if len(set(each)) == 1:
            raise UnmetCheck(
                f"{key}: all guesses are the same", expected="an order", got=shown(each[0])
            )
    found, wanted = rank_correlation(guesses[name], true), KNOWN if name == "known" else UNKNOWN
    if found < wanted:
        raise UnmetCheck(
            f"{name}: the guessed order is too far from the true one",
            expected=f"rank correlation >= {wanted}",
            got=f"{found:.2f}",
            hint=_way_on(found, wanted),
        )
    return f"{name}: rank correlation {found:.2f}"


def _way_on(found: float, wanted: float) -> str:
    if found < -0.3:
        return "is the fastest one the highest number?"
    if found > wanted - 0.1:
        return "close: a length can be too large as well; add the squares of the logarithms"
    return "sort the known ones by speed: which length goes along with it?"


# --- 3. Counter-example: always uphill ------------------------------------------------------------


def stuck(answer: object) -> None:
    """3. Counter-example: always uphill."""
    claim = "uphill from [8, 8] leads to within twice the best"
    check(given(answer), breaks(claim, _why_it_stands))


def _why_it_stands(times: Any) -> str | None:
    """What the climb arrives at, where the claim holds; None where it fails as asked."""
    number = type(times) is list and all(type(t) in (int, float) and t > 0 for t in times)
    if not number or len(times) != 7:
        raise UnmetCheck("not seven times", expected="seven numbers above 0", got=shown(times))
    if len(set(times)) < 7:
        raise UnmetCheck(
            "two times are equal", expected="seven different numbers", got=shown(times)
        )
    here = 3
    while True:
        near = [place for place in (here - 1, here + 1) if 0 <= place < 7]
        step = min(near, key=times.__getitem__)
        if times[step] > times[here]:
            break
        here = step
    tiles = [[64 // 2**place, 2**place] for place in range(7)]
    if times[here] == min(times):
        return f"from [8, 8] it arrives at {tiles[here]}, {times[here]} ms, the best"
    if here == 3:
        return "it never moves from [8, 8]: both neighbours are slower"
    if times[here] < 2 * min(times):
        return f"it stops at {tiles[here]}, {times[here]} ms, and the best is {min(times)} ms"
    return None


# --- 4. Bug hunt: the winner that never ran -------------------------------------------------------


def trial(
    name: str, seconds: list[float], numpy: list[float], *, right: bool = True
) -> dict[str, Any]:
    """One line of a search's log."""
    return {"name": name, "seconds": seconds, "numpy": numpy, "right": right}


def winner(answer: Callable[..., Any]) -> None:
    """4. Bug hunt: the winner that never ran."""
    check(
        called(answer),
        returns(
            [trial("slow", [4.0], [1.0]), trial("fast", [1.0], [1.0])],
            result="fast",
            hint="NumPy's time / its own: is the highest or the lowest the fastest?",
        ),
        returns(
            [trial("right", [2.0], [1.0]), trial("wrong", [0.1], [1.0], right=False)],
            result="right",
            hint="a fast wrong result is no result",
        ),
        returns(
            [trial("crashed", [], []), trial("ran", [2.0], [1.0])],
            result="ran",
            hint="what did not run has no readings",
        ),
        returns(
            [trial("steady", [2.0] * 3, [2.0] * 3), trial("lucky", [3.0, 1.0, 3.0], [2.0] * 3)],
            result="steady",
            hint="one good reading among three is luck",
        ),
        returns(
            [trial("calm", [2.0] * 3, [1.0] * 3), trial("crowded", [4.0] * 3, [4.4] * 3)],
            result="crowded",
            hint="the second ran while a neighbour slowed both sides down",
        ),
        returns(
            [
                trial("level", [1.0] * 3, [1.0] * 3),
                trial("drifting", [1.0, 4.0, 9.0], [1.2, 4.8, 3.6]),
                trial("falling", [1.0, 2.0, 6.0], [0.6, 1.8, 9.0]),
            ],
            result="drifting",
            hint="the machine slowed down from round to round: divide within a round, and take "
            "the median of these ratios last",
        ),
        returns([trial("crashed", [], [], right=False)], result=None),
    )
