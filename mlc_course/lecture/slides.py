"""The slides of a lesson, read from the metadata of its notebook's cells.

A cell with ``slideshow.slide_type`` "slide" begins a slide, one with "-" joins the slide before,
and every other cell is run but not shown. What the wall shows in place of the reader's paragraphs
is in the cell's own ``lecture`` metadata::

    "lecture": {
      "wall": ["## Six programs, one product", "", "Which is the slowest?"],   lines of Markdown
      "notes": ["Ask who has written three nested loops."],    for the lecturer's second window
      "minutes": 2,                    of the slide that the cell begins
      "code": false, "result": false,  leave out one half of a code cell
      "budget_s": 8,                   then the recording stays on the wall
      "poll": "CELL",                  the cell whose prediction was voted on, beside its outcome
      "parts": [["TEST-ID"], [...]],   a slide for each list, without the elements it names
      "carry": {"TRAIT": [values]}     more values of a widget that move without a kernel
    }
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from mlc_course.extras import brought_by

with brought_by("lab"):
    import nbformat

from mlc_course.errors import UsageError, check_known, did_you_mean

BUDGET_S = 8.0
KEYS = ("wall", "notes", "minutes", "code", "result", "budget_s", "poll", "parts", "carry")
LESSONS = "[0-9][0-9]_*.ipynb"
KINDS = ("slide", "-", "skip")


@dataclass(frozen=True)
class Cell:
    """A cell of the notebook as a lecture uses it; one that is not on a slide is run all the same.

    ``wall`` is Markdown. ``budget_s`` is how long the hall waits for the cell. ``carry`` maps a
    widget's traits to further values whose views a recording keeps.
    """

    name: str
    source: str
    is_code: bool
    wall: str = ""
    shows_code: bool = False
    shows_result: bool = False
    budget_s: float = BUDGET_S
    poll: str = ""
    carry: Mapping[str, Sequence[Any]] = field(default_factory=dict)


@dataclass(frozen=True)
class Place:
    """Where a cell is drawn on a slide; ``hidden`` names parts of its widget that are left out."""

    cell: str
    hidden: tuple[str, ...] = ()
    is_continued: bool = False  # only the result, which began on the slide before


@dataclass(frozen=True)
class Slide:
    """One slide, for some ``minutes``, planned from the minute ``starts`` on."""

    places: tuple[Place, ...]
    notes: str
    minutes: float
    starts: float


@dataclass(frozen=True)
class Deck:
    """The slides of one lesson, and all cells of its notebook in the order in which they run."""

    name: str
    title: str
    cells: tuple[Cell, ...]
    slides: tuple[Slide, ...]

    @property
    def code(self) -> tuple[Cell, ...]:
        return tuple(cell for cell in self.cells if cell.is_code)


def read_deck(notebook: Path, *, for_lecture: bool = True) -> Deck:
    """Read the slides of a notebook.

    Raises ``UsageError`` for metadata that makes no sense, and for a notebook without slides; where
    it is not for a lecture but to be run, it needs none.
    """
    found = nbformat.read(notebook, as_version=4)
    has_slides = any(kind(cell) == "slide" for cell in found.cells)
    if for_lecture and not has_slides:
        raise UsageError(
            f"{notebook.name}: no slides",
            expected='a cell with the slide type "slide"',
            got=f"{len(found.cells)} cells without one",
        )
    cells = tuple(read_cell(cell) for cell in found.cells)
    names = {cell.name for cell in cells}
    for cell in cells:
        if cell.poll and cell.poll not in names:
            raise UsageError(f"{cell.name}: poll: no such cell", got=cell.poll)
    slides = tuple(number_minutes(group(found.cells))) if has_slides else ()
    title = next(line for line in found.cells[0].source.splitlines() if line).lstrip("# ")
    return Deck(notebook.stem, title, cells, slides)


def kind(cell: Any) -> str:
    """Return the slide type of a notebook's cell; without one it is "skip"."""
    found = cell.metadata.get("slideshow", {}).get("slide_type", "skip")
    check_known(f"{cell.get('id')}: slide_type", found, KINDS)
    return str(found)


