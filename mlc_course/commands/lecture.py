"""``mlc-course lecture``: the slides of a lesson, live, or as a file."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

from mlc_course.commands.lab import has_browser
from mlc_course.course_files import course_folder, origin
from mlc_course.errors import UsageError
from mlc_course.lecture import build, lesson_notebook, load, outdated, read_deck, record, serve


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
) -> int:
    """Give a lesson, record it, or write its slides to a file."""
    notebook = lesson_notebook(notebooks or lessons(), lesson)
    if as_recording:
        made = record(notebook)
        print(f"{notebook.stem}: recorded on {made.label}")
    elif html_path:
        write(notebook, html_path)
    else:
        serve(notebook, browser=browser and has_browser(), port=port, poll_port=poll_port)
    return 0


def write(notebook: Path, path: Path) -> None:
    """Write the slides as one file that needs no kernel and no network, whole or not at all."""
    deck = read_deck(notebook)
    recording = load(deck.name)
    if not path.parent.is_dir():
        raise UsageError(f"{path}: no such folder", got=path.parent)
    beside = path.with_name(f"{path.name}.{os.getpid()}.part")
    try:
        beside.write_text(build(deck, recording), encoding="utf-8")
        beside.replace(path)
    except OSError as error:
        raise UsageError(f"{path}: cannot be written", got=error) from None
    finally:
        with contextlib.suppress(OSError):
            beside.unlink(missing_ok=True)
    print(f"{path}: {len(deck.slides)} slides, recorded on {recording.label}")
    if other := outdated(deck, recording):
        hint = f"mlc-course lecture {deck.name[:2]} --record"
        print(f"recorded with other code: {', '.join(other)}; {hint}")
