"""What was recorded, and what can be counted from it."""

from __future__ import annotations

import itertools
import math
import statistics

import pytest

from mlc_course.errors import UsageError
from mlc_course.measure import rank_correlation
from mlc_course.tensor_program.ladders import Rung, scheduled
from mlc_course.tensor_program.search import tune
from mlc_course.tensor_program.search.cost_model import features, fit
from mlc_course.tensor_program.search.recorded import (
    best_so_far,
    expected_best,
    place_of_best,
    recording,
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


def test_all_recordings_have_as_many_trials() -> None:
    assert len({len(recording(name).population.trials) for name in STRATEGIES}) == 1


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
    with pytest.raises(UsageError, match="no search of softmax"):
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


def test_lesson_10_says_the_truth_about_the_recordings() -> None:
    ratios = {name: recording(name).population.ratios for name in STRATEGIES}
    assert {len(each) for each in ratios.values()} == {40}
    assert max(ratios["packing"]) > 1 > max(max(ratios[n]) for n in ratios if n != "packing")
    assert place_of_best(ratios["blind"]) == 0, "its first throw was its best"
    assert max(ratios["blind"]) > max(ratios["evolutionary"]), "and beats the evolving search"
    before, after = ratios["evolutionary"][:16], ratios["evolutionary"][16:]
    assert statistics.median(after) > 4 * statistics.median(before), "the cost model woke up"
    assert statistics.median(ratios["blind"][16:]) < 2 * statistics.median(ratios["blind"][:16])
    assert all(ratios["random"]), "every one ran, so all can be learnt from"


def test_lesson_10_says_the_truth_about_the_cost_model() -> None:
    trials = recording("random").population.trials
    rows, speeds = [features(each.genes) for each in trials], [each.ratio for each in trials]
    guessed = []
    for place, row in enumerate(rows):
        others = [i for i in range(len(rows)) if i != place]
        model = fit([rows[i] for i in others], [speeds[i] for i in others])
        guessed.append(float(model.predict([row])[0]))
    assert rank_correlation(guessed, speeds) > 0.6
    chosen = sorted(range(len(rows)), key=guessed.__getitem__)[-6:]
    assert max(speeds[i] for i in chosen) > expected_best(speeds, 6)
    assert sum(1 / speeds[i] for i in chosen) < 0.15 * sum(1 / each for each in speeds)
