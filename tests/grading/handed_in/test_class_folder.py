"""Whatever a class hands in, each notebook is graded or named, and nothing is followed."""

from __future__ import annotations

import io
import json
import os
import random
import stat
import tarfile
import warnings
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from mlc_course.errors import UsageError
from mlc_course.grading.course import exam
from mlc_course.grading.course.exam import Exam
from mlc_course.grading.handed_in import Collected, class_folder, collect, files
from mlc_course.grading.handed_in.files import LARGEST_BYTES, LARGEST_FILE

EXAMS = [
    Exam("07_twice", "07_twice.ipynb", "digest", (), (exam.Test("twice-test", 3, (), ()),)),
    Exam("08_pack", "08_pack.ipynb", "digest", (), (exam.Test("pack-test", 2, (), ()),)),
]


def notebook(grade_id: str = "twice-test", note: str = "") -> bytes:
    cells = [
        {"cell_type": "code", "source": note, "metadata": {"nbgrader": {"grade_id": grade_id}}}
    ]
    return json.dumps({"cells": cells, "metadata": {}, "nbformat": 4}).encode()


OWN = notebook()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "class").mkdir()
    return tmp_path / "class"


def put(folder: Path, name: str, content: bytes = b"{}") -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return path


def zipped(*entries: tuple[str, bytes]) -> bytes:
    packed = io.BytesIO()
    with warnings.catch_warnings(), zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as file:
        warnings.simplefilter("ignore")  # of two entries with one name
        for entry, content in entries:
            file.writestr(entry, content)
    return packed.getvalue()


def tarred(*entries: tuple[str, bytes], how: str = "w:gz") -> bytes:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode=how) as file:  # type: ignore[call-overload]
        for entry, content in entries:
            info = tarfile.TarInfo(entry)
            info.size = len(content)
            file.addfile(info, io.BytesIO(content))
    return packed.getvalue()


def graded(collected: Collected) -> list[tuple[str, bytes]]:
    return [(each.student, each.notebook) for each in collected.submissions]


def whys(collected: Collected) -> dict[str, str]:
    return {each.path: each.why for each in collected.left}


def test_students_are_folders_and_archives(folder: Path) -> None:
    put(folder, "ann/07_twice/07_twice.ipynb", b"1")
    put(folder, "bob/07_twice.ipynb", b"2")
    put(folder, "cy/notes.txt")
    put(folder, ".git/07_twice.ipynb")
    put(folder, "dee.zip", zipped(("deep/down/07_twice.ipynb", b"3")))
    put(folder, "eve/handed_in.zip", zipped(("07_twice.ipynb", b"4")))
    found = collect(folder, EXAMS)
    assert graded(found) == [("ann", b"1"), ("bob", b"2"), ("dee", b"3"), ("eve", b"4")]
    assert whys(found) == {".git": "hidden", "cy": "no notebook in it: notes.txt"}
    assert found.submissions[3].path == "eve/handed_in.zip/07_twice.ipynb"


@pytest.mark.parametrize("ending", [".tar", ".tar.gz", ".tgz", ".tar.bz2", ".tar.xz", ".TAR.GZ"])
def test_tar_archives_are_read_whatever_their_ending_says(folder: Path, ending: str) -> None:
    for how in ("w:", "w:gz", "w:bz2", "w:xz"):
        put(folder, f"ann{ending}", tarred(("./07_twice.ipynb", OWN), how=how))
        assert graded(collect(folder, EXAMS)) == [("ann", OWN)]


def test_other_archives_and_loose_files_are_named(folder: Path) -> None:
    put(folder, "ann.zip", zipped(("07_twice.ipynb", OWN), ("more.rar", b"")))
    put(folder, "bob.7z", b"7z")
    put(folder, "07_twice.ipynb", OWN)
    put(folder, "grades.xlsx")
    put(folder, ".DS_Store")
    put(folder, "._07_twice.ipynb")
    found = whys(collect(folder, EXAMS))
    assert set(found) == {"ann.zip/more.rar", "bob.7z", "07_twice.ipynb", "grades.xlsx"}
    assert "pack it as .zip" in found["bob.7z"]
    assert "names no student" in found["07_twice.ipynb"]


