"""Recordings: the outputs of a lesson on one machine and day, for a wall without a kernel.

A widget is kept as its state. Where the values that can be chosen in it are few, each is chosen
once, and what Python answered is kept too, so that the widget moves without Python.
"""

from __future__ import annotations

import asyncio
import datetime
import json
import os
import re
import signal
import tempfile
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from hashlib import sha256
from importlib import resources
from pathlib import Path
from typing import Any

from tqdm.auto import tqdm

from mlc_course.extras import brought_by

with brought_by("lab"):
    import nbformat

from mlc_course.errors import CourseError, UsageError
from mlc_course.lecture.slides import Deck, read_deck
from mlc_course.machine import describe

RECORDINGS = Path(str(resources.files("mlc_course.lecture"))) / "recordings"
VIEW = "application/vnd.jupyter.widget-view+json"
STATE = "application/vnd.jupyter.widget-state+json"
KEPT = (VIEW, "text/html", "image/svg+xml", "image/png", "text/markdown", "text/plain")
CELL_S = 600
STYLE = re.compile(r"<style>.*?</style>", re.DOTALL)

# Runs in the kernel after the last cell: what each widget answers to each choice.
ASK_WIDGETS = "\nfrom mlc_course.lecture import write_answers as _ask\n_ask({}, {!r})\n"


@dataclass(frozen=True)
class Recording:
    """Outputs by cell and widgets by model, with the machine and the date they come from.

    ``sources`` has a digest of each cell's code, so that a recording of other code is noticed.
    """

    machine: str
    date: str
    sources: Mapping[str, str]
    outputs: Mapping[str, list[dict[str, Any]]]
    widgets: Mapping[str, dict[str, Any]]

    @property
    def label(self) -> str:
        return f"{self.machine}, {self.date}"


def path_of(name: str, folder: Path = RECORDINGS) -> Path:
    """Return where the recording of the notebook of a name is."""
    return folder / f"{name}.json"


def recordings(language: str) -> Path:
    """Return where the recordings of lessons in a language are; those in English by default."""
    return RECORDINGS / language if (RECORDINGS / language).is_dir() else RECORDINGS


def load(name: str, folder: Path = RECORDINGS) -> Recording:
    """Read the recording of a notebook; raises ``UsageError`` where there is none."""
    path = path_of(name, folder)
    try:
        return Recording(**json.loads(path.read_text(encoding="utf-8")))
    except FileNotFoundError:
        raise UsageError(
            f"lecture: {name} has not been recorded",
            expected=path.name,
            got="no such file",
            hint=f"mlc-course lecture {name[:2]} --record",
        ) from None
    except (ValueError, TypeError) as error:
        raise UsageError(f"{path.name}: not a recording", got=error) from None


def digest(source: str) -> str:
    """Return a few letters that differ when the code does."""
    return sha256(source.encode()).hexdigest()[:12]


def outdated(deck: Deck, recording: Recording) -> list[str]:
    """Return the names of the cells whose code, or place, is not what was recorded."""
    now = {cell.name: digest(cell.source) for cell in deck.code}
    before = recording.sources
    changed = [name for name in {*now, *before} if now.get(name) != before.get(name)]
    if not changed:
        changed = [new for new, old in zip(now, before, strict=True) if new != old]
    return sorted(changed)


def record(notebook: Path, folder: Path = RECORDINGS) -> Recording:
    """Run a notebook from top to bottom, and keep what it shows; this takes as long as it takes.

    Shows progress; an interrupt and a cell that fails leave the recording before untouched. Raises
    ``CourseError`` for a cell that fails.
    """
    from nbclient import NotebookClient  # only who records waits for it
    from nbclient.exceptions import CellExecutionError

    deck = read_deck(notebook, for_lecture=False)
    found = nbformat.read(notebook, as_version=4)
    carried = {at: dict(cell.carry) for at, cell in enumerate(deck.code, 1) if cell.carry}
    with tempfile.TemporaryDirectory() as place:
        answers = Path(place) / "answers.json"
        asks = nbformat.v4.new_code_cell(ASK_WIDGETS.format(carried, str(answers)))
        found.cells.append(asks)
        count = sum(cell.cell_type == "code" for cell in found.cells)
        with tqdm(total=count, desc=f"recording {notebook.stem}", unit="cell") as bar:
            client = NotebookClient(
                found,
                timeout=CELL_S,
                resources={"metadata": {"path": str(notebook.parent)}},
                on_notebook_start=_keep_interrupts,
                on_cell_executed=lambda **_: bar.update(),
            )
            try:
                client.execute()
            except CellExecutionError as error:
                raise CourseError(f"lecture: {notebook.name} fails", got=str(error)) from None
        known = json.loads(answers.read_text(encoding="utf-8"))
    found.cells.pop()
    made = Recording(
        machine=_machine(),
        date=f"{datetime.date.today()}",
        sources={cell.name: digest(cell.source) for cell in deck.code},
        outputs={cell.id: _outputs(cell) for cell in found.cells if cell.cell_type == "code"},
        widgets=_widgets(found, known),
    )
    _write(path_of(notebook.stem, folder), made)
    return made


def _keep_interrupts(**_: Any) -> None:
    """Let Ctrl-C raise ``KeyboardInterrupt``; nbclient would end the kernel and trip over it."""
    asyncio.get_running_loop().remove_signal_handler(signal.SIGINT)


def _machine() -> str:
    here = describe()
    return f"{here.cpu}, {here.cores} cores, {here.isa}"


def _outputs(cell: Any) -> list[dict[str, Any]]:
    return [_output(each) for each in cell.outputs]


def _output(output: Any) -> dict[str, Any]:
    if output.output_type == "stream":
        return {"output_type": "stream", "name": output.name, "text": output.text}
    if output.output_type == "error":
        return {"output_type": "error", "ename": output.ename, "evalue": output.evalue}
    data = {kind: output.data[kind] for kind in KEPT if kind in output.data}
    best = next(kind for kind in KEPT if kind in data)
    kept = {best: data[best]}
    if best == VIEW:
        kept["text/html"] = STYLE.sub("", data["text/html"])  # the page has the style sheet
    return {"output_type": "display_data", "data": kept}


def _widgets(notebook: Any, answers: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    states = notebook.metadata.get("widgets", {}).get(STATE, {}).get("state", {})
    found: dict[str, dict[str, Any]] = {}
    for model, each in states.items():
        state = each["state"]
        if "_anywidget_id" not in state:
            continue
        own = {name: value for name, value in state.items() if not name.startswith("_")}
        for name in ("layout", "tabbable", "tooltip"):
            own.pop(name, None)
        module = state["_anywidget_id"].rpartition(".")[0]
        found[model] = {"module": module, "state": own, **answers.get(model, {})}
    return found


def _write(path: Path, recording: Recording) -> None:
    """Write whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    text = json.dumps(asdict(recording), separators=(",", ":"), ensure_ascii=False)
    beside = path.with_suffix(f".{os.getpid()}.part")
    try:
        beside.write_text(f"{text}\n", encoding="utf-8")
        beside.replace(path)
    finally:
        beside.unlink(missing_ok=True)
