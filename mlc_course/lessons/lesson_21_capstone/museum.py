"""The museum: graphs that people or the search have found, each beside its program."""

from __future__ import annotations

import html
import json
from collections.abc import Mapping
from functools import cache, partial
from importlib import resources
from typing import Any, NamedTuple

import traitlets

from mlc_course.lessons.kit import Widget, charts, in_range, side_by_side
from mlc_course.lessons.lesson_21_capstone.plain_programs import Moved, measured
from mlc_course.measure import mark
from mlc_course.mugraph.ir import KernelGraph
from mlc_course.mugraph.picture import graph_svg
from mlc_course.mugraph.programs import FOUND, PROGRAM_OF, found, published, workload
from mlc_course.units import plural

TIMES = resources.files("mlc_course.lessons.lesson_21_capstone") / "recorded_times.json"
# Of each published graph: its title, and its idea.
IDEAS: Mapping[str, tuple[str, str]] = {
    "rms_norm_matmul_fused": (
        "The division that waits",
        "(X / r) W = (X W) / r: the product needs no norm until it is complete, so one loop adds "
        "up the squares and the product (Mirage, 2025).",
    ),
    "gated_mlp_fused": (
        "One pass over X",
        "Two products read the same X: one loop loads it once for both (Mirage, 2025).",
    ),
    "lora_fused": (
        "One product of two",
        "X W + X A B is the product of [X | X A] and W above B (Mirage, 2025).",
    ),
    "lora_looped": (
        "B comes late",
        "One loop adds up X W and X A; B is needed only when the loop is over.",
    ),
    "qk_norm_attention_fused": (
        "Norms inside attention",
        "The norms of queries and keys are computed in the block that uses them (Mirage, 2025).",
    ),
    "n_trans_fused": (
        "One row, one block",
        "A block keeps its row in shared memory from the first line to the last (Mirage, 2025).",
    ),
    "attention_fused": (
        "Scores that never leave",
        "exp does not need the whole row: one loop adds up the weights and their product with V.",
    ),
    "gqa_split_kv": (
        "Eight blocks share the keys",
        "With few queries most of a GPU is idle. So blocks take parts of the keys, and a second "
        "kernel adds up what they found (Flash-Decoding, T. Dao et al., 2023).",
    ),
    "online_softmax_attention": (
        "The largest so far",
        "When a larger score comes, what has been added up so far is scaled down (M. Milakov, N. "
        "Gimelshein, 2018; FlashAttention, T. Dao et al., 2022).",
    ),
    "attention_split_kv": (
        "Largest in parts",
        "Each part of the keys has a largest score of its own; the second kernel scales the parts "
        "before it adds them up.",
    ),
}
BY_THE_SEARCH: Mapping[str, tuple[str, str]] = {
    "found_in_one_kernel": (
        "Found in one kernel",
        "The library's search moved the division by itself, and chose the grid for an A100.",
    ),
    "found_in_two_kernels": (
        "Found in two kernels",
        "The same, with the summed dimension in four parts: each block loads a quarter of X.",
    ),
}


KINDS = {  # of a graph that has been timed
    "unfused": "a kernel for each operator",
    "published": "the graph {name}",
    "found": "a graph that the search found",
}


class Exhibit(NamedTuple):
    """A graph, the program that it computes, and what its label says."""

    name: str
    title: str
    idea: str
    program: KernelGraph
    graph: KernelGraph

    @property
    def moved(self) -> tuple[Moved, Moved]:
        """The counts of the program and of the graph."""
        return measured(str(self.program)), measured(str(self.graph))

    @property
    def said(self) -> str:
        """What the picture shows, for who cannot see it."""
        before, after = self.moved
        return (
            f"The graph {self.name}: {plural(after.launches, 'kernel')} in place of "
            f"{before.launches}, with the operators of each block; the text below has all of them"
        )

    @property
    def label(self) -> str:
        """The idea, what it changes, and how fast the program's best graph was, where timed."""
        before, after = self.moved
        counts = (
            f"{plural(before.launches, 'kernel')} became {after.launches}, and "
            f"{after.bytes / before.bytes:.2f} times as many bytes are loaded and stored, "
            "counting what several blocks load again."
        )
        return " ".join(filter(None, (self.idea, counts, _timed(self))))


