from __future__ import annotations

from pathlib import Path

import pytest

from mlc_course.commands.output import check_file, check_folder, write_text
from mlc_course.errors import UsageError


def test_what_can_be_written_leaves_nothing_but_its_folder(tmp_path: Path) -> None:
    check_file(tmp_path / "new" / "found.json", (".json",))
    check_folder(tmp_path / "other")
    assert {path.name for path in tmp_path.rglob("*")} == {"new", "other"}
    check_file(None, (".json",))
    check_folder(None)


def test_another_suffix_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"ends in \.png or \.svg"):
        check_file(tmp_path / "picture.doc", (".png", ".svg"))


def test_a_folder_is_no_file(tmp_path: Path) -> None:
    (tmp_path / "found.json").mkdir()
    with pytest.raises(UsageError, match=r"(?s)expected  a file.*got       a folder"):
        check_file(tmp_path / "found.json", (".json",))


def test_a_place_below_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for check in (check_file, check_folder):
        with pytest.raises(UsageError, match="cannot write"):
            check(tmp_path / "file" / "below")


def test_a_link_to_a_file_that_is_not_there_yet_stays_a_link(tmp_path: Path) -> None:
    link, file = tmp_path / "latest.json", tmp_path / "today.json"
    link.symlink_to(file)
    check_file(link)
    assert link.is_symlink() and not file.exists()
    write_text(link, "{}")
    assert link.is_symlink() and file.read_text() == "{}"


def test_a_check_removes_no_file_that_another_process_writes_meanwhile(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "found.json"
    file.write_text("of another process")
    monkeypatch.setattr(Path, "exists", lambda path: False)  # it came after this was asked
    check_file(file)
    assert file.read_text() == "of another process"


def test_a_file_is_replaced_whole_or_not_at_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "found.json"
    file.write_text("before")
    file.chmod(0o640)

    written = Path.write_bytes

    def full(path: Path, content: bytes) -> None:
        written(path, content[:2])
        raise OSError("No space left on device")

    with monkeypatch.context() as patched, pytest.raises(UsageError, match="No space left"):
        patched.setattr(Path, "write_bytes", full)
        write_text(file, "after")
    assert file.read_text() == "before"
    write_text(file, "after")
    assert file.read_text() == "after"
    assert file.stat().st_mode & 0o777 == 0o640
    assert [path.name for path in tmp_path.iterdir()] == ["found.json"]
