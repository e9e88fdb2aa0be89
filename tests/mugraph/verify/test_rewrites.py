"""Sound rewrites of random graphs are never refused; unsound ones never pass."""

from __future__ import annotations

import random

from hypothesis import assume, event, given, settings
from hypothesis import strategies as st
from rewrites import SOUND, UNSOUND, Formula, depth, formulas, graph, maxima, products, rewritten
from small_graphs import graphs

from mlc_course.errors import Undecided
from mlc_course.mugraph.ir import KernelGraph
from mlc_course.mugraph.mutants import Base, differ, judged, mutants
from mlc_course.mugraph.verify import verify

small_enough = formulas.filter(lambda f: depth(f) <= 2 and maxima(f) <= 4)


@settings(max_examples=60, deadline=None)
@given(small_enough, st.data())
def test_a_sound_rewrite_is_not_refused(formula: Formula, data: st.DataObject) -> None:
    other = data.draw(rewritten(formula, SOUND))
    other = data.draw(rewritten(other, SOUND))
    left, right = graph(formula), graph(other)
    try:
        verdict = verify(left, right, seed=1)
    except Undecided as undecided:
        # Too large, or divided by zero everywhere: never for being different.
        assert "different" not in str(undecided)
        event("undecided")
        return
    event("accepted")
    assert verdict.equal and verdict.error_bound <= 1e-9


@settings(max_examples=80, deadline=None)
@given(small_enough, st.data())
def test_an_unsound_rewrite_that_shows_does_not_pass(formula: Formula, data: st.DataObject) -> None:
    other = data.draw(rewritten(formula, UNSOUND))
    other = data.draw(rewritten(other, SOUND))
    left, right = graph(formula), graph(other)
    assume(differ(left, right))
    try:
        verdict = verify(left, right, seed=2)
    except Undecided:
        event("undecided")
        return
    event("refused")
    assert not verdict.equal


@settings(max_examples=25, deadline=None)
@given(products(), st.integers(0, 2**16))
def test_any_tiling_of_a_product_is_the_product_and_what_it_is_not_shows(
    pair: tuple[KernelGraph, KernelGraph], seed: int
) -> None:
    tiled, whole = pair
    assert verify(tiled, whole, seed=seed).equal
    for mutant in list(mutants(tiled, random.Random(seed)))[:2]:
        found = judged(mutant, Base(tiled, whole), seed)
        assert not found.wrong, str(found)


@settings(max_examples=40, deadline=None)
@given(graphs(), st.integers(0, 2**16))
def test_what_is_said_of_random_graphs_and_their_mutants_agrees_with_float64(
    drawn: KernelGraph, seed: int
) -> None:
    """Graphs of all kinds of operators and maps: never refused themselves, nor wrongly accepted."""
    try:
        assert verify(drawn, drawn, seed=seed).equal
    except Undecided as undecided:
        assert "different" not in str(undecided)
        return
    for mutant in list(mutants(drawn, random.Random(seed)))[:2]:
        found = judged(mutant, Base(drawn, drawn), seed)
        assert not found.wrong, str(found)
