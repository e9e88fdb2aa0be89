"""What is no notebook, or is one only by name: links, pipes, archives, files without an end."""

from __future__ import annotations

import io
import json
import os
import stat
import zipfile
from pathlib import Path

from corpus.handing_in import FILE, SOLUTION, WRONG, Notebook, answered, hand_in, save


def empty_file(folder: Path, exercise: Notebook) -> None:
    """A notebook of no bytes."""
    folder.mkdir(parents=True)
    (folder / FILE).touch()


def sparse_file(folder: Path, exercise: Notebook) -> None:
    """A notebook of 500 MB that takes no room on disk."""
    folder.mkdir(parents=True)
    with (folder / FILE).open("wb") as file:
        file.truncate(500 << 20)


def broken_json(folder: Path, exercise: Notebook) -> None:
    """A notebook that ends in the middle."""
    path = save(folder, answered(exercise, **WRONG))
    path.write_text(path.read_text(encoding="utf-8")[:-200], encoding="utf-8")


def deep_json(folder: Path, exercise: Notebook) -> None:
    """Brackets within brackets, a million deep."""
    folder.mkdir(parents=True)
    (folder / FILE).write_text('{"cells": ' + "[" * 1_000_000, encoding="utf-8")


def strange_json(folder: Path, exercise: Notebook) -> None:
    """JSON, and no notebook: cells that are a word."""
    save(folder, {"cells": "code", "metadata": [], "nbformat": "four"})


def no_text(folder: Path, exercise: Notebook) -> None:
    """Bytes that are no text in any encoding."""
    folder.mkdir(parents=True)
    (folder / FILE).write_bytes(bytes(range(256)) * 100)


def another_language(folder: Path, exercise: Notebook) -> None:
    """A notebook for R, or what calls itself so."""
    notebook = answered(exercise, **WRONG)
    notebook["metadata"]["kernelspec"] = {"name": "ir", "language": "R\x1b[2J\ud800"}
    save(folder, notebook)


def too_many_cells(folder: Path, exercise: Notebook) -> None:
    """Ten thousand cells."""
    notebook = answered(exercise, **WRONG)
    notebook["cells"] += [{"cell_type": "code", "metadata": {}, "source": "1"}] * 10_000
    save(folder, notebook)


def pipe(folder: Path, exercise: Notebook) -> None:
    """A pipe with the notebook's name: who opens it waits for ever."""
    folder.mkdir(parents=True)
    os.mkfifo(folder / FILE)


def pipe_archive(folder: Path, exercise: Notebook) -> None:
    """A pipe with an archive's name, inside the folder and in its place."""
    folder.mkdir(parents=True)
    os.mkfifo(folder / "corpus.zip")
    hand_in(folder, exercise)


def device(folder: Path, exercise: Notebook) -> None:
    """A link to a device that never ends."""
    folder.mkdir(parents=True)
    (folder / FILE).symlink_to("/dev/zero")


def link_to_the_solution(folder: Path, exercise: Notebook) -> None:
    """A symbolic link to the solution, and one to its folder."""
    folder.mkdir(parents=True)
    (folder / FILE).symlink_to(SOLUTION)
    (folder / "more").symlink_to(SOLUTION.parent)


def endless_links(folder: Path, exercise: Notebook) -> None:
    """Folders that contain themselves."""
    hand_in(folder, exercise)
    for name in ("a", "b", "c"):
        (folder / name).symlink_to(folder, target_is_directory=True)


def _archive(folder: Path) -> zipfile.ZipFile:
    folder.mkdir(parents=True, exist_ok=True)
    return zipfile.ZipFile(folder / "corpus.zip", "w", zipfile.ZIP_DEFLATED)


def _text(exercise: Notebook) -> str:
    return json.dumps(answered(exercise, **WRONG))


def zip_slip(folder: Path, exercise: Notebook) -> None:
    """Paths in an archive that lead out of it."""
    with _archive(folder) as archive:
        for path in (f"../../{FILE}", f"/tmp/slipped/{FILE}", f"..\\..\\{FILE}", "/etc/slipped"):
            archive.writestr(path, _text(exercise))


def zip_links(folder: Path, exercise: Notebook) -> None:
    """A symbolic link to the solution, kept in an archive."""
    link = zipfile.ZipInfo(FILE)
    link.create_system, link.external_attr = 3, (stat.S_IFLNK | 0o777) << 16
    with _archive(folder) as archive:
        archive.writestr(link, str(SOLUTION))


def zip_bomb(folder: Path, exercise: Notebook) -> None:
    """A hundred kilobytes that become a hundred megabytes, under a header that says otherwise."""
    with _archive(folder) as archive:
        archive.writestr(FILE, b" " * (100 << 20))
    path = folder / "corpus.zip"
    size = (100 << 20).to_bytes(4, "little")
    path.write_bytes(path.read_bytes().replace(size, (1000).to_bytes(4, "little")))


def many_notebooks(folder: Path, exercise: Notebook) -> None:
    """Three thousand notebooks of 8 MB in one archive of a few megabytes."""
    with _archive(folder) as archive:
        room = b" " * (8 << 20)
        archive.writestr(f"0/{FILE}", room)
        first = archive.infolist()[0]
        for number in range(1, 3000):  # they overlap: one body, many names
            again = zipfile.ZipInfo(f"{number}/{FILE}")
            for name in ("compress_type", "CRC", "compress_size", "file_size", "header_offset"):
                setattr(again, name, getattr(first, name))
            archive.filelist.append(again)


def broken_archives(folder: Path, exercise: Notebook) -> None:
    """Archives whose data, names and lengths were changed by a byte."""
    whole = io.BytesIO()
    with zipfile.ZipFile(whole, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(FILE, _text(exercise))
    raw = whole.getvalue()
    folder.mkdir(parents=True)
    for number, place in enumerate(range(0, len(raw), max(1, len(raw) // 60))):
        changed = bytearray(raw)
        changed[place] ^= 0xFF
        (folder / f"{number}.zip").write_bytes(changed)
        (folder / f"cut-{number}.zip").write_bytes(raw[:place])


def another_archive(folder: Path, exercise: Notebook) -> None:
    """An archive that is none, one with a password, one within another."""
    folder.mkdir(parents=True)
    (folder / "none.zip").write_bytes(b"PK\x03\x04" + bytes(100))
    inner = io.BytesIO()
    with zipfile.ZipFile(inner, "w") as archive:
        archive.writestr(FILE, _text(exercise))
    with zipfile.ZipFile(folder / "outer.zip", "w") as archive:
        archive.writestr("inner.zip", inner.getvalue())
    locked = bytearray(inner.getvalue())
    locked[6] |= 1  # the flag that says: encrypted
    locked[locked.find(b"PK\x01\x02") + 8] |= 1
    (folder / "locked.zip").write_bytes(locked)
