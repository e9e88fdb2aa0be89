"""The code explorer: a graph and its kernel side by side, and one decision at a time to change."""

from __future__ import annotations

import html
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import traitlets

from mlc_course.errors import check_known
from mlc_course.lessons.kit import Choice, Widget, charts, table
from mlc_course.lessons.lesson_19_from_graph_to_code.grids_on_cpu import (
    FITTED,
    PUBLISHED,
    WIDER,
    bars_svg,
    cpu_race,
    gain,
)
from mlc_course.lessons.lesson_19_from_graph_to_code.knobs import (
    KNOBS,
    LOWERED,
    NO_SWIZZLE,
    NOT_AHEAD,
    ONE_MORE,
    OTHER_GRID,
    Counts,
    Form,
    forms,
    without_barriers,
)
from mlc_course.lessons.lesson_19_from_graph_to_code.lineage import (
    Line,
    graph_lines,
    kernel_lines,
    words,
)
from mlc_course.lessons.lesson_19_from_graph_to_code.recorded_gpus import (
    NOT_MEASURED,
    recorded_times,
)
from mlc_course.machine import describe
from mlc_course.measure import Comparison
from mlc_course.mugraph.gpu_text import CUDA, source_of
from mlc_course.mugraph.kernel_checks import first_fault
from mlc_course.mugraph.programs import PROGRAM_OF, published, workload
from mlc_course.units import milliseconds, plural, size_text, times

KERNEL, TEXT = "kernel program", "CUDA C++"
LANGUAGES = (KERNEL, TEXT)
BARRIERS = ("barrier", "__syncthreads();")
HEAD = ("", "blocks", "loaded by all", "shared memory", "barriers", "a block waits", "wavefronts")
ON_A_CPU = {
    LOWERED: "Press the button for its time on this machine's CPU.",
    NO_SWIZZLE: "A CPU has no banks, so there is nothing to time: look at the wavefronts.",
    ONE_MORE: "On a CPU one thread computes a block, so a barrier costs nothing: look at how "
    "often a block waits.",
    NOT_AHEAD: "A CPU fetches lines ahead by itself, so there is nothing to time: look at the "
    "shared memory and at how often a block waits.",
    OTHER_GRID: "The grid matters on a CPU, too: press the button, and compare the grids.",
}


class CodeExplorer(Widget):
    """The graph of a kernel and the kernel's text, line by line, with what comes from what.

    ``knob`` takes one decision otherwise, ``language`` is how the kernel is written. All forms are
    made at once, so that a page shows them without asking. ``races`` are the times that were
    measured. Raises ``UsageError`` for an unknown graph, or one of several kernels.
    """

    knob = Choice(LOWERED, KNOBS)
    language = Choice(KERNEL, LANGUAGES)

    knobs: Any = traitlets.List(traitlets.Unicode()).tag(sync=True)
    languages: Any = traitlets.List(traitlets.Unicode()).tag(sync=True)
    graph_rows: Any = traitlets.List().tag(sync=True)
    code_rows: Any = traitlets.Dict().tag(sync=True)
    counts: Any = traitlets.Dict().tag(sync=True)
    svg = traitlets.Unicode("").tag(sync=True)

    def __init__(self, name: str = "rms_norm_matmul_fused") -> None:
        check_known("no graph with a program", name, PROGRAM_OF)
        self.graph = published(name)
        self.forms = forms(self.graph)
        self.races: dict[str, Comparison] = {}
        self._program = PROGRAM_OF[name]
        self._on_gpus = recorded_times(name)
        if self._on_gpus != NOT_MEASURED:
            self._on_gpus = f"As lowered: {self._on_gpus}"
        super().__init__(
            knobs=list(KNOBS),
            languages=list(LANGUAGES),
            graph_rows=[{"text": line.text, "of": list(line.of)} for line in self._graph_lines],
            code_rows={
                knob: dict(zip(LANGUAGES, map(_rows, _texts(made)), strict=True))
                for knob, made in self.forms.items()
            },
            counts={knob: self._counts(knob) for knob in KNOBS},
        )
        self.status = "Point at a line, or choose one with the arrow keys."

    @property
    def _graph_lines(self) -> list[Line]:
        return graph_lines(self.graph)

    def _counts(self, knob: str) -> str:
        found = {name: made.counts for name, made in self.forms.items()}
        said = f"{changes(found[LOWERED], found[knob])} {ON_A_CPU[knob]} {self._on_gpus}"
        return counts_table(found, knob) + f"<p>{html.escape(said)}</p>"

    def measure(self) -> Mapping[str, Comparison]:
        """Compile and time the program on one thread of this CPU, fused and unfused."""
        with self.measuring(f"{self._program} on one thread: compiling four forms, then timing."):
            self.races = cpu_race(workload(self._program), self.graph)
            self.svg = bars_svg(self.races)
            self.status = summary(self.races)
        return self.races

    def static_html(self) -> str:
        """Both texts, each line of the kernel with what it comes from, and the counts."""
        graph = "".join(f"<div>{html.escape(line.text)}</div>" for line in self._graph_lines)
        code = "".join(
            f"<div>{html.escape(row['text'])}"
            f"{'  <b>&larr; ' + html.escape(', '.join(row['of'])) + '</b>' if row['of'] else ''}"
            "</div>"
            for row in self.code_rows[self.knob][self.language]["rows"]
        )
        return (
            '<div class="mlc-beside mlc-code">'
            f'<div class="mlc-listing">{graph}</div><div class="mlc-listing">{code}</div></div>'
            f"{self.counts[self.knob]}{charts(self.svg)}"
        )


