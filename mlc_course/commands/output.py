"""Checks, before any work is done, that its results can be written where the user wants them."""

from __future__ import annotations

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
    if path.is_dir():
        raise UsageError(f"cannot write {path}", expected="a file", got="a folder")
    _try_to_write(path.with_name(path.name + ".part"), path)


def check_folder(folder: Path | None) -> None:
    """Raise ``UsageError`` when no file can be written into this folder; it is made if missing."""
    if folder is not None:
        _try_to_write(folder / ".part", folder)


def _try_to_write(draft: Path, wanted: Path) -> None:
    try:
        draft.parent.mkdir(parents=True, exist_ok=True)
        draft.touch()
        draft.unlink()
    except OSError as error:
        raise UsageError(
            f"cannot write {wanted}", expected="a folder that can be written", got=error
        ) from None