def test_of_two_notebooks_the_nearer_one_counts_and_the_other_is_named(folder: Path) -> None:
    put(folder, "ann/old/07_twice.ipynb", notebook(note="old"))
    put(folder, "ann/same/07_twice.ipynb", OWN)
    put(folder, "ann/07_twice.ipynb", OWN)
    found = collect(folder, EXAMS)
    assert graded(found) == [("ann", OWN)]
    assert whys(found) == {"ann/old/07_twice.ipynb": "another one counts: ann/07_twice.ipynb"}


def test_an_empty_download_gives_way_to_the_copy_with_the_work(folder: Path) -> None:
    put(folder, "ann/07_twice.ipynb", b"")
    put(folder, "ann/07_twice (1).ipynb", OWN)
    (folder / "bob").mkdir()
    (folder / "bob" / "07_twice.ipynb").symlink_to("elsewhere")
    put(folder, "bob/deep/07_twice.ipynb", OWN)
    found = collect(folder, EXAMS)
    assert graded(found) == [("ann", OWN), ("bob", OWN)]
    assert set(whys(found)) == {"ann/07_twice.ipynb", "bob/07_twice.ipynb"}


def test_a_renamed_notebook_is_known_by_its_cells(folder: Path) -> None:
    put(folder, "ann/mine.ipynb.txt", OWN)
    put(folder, "ann/.ipynb_checkpoints/07_twice.ipynb", b"old")
    put(folder, "bob/holiday.ipynb", notebook("another"))
    put(folder, "cy/07_TWICE.IPYNB", b"by its name")
    found = collect(folder, EXAMS)
    assert graded(found) == [("ann", OWN), ("cy", b"by its name")]
    assert whys(found) == {"bob/holiday.ipynb": "a notebook of no assignment"}


def test_two_assignments_of_one_student_are_two_submissions(folder: Path) -> None:
    put(folder, "ann/07_twice.ipynb", OWN)
    put(folder, "ann.zip", zipped(("08_pack.ipynb", notebook("pack-test"))))
    found = collect(folder, EXAMS)
    assert [(each.student, each.assignment) for each in found.submissions] == [
        ("ann", "07_twice"),
        ("ann", "08_pack"),
    ]
    assert found.left == ()


def test_links_are_not_followed(folder: Path) -> None:
    secret = put(folder.parent, "secret.ipynb", b"secret")
    (folder / "ann").mkdir()
    (folder / "ann" / "07_twice.ipynb").symlink_to(secret)
    put(folder.parent, "other/07_twice.ipynb", b"secret")
    (folder / "bob").mkdir()
    (folder / "bob" / "07_twice").symlink_to(folder.parent / "other")
    (folder / "cy").symlink_to(folder.parent / "other")
    linked = zipfile.ZipInfo("07_twice.ipynb")
    linked.external_attr = (stat.S_IFLNK | 0o777) << 16
    with zipfile.ZipFile(folder / "dee.zip", "w") as file:
        file.writestr(linked, str(secret))
    with tarfile.open(folder / "eve.tar", "w") as tar:
        for name, kind in (("07_twice.ipynb", tarfile.SYMTYPE), ("b.ipynb", tarfile.LNKTYPE)):
            info = tarfile.TarInfo(name)
            info.type, info.linkname = kind, str(secret)
            tar.addfile(info)
    found = collect(folder, EXAMS)
    assert not [each for each in found.submissions if each.notebook]
    assert {each.student for each in found.submissions} == {"ann", "dee", "eve"}
    assert all("link" in each.fault for each in found.submissions)
    assert set(whys(found)) == {"bob/07_twice", "cy", "eve.tar/b.ipynb", "bob"} - {"bob"}


