"""Searches, banks and tables as lesson 18 shows them."""

from __future__ import annotations

from functools import cache

import pytest

from mlc_course.errors import UsageError
from mlc_course.lessons.lesson_18_superoptimization import (
    beside,
    expressions_of,
    extrapolated,
    grown,
    growth,
    growth_of,
    last_sentence,
    proof,
    said,
    same_operators,
    searched,
    solutions,
    text_table,
    tilings,
    time_for,
    why_table,
    without_each,
    worth,
)
from mlc_course.lessons.lesson_18_superoptimization.searches import Search
from mlc_course.mugraph.cost import A100
from mlc_course.mugraph.enumeration import PRUNINGS, Level, Tree
from mlc_course.mugraph.ir import parse
from mlc_course.mugraph.programs import published, workload
from mlc_course.mugraph.search import Nest

TINY = parse("""
tiny(X[b=64, d=64], Y[b, d]):
  S = add(X, Y)
  Z = mul(S, X)
  return Z
""")


@cache
def tiny() -> Search:
    return searched(TINY)


def levels(*alive: int, complete: int = 99) -> list[Level]:
    return [Level(n, many, {}, 0, n < complete) for n, many in enumerate(alive)]


def test_a_search_counts_what_was_tried_and_ranks_what_was_found() -> None:
    search = tiny()
    costs = [float(each.cost.total) for each in search.found]
    assert costs == sorted(costs) and costs
    assert search.candidates == sum(each.candidates for each in search.tried) > search.values
    assert f"{search.values} values were kept" in str(search)
    ranked = search.ranked().data
    assert ranked.count("<tr>") == len(costs) + 2
    assert "the program, as given" in ranked and ">1.00<" in ranked
    assert "no loop" in search.nests().data


def test_a_nest_without_a_graph_is_refused() -> None:
    assert tiny().best("no loop") in tiny().found
    with pytest.raises(UsageError, match="no graph: loop over q"):
        tiny().best("loop over q")


def test_the_operators_of_graphs_are_compared_with_how_often_they_occur() -> None:
    assert same_operators(TINY, TINY)
    more = parse(str(TINY).replace("return Z", "T = add(Z, X)\n  return T"))
    assert not same_operators(TINY, more)


def test_a_bank_has_the_values_of_the_output_in_order() -> None:
    bank = grown(workload("rms_norm_matmul"), "d")
    needed = bank.needed()
    assert needed == sorted(needed) and len(needed) == 12
    assert bank.cut == "" and "cut off by a limit: no" in str(bank)
    assert bank.sizes() == "in a tile: b = 5, d = 2, n = 7; iterations of the loop: 3"
    table = bank.read_off().data
    assert "6 G W X/(sqrt(6 (1/6) X^2))" in table and table.count("<tr>") == 13
    assert any("square(%0)  or  mul(%0, %0)" in line for line in bank.other_ways())
    every = bank.all_values(N="sqrt(6 (1/6) X^2)").data
    assert every.count("★") == 12 and "G W X/(N)" in every


def test_solutions_use_all_their_lines() -> None:
    lora = Tree(workload("lora"), prunings=PRUNINGS, most=4)
    assert len(solutions(lora)) == 3
    assert sum(level.found for level in lora.count()) > 3
    assert said(expressions_of(lora)["Y"]) == "21 A B X + 3 W X"


def test_growth_is_extrapolated_from_complete_levels_only() -> None:
    tree = levels(1, 10, 100, 7, complete=3)
    assert extrapolated(tree, 4) == pytest.approx(1e4)
    counted, factor = growth_of(tree, 4).splitlines()
    assert counted == "1 → 10 → 100"
    assert "The last factor is 10. If it stays, there are 1 · 10^4 graphs of 4" in factor
    assert time_for(levels(1, 3 * 10**13), 1).startswith("At 1,000,000 graphs a second, ")


def test_the_cut_that_is_missed_most_is_found_at_one_depth_for_all() -> None:
    curves = {
        "all three": levels(1, 2, 4),
        "without order": levels(1, 5, 900, complete=2),
        "without equality": levels(1, 3, 5000),
        "without expressions": levels(1, 4, 6),
        "none of them": levels(1, 9, 81),
    }
    most, counts = worth(curves)
    assert most == "order"
    assert [line.split("  ")[0] for line in counts.splitlines()][-1] == "none of them"
    picture = growth(curves, "graphs").data
    assert 'role="img"' in picture and "without order: 5" in picture


def test_without_each_has_a_curve_for_each_cut() -> None:
    curves = without_each(Tree(workload("lora"), Nest(), PRUNINGS, most=2), 50)
    assert list(curves) == [
        "all three",
        "without order",
        "without equality",
        "without expressions",
        "none of them",
    ]
    assert curves["none of them"][-1].alive > curves["all three"][-1].alive


def test_tilings_have_the_one_by_hand_and_a_cheapest() -> None:
    found = tilings(published("rms_norm_matmul_fused"), A100)
    assert found.by_hand in found.every
    assert found.cheapest.seconds == min(each.seconds for each in found.every)
    picture = found.picture().data
    assert 'role="img"' in picture and f"cheapest: {found.cheapest}" in picture


def test_two_graphs_are_compared_term_by_term() -> None:
    hand = published("rms_norm_matmul_fused")
    table = why_table(hand, workload("rms_norm_matmul"), A100, "by hand | program").data
    assert "µs on the a100" in table and table.index("launches") < table.index("in all")
    assert "+" in table and "−" in table
    text = beside(hand, workload("rms_norm_matmul"), "left | right").data
    assert "rms_norm_matmul_fused" in text and "<th>left</th><th>right</th>" in text


def test_a_table_puts_words_to_the_left_and_escapes_them() -> None:
    table = text_table(("what", "how many"), [("a < b", "1,000"), ("c", "−2.5")]).data
    assert "a &lt; b" in table
    assert table.count("text-align: right") == 3
    assert "monospace" not in table


def test_the_last_sentence_has_the_counts() -> None:
    search = tiny()
    found, bank = search.found[0], grown(TINY)
    sentence = last_sentence(search, found, bank, 3e15)
    flat = " ".join(sentence.split())
    assert f"{len(bank.values)} for that nest, and {search.values} in all" in flat
    assert "3 · 10^15" in flat
    assert all(len(line) <= 84 for line in sentence.splitlines())
    assert f"{found.verdict.error_bound:.0e}" in proof(found)
