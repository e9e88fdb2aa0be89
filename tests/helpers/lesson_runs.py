"""Runs of a lesson on this machine, which may play another one: what every cell said there."""

from __future__ import annotations

import contextlib
import html
import importlib.util
import re
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient

from mlc_course.machine import ON_X86, describe, usable_cores
from mlc_course.tensor_program.tir import host_cpu

ROOT = Path(__file__).parents[2]
STATEMENTS = ROOT / "tests" / "statements"
CELL_TIMEOUT_S = 300  # a cell takes seconds; a machine that plays a busy one is one
BUDGET = "0.2"  # of the time that a measurement takes for a reader
KERNELS_OF_NUMPY = {"SSE": "Nehalem", "AVX2": "Haswell"}  # AVX-512 has those that are here
WIDGET = "application/vnd.jupyter.widget-view+json"
SPIN = "while True: pass"
NAIVE = "the naive answer is called right"

Said = Mapping[str, str]
Faults = Callable[[Said], Iterator[str]]


@dataclass(frozen=True)
class Setting:
    """One thing that is different from a quiet run on this machine."""

    name: str
    variables: dict[str, str] = field(default_factory=dict)
    one_core: bool = False
    busy: bool = False

    def __str__(self) -> str:
        return self.name


def other_lanes() -> Iterator[Setting]:
    """Yield machines with other vectors than this one, where it can play them."""
    for isa in ON_X86 if describe().isa in ON_X86 else ():
        if isa != describe().isa:
            variables = {"MLC_COURSE_ISA": isa}
            if isa in KERNELS_OF_NUMPY:
                variables["OPENBLAS_CORETYPE"] = KERNELS_OF_NUMPY[isa]
            yield Setting(isa, variables)


def settings() -> list[Setting]:
    """Return all settings that a lesson must hold in: one factor differs in each."""
    return [
        *other_lanes(),
        Setting("small caches", {"MLC_COURSE_CACHES": "32K,256K,1M"}),
        Setting("large caches", {"MLC_COURSE_CACHES": "48K,2M,256M"}),
        Setting("one core", one_core=True),
        Setting("busy neighbour", busy=True),
    ]


def run(path: Path, setting: Setting) -> Any:
    """Run a notebook with naive predictions and return it with outputs.

    Raises ``CellExecutionError`` where a cell fails.
    """
    notebook = nbformat.read(path, as_version=4)
    notebook.cells = [_prologue(setting), *_with_naive_answers(notebook.cells)]
    resources = {"metadata": {"path": str(path.parent)}}
    with neighbours(usable_cores() if setting.busy else 0):
        NotebookClient(notebook, timeout=CELL_TIMEOUT_S, resources=resources).execute()
    return notebook


def said(notebook: Any) -> dict[str, str]:
    """The text of each cell's output, by its id: what it printed, and HTML without its tags."""
    return {cell.id: texts_of(cell.outputs) for cell in notebook.cells if cell.cell_type == "code"}


def texts_of(outputs: Iterable[Mapping[str, Any]]) -> str:
    """The text of a cell's outputs; what it prints may come in several pieces."""
    return "".join(text_of(each) + ("" if "text" in each else "\n") for each in outputs)


def text_of(output: Mapping[str, Any]) -> str:
    """The text of one output of a cell, as a reader sees it."""
    if "text" in output:
        return str(output["text"])
    data = output.get("data", {})
    if "text/html" in data:
        return without_tags(data["text/html"])
    return str(data.get("text/plain", ""))


def without_tags(text: str) -> str:
    """HTML without tags, style sheets and pictures."""
    bare = re.sub(r"<style.*?</style>|<svg.*?</svg>|<[^>]+>", " ", text, flags=re.DOTALL)
    return html.unescape(bare)


