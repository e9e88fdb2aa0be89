"""The kernel race without a browser: real graphs, compiled and timed."""

from __future__ import annotations

import pytest

from mlc_course.errors import UsageError, WrongResult
from mlc_course.lessons.lesson_18_superoptimization import KernelRace, kernel_race
from mlc_course.lessons.lesson_18_superoptimization.kernel_race import UNFUSED, race_svg


def test_nothing_is_measured_at_first() -> None:
    race = KernelRace("lora")
    assert (race.svg, race.texts, race.busy) == ("", "", False)
    assert "nothing is measured yet" in race.status
    with pytest.raises(UsageError, match="no program"):
        KernelRace("no such program")


def test_a_kernel_that_is_refused_is_what_the_status_says(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refused(*_: object, **__: object) -> None:
        raise WrongResult("lora: its kernels differ")

    race = KernelRace("lora")
    monkeypatch.setattr(kernel_race, "_searched", lambda program: iter([{UNFUSED: program}]))
    monkeypatch.setattr(kernel_race, "race", refused)
    with pytest.raises(WrongResult):
        race.measure()
    assert race.status == "Nothing was measured: lora: its kernels differ."
    assert not race.busy


@pytest.mark.slow
def test_graphs_are_found_compiled_and_drawn() -> None:
    race = KernelRace("lora")
    racers = race.measure()
    names = [each.name for each in racers]
    assert UNFUSED in names
    assert len(names) == len(set(names)) >= 3
    assert all(each.passed.passed for each in racers)
    assert racers[0].name in race.status and "NumPy" in race.status
    assert not race.busy
    drawn = race.svg
    assert drawn == race_svg(racers, 0)
    for place in range(len(racers)):
        assert f'id="rung-{place}"' in drawn
    assert "block grid" in race.texts and "kernel" in race.texts
    race.selected = len(racers) - 1
    assert race.svg != drawn
    assert names[-1] in race.texts
    assert race.texts in race.static_html()