def _texts(made: Form) -> Iterator[list[tuple[Line, str]]]:
    """Yield the lines of a kernel in each language, with a sentence on each."""
    faults = barrier_faults(made)
    source = source_of((made.kernel,), CUDA, "float16").text
    for text in (str(made.kernel), source[source.index("// blocks ") :]):
        lines, said, left = [], [], iter(faults)
        for line in kernel_lines(made.graph, text):
            if line.text.strip() in BARRIERS:
                name, fault = next(left)
                line = replace(line, of=(name,) if name else ())
                said.append(fault)
            else:
                said.append("")
            lines.append(line)
        yield [(line, each or origin(line)) for line, each in zip(lines, said, strict=True)]


def _rows(lines: Sequence[tuple[Line, str]]) -> dict[str, Any]:
    """Return the lines as plain data, and for each equation which lines come from it."""
    only = [line for line, _ in lines]
    names = dict.fromkeys(name for line in only for name in line.of)
    return {
        "rows": [{"text": line.text, "of": list(line.of), "says": says} for line, says in lines],
        "says": {name: words(only, name) for name in names},
    }


def origin(line: Line) -> str:
    """Say which equation a line of a kernel comes from."""
    if not line.of:
        return "From no equation: the lowering added this line."
    first, *inside = line.of
    also = f"; {' and '.join(inside)} {'is' if len(inside) == 1 else 'are'} computed within"
    return f"From {first}{also if inside else ''}."


def barrier_faults(made: Form) -> list[tuple[str, str]]:
    """Return for each barrier what crosses threads there, and what happens without it.

    The kernel runs without values on few blocks and iterations; the name is empty where no fault
    shows.
    """
    small = made.small().kernel
    found = []
    for number in range(made.counts.barriers):
        fault = first_fault(without_barriers(small, {number}))
        if fault is None:
            found.append(
                ("", "Nothing crosses threads here: the kernel is right without this barrier.")
            )
        else:
            index = ", ".join(map(str, fault.index))
            said = f"Without this barrier: {fault.buffer}[{index}] {fault.says}"
            found.append((fault.buffer, f"{said} (thread {fault.thread})."))
    return found


def counts_table(found: Mapping[str, Counts], chosen: str) -> str:
    """Return the counts of all forms as HTML, the chosen one marked."""
    rows = [
        (
            name,
            each.blocks,
            size_text(each.loaded_bytes),
            size_text(each.shared_bytes),
            each.barriers,
            plural(each.waits, "time"),
            f"{each.wavefronts:,}",
        )
        for name, each in found.items()
    ]
    return table(HEAD, rows, kind="mlc-runs mlc-orders", chosen=list(found).index(chosen))


def changes(before: Counts, now: Counts) -> str:
    """Say what a knob changed."""
    parts = []
    for name, show in (
        ("blocks", "{:,} blocks, not {:,}"),
        ("loaded_bytes", "{} loaded by all blocks, not {}"),
        ("shared_bytes", "{} of shared memory, not {}"),
        ("waits", "a block waits {:,} times, not {:,}"),
        ("wavefronts", "{:,} wavefronts, not {:,}"),
    ):
        was, is_now = getattr(before, name), getattr(now, name)
        if was != is_now:
            sizes = name.endswith("bytes")
            parts.append(show.format(*(size_text(n) if sizes else n for n in (is_now, was))))
    said = "; ".join(parts)
    return f"{said[0].upper()}{said[1:]}." if said else ""


def summary(found: Mapping[str, Comparison]) -> str:
    """Say in a sentence what the race showed."""
    best = next(iter(found))
    grids = found[PUBLISHED].timing.median_s / found[FITTED].timing.median_s
    wider = found[WIDER].timing.median_s / found[FITTED].timing.median_s
    numpy = found[best].baseline.median_s
    return (
        f"One thread of {describe()}: {gain(found)}, which takes {milliseconds(numpy)}. The GPU's "
        f"grid takes {times(grids)} the time of the grid that was chosen for this CPU, the wider "
        f"one {times(wider)}."
    )
