"""Checks, before any work is done, that its results can be written where the user wants them."""

from __future__ import annotations

import tempfile
from pathlib import Path

from mlc_course.errors import UsageError


def check_file(path: Path | None, suffixes: tuple[str, ...] = ()) -> None:
    """Raise ``UsageError`` when no file can be written there, or its name has another suffix."""
    if path is None:
        return
    if suffixes and path.suffix not in suffixes:
        raise UsageError(
            f"cannot write {path}", expected=f"a name that ends in {' or '.join(suffixes)}"
        )
    try:
        if path.is_dir():
            raise UsageError(f"cannot write {path}", expected="a file", got="a folder")
        path.parent.mkdir(parents=True, exist_ok=True)
        there = path.exists()
        with path.open("a"):
            pass
        if not there:
            path.unlink()
    except OSError as error:
        raise _cannot(path, error) from None


def check_folder(folder: Path | None) -> None:
    """Raise ``UsageError`` when no file can be written into this folder; it is made if missing."""
    if folder is None:
        return
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise _cannot(folder, error) from None


def write_text(path: Path, text: str) -> None:
    """Write a file; raise ``UsageError`` where that fails after all."""
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise _cannot(path, error) from None


def _cannot(path: Path, error: OSError) -> UsageError:
    return UsageError(f"cannot write {path}", expected="a folder that can be written", got=error)
