"""The mu-graph explorer without a browser: choose a block, read what lights up."""

from __future__ import annotations

import json

import numpy as np
import pytest

from mlc_course.errors import UsageError
from mlc_course.lessons.lesson_16_mu_graphs.mugraph_explorer import MOST, MugraphExplorer, explore
from mlc_course.mugraph.ir import FLOAT64, Access, evaluate, parse

TWO_KERNELS = parse("""
two_kernels(X[b=8, d=64], W[d, n=32]):
  block grid(x=4, y=2) loop(k=2):
    x = load(X, imap={y: 0}, fmap={k: 1})
    w = load(W, imap={x: 1}, fmap={k: 0})
    p = matmul(x, w)
    P = accumulate(p)
    T = store(P, omap={x: 1, y: 0})
  block grid(x=2):
    t = load(T, imap={x: 0})
    y = silu(t)
    Y = store(y, omap={x: 0})
  return Y
""")
PLAIN = parse("""
plain(X[b=8, d=64]):
  Y = silu(X)
  return Y
""")


@pytest.fixture
def explorer() -> MugraphExplorer:
    return explore(TWO_KERNELS)


def test_it_begins_with_the_first_block_and_the_first_iteration(explorer: MugraphExplorer) -> None:
    assert explorer.kernels == ["T", "Y"]
    assert (explorer.kernel, explorer.block, explorer.iteration) == ("T", [0, 0], (0,))
    assert explorer.status == ("Block x=0, y=0, iteration k=0 loads X[0:4, 0:32], W[0:32, 0:8].")
    assert explorer.stage == explorer.svg


def test_another_block_lights_other_tiles_and_keeps_the_step(explorer: MugraphExplorer) -> None:
    explorer.step = 1
    before = explorer.frames
    explorer.block = [3, 1]
    assert explorer.status == (
        "Block x=3, y=1, iteration k=1 loads X[4:8, 32:64], W[32:64, 24:32]."
    )
    assert explorer.frames["lit"] != before["lit"]
    assert explorer.frames["here"] != before["here"]
    assert explorer.frames["lit"][1] in explorer.svg


def test_after_the_last_iteration_the_block_stores(explorer: MugraphExplorer) -> None:
    explorer.step = 2
    assert explorer.iteration == ()
    assert explorer.status == "Block x=0, y=0, after its loop, stores T[0:4, 0:8]."


def test_the_page_gets_a_frame_for_each_step(explorer: MugraphExplorer) -> None:
    frames = json.loads(json.dumps(explorer.frames))
    assert len(frames["lit"]) == len(frames["said"]) == 3
    for lit, said in zip(frames["lit"], frames["said"], strict=True):
        for words in said.split("[")[1:]:
            assert f"[{words.partition(']')[0]}]" in lit
    assert 'id="lit"' in explorer.stage
    assert 'id="here"' in explorer.map
    assert explorer.map.count('id="block-') == 8


def test_another_block_graph_begins_anew(explorer: MugraphExplorer) -> None:
    explorer.block, explorer.step = [3, 1], 2
    explorer.kernel = "Y"
    assert (explorer.block, explorer.step, explorer.extents) == ([0], 0, [2])
    assert explorer.status == "Block x=0 loads T[0:4, 0:32] and stores Y[0:4, 0:32]."
    assert len(explorer.frames["said"]) == 1
    explorer.kernel = "T"
    assert (explorer.block, explorer.extents) == ([0, 0], [4, 2])


def test_the_table_counts_what_the_interpreter_loads(explorer: MugraphExplorer) -> None:
    seen: list[Access] = []
    inputs = [np.ones(shape) for shape in TWO_KERNELS.shapes[:2]]
    evaluate(TWO_KERNELS, inputs, FLOAT64, seen.append)
    for number, (name, size, times) in enumerate((("X", 1.0, 4), ("W", 4.1, 2))):
        loads = [a for a in seen if (a.place, a.kind, a.number) == (0, "load", number)]
        elements = sum(np.prod([s.stop - s.start for s in a.slices]) for a in loads)
        assert elements == times * np.prod(TWO_KERNELS.shapes[number])
        row = f"<td>{name}</td><td>{size} kB</td>"
        assert row in explorer.facts
        assert f"<td>{2 * elements / 1000:,.1f} kB</td><td>{times} times</td>" in explorer.facts
    shared = TWO_KERNELS.tiles(0).shared_bytes()
    assert f"8 blocks, each with {shared / 1000:,.1f} kB of shared memory" in explorer.facts


@pytest.mark.parametrize(
    ("trait", "value"),
    [
        ("kernel", "X"),
        ("block", [4, 0]),
        ("block", [0, -1]),
        ("block", [0]),
        ("block", [0, 0, 0]),
        ("step", 3),
        ("step", -1),
    ],
)
def test_what_cannot_be_shown_is_refused(
    explorer: MugraphExplorer, trait: str, value: object
) -> None:
    before = {name: getattr(explorer, name) for name in (trait, "frames", "status", "stage")}
    with pytest.raises(UsageError):
        setattr(explorer, trait, value)
    assert {name: getattr(explorer, name) for name in before} == before


def test_a_graph_without_a_block_graph_is_refused() -> None:
    with pytest.raises(UsageError, match="plain: no block graph to explore"):
        explore(PLAIN)


def test_of_very_many_iterations_some_are_shown() -> None:
    long = explore(parse(str(TWO_KERNELS).replace("d=64", "d=65536").replace("k=2", "k=4096")))
    said = long.frames["said"]
    assert len(said) == MOST + 1
    assert "iteration k=16 loads" in said[1]
    assert "stores" in said[-1]


def test_where_no_widgets_run_there_is_the_graph_a_block_at_work_and_what_it_costs(
    explorer: MugraphExplorer,
) -> None:
    data, _ = explorer._repr_mimebundle_()
    assert "application/vnd.jupyter.widget-view+json" in data
    html = data["text/html"]
    assert html.count("<svg") == 2
    assert "accumulate(p)" in html
    assert "Block x=2, y=1, iteration k=1 loads X[4:8, 32:64], W[32:64, 16:24]." in html
    assert "4 times" in html


def test_the_page_asks_no_other_machine_for_anything() -> None:
    for text in (MugraphExplorer._esm, MugraphExplorer._css):
        assert "http" not in text
        assert "import " not in text
