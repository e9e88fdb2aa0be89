"""Files that students handed in: in folders, zip and tar archives, which are never unpacked.

Anything may be in them: links, pipes, archives that grow without end. Nothing is followed, written
or read beyond the limits here.
"""

from __future__ import annotations

import bz2
import gzip
import io
import json
import lzma
import os
import stat
import tarfile
import zipfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path, PurePosixPath
from typing import IO, Protocol

LARGEST_BYTES = 8 << 20  # of a notebook without its outputs: ours are 20 kB
LARGEST_FILE = 32 << 20  # with them, or an archive; as JSON it can take twenty times its size here
LARGEST_UNPACKED = 256 << 20  # of a compressed tar archive
MOST_FILES = 20_000  # of one student
DEEPEST = 2  # archives inside each other
NOTEBOOK = ".ipynb"
ZIP = (".zip",)
TAR = (".tar", ".tar.gz", ".tgz", ".tar.bz2", ".tbz2", ".tar.xz", ".txz")
UNREAD = (".7z", ".rar", ".gz", ".bz2", ".xz", ".zst", ".lz4", ".z", ".ace", ".arj")
# Left by systems and by Jupyter: nobody's work.
CLUTTER = frozenset({".ds_store", "thumbs.db", "desktop.ini", "__macosx", ".ipynb_checkpoints"})
NOT_ENTERED = frozenset({"node_modules", "site-packages", "__pycache__"})


class Readable(Protocol):
    """Bytes that can be read up to a number of them."""

    def read(self, size: int, /) -> bytes: ...


# By the first bytes of a file: endings lie.
UNPACKED_BY: Mapping[bytes, Callable[[IO[bytes]], Readable]] = {
    b"\x1f\x8b": lambda packed: gzip.GzipFile(fileobj=packed),
    b"BZ": bz2.BZ2File,
    b"\xfd7": lzma.LZMAFile,
}


class Unreadable(Exception):
    """A file or an archive cannot be read; the text says why."""


@dataclass(frozen=True)
class File:
    """A file, by its path below the student's entry; ``fault`` says why it is not read."""

    path: PurePosixPath
    read: Callable[[], bytes]
    fault: str = ""


def is_clutter(name: str) -> bool:
    """Tell whether a system or Jupyter makes files of this name beside people's own."""
    return name.lower() in CLUTTER or name.startswith("._")


def is_archive(name: str) -> bool:
    """Tell whether a file of this name is read as an archive."""
    return name.lower().endswith((*ZIP, *TAR))


def without_ending(name: str) -> str:
    """Return an archive's name without its ending, or another file's without its last one."""
    for ending in sorted((*ZIP, *TAR), key=len, reverse=True):
        if name.lower().endswith(ending):
            return name[: -len(ending)]
    return PurePosixPath(name).stem


def files_in(path: Path) -> Iterator[File]:
    """Every file of an entry: a folder, an archive, or the file itself; archives inside are opened.

    Folders are walked in the order of their names. Hidden folders and those of installed packages
    are not entered, and clutter is passed over. What cannot be read has a ``fault``; so has the
    last file, if there are more than ``MOST_FILES``.
    """
    if path.is_dir():
        found = _opened(_in_folder(path))
    else:
        found = _opened([_on_disk(path, PurePosixPath(path.name))])
        if is_archive(path.name):  # paths below it, not below its name
            found = (_without_first(each) for each in found)
    for number, file in enumerate(found):
        if number == MOST_FILES:
            why = f"more than {MOST_FILES:,} files; this and all after it were not looked at"
            yield File(file.path, file.read, why)
            return
        yield file


def _without_first(file: File) -> File:
    parts = file.path.parts[1:]
    return File(PurePosixPath(*parts), file.read, file.fault) if parts else file


def read(file: File) -> bytes:
    """Return a file's bytes, those of a large notebook without its outputs.

    Raises ``Unreadable``.
    """
    if file.fault:
        raise Unreadable(file.fault)
    try:
        raw = file.read()
        if len(raw) > LARGEST_BYTES:
            raw = _without_outputs(raw)
    except Unreadable:
        raise
    except Exception as error:  # of many kinds: zlib's, struct's, Unicode's, the system's
        raise Unreadable(f"cannot be read: {_told(error)}") from None
    if len(raw) > LARGEST_BYTES:
        raise Unreadable(f"{_too_large(len(raw), LARGEST_BYTES)} without its outputs")
    return raw


def _without_outputs(raw: bytes) -> bytes:
    """Saved pictures are not graded and may be most of a file."""
    tree = json.loads(raw)
    for cell in tree["cells"]:
        cell.pop("outputs", None)
        cell.pop("attachments", None)
    tree.get("metadata", {}).pop("widgets", None)
    return json.dumps(tree).encode()


def _opened(files: Iterable[File], depth: int = 1) -> Iterator[File]:
    """Files, and in place of each archive those that are in it."""
    for file in files:
        if file.fault or not is_archive(file.path.name):
            yield file
        elif depth > DEEPEST:
            yield File(file.path, file.read, f"more than {DEEPEST} archives inside each other")
        else:
            try:
                inside = list(_in_archive(file.path.name, file.read()))
            except Exception as error:
                yield File(file.path, file.read, f"not a readable archive: {_told(error)}")
                continue
            below = (File(file.path / each.path, each.read, each.fault) for each in inside)
            yield from _opened(below, depth + 1)


