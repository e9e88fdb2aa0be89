"""``init`` lays the course out, brings it up to date, and never touches what a student wrote."""

from __future__ import annotations

import json
import os
import re
import shlex
from pathlib import Path

import pytest

from mlc_course import course_files
from mlc_course.commands import cli
from mlc_course.course_files import LIST, LaidOut, course_folder, has_lessons, lay_out, origin
from mlc_course.errors import UsageError

ROOT = Path(__file__).parents[2]
INDEX, LESSON = "notebooks/index.ipynb", "notebooks/00_a.ipynb"
EXERCISE = "exercises/00_a/00_a.ipynb"
FIRST = {LESSON: b"lesson 0", EXERCISE: b"exercise 0", INDEX: b"index"}
SECOND = {**FIRST, LESSON: b"lesson 0, better", "notebooks/01_b.ipynb": b"lesson 1"}


def contents(folder: Path) -> dict[str, bytes]:
    """Every file of a folder but the list, by its path."""
    found = {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }
    found.pop(LIST, None)
    return found


def test_the_course_is_laid_out_with_the_start_page_last() -> None:
    files = course_files.course_files(origin())
    assert list(files)[-1] == INDEX
    assert {"notebooks/00_measuring_honestly.ipynb", "docs/verifier.md"} < set(files)
    assert not any("solutions" in path or "checkpoint" in path for path in files)
    graded = {path.name for path in (ROOT / "solutions").iterdir() if path.is_dir()}
    assert graded <= {path.split("/")[1] for path in files if path.startswith("exercises/")}


def test_a_new_folder_gets_everything(tmp_path: Path) -> None:
    folder = tmp_path / "here" / "mlc"
    assert lay_out(folder, FIRST) == LaidOut(new=list(FIRST))
    assert contents(folder) == FIRST


def test_what_is_in_a_folder_already_is_kept(tmp_path: Path) -> None:
    (tmp_path / "notebooks").mkdir()
    (tmp_path / LESSON).write_bytes(b"mine")
    (tmp_path / "thesis.txt").write_bytes(b"mine, too")
    done = lay_out(tmp_path, FIRST)
    assert done.kept == [LESSON] and done.new == [EXERCISE, INDEX]
    assert contents(tmp_path) == {**FIRST, LESSON: b"mine", "thesis.txt": b"mine, too"}
    assert lay_out(tmp_path, SECOND).kept == [LESSON]
    assert (tmp_path / LESSON).read_bytes() == b"mine"


def test_an_upgrade_brings_what_is_new_and_leaves_what_was_changed(tmp_path: Path) -> None:
    lay_out(tmp_path, FIRST)
    (tmp_path / EXERCISE).write_bytes(b"my answer")
    done = lay_out(tmp_path, {**SECOND, EXERCISE: b"exercise 0, better"})
    assert (done.new, done.updated) == (["notebooks/01_b.ipynb"], [LESSON])
    assert (done.kept, done.current) == ([EXERCISE], [INDEX])
    assert contents(tmp_path) == {**SECOND, EXERCISE: b"my answer"}