def test_what_is_too_large_or_no_file_is_not_read(folder: Path) -> None:
    large = put(folder, "ann/07_twice.ipynb", b"")
    os.truncate(large, 500 << 20)
    (folder / "bob").mkdir()
    os.mkfifo(folder / "bob" / "07_twice.ipynb")
    put(folder, "cy.zip", zipped(("07_twice.ipynb", bytes(LARGEST_FILE + 1))))
    put(folder, "dee.tar.gz", tarred(("07_twice.ipynb", bytes(LARGEST_FILE + 1))))
    put(folder, "eve/07_twice.ipynb", notebook(note="x" * LARGEST_BYTES))
    faults = {each.student: each.fault for each in collect(folder, EXAMS).submissions}
    assert faults["ann"] == "over 524 MB, of at most 33"
    assert faults["bob"] == "not a file"
    assert faults["cy"] == faults["dee"] == "over 33 MB, of at most 33"
    assert faults["eve"] == "over 8 MB, of at most 8 without its outputs"


def test_saved_pictures_do_not_count_as_size(folder: Path) -> None:
    tree = json.loads(OWN)
    tree["cells"][0]["outputs"] = [{"data": {"image/png": "x" * (LARGEST_BYTES + 1)}}]
    put(folder, "ann/07_twice.ipynb", json.dumps(tree).encode())
    (found,) = collect(folder, EXAMS).submissions
    assert not found.fault and json.loads(found.notebook)["cells"][0]["metadata"]


@pytest.mark.parametrize("name", ["dee.zip", "dee.tar.gz", "dee.tar", "dee.tar.xz"])
@pytest.mark.parametrize(
    "content",
    [b"", b"no archive", zipped(("a", b"b"))[:-9], b"\x1f\x8b!"],
    ids=["empty", "text", "cut", "two bytes of gzip"],  # what is packed has a time in it
)
def test_an_archive_that_cannot_be_read_is_named(folder: Path, name: str, content: bytes) -> None:
    put(folder, "ann/07_twice.ipynb", OWN)
    put(folder, name, content)
    found = collect(folder, EXAMS)
    assert graded(found) == [("ann", OWN)]
    assert list(whys(found)) == [name]


def test_an_archive_that_lies_about_its_sizes_is_bounded(folder: Path) -> None:
    raw = bytearray(zipped(("07_twice.ipynb", bytes(LARGEST_FILE + 100))))
    for at in (raw.index(b"PK\x01\x02") + 24, 22):  # its size, in the directory and at the entry
        raw[at : at + 4] = (100).to_bytes(4, "little")
    put(folder, "ann.zip", bytes(raw))
    put(folder, "bob/07_twice.ipynb", OWN)
    first = collect(folder, EXAMS).submissions[0]
    assert first.student == "ann" and first.fault and not first.notebook


BLANKS = json.dumps({"cells": [], "metadata": {"blanks": " " * 8_000_000}}).encode()


def many_large_notebooks() -> bytes:
    """A GB in all: who reads it may use what a process that runs tests has free, too."""
    return zipped(*((f"{number}/07_twice.ipynb", BLANKS) for number in range(125)))


def many_large_archives() -> bytes:
    inner = tarred(("07_twice.ipynb", OWN), ("blanks", bytes(60 << 20)))
    return zipped(*((f"{number}/work.tar.gz", inner) for number in range(5)))


def headers_that_multiply() -> bytes:
    packed, many = io.BytesIO(), {f"k{number}": "v" for number in range(100_000)}
    with tarfile.open(
        fileobj=packed, mode="w:gz", format=tarfile.PAX_FORMAT, pax_headers=many
    ) as tar:
        for number in range(100):
            info = tarfile.TarInfo(f"{number}/07_twice.ipynb")
            info.pax_headers = {"a": "b"}
            tar.addfile(info, io.BytesIO())
    return packed.getvalue()


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("ann.zip", many_large_notebooks),
        ("ann.zip", many_large_archives),
        ("ann.tar.gz", headers_that_multiply),
    ],
)
def test_an_archive_that_takes_too_much_memory_costs_nobody_else_theirs(
    folder: Path, monkeypatch: pytest.MonkeyPatch, name: str, content: Callable[[], bytes]
) -> None:
    monkeypatch.setattr(class_folder, "READ_BYTES", 200 << 20)
    put(folder, name, content())
    put(folder, "ann/07_twice.ipynb", notebook(note="hers"))
    put(folder, "bob/07_twice.ipynb", OWN)
    found = collect(folder, EXAMS)
    assert graded(found) == [("ann", notebook(note="hers")), ("bob", OWN)]
    left = {path: why for path, why in whys(found).items() if "another one" not in why}
    assert left and all(path.startswith(name) and "memory" in why for path, why in left.items())