def _in_folder(root: Path) -> Iterator[File]:
    faults = list[OSError]()
    for folder, folders, names in os.walk(root, onerror=faults.append):
        here = Path(folder)
        entered = sorted(name for name in folders if not _is_passed_over(name))
        linked = [name for name in entered if (here / name).is_symlink()]
        folders[:] = [name for name in entered if name not in linked]
        for name in sorted([*names, *linked]):
            if not is_clutter(name):
                path = here / name
                yield _on_disk(path, PurePosixPath(path.relative_to(root).as_posix()))
        while faults:
            yield _fault_of(faults.pop(), root)
    while faults:
        yield _fault_of(faults.pop(), root)


def _fault_of(error: OSError, root: Path) -> File:
    where = Path(str(error.filename or root))
    below = where.relative_to(root).as_posix() if where.is_relative_to(root) else where.name
    return File(PurePosixPath(below), _nothing, f"cannot be read: {error.strerror}")


def _nothing() -> bytes:
    raise Unreadable("nothing to read")


def _is_passed_over(folder: str) -> bool:
    return folder.startswith(".") or is_clutter(folder) or folder in NOT_ENTERED


def _on_disk(path: Path, below: PurePosixPath) -> File:
    try:
        about = path.lstat()
    except OSError as error:
        return File(below, _nothing, f"cannot be read: {error.strerror}")
    if stat.S_ISLNK(about.st_mode):
        return File(below, _nothing, "a link, which is not followed")
    if not stat.S_ISREG(about.st_mode):
        return File(below, _nothing, "not a file")
    return _sized(below, about.st_size, partial(_read_regular, path))


def _sized(below: PurePosixPath, size: int, reader: Callable[[], bytes]) -> File:
    """A file that is there; what is neither a notebook nor an archive may have any size."""
    is_work = is_archive(below.name) or NOTEBOOK in below.name.lower()
    fault = _too_large(size, LARGEST_FILE) if is_work and size > LARGEST_FILE else ""
    return File(below, reader, fault)


def _read_regular(path: Path) -> bytes:
    """It may have been replaced since it was listed."""
    with open(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK), "rb") as file:
        return _bounded(file, LARGEST_FILE)


def _bounded(file: Readable, most: int) -> bytes:
    """Read a whole file that may say less about its size than is true."""
    raw = file.read(most + 1)
    if len(raw) > most:
        raise Unreadable(_too_large(len(raw), most))
    return raw


def _in_archive(name: str, raw: bytes) -> Iterator[File]:
    """The files of an archive. Its paths are only looked at, so none can lead outside."""
    entries = _in_zip(raw) if name.lower().endswith(ZIP) else _in_tar(raw)
    for number, (path, is_link, size, reader) in enumerate(entries):
        below = PurePosixPath(*(part for part in PurePosixPath(path).parts if part not in "/.."))
        if any(_is_passed_over(part) for part in below.parts[:-1]) or is_clutter(below.name):
            continue
        if number > MOST_FILES:
            raise Unreadable(f"more than {MOST_FILES:,} entries")
        if is_link:
            yield File(below, reader, "a link, which is not followed")
        else:
            yield _sized(below, size, reader)


Entry = tuple[str, bool, int, Callable[[], bytes]]


def _in_zip(raw: bytes) -> Iterator[Entry]:
    archive = zipfile.ZipFile(io.BytesIO(raw))
    for info in archive.infolist():
        if info.file_size or not info.is_dir():  # a folder's name may have a file's contents
            path, is_link = info.filename.replace("\\", "/"), stat.S_ISLNK(info.external_attr >> 16)
            yield path, is_link, info.file_size, partial(_from_zip, archive, info)


def _from_zip(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> bytes:
    with archive.open(info) as file:
        return _bounded(file, LARGEST_FILE)


def _in_tar(raw: bytes) -> Iterator[Entry]:
    packed = io.BytesIO(raw)
    if raw[:2] in UNPACKED_BY:
        raw = _bounded(UNPACKED_BY[raw[:2]](packed), LARGEST_UNPACKED)
    archive = tarfile.TarFile(fileobj=io.BytesIO(raw))
    for info in archive:
        if not info.isdir():
            is_link = not info.isreg()
            yield info.name, is_link, info.size, partial(_from_tar, archive, info)


def _from_tar(archive: tarfile.TarFile, info: tarfile.TarInfo) -> bytes:
    file = archive.extractfile(info)
    if file is None:
        raise Unreadable("not a file")
    with file:
        return _bounded(file, LARGEST_FILE)


def _told(error: Exception) -> str:
    if isinstance(error, MemoryError):
        return "it takes too much memory"
    strerror = error.strerror if isinstance(error, OSError) else None
    return (strerror or str(error) or type(error).__name__)[:200]


def _too_large(size: int, most: int) -> str:
    return f"over {size // 1_000_000} MB, of at most {most // 1_000_000}"
