"""The search scope without a browser: set a trait, read the picture."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from mlc_course.errors import UsageError, WrongResult
from mlc_course.lessons.lesson_12_automatic_search.scope_picture import scope_svg
from mlc_course.lessons.lesson_12_automatic_search.search_scope import RECORDED, SearchScope
from mlc_course.measure import Comparison, Timing
from mlc_course.tensor_program.memory import Roofs
from mlc_course.tensor_program.problems import Workload
from mlc_course.tensor_program.search import (
    Candidate,
    Gene,
    Population,
    Space,
    Trial,
    place_of_best,
)


def roofs(threads: int, *, remeasure: bool) -> Roofs:
    assert remeasure, "a search measures the roofs in the same run"
    return Roofs(threads, gflops=100.0, gbytes_per_s=20.0)


def search(workload: Workload, space: Space, trials: int) -> Iterator[Candidate]:
    """A search that takes no time: the third trial is the best."""
    for place in range(trials):
        ratio = (0.1, 0.2, 0.9, 0.3, 0.4)[place]
        genes = (Gene("C: m", (8, 2 + place)),)
        ours = Timing("candidate", (0.003 / ratio,) * 6)
        beside = Comparison(ours, Timing("NumPy", (0.003,) * 6))
        yield Candidate(None, genes, beside, f"def program_{place}(): pass")


COURSES = {"quick": ("tiles", search, 5), "packs": ("packing", search, 2)}


@pytest.fixture
def widget() -> SearchScope:
    return SearchScope("evolutionary", courses=COURSES, roofs=roofs)


def test_it_begins_with_the_last_trial_of_a_recorded_search(widget: SearchScope) -> None:
    assert widget.status.startswith("Recorded on") and widget.selected == widget.count - 1
    assert "random tiles" in widget.svg and "evolving" not in widget.svg


@pytest.mark.parametrize("strategy", RECORDED)
def test_every_recorded_search_can_be_shown(widget: SearchScope, strategy: str) -> None:
    widget.strategy = strategy
    assert widget.svg.count('id="trial-') == widget.count > 20
    assert f"Trial {widget.count}" in widget.said


def test_a_trial_stands_beside_the_best_so_far(widget: SearchScope) -> None:
    best = place_of_best(widget.population.ratios)
    widget.selected = widget.count - 1
    svg, report = widget.svg, widget.report
    assert f"trial {best + 1}, best so far" in report
    assert "C: m = " in report
    widget.selected = best
    assert "a new best" in widget.said
    assert widget.svg != svg and widget.report != report
    assert f"<th>trial {best + 1}</th>" in widget.report, "beside the best before it"


def test_programs_take_the_place_of_decisions(widget: SearchScope) -> None:
    widget.programs = True
    assert "T.prim_func" in widget.report or "T.sblock" in widget.report
    assert "C: m = " not in widget.report


@pytest.mark.parametrize("strategy", RECORDED)
def test_the_best_of_each_search_has_a_program(widget: SearchScope, strategy: str) -> None:
    widget.strategy = strategy
    widget.selected = place_of_best(widget.population.ratios)
    widget.programs = True
    assert "equal line" in widget.report


@pytest.mark.parametrize(
    ("trait", "value"),
    [
        ("selected", -1),
        ("selected", 1000),
        ("strategy", "luck"),
        ("strategy", "here"),  # nothing is searched yet
        ("course", "enormous"),
    ],
)
def test_what_cannot_be_shown_is_refused(widget: SearchScope, trait: str, value: object) -> None:
    before = getattr(widget, trait)
    with pytest.raises(UsageError):
        setattr(widget, trait, value)
    assert getattr(widget, trait) == before


def test_a_search_that_was_never_recorded_cannot_be_shown_first() -> None:
    with pytest.raises(UsageError, match="strategy"):
        SearchScope("here")


def test_trials_appear_while_they_are_made(widget: SearchScope) -> None:
    counts: list[int] = []
    statuses: list[str] = []
    widget.observe(lambda change: counts.append(change.new), "count")
    widget.observe(lambda change: statuses.append(change.new), "status")
    widget.measure()
    assert counts == [1, 2, 3, 4, 5]
    assert any(status.startswith("3 of 5 trials") for status in statuses)
    assert widget.status.startswith("Searched here")
    assert (widget.strategy, widget.count, widget.busy) == ("here", 5, False)
    assert "the best so far is trial 3, 0.90 x" in widget.said


def test_programs_of_a_search_here_are_those_that_ran(widget: SearchScope) -> None:
    widget.measure()
    widget.programs = True
    assert "program_2" in widget.report and "program_4" in widget.report


def test_an_interrupt_keeps_the_trials_that_are_made(widget: SearchScope) -> None:
    def interrupt(change: Any) -> None:
        if change.new == 3:
            raise KeyboardInterrupt

    widget.observe(interrupt, "count")
    widget.measure()
    assert widget.status.startswith("Stopped:")
    assert (widget.count, widget.busy, widget.strategy) == (3, False, "here")
    widget.unobserve(interrupt, "count")
    widget.measure()
    assert widget.count == 5


def test_a_shorter_search_after_a_longer_one(widget: SearchScope) -> None:
    widget.measure()
    widget.course = "packs"
    widget.measure()
    assert (widget.count, widget.selected) == (2, 1)


def test_a_message_of_the_page_searches(widget: SearchScope) -> None:
    widget._handle_custom_msg({"task": "measure"}, [])
    assert widget.strategy == "here"


def test_a_message_that_fails_is_told_and_not_raised() -> None:
    def wrong(*_: object) -> Iterator[Candidate]:
        raise WrongResult("trial 7 computes something else")
        yield

    widget = SearchScope(courses={"wrong": ("tiles", wrong, 5)}, roofs=roofs)
    widget.course = "wrong"
    widget._handle_custom_msg({"task": "measure"}, [])
    assert widget.status == "WrongResult: trial 7 computes something else"
    assert not widget.busy


def test_where_no_widgets_run_there_is_a_picture_of_every_search(widget: SearchScope) -> None:
    data, _ = widget._repr_mimebundle_()
    assert "application/vnd.jupyter.widget-view+json" in data
    assert data["text/html"].count("<svg") == len(RECORDED)


# --- the picture --------------------------------------------------------------------------------

GENES = (Gene("C: m", (8, 2)),)


def population(*ratios: float) -> Population:
    trials = tuple(Trial(GENES, r, r, r, "not done" if not r else None) for r in ratios)
    return Population("random", "matmul", "Recorded somewhere", trials, 1.2)


def test_what_comes_later_is_hollow_and_what_failed_is_a_cross() -> None:
    whole, half = scope_svg(population(0.1, 0.0, 0.5)), scope_svg(population(0.1, 0.0, 0.5), 0)
    assert whole.count("<circle") == 2 and half.count("<circle") == 3, "a ring marks the chosen"
    assert whole.count("l8 8m0 -8l-8 8") == 1
    hollow = 'r="4.5" fill="var(--mlc-paper'
    assert hollow not in whole and half.count(hollow) == 1


def test_a_search_in_which_nothing_ran_has_a_picture() -> None:
    svg = scope_svg(population(0.0, 0.0), 1)
    assert "none ran yet" in svg and "<circle" in svg


def test_text_is_escaped_and_places_are_checked() -> None:
    odd = Population("random", "a < b", "here & there", (Trial(GENES, 1.0, 1.0, 1.0),), 1.2)
    assert "a &lt; b" in scope_svg(odd) and "here &amp; there" in scope_svg(odd)
    for place in (-1, 1):
        with pytest.raises(UsageError, match="no such trial"):
            scope_svg(odd, place)


def test_a_trial_with_a_warning_says_so(widget: SearchScope) -> None:
    warned = (Trial(GENES, 0.5, 0.4, 0.6), Trial(GENES, 0.9, 0.8, 1.0, warning="noisy: so and so"))
    shown = Population("random", "a search", "here", warned, 1.2)
    assert "best of 2: 0.90 x NumPy (noisy), trial 2" in scope_svg(shown, 1)
    assert "noisy" not in scope_svg(shown, 0)
