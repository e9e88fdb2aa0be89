"""The sentences of the lesson about searches, each made from its numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import median

from mlc_course.measure import rank_correlation
from mlc_course.tensor_program.search import (
    Population,
    Recording,
    best_so_far,
    expected_best,
    features,
    fit,
    place_of_best,
)
from mlc_course.units import plural

FIRST = 16  # trials that MetaSchedule's model needs before it chooses, in the recorded searches
SHORT = {
    "random": "random tiles",
    "blind": "blind",
    "evolutionary": "evolving",
    "packing": "packing",
}


def compared(evolved: Sequence[float], blind: Sequence[float], drawn: int) -> str:
    """Compare two searches of the same space by their bests and by their middles.

    The first ``drawn`` trials of ``evolved`` are no children yet.
    """
    children, strangers = median(evolved[drawn:]), median(blind)
    nearer = "faster" if children > strangers else "no faster"
    return (
        f"best of {len(evolved)}: evolving {max(evolved):.2f}, blind {max(blind):.2f}\n"
        f"the middle child ({children:.2f}) is {nearer} than the middle blind draw "
        f"({strangers:.2f})"
    )


def summary(kept: Mapping[str, Recording]) -> str:
    """Return each recorded search's best three, middle and crosses, and the machines."""
    lines = []
    for name, each in kept.items():
        ratios = each.population.ratios
        top = ", ".join(f"{ratio:.2f}" for ratio in sorted(ratios, reverse=True)[:3])
        failed, reach = sum(ratio == 0 for ratio in ratios), sum(ratio >= 1 for ratio in ratios)
        lines.append(
            f"{SHORT[name]:<13} best three {top}; middle {median(ratios):.2f}; "
            f"{len(ratios)} trials, {reach} reach NumPy, {failed} unfinished"
        )
    lines += sorted({each.where for each in kept.values()})
    return "\n".join(lines)


def luck(blind: Population, evolving: Population) -> str:
    """Tell the best of the first n: as it went, and averaged over all orders of blind draws."""
    count = min(len(blind.ratios), len(evolving.ratios))
    went, evolved = best_so_far(blind.ratios), best_so_far(evolving.ratios)
    lines = ["best of the first   blind, as it went   blind, mean of all orders   evolving"]
    for n in (1, 4, FIRST, 24, 32, count):
        mean = expected_best(blind.ratios, n)
        lines.append(f"{n:>17}   {went[n - 1]:>17.2f}   {mean:>25.2f}   {evolved[n - 1]:>8.2f}")
    place = place_of_best(blind.ratios) + 1
    return "\n".join([*lines, f"the blind search found its best in trial {place}"])


def method(blind: Population, evolving: Population) -> str:
    """Compare the middle of the trials before and after the cost model begins to choose."""
    lines = []
    for name, ratios in (("blind", blind.ratios), ("evolving", evolving.ratios)):
        before, after = median(ratios[:FIRST]), median(ratios[FIRST:])
        lines.append(
            f"{name:<9} middle of trials 1 to {FIRST}: {before:.2f}, of {FIRST + 1} to "
            f"{len(ratios)}: {after:.2f} x NumPy, {after / before:.1f} times"
        )
    return "\n".join(lines)


def unseen_guesses(population: Population) -> list[float]:
    """Return the guess for each trial of a cost model that learnt from all the others."""
    rows = [features(each.genes) for each in population.trials]
    speeds = population.ratios
    guesses = []
    for place, row in enumerate(rows):
        others = [other for other in range(len(rows)) if other != place]
        model = fit([rows[i] for i in others], [speeds[i] for i in others])
        guesses.append(float(model.predict([row])[0]))
    return guesses


def worth(population: Population, guesses: Sequence[float], chosen: Sequence[int]) -> str:
    """Compare the trials that a model chose with as many chosen blindly."""
    speeds = population.ratios
    took = sum(1 / speeds[i] for i in chosen) / sum(1 / each for each in speeds if each)
    best, lucky = max(speeds[i] for i in chosen), expected_best(speeds, len(chosen))
    verdict = "better than" if best > lucky else "no better than"
    return (
        f"rank correlation of guess and truth: {rank_correlation(guesses, speeds):.2f}\n"
        f"best of all {len(speeds)}: {max(speeds):.3f} x NumPy's speed\n"
        f"best of the model's {len(chosen)}: {best:.3f} x, {verdict} {len(chosen)} chosen blindly "
        f"({lucky:.3f} x on average)\n"
        f"they are {len(chosen) / len(speeds):.0%} of the trials and {took:.0%} of the time"
    )


def ending(kept: Mapping[str, Recording]) -> str:
    """Tell the best that was recorded without packing in the space, and with it."""
    without = max(max(e.population.ratios) for n, e in kept.items() if n != "packing")
    inside = max(kept["packing"].population.ratios)
    trials = plural(sum(len(each.population.trials) for each in kept.values()), "trial")
    return (
        f"recorded, {trials}: {without:.2f} x NumPy without panels in the space, "
        f"{inside:.2f} x with them"
    )
