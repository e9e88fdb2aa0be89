"""Checks, before any work is done, that its results can be written where the user wants them."""

from __future__ import annotations

import os
import shutil
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
        if path.exists():
            with path.open("a"):
                pass
        else:  # not made and removed: another process may write it meanwhile
            with tempfile.TemporaryFile(dir=path.resolve().parent):  # of a link, where it points to
                pass
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
    """Write a plain file whole or not at all; raise ``UsageError`` where that fails after all."""
    write_bytes(path, text.encode())


def write_bytes(path: Path, content: bytes) -> None:
    """Write bytes as ``write_text`` writes a text."""
    try:
        if _is_plain(path) and os.access(path.parent, os.W_OK):
            _replace(path, content)
        else:
            path.write_bytes(content)
    except OSError as error:
        raise _cannot(path, error) from None


def _is_plain(path: Path) -> bool:
    """Tell whether it is a file or nothing yet, rather than a link, a pipe or /dev/stdout."""
    return not path.is_symlink() and (path.is_file() or not path.exists())


def _replace(path: Path, content: bytes) -> None:
    draft = path.with_name(f".{os.getpid()}.part")  # short, where the name is as long as can be
    try:
        draft.write_bytes(content)
        if path.exists():
            shutil.copymode(path, draft)
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)


def _cannot(path: Path, error: OSError) -> UsageError:
    return UsageError(f"cannot write {path}", expected="a folder that can be written", got=error)
