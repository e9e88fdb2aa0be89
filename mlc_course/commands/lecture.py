"""``mlc-course lecture``: the slides of a lesson, live, or as a file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from mlc_course.commands.lab import has_browser
from mlc_course.commands.output import NOWHERE, Results, write_text
from mlc_course.course_files import course_folder, origin
from mlc_course.errors import UsageError
from mlc_course.lecture import (
    build,
    lesson_notebook,
    load,
    outdated,
    read_deck,
    record,
    recordings,
    serve,
)
from mlc_course.words import language


def lessons() -> Path:
    """Return the folder of the lessons around here, or of those that the package carries."""
    try:
        return course_folder() / "notebooks"
    except UsageError:
        return origin() / "notebooks"


def run(
    *,
    lesson: str,
    browser: bool,
    port: int | None,
    poll_port: int | None,
    as_recording: bool,
    html_path: Path | None,
    notebooks: Path | None = None,
    results: Results = NOWHERE,
) -> int:
    """Give a lesson, record it, or write its slides to a file.

    Raises ``UsageError`` for a lesson that does not exist, and for results of a live lecture.
    """
    notebook = lesson_notebook(notebooks or lessons(), lesson)
    if results and not (as_recording or html_path):
        raise UsageError(
            "lecture: a live lecture has no results",
            expected="--json FILE with --record or --html FILE",
            got=f"--json {results.path}",
        )
    if as_recording:
        other = notebook.parent / language() / notebook.name
        made = record(other, recordings(language())) if other.is_file() else record(notebook)
        print(f"{notebook.stem}: recorded on {made.label}")
        results.write({"lesson": notebook.stem, "recorded_on": made.label})
    elif html_path:
        results.write(write(notebook, html_path))
    else:
        serve(notebook, browser=browser and has_browser(), port=port, poll_port=poll_port)
    return 0


def write(notebook: Path, path: Path) -> dict[str, Any]:
    """Write the slides as one file that needs no kernel and no network, whole or not at all.

    Return the lesson, the number of slides, where it was recorded, and which cells have changed.
    """
    deck = read_deck(notebook)
    recording = load(deck.name)
    if not path.parent.is_dir():
        raise UsageError(f"{path}: no such folder", got=path.parent)
    write_text(path, build(deck, recording))
    print(f"{path}: {len(deck.slides)} slides, recorded on {recording.label}")
    other = outdated(deck, recording)
    if other:
        hint = f"mlc-course lecture {deck.name[:2]} --record"
        print(f"recorded with other code: {', '.join(other)}; {hint}")
    return {
        "lesson": deck.name,
        "slides": len(deck.slides),
        "recorded_on": recording.label,
        "outdated": list(other),
    }
