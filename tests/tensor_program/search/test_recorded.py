"""What was recorded, and what can be counted from it."""

from __future__ import annotations

import itertools
import math
import statistics
from collections.abc import Sequence

import pytest

from mlc_course.errors import UsageError
from mlc_course.machine import describe
from mlc_course.measure import rank_correlation
from mlc_course.tensor_program.ladders import Rung, scheduled
from mlc_course.tensor_program.search import tune
from mlc_course.tensor_program.search.cost_model import features, fit
from mlc_course.tensor_program.search.recorded import (
    Trial,
    best_so_far,
    expected_best,
    kind_folder,
    place_of_best,
    recording,
    recordings,
)
from mlc_course.tensor_program.search.spaces import STRATEGIES


@pytest.mark.parametrize("name", STRATEGIES)
def test_a_recording_holds_every_trial(name: str) -> None:
    kept = recording(name)
    shown = kept.population
    assert len(shown.trials) == len(kept.about["readings"]) >= 32
    assert max(shown.ratios) > 0.1 and shown.roof > 1
    assert all(each.low <= each.ratio <= each.high for each in shown.trials)
    assert kept.workload.title in shown.title and "20" in shown.where


def test_all_recordings_of_a_machine_have_as_many_trials() -> None:
    for isa in ("AVX-512", "AVX2"):
        assert len({len(each.population.trials) for each in recordings(isa)}) <= 1


def test_a_recording_is_in_the_folder_of_its_kind() -> None:
    for isa in ("AVX-512", "AVX2"):
        for each in recordings(isa):
            assert each.folder.parent.name == kind_folder(each.about) == isa.lower()


@pytest.mark.parametrize("isa", ["SSE", "AVX2", "AVX-512"])
def test_the_recording_of_the_nearest_kind_is_taken_and_says_so(
    monkeypatch: pytest.MonkeyPatch, isa: str
) -> None:
    monkeypatch.setenv("MLC_COURSE_ISA", isa)
    describe.cache_clear()
    try:
        here = describe().isa
        for each in recordings():
            there = each.about["machine"]["isa"]
            assert ("yours has" in each.where) == (there != here)
            own = each.folder.parents[1] / here.lower() / each.folder.name
            assert there == here or not own.exists()
    finally:
        monkeypatch.undo()
        describe.cache_clear()


def test_a_machine_with_avx_512_has_all_four_searches() -> None:
    assert {each.about["strategy"] for each in recordings("AVX-512")} == set(STRATEGIES)


@pytest.mark.parametrize("name", STRATEGIES)
def test_genes_are_tiles_of_the_loops_that_they_name(name: str) -> None:
    kept = recording(name)
    sizes = kept.workload.sizes
    for trial in kept.population.trials:
        tiles = [gene for gene in trial.genes if len(gene.value) > 1]
        lengths = [math.prod(gene.value) for gene in tiles]
        assert lengths == [sizes[gene.name.split(": ")[1].upper()] for gene in tiles]


@pytest.mark.parametrize("name", STRATEGIES)
def test_the_best_trial_is_the_best_that_the_database_replays(name: str) -> None:
    kept = recording(name)
    place = min(
        (i for i, s in enumerate(kept.about["readings"]) if s is not None),
        key=lambda i: kept.about["readings"][i],
    )
    found = tune.best(kept.folder)
    assert found is not None
    again = scheduled(kept.workload, Rung(name, "", lambda sch: kept.replay(sch, place)))
    assert again.mod.script() == scheduled(kept.workload, found.rung).mod.script()


def test_what_is_not_recorded_is_refused() -> None:
    with pytest.raises(UsageError, match="no strategy"):
        recording("luck")
    with pytest.raises(UsageError, match="no search of softmax with random is recorded"):
        recording("random", "softmax")
    for place in (-1, 1000):
        with pytest.raises(UsageError, match="no such trial"):
            recording("random").schedule(place)


def test_the_expected_best_is_the_mean_over_all_choices() -> None:
    ratios = [0.3, 0.1, 0.9, 0.4, 0.4]
    for draws in range(1, 6):
        every = [max(chosen) for chosen in itertools.combinations(ratios, draws)]
        assert expected_best(ratios, draws) == pytest.approx(sum(every) / len(every))
    for draws in (0, 6):
        with pytest.raises(UsageError, match="expected_best"):
            expected_best(ratios, draws)


def test_the_best_so_far() -> None:
    assert best_so_far([0.2, 0.1, 0.5, 0.3]) == [0.2, 0.2, 0.5, 0.5]
    assert place_of_best([0.2, 0.5, 0.5]) == 1
    with pytest.raises(UsageError, match="no trials"):
        place_of_best([])


@pytest.mark.parametrize("isa", ["AVX-512", "AVX2"])
def test_what_lesson_12_builds_on_holds_for_each_recorded_machine(isa: str) -> None:
    ratios = {each.about["strategy"]: each.population.ratios for each in recordings(isa)}
    if "random" in ratios:
        assert all(ratios["random"]), "every one ran, so all can be learnt from"
        assert max(ratios["random"][:40]) < 0.38, "a fifth is the nearest answer"
    if "packing" in ratios:
        others = (max(ratios[name]) for name in ratios if name != "packing")
        assert max(ratios["packing"]) > max(others)
    if "evolutionary" in ratios:
        before, after = ratios["evolutionary"][:16], ratios["evolutionary"][16:]
        assert statistics.median(after) > 2 * statistics.median(before), "it learns from 16 on"


@pytest.mark.parametrize("isa", ["AVX-512", "AVX2"])
def test_a_cost_model_ranks_the_random_tilings_of_each_recorded_machine(isa: str) -> None:
    for each in recordings(isa):
        if each.about["strategy"] == "random":
            speeds = each.population.ratios
            guessed = unseen_guesses(each.population.trials)
            assert rank_correlation(guessed, speeds) > 0.6


def unseen_guesses(trials: Sequence[Trial]) -> list[float]:
    """What the model says of each trial that learnt from all others."""
    rows, speeds = [features(each.genes) for each in trials], [each.ratio for each in trials]
    guessed = []
    for place, row in enumerate(rows):
        others = [i for i in range(len(rows)) if i != place]
        model = fit([rows[i] for i in others], [speeds[i] for i in others])
        guessed.append(float(model.predict([row])[0]))
    return guessed
