from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import psutil
import pytest

from mlc_course.errors import UsageError
from mlc_course.lessons.lesson_00_measuring_honestly.noise_lab import NoiseLab
from mlc_course.machine import usable_cores
from mlc_course.measure import Comparison, Timing
from mlc_course.tensor_program.ladders import Contest


def children() -> set[int]:
    return {child.pid for child in psutil.Process().children()}


def contest(workload: str, sizes: tuple[int, ...], *, threads: int) -> Contest:
    return Contest(f"{workload} on {threads}", ours=lambda: None, numpy=lambda: None)


@pytest.fixture
def lab() -> NoiseLab:
    """A lab that takes as many readings as asked for, each slower with every neighbour."""
    others = children()  # of another test's making

    def compare(candidates: object, baseline: object, **options: Any) -> Mapping[str, Comparison]:
        count, slow = options["rounds"][1], 1 + len(children() - others)
        ours = tuple(slow * (0.002 + 1e-5 * (n % 3)) for n in range(count))
        numpy = (0.003 * slow,) * count
        return {"ours": Comparison(Timing("ours", ours), Timing("NumPy", numpy))}

    return NoiseLab(contest=contest, compare=compare)


def test_a_measurement_changes_the_picture_and_adds_a_row(lab: NoiseLab) -> None:
    lab.measure()
    first = lab.svg
    assert "matmul on 1" in first
    lab.repeats = 20
    lab.measure()
    assert lab.svg != first
    assert lab.table.count("<tr><td>") == 2
    assert [len(run.comparison.ratios) for run in lab.runs] == [100, 20]


def test_neighbours_come_for_the_measurement_and_go_after_it(lab: NoiseLab) -> None:
    before = children()
    lab.neighbours = True
    found = lab.measure()
    assert found.timing.best_s == pytest.approx(0.002 * (1 + usable_cores()))
    assert lab.runs[-1].neighbours == usable_cores()
    assert children() == before


def test_neighbours_go_when_the_measurement_is_interrupted() -> None:
    def interrupted(*args: object, **options: object) -> Mapping[str, Comparison]:
        raise KeyboardInterrupt

    lab = NoiseLab(contest=contest, compare=interrupted)
    before = children()
    lab.neighbours = True
    with pytest.raises(KeyboardInterrupt):
        lab.measure()
    assert children() == before
    assert not lab.busy


@pytest.mark.parametrize(("trait", "value"), [("repeats", 4), ("repeats", 5000), ("threads", "x")])
def test_what_cannot_be_measured_is_refused(lab: NoiseLab, trait: str, value: object) -> None:
    with pytest.raises(UsageError):
        setattr(lab, trait, value)


def test_a_message_of_the_page_measures(lab: NoiseLab) -> None:
    lab._handle_custom_msg({"task": "measure"}, [])
    assert len(lab.runs) == 1


def test_where_no_widgets_run_there_are_picture_and_table(lab: NoiseLab) -> None:
    lab.measure()
    data, _ = lab._repr_mimebundle_()
    assert lab.svg in data["text/html"]
    assert lab.table in data["text/html"]