@cache
def exhibits() -> tuple[Exhibit, ...]:
    """Return what the museum shows: published graphs, then two that the search found."""
    shown = [
        Exhibit(name, title, idea, workload(PROGRAM_OF[name]), published(name))
        for name, (title, idea) in IDEAS.items()
    ]
    shown += [
        Exhibit(name, title, idea, workload(FOUND[name]), found(name))
        for name, (title, idea) in BY_THE_SEARCH.items()
    ]
    return tuple(shown)


@cache
def recorded() -> dict[str, Any]:
    """Return which graph of a program was fastest beside NumPy, on which machine, and when."""
    times: dict[str, Any] = json.loads(TIMES.read_text(encoding="utf-8"))
    return times


def _timed(each: Exhibit) -> str:
    """Say how fast the program's best graph was, and which one that was: often another one."""
    record = recorded()
    best = record["fastest"].get(each.program.name)
    if best is None:
        return ""
    kind, _, name = best["graph"].partition(" ")
    which = "this graph" if name == each.name else KINDS[kind].format(name=name)
    return (
        f"Fastest on one thread of an {record['machine']} ({record['isa']}, {record['date']}): "
        f"{which}, {best['ratio']:.2f}{mark(best['warning'])} times NumPy's speed."
    )


class Museum(Widget):
    """The exhibits, one at a time: picture, label, and the graph beside its program.

    ``selected`` is the number of the chosen one. Every picture is drawn when the museum opens, so
    that each answer is at hand.
    """

    selected = traitlets.Int(0).tag(sync=True)
    titles: Any = traitlets.List().tag(sync=True)
    label = traitlets.Unicode("").tag(sync=True)
    svg = traitlets.Unicode("").tag(sync=True)
    said = traitlets.Unicode("").tag(sync=True)
    texts = traitlets.Unicode("").tag(sync=True)

    def __init__(self) -> None:
        super().__init__(titles=[each.title for each in exhibits()])
        self.draw_ahead(partial(_drawn, each) for each in exhibits())
        self._show()

    @traitlets.validate("selected")
    def _check_selected(self, proposal: Any) -> int:
        return in_range("exhibit here", 0, len(exhibits()) - 1, proposal.value)

    @traitlets.observe("selected")
    def _change(self, change: Any) -> None:
        self._show()

    def _show(self) -> None:
        chosen = exhibits()[self.selected]
        svg, texts = _drawn(chosen)
        self.label, self.said, self.svg, self.texts = chosen.label, chosen.said, svg, texts
        self.status = f"Exhibit {self.selected + 1} of {len(exhibits())}: {chosen.title}"

    def static_html(self) -> str:
        """Every exhibit, to be opened one by one, for a page on which no widgets run."""
        return "".join(self._static(place) for place in range(len(exhibits())))

    def _static(self, place: int) -> str:
        each = exhibits()[place]
        svg, texts = _drawn(each)
        shown = " open" if place == self.selected else ""
        head = f"<b>{place + 1}. {html.escape(each.title)}.</b> {html.escape(each.label)}"
        picture = f'<div role="img" aria-label="{html.escape(each.said)}">{charts(svg)}</div>'
        return f"<details{shown}><summary>{head}</summary>{picture}{texts}</details>"


@cache
def _drawn(each: Exhibit) -> tuple[str, str]:
    """Return the picture of an exhibit, and its two texts beside each other."""
    titles = f"the program, {each.program.name}", f"the graph, {each.name}"
    return graph_svg(each.graph), side_by_side(
        str(each.program), str(each.graph), titles=titles, context=None
    )
