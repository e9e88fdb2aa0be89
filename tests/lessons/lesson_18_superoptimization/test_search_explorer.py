"""The search explorer without a browser: open nodes, switch prunings, read what is cut and why."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import traitlets

from mlc_course.errors import UsageError
from mlc_course.lessons.lesson_18_superoptimization.search_explorer import SearchExplorer
from mlc_course.mugraph.enumeration import Level
from mlc_course.mugraph.ir import parse
from mlc_course.mugraph.search import Nest

TINY = parse("""
tiny(X[b=4, d=6], Y[b, d]):
  S = add(X, Y)
  Z = mul(S, X)
  return Z
""")
TRAITS = (
    "program",
    "order",
    "equal",
    "expressions",
    "selected",
    "svg",
    "graph",
    "counts",
    "status",
)


@pytest.fixture
def explorer() -> SearchExplorer:
    return SearchExplorer()


def press(explorer: SearchExplorer, *keys: str) -> None:
    for key in keys:
        explorer.selected = explorer.moves[key]


def text_of(explorer: SearchExplorer, reason: str) -> str:
    """The place of the group that is cut for this reason."""
    column = explorer.opened.columns[-1]
    (number,) = (n for n, (why, _) in enumerate(column.groups) if reason in why)
    return f"{explorer.selected}/{number}"


def choose(explorer: SearchExplorer, *steps: str) -> None:
    """Children one after the other, cut or alive, by their text."""
    explorer.selected = "root"
    for step in steps:
        column = explorer.opened.columns[-1]
        every = [*column.alive, *(child for _, cut in column.groups for child in cut)]
        (key,) = (child.key for child in every if child.step.text == step)
        explorer.selected = "-".join(["root", *map(str, key)])


SOLUTION = ("p = matmul(A, B)", "q = add(W, p)", "r = matmul(X, q)")


def test_it_begins_at_the_inputs(explorer: SearchExplorer) -> None:
    assert (explorer.program, explorer.selected) == ("lora", "root")
    assert explorer.status == (
        "The inputs, and no operator yet: of 15 candidates for the next operator 7 are cut."
    )
    assert explorer.moves == {"ArrowRight": "root-1"}
    assert "goal     21 A B X + 3 W X" in explorer.graph
    assert "<tr><td>1</td><td>8</td><td>3</td>" in explorer.counts


def test_the_arrow_keys_walk_through_the_tree(explorer: SearchExplorer) -> None:
    press(explorer, "ArrowRight", "ArrowDown")
    assert explorer.status.startswith("p = matmul(X, W) makes 3 W X: ")
    press(explorer, "ArrowRight", "ArrowDown", "ArrowUp", "ArrowUp", "ArrowLeft")
    assert explorer.status.startswith("p = matmul(X, W)")
    press(explorer, "End", "ArrowRight")
    assert "Cut: " in explorer.status
    press(explorer, "ArrowLeft", "ArrowLeft")
    assert explorer.selected == "root"


def test_every_place_can_be_reached_and_left(explorer: SearchExplorer) -> None:
    seen, fresh = {"root"}, ["root"]
    while fresh and len(seen) < 300:
        explorer.selected = fresh.pop()
        new = set(explorer.moves.values()) - seen
        seen |= new
        fresh += sorted(new)
    assert len(seen) >= 300


def test_a_solution_says_so(explorer: SearchExplorer) -> None:
    choose(explorer, *SOLUTION)
    assert explorer.status == (
        "r = matmul(X, q) makes 21 A B X + 3 W X: a solution. "
        "It is equal to the goal on random inputs."
    )
    assert "q = add(W, p)      7 A B + W" in explorer.graph
    assert "a solution" in explorer.svg
    assert "ArrowRight" not in explorer.moves


@pytest.mark.parametrize(
    ("steps", "because"),
    [
        (("p = sum(X, axis=0)",), "2 X adds up along another axis than 21 A B X or 3 W X"),
        (("p = add(X, X)",), "has no expression"),
        (("p = matmul(X, W)", "q = sum(X, axis=1)"), "the same graph elsewhere in the tree"),
        (
            ("p = matmul(X, A)", "q = matmul(A, B)", "r = matmul(p, B)", "s = matmul(X, q)"),
            "equal to a value that the graph has already",
        ),
    ],
)
def test_what_is_cut_says_why(
    explorer: SearchExplorer, steps: tuple[str, ...], because: str
) -> None:
    choose(explorer, *steps)
    assert explorer.status.startswith(steps[-1])
    assert because in explorer.status


def test_a_group_opens_and_shows_what_is_in_it(explorer: SearchExplorer) -> None:
    before = explorer.svg
    explorer.selected = text_of(explorer, "no part")
    assert explorer.status.startswith("3 candidates are cut: no part of the goal.")
    assert "sum(X, axis=0)" in explorer.svg
    assert "sum(X, axis=0)" not in before


def test_without_a_pruning_there_is_more_and_the_place_stays(explorer: SearchExplorer) -> None:
    choose(explorer, *SOLUTION[:2])
    place, before = explorer.selected, explorer.counts
    explorer.expressions = False
    assert explorer.selected == place
    assert explorer.counts != before
    assert "<tr><td>1</td><td>11</td><td>0</td>" in explorer.counts
    choose(explorer, "p = sum(X, axis=0)")
    assert explorer.status.startswith("p = sum(X, axis=0) makes 2 X: of ")
    explorer.expressions = True
    assert "Cut: no part of the goal" in explorer.status


def test_a_place_below_what_is_cut_now_is_left_upwards(explorer: SearchExplorer) -> None:
    explorer.expressions = False
    choose(explorer, "p = sum(X, axis=0)", "q = matmul(X, W)")
    explorer.expressions = True
    assert explorer.status.startswith("p = sum(X, axis=0) makes 2 X. Cut:")


def test_another_program_begins_at_its_inputs(explorer: SearchExplorer) -> None:
    press(explorer, "ArrowRight")
    explorer.program = "rms_norm_matmul"
    assert explorer.selected == "root"
    assert "goal     6 G W X/(sqrt(6 (1/6) X^2))" in explorer.graph
    assert "the last row is not complete" in explorer.counts.lower()
    assert "≥ " in explorer.counts


def test_any_program_can_be_explored() -> None:
    explorer = SearchExplorer(TINY, most=3)
    assert explorer.programs[-1] == ["tiny", "tiny, no loop"]
    choose(explorer, "p = add(X, Y)", "q = mul(X, p)")
    assert "a solution" in explorer.status
    assert SearchExplorer("gated_mlp", Nest(("d",))).program == "gated_mlp"


def test_a_pruner_of_your_own_cuts() -> None:
    explorer = SearchExplorer(TINY, pruner=lambda value, goal: len(value) > 1)
    choose(explorer, "p = mul(X, Y)")
    assert explorer.status.endswith(
        "Cut: no part of the goal, because the pruner that was given says so."
    )


def test_counting_goes_deeper_and_keeps_what_is_done(
    explorer: SearchExplorer, monkeypatch: pytest.MonkeyPatch
) -> None:
    explorer.program = "rms_norm_matmul"
    before = explorer.counts

    def stopped(limit: int) -> Iterator[Level]:
        yield Level(0, 1, {}, 0, True)
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(explorer.tree, "levels", stopped)
        explorer.measure()
    assert (explorer.counts, explorer.busy) == (before, False)
    explorer.expressions = explorer.order = True
    monkeypatch.setattr(
        "mlc_course.lessons.lesson_18_superoptimization.search_explorer.LIMIT", 5_000
    )
    explorer.measure()
    assert explorer.counts != before
    assert explorer.counts.count("<tr>") > before.count("<tr>")


@pytest.mark.parametrize(
    ("trait", "value"),
    [
        ("program", "attention"),
        ("selected", ""),
        ("selected", "root-999"),
        ("selected", "root-0-0"),
        ("selected", "root/9"),
        ("selected", "root-0/0"),
        ("selected", "root-x"),
        ("selected", "root/"),
        ("order", "yes"),
    ],
)
def test_what_is_not_there_is_refused(explorer: SearchExplorer, trait: str, value: Any) -> None:
    before = {name: getattr(explorer, name) for name in TRAITS}
    with pytest.raises((UsageError, traitlets.TraitError)):
        setattr(explorer, trait, value)
    assert {name: getattr(explorer, name) for name in TRAITS} == before


@pytest.mark.parametrize(
    "make",
    [
        lambda: SearchExplorer("lorax"),
        lambda: SearchExplorer("lora", Nest(("b",))),
        lambda: SearchExplorer("lora", prunings=("all",)),
        lambda: SearchExplorer("lora", most=99),
    ],
)
def test_what_cannot_be_explored_is_refused(make: Any) -> None:
    with pytest.raises(UsageError):
        make()


def test_where_no_widgets_run_there_are_the_way_to_a_solution_and_the_growth(
    explorer: SearchExplorer,
) -> None:
    data, _ = explorer._repr_mimebundle_()
    assert "application/vnd.jupyter.widget-view+json" in data
    html = data["text/html"]
    assert html.count("<svg") == 2
    assert "a solution. It is equal to the goal" in html
    for name in ("all three: 350", "without order: 4,996", "none of them: 45,226"):
        assert name in html


def test_the_page_asks_no_other_machine_for_anything() -> None:
    for text in (SearchExplorer._esm, SearchExplorer._css):
        assert "http" not in text
        assert "import " not in text
