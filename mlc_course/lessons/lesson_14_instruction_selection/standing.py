"""Candidates for a cell, as texts: how many random tests expose each, and what the proof says."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from IPython.display import HTML

from mlc_course.instruction_selection.integers import Formula, compiled
from mlc_course.instruction_selection.isa import level_of
from mlc_course.instruction_selection.prove import Proved, Refuted, Verdict, prove_cell
from mlc_course.instruction_selection.search import Refuted as RefutedInSearch
from mlc_course.instruction_selection.search import Selecting, Selection
from mlc_course.instruction_selection.spec import Cell, Specification
from mlc_course.lessons.kit import table
from mlc_course.lessons.lesson_14_instruction_selection.program_text import read_program

WIDTH = 88
SHOWN = 6  # refuted candidates of a search
STYLE = """
.mlc-standing td:first-child { font-family: var(--jp-code-font-family, monospace);
  font-size: 12px; white-space: nowrap; }
.mlc-standing td:nth-child(2) { text-align: right !important; padding-right: 24px; }
"""


@dataclass(frozen=True)
class Standing:
    """A candidate, the random tests that expose it, out of so many, and the verdict on it."""

    program: str
    exposed: int
    tests: int
    verdict: Verdict


def judged(
    spec: Specification, candidates: Iterable[str], *, tests: int, seed: int = 0
) -> list[Standing]:
    """Test each candidate on random inputs of the specification's ranges, and prove or refute it.

    Raises:
        TextError, UsageError: a candidate is no program on the cell.
    """
    found = []
    for text in candidates:
        program = read_program(text, spec.cell)
        lanes = program.lanes(spec.cell.inputs, spec.cell.result)
        exposed = count_exposed(spec.cell, lanes[0], tests=tests, seed=seed)
        found.append(Standing(text, exposed, tests, prove_cell(spec.cell, program)))
    return found


def count_exposed(cell: Cell, found: Formula, *, tests: int, seed: int = 0) -> int:
    """Return on how many random inputs a formula is not the cell's goal."""
    rng = np.random.default_rng(seed)
    inputs = tuple(x for each in cell.inputs.values() for x in each)
    arrays = [rng.integers(x.lo, x.hi + 1, tests) for x in inputs]
    values = compiled((cell.goal, found), inputs)(*arrays)
    return int(np.count_nonzero(values[0] != values[1]))


def standing_table(rows: Sequence[Standing]) -> HTML:
    """Show candidates, a row each: the tests that expose it, and the verdict in words."""
    head = ("candidate", f"wrong on, of {rows[0].tests:,}", "the proof says")
    lines = [(each.program, f"{each.exposed:,}", verdict_text(each.verdict)) for each in rows]
    shown = table(head, lines, kind="mlc-review mlc-standing")
    return HTML(f'<style>{STYLE}</style><div class="mlc">{shown}</div>')  # type: ignore[no-untyped-call]


def verdict_text(verdict: Verdict) -> str:
    """Return a verdict in a few words."""
    match verdict:
        case Proved(certificate):
            return f"equal for all inputs, by {certificate.method}"
        case Refuted():
            return f"{input_text(verdict.model)}: {verdict.found} and not {verdict.wanted}"
        case _:
            return str(verdict)


def input_text(model: object) -> str:
    """Return an input by the names of its lanes; an operand of one lane has no number."""
    assert isinstance(model, dict) or hasattr(model, "items")
    values = dict(model.items())
    several = {name.partition("[")[0] for name in values if not name.endswith("[0]")}
    return ", ".join(
        f"{name if name.partition('[')[0] in several else name.partition('[')[0]} = {value}"
        for name, value in values.items()
    )


def searched(spec: Specification, *, level: str = "avx2", seconds: float = 60.0) -> Selection:
    """Search for a program, print what is refuted on the way and what comes of it, and return it.

    Raises:
        UsageError: there is no such level.
    """
    search = Selecting(spec.cell, level_of(level), seconds)
    refuted: dict[str, str] = {}
    names = {f"x{at}": each.name for at, each in enumerate(spec.cell.operands)}
    for event in search:
        if isinstance(event, RefutedInSearch) and event.goal == spec.cell.name:
            text = _renamed(event.program, names)
            values = {_renamed(name, names): value for name, value in event.model.items()}
            refuted.setdefault(text, f"{input_text(values)}: {event.found}, not {event.wanted}")
    found = search.result
    for text, why in list(refuted.items())[:SHOWN]:
        print(_line(f"refuted  {text}"))
        print(_line(f"         {why}"))
    if len(refuted) > SHOWN:
        print(f"         and {len(refuted) - SHOWN} more")
    print(_line(f"tried    {found.tried:,} programs in {found.seconds:.1f} s"))
    if found.program is None:
        print(_line(f"found    none. {found.coverage[0].upper()}{found.coverage[1:]}."))
    else:
        print(_line(f"found    {found.program}"))
        print(_line(f"         {found.certificate}"))
    return found


def _renamed(text: str, names: dict[str, str]) -> str:
    for new, old in names.items():
        text = text.replace(new, old)
    return text


def _line(text: str) -> str:
    return textwrap.fill(text, WIDTH, subsequent_indent=" " * 9, break_long_words=False)