def read_cell(cell: Any) -> Cell:
    """Read what the lecture needs of a notebook's cell; raises ``UsageError`` for unknown keys."""
    own, shown, is_code = cell.metadata.get("lecture", {}), kind(cell), cell.cell_type == "code"
    for key in own:
        check_known(f"{cell.id}: lecture", key, KEYS)
    if own and shown == "skip":
        raise UsageError(
            f"{cell.id}: lecture metadata on a cell that is not shown",
            expected='the slide type "slide" or "-"',
            got=", ".join(own),
        )
    wall = "\n".join(own.get("wall", ()))
    if shown != "skip" and not is_code and not wall:
        raise UsageError(f"{cell.id}: nothing for the wall", expected='"wall": [lines]')
    return Cell(
        name=cell.id,
        source=cell.source,
        is_code=is_code,
        wall=wall,
        shows_code=is_code and shown != "skip" and own.get("code", True),
        shows_result=is_code and shown != "skip" and own.get("result", True),
        budget_s=float(own.get("budget_s", BUDGET_S)),
        poll=own.get("poll", ""),
        carry=own.get("carry", {}),
    )


def group(cells: Sequence[Any]) -> Iterator[Slide]:
    """Yield the slides that the cells make, without their planned minutes."""
    places: list[Place] = []
    notes, minutes = "", 0.0
    for cell in cells:
        shown = kind(cell)
        if shown == "skip":
            continue
        own = cell.metadata.get("lecture", {})
        if shown == "slide" and places:
            yield Slide(tuple(places), notes, minutes, 0.0)
            places = []
        elif shown == "-" and not places:
            raise UsageError(f"{cell.id}: joins a slide, but no slide has begun")
        text = "\n".join(own.get("notes", ()))
        if shown == "slide":
            notes, minutes = text, float(own.get("minutes", 0))
        else:
            notes = "\n".join(filter(None, (notes, text)))
        first, *further = own.get("parts", [[]])
        minutes /= 1 + len(further)  # a large widget goes on over several slides, which share them
        places.append(Place(cell.id, tuple(first)))
        for hidden in further:
            yield Slide(tuple(places), notes, minutes, 0.0)
            places = [Place(cell.id, tuple(hidden), is_continued=True)]
    yield Slide(tuple(places), notes, minutes, 0.0)


def number_minutes(slides: Iterator[Slide]) -> Iterator[Slide]:
    """Yield the slides with the minute at which each is planned to come up."""
    past = 0.0
    for each in slides:
        yield replace(each, starts=past)
        past += each.minutes


def all_decks(notebooks: Path) -> dict[str, Deck | UsageError]:
    """Return the slides of every lesson by the name of its notebook, or what is wrong with them."""
    found: dict[str, Deck | UsageError] = {}
    for path in sorted(notebooks.glob(LESSONS)):
        try:
            found[path.stem] = read_deck(path)
        except UsageError as error:
            found[path.stem] = error
    return found


def lesson_notebook(notebooks: Path, number: str) -> Path:
    """Return the notebook of a lesson that is named by its number, as 5, 05 or 05_loop_reorder.

    Raises ``UsageError`` when there is none.
    """
    lessons = {path.stem: path for path in sorted(notebooks.glob(LESSONS))}
    wanted = number.removesuffix(".ipynb")
    found = re.match(r"\d+", wanted)
    fitting = [
        path
        for name, path in lessons.items()
        if name == wanted or (found and found[0] == wanted and int(name[:2]) == int(wanted))
    ]
    if not fitting:
        known = ", ".join(name[:2] for name in lessons) or f"none in {notebooks}"
        hint = did_you_mean(number, lessons)
        raise UsageError("lecture: no such lesson", expected=known, got=number, hint=hint)
    return fitting[0]