def test_an_archive_that_takes_too_long_costs_nobody_else_theirs(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(class_folder, "READ_SECONDS", 1)
    real = files._in_zip

    def endless(raw: bytes) -> object:
        while b"endless" in raw:
            pass
        return real(raw)

    monkeypatch.setattr(files, "_in_zip", endless)
    put(folder, "ann.zip", zipped(("07_twice.ipynb", OWN), ("endless", b"")))
    put(folder, "bob.zip", zipped(("07_twice.ipynb", OWN)))
    found = collect(folder, EXAMS)
    assert graded(found) == [("bob", OWN)]
    assert whys(found) in (
        {"ann.zip": "cannot be read: it takes more than 1 s of a processor"},
        {"ann.zip": "cannot be read: it takes more than 10 s"},  # of a busy one
    )


def test_entries_that_are_too_much_only_together_are_all_named(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = class_folder._of_student

    def too_much(student: str, entries: list[object], exams: list[Exam]) -> Collected:
        if len(entries) > 1:
            raise MemoryError
        return real(student, entries, exams)  # type: ignore[arg-type]

    monkeypatch.setattr(class_folder, "_of_student", too_much)
    put(folder, "ann.zip", zipped(("07_twice.ipynb", OWN)))
    put(folder, "ann/07_twice.ipynb", OWN)
    put(folder, "bob/07_twice.ipynb", OWN)
    found = collect(folder, EXAMS)
    assert graded(found) == [("bob", OWN)]
    assert set(whys(found)) == {"ann", "ann.zip"}


def test_archives_inside_archives_end(folder: Path) -> None:
    inner = zipped(("07_twice.ipynb", OWN))
    put(folder, "ann.zip", zipped(("handed in.zip", inner)))
    deep = zipped(("c.zip", zipped(("b.zip", inner))))
    put(folder, "bob.zip", deep)
    found = collect(folder, EXAMS)
    assert graded(found) == [("ann", OWN)]
    assert whys(found) == {"bob.zip/c.zip/b.zip": "more than 2 archives inside each other"}


def test_an_archive_cannot_write_outside(folder: Path) -> None:
    put(folder, "ann.zip", zipped(("../../../escaped/07_twice.ipynb", b"x")))
    put(folder, "bob.tar", tarred(("/etc/07_twice.ipynb", b"y"), how="w:"))
    put(folder, "cy.zip", zipped(("work\\07_twice.ipynb", b"from Windows")))
    assert graded(collect(folder, EXAMS)) == [
        ("ann", b"x"),
        ("bob", b"y"),
        ("cy", b"from Windows"),
    ]
    assert [path.name for path in folder.parent.iterdir()] == ["class"]


def test_a_folder_without_submissions_is_refused(folder: Path) -> None:
    with pytest.raises(UsageError, match="holds no submission"):
        collect(folder, EXAMS)
    with pytest.raises(UsageError, match="is not a folder"):
        collect(folder / "none", EXAMS)
    packed = put(folder.parent, "class.zip", zipped(("ann/07_twice.ipynb", OWN)))
    with pytest.raises(UsageError, match="unpack it"):
        collect(packed, EXAMS)
    put(folder, "ann/notes.txt")
    with pytest.raises(UsageError, match="ann: no notebook in it: notes.txt"):
        collect(folder, EXAMS)


def test_a_folder_of_a_notebooks_name_is_a_folder(folder: Path) -> None:
    (folder / "ann" / "07_twice.ipynb" / "07_twice.ipynb").mkdir(parents=True)
    put(folder, "bob/07_twice.ipynb/07_twice.ipynb", OWN)
    found = collect(folder, EXAMS)
    assert graded(found) == [("bob", OWN)]
    assert whys(found) == {"ann": "no notebook in it"}


def test_what_cannot_be_read_is_named(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put(folder, "ann/07_twice.ipynb", OWN)
    put(folder, "ann/locked/07_twice.ipynb", OWN)
    put(folder, "bob/07_twice.ipynb", OWN)
    real = os.scandir

    def locked(path: str) -> object:
        if str(path).endswith("locked"):
            raise PermissionError(13, "Permission denied", path)
        return real(path)

    monkeypatch.setattr(os, "scandir", locked)
    gone = folder / "bob" / "07_twice.ipynb"

    def read(path: Path) -> bytes:
        if path == gone:
            gone.unlink()
        return path.read_bytes()

    monkeypatch.setattr(files, "_read_regular", read)
    found = collect(folder, EXAMS)
    assert whys(found) == {"ann/locked": "cannot be read: Permission denied"}
    assert [each.fault for each in found.submissions] == [
        "",
        "cannot be read: No such file or directory",
    ]


def test_a_class_that_cannot_be_entered_is_named(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its names can be listed, and nothing behind them be looked at."""
    put(folder, "ann/07_twice.ipynb", OWN)
    put(folder, "bob/07_twice.ipynb", OWN)
    real = Path.lstat

    def locked(path: Path) -> os.stat_result:
        if path.name == "bob":
            raise PermissionError(13, "Permission denied", str(path))
        return real(path)

    monkeypatch.setattr(Path, "lstat", locked)
    found = collect(folder, EXAMS)
    assert graded(found) == [("ann", OWN)]
    assert whys(found) == {"bob": "cannot be read: Permission denied"}


def test_what_the_command_wrote_itself_is_nobodys_work(folder: Path) -> None:
    put(folder, "ann/07_twice.ipynb", OWN)
    marks = put(folder, "marks.csv")
    assert set(whys(collect(folder, EXAMS))) == {"marks.csv"}
    assert collect(folder, EXAMS, {marks}).left == ()


def test_a_renamed_notebook_that_cannot_be_graded_is_told_why(folder: Path) -> None:
    def of(cells: int, language: str) -> bytes:
        tree = {
            "cells": json.loads(OWN)["cells"] * cells,
            "metadata": {"kernelspec": {"language": language}},
        }
        return json.dumps(tree).encode()

    put(folder, "ann/07_twice.ipynb", OWN)
    put(folder, "ann/long.ipynb", of(501, "python"))
    put(folder, "ann/other.ipynb", of(1, "R"))
    put(folder, "ann/none.ipynb", b"{")
    assert whys(collect(folder, EXAMS)) == {
        "ann/long.ipynb": "too many cells",
        "ann/other.ipynb": "a notebook in another language",
        "ann/none.ipynb": "not a notebook",
    }


def test_files_of_one_path_have_names_that_nothing_else_has(folder: Path) -> None:
    names = ["a.ipynb", "a.ipynb (2)", "a.ipynb", "a.ipynb"]
    twins = [(name, notebook("another", f"{name} {i}")) for i, name in enumerate(names)]
    put(folder, "ann.zip", zipped(("07_twice.ipynb", OWN), *twins))
    assert len(whys(collect(folder, EXAMS))) == 4


def test_a_file_whose_name_ends_like_a_folders_is_named(folder: Path) -> None:
    put(folder, "ann.zip", zipped(("07_twice.ipynb", OWN), ("late.ipynb/", notebook("another"))))
    assert set(whys(collect(folder, EXAMS))) == {"ann.zip/late.ipynb"}


def test_names_that_a_terminal_obeys_are_escaped_and_stay_different(folder: Path) -> None:
    names = ["ctrl\x01", "ctrl\x02", "ctrl\\x01", "ctrl\ufffd", os.fsdecode(b"latin\xe9")]
    for name in names:
        put(folder, f"{name}/07_twice.ipynb", OWN)
    found = collect(folder, EXAMS)
    students = {each.student for each in found.submissions}
    assert len(students) == 5 and all(each.isprintable() for each in students)
    assert all(each.encode() for each in students)


def test_among_many_notebooks_the_one_with_the_name_is_found(folder: Path) -> None:
    for number in range(class_folder.MOST_RENAMED + 3):
        put(folder, f"ann/a{number:03}.ipynb", notebook("another", str(number)))
    put(folder, "ann/.venv/lib/07_twice.ipynb", b"an installed one")
    put(folder, "ann/z/z/07_twice.ipynb", OWN)
    found = collect(folder, EXAMS)
    assert graded(found) == [("ann", OWN)]
    assert len(found.left) == class_folder.MOST_RENAMED + 3
    assert sum("not looked into" in each.why for each in found.left) == 3


def test_too_many_files_are_named(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "MOST_FILES", 4)
    put(folder, "ann/07_twice.ipynb", OWN)
    for number in range(9):
        put(folder, f"ann/b/{number}.txt")
    put(folder, "bob.zip", zipped(*((f"{n}.ipynb", OWN) for n in range(9))))
    found = collect(folder, EXAMS)
    assert graded(found) == [("ann", OWN)]
    assert "more than 4 files" in whys(found)["ann/b/3.txt"]
    assert "more than 4 entries" in whys(found)["bob.zip"]


@pytest.mark.parametrize(
    ("names", "student", "counts"),
    [
        # Canvas, whose file may begin with a number as its own ids do
        (["lovelaceada_12345_678901_07_twice.ipynb"], "lovelaceada_12345", 0),
        (["lovelaceada_LATE_12345_678901_07_twice.ipynb"], "lovelaceada_12345", 0),
        (["lovelace_ada_12345_07_twice.ipynb"], "lovelace_ada_12345", 0),
        (["lovelaceada_12345_678901_mine.ipynb"], "lovelaceada_12345", 0),
        (["a_1_20_07_twice.ipynb", "a_1_100_07_twice-1.ipynb"], "a_1", 1),
        (["a_1_20_07_twice-9.ipynb", "a_1_20_07_twice-10.ipynb"], "a_1", 1),
        # Moodle, with and without folders
        (["Ada Lovelace_321_assignsubmission_file_/07_twice.ipynb"], "Ada Lovelace_321", 0),
        (["Ada Lovelace_321_assignsubmission_file/07_twice.ipynb"], "Ada Lovelace_321", 0),
        (["Ada Lovelace_321_assignsubmission_file_07_twice.ipynb"], "Ada Lovelace_321", 0),
        # nbgrader: the submitted folder, and its exchange
        (["ada/07_twice/07_twice.ipynb"], "ada", 0),
        (
            [
                "ada+07_twice+2026-11-02 10:00:00.5 UTC+x/07_twice.ipynb",
                "ada+07_twice+2026-11-09 09:00:00.5 UTC/07_twice.ipynb",
            ],
            "ada",
            1,
        ),
    ],
)
def test_platforms_are_known_by_their_names(
    folder: Path, names: list[str], student: str, counts: int
) -> None:
    contents = [notebook(note=name) for name in names]
    for name, content in zip(names, contents, strict=True):
        put(folder, name, content)
    found = collect(folder, EXAMS)
    assert graded(found) == [(student, contents[counts])]
    assert len(found.left) == len(names) - 1


def test_archives_of_a_platform_belong_to_their_student(folder: Path) -> None:
    put(folder, "lovelaceada_12345_678901_my work.zip", zipped(("07_twice.ipynb", OWN)))
    put(folder, "hoppergrace_7_8_my.tar.gz", tarred(("x/07_twice.ipynb", OWN)))
    found = collect(folder, EXAMS)
    assert [each.student for each in found.submissions] == ["hoppergrace_7", "lovelaceada_12345"]


# --- whatever there is, each entry is in the table or in the list -------------------------------

NAMES = [
    "ada", "Ada Lovelace_7_assignsubmission_file_", "bob+07_twice+2026-11-02 10:00:00 UTC", "é",
    "ctrl\x01", "x" * 200, "-rf", "=cmd", "a b", "..a", "日本", "per%cent", "q'uo\"te", "b\\s",
]  # fmt: skip
FILES = [
    "07_twice.ipynb", "08_pack.ipynb", "07_twice (1).ipynb", "mine.ipynb", "07_twice-1.ipynb",
    "notes.txt", "a_1_2_07_twice.ipynb", "a_1_3_07_twice-1.ipynb",
    "B_9_assignsubmission_file_m.zip", "w.zip", "w.tar.gz", "w.rar", "w.ZIP", ".hidden.ipynb",
    "07_TWICE.ipynb", "07_twice.ipynb.txt",
]  # fmt: skip


def content(rng: random.Random, name: str, depth: int) -> bytes:
    """Bytes for a file, each different, so that it can be told which one was graded."""
    note = f"{rng.getrandbits(60)}"
    if name.lower().endswith((".zip", ".tar.gz")) and rng.random() < 0.9:
        inside = [rng.choice(FILES) for _ in range(rng.randrange(4))]
        entries = [
            (rng.choice(["", "a/", "../", "a/b/"]) + each, content(rng, each, depth + 1))
            for each in (inside if depth < 4 else [])
        ]
        return (tarred if name.endswith("gz") else zipped)(*entries)
    kinds: list[Callable[[], bytes]] = [
        lambda: notebook("twice-test", note),
        lambda: notebook("pack-test", note),
        lambda: notebook("another", note),
        lambda: note.encode(),
        lambda: notebook("twice-test", note).decode().encode("utf-16"),
    ]
    return rng.choice(kinds)()


def made(rng: random.Random, root: Path) -> None:
    for _ in range(rng.randrange(1, 7)):
        inside = rng.choice(["", "sub/", "sub/deep/", ".ipynb_checkpoints/", "07_twice/"])
        owner = rng.choice([*NAMES, ""])
        path = root / owner / (inside if owner else "") / rng.choice(FILES)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            if rng.random() < 0.1:
                path.symlink_to(root / "elsewhere")
            else:
                path.write_bytes(content(rng, path.name, 0))
        except (FileExistsError, NotADirectoryError):
            pass


def notebooks_below(raw: bytes, name: str, depth: int = 1) -> set[bytes]:
    """The notebooks that a file is or has, by another reading."""
    if not name.lower().endswith((".zip", ".tar.gz")):
        return {raw} if ".ipynb" in name.lower() else set()
    if depth > 2:
        return set()
    entries = list[tuple[str, bytes]]()
    try:
        if name.endswith("gz"):
            with tarfile.open(fileobj=io.BytesIO(raw), mode="r:gz") as tar:
                for info in tar:
                    file = tar.extractfile(info)
                    assert file is not None
                    entries.append((info.name, file.read()))
        else:
            with zipfile.ZipFile(io.BytesIO(raw)) as archive:
                entries += ((each.filename, archive.read(each)) for each in archive.infolist())
    except (tarfile.TarError, zipfile.BadZipFile, EOFError, OSError):
        return set()
    return {each for entry, inside in entries for each in notebooks_below(inside, entry, depth + 1)}


@pytest.mark.parametrize("seed", range(300))
def test_every_entry_is_in_the_table_or_in_the_list(folder: Path, seed: int) -> None:
    made(random.Random(seed), folder)
    put(folder, "last/07_twice.ipynb", OWN)
    found = collect(folder, EXAMS)
    keys = [(each.student, each.assignment) for each in found.submissions]
    assert len(keys) == len(set(keys))
    left = [each.path for each in found.left]
    assert len(left) == len(set(left))
    paths = {*left, *(each.path for each in found.submissions)}
    entries = {class_folder._shown(each.name) for each in folder.iterdir()}
    assert {path.split("/")[0] for path in paths} == entries
    handed_in: set[bytes] = set()
    for path in folder.rglob("*"):
        top = path.relative_to(folder).parts[0]
        hidden = ".ipynb_checkpoints" in path.parts or top.startswith(".")
        if path.is_file() and not path.is_symlink() and not hidden:
            handed_in |= notebooks_below(path.read_bytes(), path.name)
    taken = {each.notebook for each in found.submissions}
    assert len(handed_in - taken) <= len(found.left)