def shortcomings(notebook: Any, faults: Faults, setting: Setting) -> list[str]:
    """Whatever a run should not have said: warnings, a naive answer called right, untrue words.

    ``faults`` is called where ``describe`` tells of the machine that the run played.
    """
    texts = said(notebook)
    found = [
        complaint
        for cell in notebook.cells
        if cell.cell_type == "code"
        for output in cell.outputs
        for complaint in faults_of_output(cell.id, output)
    ]
    found += [
        f"{name}: {NAIVE}: {text.strip()}"
        for name, text in texts.items()
        if ", as you said." in text
    ]
    with playing(setting):
        return found + list(faults(texts))


def shortcomings_of(path: Path, setting: Setting, faults: Faults | None = None) -> list[str]:
    """The shortcomings of a lesson; a naive answer has to be called right in a second run, too.

    A race that a neighbour disturbs can come out as the naive answer says. ``faults`` are the
    lesson's own statements by default.
    """
    judge = faults or statements(path)
    found, again = [], None
    for each in shortcomings(run(path, setting), judge, setting):
        if NAIVE in each and again is None:
            again = shortcomings(run(path, setting), judge, setting)
        if NAIVE not in each or _in_the_same_cell(each, again or []):
            found.append(each)
    return found


def _in_the_same_cell(shortcoming: str, others: Iterable[str]) -> bool:
    cell = shortcoming.partition(NAIVE)[0]
    return any(each.startswith(cell + NAIVE) for each in others)


@contextlib.contextmanager
def playing(setting: Setting) -> Iterator[None]:
    """Let this process play the machine of a setting inside the ``with``."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in setting.variables.items():
            patch.setenv(name, value)
        describe.cache_clear()
        host_cpu.cache_clear()
        try:
            yield
        finally:
            patch.undo()
            describe.cache_clear()
            host_cpu.cache_clear()


def faults_of_output(cell: str, output: Mapping[str, Any]) -> Iterator[str]:
    """Yield what is wrong with an output, whatever it says."""
    if output.get("name") == "stderr":
        yield f"{cell} writes to stderr: {output['text'][:200]}"
    data = output.get("data", {})
    static = data.get("text/html", "")
    if WIDGET in data and not without_tags(static).strip() and "<svg" not in static:
        yield f"{cell} has a widget without a static form for exported pages"


def statements(path: Path) -> Faults:
    """The function that finds untrue statements in a run of this lesson; one file a lesson."""
    file = STATEMENTS / f"lesson_{path.stem[:2]}.py"
    specification = importlib.util.spec_from_file_location(f"statements_{file.stem}", file)
    if not file.exists():
        return lambda said: iter(())
    assert specification and specification.loader
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    faults: Faults = module.faults
    return faults


def naive_answer(cell: Any) -> int | None:
    """The place of the naive answer among the choices of a cell's prediction."""
    found = cell.metadata.get("mlc", {}).get("naive")
    return None if found is None else int(found)


def _prologue(setting: Setting) -> Any:
    """Make the first cell, which changes the machine before anything is imported."""
    lines = [
        "import os",
        f"os.environ.update({ {'MLC_COURSE_BUDGET': BUDGET, **setting.variables} })",
    ]
    if setting.one_core:
        lines.append("os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})")
    return nbformat.v4.new_code_cell("\n".join(lines), id="prologue")


def _with_naive_answers(cells: list[Any]) -> Iterator[Any]:
    for cell in cells:
        yield cell
        place = naive_answer(cell)
        if place is not None:
            source = (
                "for _each in list(globals().values()):\n"
                "    if type(_each).__name__ == 'Prediction' and not _each.guess:\n"
                f"        _each.guess = _each.choices[{place}]\n"
                "del _each"
            )
            yield nbformat.v4.new_code_cell(source, id=f"naive-{cell.id}"[:64])


@contextlib.contextmanager
def neighbours(count: int) -> Iterator[None]:
    """Keep as many cores busy inside the ``with`` as there are neighbours."""
    started = [subprocess.Popen([sys.executable, "-c", SPIN]) for _ in range(count)]
    try:
        yield
    finally:
        for each in started:
            each.kill()
            each.wait()
