"""Where results go: checked before any work is done, and written whole or not at all.

``--json FILE`` means the same for every subcommand: one document of JSON, which begins with the
command, the machine, the date and the versions.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import shutil
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, TextIO

from mlc_course.errors import UsageError
from mlc_course.provenance import provenance

STANDARD_OUTPUT = Path("-")


class Results:
    """The file of ``--json FILE`` for one run of a command; ``-`` is standard output.

    Without a path nothing is written, so that a command need not ask.
    """

    def __init__(self, command: str = "", path: Path | None = None) -> None:
        self.command = command
        self.path = path
        self._stream: TextIO | None = None

    def __bool__(self) -> bool:
        return self.path is not None

    @contextlib.contextmanager
    def ready(self, others: Iterable[object] = ()) -> Iterator[None]:
        """Check that the file can be written, and none of ``others`` is a name of it.

        While this lasts, standard output has nothing but the document where the path is ``-``; what
        is printed otherwise, by this process or its children, goes to standard error.

        Raises ``UsageError`` for a file that cannot be written, or is another one of this run.
        """
        if self.path != STANDARD_OUTPUT:
            for each in others:
                self.check_apart(each)
            self._check()
            yield
            return
        with _only_for_results() as self._stream:
            yield

    def write(self, figures: Mapping[str, Any]) -> None:
        """Write the document; numbers that are not finite become texts, such as ``"inf"``.

        Raises ``UsageError`` where the file cannot be written after all.
        """
        if self.path is None:
            return
        head = {"command": self.command, **provenance()}
        versions = {**head["versions"], **figures.get("versions", {})}
        document = {**head, **figures, "versions": versions}
        text = json.dumps(_finite(document), indent=2, allow_nan=False) + "\n"
        if self.path != STANDARD_OUTPUT:
            write_text(self.path, text)
            return
        stream = self._stream or sys.stdout
        try:
            stream.write(text)
            stream.flush()
        except BrokenPipeError:  # whoever reads has seen enough
            raise
        except OSError as error:
            raise UsageError("cannot write to standard output", got=error) from None

    def _check(self) -> None:
        """Check the file, and leave no folder behind: the command may yet be refused."""
        if self.path is None:
            return
        missing = [each for each in self.path.parents if not each.exists()]
        try:
            check_file(self.path)
        finally:
            for each in missing:
                with contextlib.suppress(OSError):
                    each.rmdir()

    def check_apart(self, other: object) -> None:
        """Check that ``other``, another argument or path of this run, is no name of the same file.

        Raises ``UsageError`` where writing would replace it.
        """
        check_apart("--json", self.path, [other])


NOWHERE = Results()


def check_apart(option: str, path: Path | None, others: Iterable[object]) -> None:
    """Check that none of ``others``, paths or names of this run, is the file that an option writes.

    Raises ``UsageError`` where writing would replace one. A text that is no file's name counts not.
    """
    if path is None:
        return
    for other in others:
        if isinstance(other, list | tuple):
            check_apart(option, path, other)
        if isinstance(other, str | Path) and _is_same(path, other):
            raise UsageError(
                f"{option} {path} would replace another file of this command",
                expected="a file of its own",
                got=other,
            )


def _is_same(path: Path, other: str | Path) -> bool:
    try:
        is_file = isinstance(other, Path) or Path(other).exists()
        return is_file and Path(other).resolve() == path.resolve() and not path.is_char_device()
    except (OSError, ValueError):  # a line of text is no path
        return False


@contextlib.contextmanager
def _only_for_results() -> Iterator[TextIO]:
    """Yield what writes to standard output, and send what others print there to standard error."""
    shown: TextIO = sys.stdout
    if shown is not sys.__stdout__:  # of a test or a notebook: Python's own prints are all there is
        with contextlib.redirect_stdout(sys.stderr):
            yield shown
        return
    shown.flush()
    own = os.dup(1)
    os.dup2(2, 1)  # for children, and for libraries that know nothing of Python
    stream = os.fdopen(own, "w", encoding="utf-8")
    try:
        with contextlib.redirect_stdout(sys.stderr):
            yield stream
    finally:
        os.dup2(own, 1)
        with contextlib.suppress(OSError):  # it has been told already
            stream.close()


def _finite(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, Mapping):
        return {key: _finite(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(each) for each in value]
    return value


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
        path.parent.mkdir(parents=True, exist_ok=True)
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
