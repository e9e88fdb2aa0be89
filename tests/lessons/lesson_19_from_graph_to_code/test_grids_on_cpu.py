"""The race of fused and unfused forms on this CPU, and the sentence that it ends in."""

from __future__ import annotations

import pytest

from mlc_course.lessons.lesson_19_from_graph_to_code import bars_svg, cpu_race, gain
from mlc_course.lessons.lesson_19_from_graph_to_code.grids_on_cpu import FITTED, UNFUSED, Gain
from mlc_course.measure import Comparison, Timing
from mlc_course.mugraph.programs import published, workload


def found(seconds: float) -> Comparison:
    return Comparison(Timing("ours", (seconds,) * 5), Timing("NumPy", (4e-3,) * 5))


@pytest.mark.parametrize(
    ("unfused", "fused", "says"),
    [
        (2e-3, 1e-3, "fusion alone made it 2.00 x as fast; fused it has 4.00 x NumPy's speed"),
        (1e-3, 1e-3, "fusion alone bought nothing; fused it has 4.00 x NumPy's speed"),
        (
            1e-3,
            2e-3,
            "fusion alone made it slower, 2.00 x the time; fused it has 2.00 x NumPy's speed",
        ),
    ],
)
def test_a_gain_is_told_as_it_is(unfused: float, fused: float, says: str) -> None:
    made = gain({UNFUSED: found(unfused), FITTED: found(fused)})
    assert isinstance(made, Gain) and str(made) == says


@pytest.mark.slow
def test_a_program_is_compiled_checked_and_timed_in_two_forms() -> None:
    race = cpu_race(workload("lora"), published("lora_fused"), grids=False)
    assert set(race) == {UNFUSED, FITTED}
    ratios = [each.ratio for each in race.values()]
    assert ratios == sorted(ratios, reverse=True)
    assert 'id="rung-1"' in bars_svg(race)