def test_a_second_call_changes_nothing(tmp_path: Path) -> None:
    lay_out(tmp_path, FIRST)
    before = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")}
    assert lay_out(tmp_path, FIRST) == LaidOut(current=list(FIRST))
    assert {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")} == before


def test_a_file_that_was_removed_comes_back(tmp_path: Path) -> None:
    lay_out(tmp_path, FIRST)
    (tmp_path / EXERCISE).unlink()
    assert lay_out(tmp_path, FIRST).new == [EXERCISE]


def test_a_lesson_that_is_no_longer_part_of_the_course_is_left(tmp_path: Path) -> None:
    lay_out(tmp_path, SECOND)
    assert lay_out(tmp_path, FIRST).gone == ["notebooks/01_b.ipynb"]
    assert (tmp_path / "notebooks/01_b.ipynb").exists()


@pytest.mark.parametrize(
    "list_of_files",
    [
        *("", "[1]", "[" * 100_000, "\xff"),
        *('{"notebooks/00_a.ipynb": 3}', '{"notebooks/00_a.ipynb": [3, [], null]}'),
    ],
)
def test_without_a_readable_list_every_other_file_is_the_students(
    tmp_path: Path, list_of_files: str
) -> None:
    lay_out(tmp_path, FIRST)
    (tmp_path / LIST).write_text(list_of_files, encoding="latin-1")
    assert lay_out(tmp_path, SECOND).kept == [LESSON]


def test_a_link_and_a_folder_in_the_way_are_left(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").write_bytes(b"lesson 0")
    (tmp_path / "notebooks").mkdir()
    (tmp_path / LESSON).symlink_to(tmp_path / "elsewhere")
    (tmp_path / INDEX).mkdir()
    assert lay_out(tmp_path, SECOND).kept == [LESSON, INDEX]
    assert (tmp_path / "elsewhere").read_bytes() == b"lesson 0"


def test_what_has_the_name_of_a_draft_is_not_written_through(tmp_path: Path) -> None:
    (tmp_path / "mine").write_bytes(b"mine")
    (tmp_path / f".{os.getpid()}.part").symlink_to("mine")
    lay_out(tmp_path, FIRST)
    assert contents(tmp_path) == {**FIRST, "mine": b"mine"}


def test_two_at_once_do_not_share_a_draft(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write = Path.write_bytes

    def while_another_begins(path: Path, content: bytes) -> int:
        written = write(path, content)
        with monkeypatch.context() as patch:
            patch.setattr(Path, "write_bytes", write)
            patch.setattr(os, "getpid", lambda: 0)
            lay_out(tmp_path, FIRST)
        return written

    with monkeypatch.context() as patch:
        patch.setattr(Path, "write_bytes", while_another_begins)
        lay_out(tmp_path, FIRST)
    assert contents(tmp_path) == FIRST


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_that_may_not_be_read_is_left_alone(tmp_path: Path) -> None:
    lay_out(tmp_path, FIRST)
    (tmp_path / LESSON).chmod(0)
    done = lay_out(tmp_path, SECOND)
    assert (done.kept, done.new) == ([LESSON], ["notebooks/01_b.ipynb"])


@pytest.mark.parametrize("stop", range(1, 6))
def test_what_is_stopped_leaves_no_half_of_a_file_and_is_finished_by_the_next(
    tmp_path: Path, stop: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    lay_out(tmp_path, FIRST)
    writes = iter(range(1, 100))
    write = Path.write_bytes

    def stopped(path: Path, content: bytes) -> int:
        if next(writes) == stop:
            write(path, content[:3])
            raise KeyboardInterrupt
        return write(path, content)

    third = {path: content + b", third" for path, content in SECOND.items()}
    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(Path, "write_bytes", stopped)
        lay_out(tmp_path, third)
    left = contents(tmp_path)
    assert all(content in (FIRST.get(path), third[path]) for path, content in left.items())
    fourth = {path: content + b", fourth" for path, content in SECOND.items()}
    assert not lay_out(tmp_path, fourth).kept  # what was written before the stop is known as ours
    assert contents(tmp_path) == fourth


def test_the_command_says_what_it_kept(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "mlc"
    assert cli.main(["init", str(folder)]) == 0
    said = capsys.readouterr().out
    assert "files new" in said and f"cd {folder} && mlc-course lab" in said
    assert has_lessons(folder) and not list(folder.rglob("*.part"))
    (folder / INDEX).write_text("mine")
    assert cli.main(["init", str(folder)]) == 0
    said = capsys.readouterr().out
    assert f"yours now:\n  {INDEX}\n" in said and "as before" in said


def test_a_folder_that_cannot_be_made_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_text("mine")
    assert cli.main(["init", str(tmp_path / "file")]) == 2
    assert cli.main(["init", str(tmp_path / "file" / "below")]) == 2
    assert "cannot be made" in capsys.readouterr().err
    assert (tmp_path / "file").read_text() == "mine"


def test_a_full_disk_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def full(path: Path, content: bytes) -> int:
        raise OSError(28, "No space left on device")  # of a write; it names no file

    monkeypatch.setattr(Path, "write_bytes", full)
    assert cli.main(["init", str(tmp_path / "mlc")]) == 2
    assert f"{tmp_path / 'mlc' / LIST}: No space left" in capsys.readouterr().err


def test_a_checkout_is_no_folder_of_a_student(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["init", str(ROOT)]) == 2
    assert "is a checkout" in capsys.readouterr().err and not (ROOT / LIST).exists()


def test_a_folder_without_a_name_is_not_this_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit, match="2"):
        cli.main(["init", ""])
    assert not [*tmp_path.iterdir()]


def test_the_next_command_can_be_copied(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "Ada's course"
    assert cli.main(["init", str(folder)]) == 0
    last = capsys.readouterr().out.splitlines()[-1].removeprefix("Next: ")
    assert shlex.split(last.partition(" &&")[0]) == ["cd", str(folder)]


def test_links_of_the_notebooks_lead_to_files_that_are_laid_out() -> None:

    files = course_files.course_files(origin())
    lost = []
    for path, content in files.items():
        if not path.endswith(".ipynb"):
            continue
        for cell in json.loads(content)["cells"]:
            for link in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", "".join(cell["source"])):
                target = os.path.normpath(os.path.join(os.path.dirname(path), link))
                if cell["cell_type"] == "markdown" and target not in files:
                    lost.append(f"{path}: {link}")
    assert not lost


def test_pictures_of_the_pages_are_laid_out() -> None:
    files = course_files.course_files(origin())
    pages = [path for path in files if path.endswith(".md")]
    lost = [
        f"{page}: {picture}"
        for page in pages
        for picture in re.findall(r"!\[[^]]*\]\(([^)#:]+)\)", files[page].decode())
        if os.path.normpath(os.path.join(os.path.dirname(page), picture)) not in files
    ]
    assert pages and not lost


def test_the_folder_of_the_course_is_found_from_inside(tmp_path: Path) -> None:
    lay_out(tmp_path, FIRST)
    assert course_folder(tmp_path / "exercises" / "00_a") == tmp_path.resolve()


def test_elsewhere_a_checkout_opens_its_own_lessons(tmp_path: Path) -> None:
    assert course_folder(tmp_path) == ROOT


def test_an_installed_package_opens_no_copy_of_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    carried = tmp_path / "site-packages" / "mlc_course" / "carried"
    lay_out(carried, FIRST)
    monkeypatch.setattr(course_files, "CARRIED", carried)
    for here in (tmp_path, carried / "notebooks"):
        with pytest.raises(UsageError, match="mlc-course init"):
            course_folder(here)
