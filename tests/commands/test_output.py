from __future__ import annotations

from pathlib import Path

import pytest

from mlc_course.commands.output import check_file, check_folder
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
