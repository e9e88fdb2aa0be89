"""The files of translations hold every marked string, and nothing else."""

from __future__ import annotations

from pathlib import Path

import pytest
from babel.messages.catalog import Catalog
from babel.messages.pofile import write_po

from mlc_course.words import ENGLISH, LANGUAGES, catalogue

OTHERS = [each for each in LANGUAGES if each != ENGLISH]


@pytest.mark.parametrize("language", OTHERS)
def test_every_marked_string_is_translated_with_the_same_values(language: str) -> None:
    assert list(catalogue.faults(language)) == []


def test_strings_of_python_and_of_scripts_are_found_with_their_plurals() -> None:
    held = {each.id: {place for place, _ in each.locations} for each in catalogue.found()}
    assert "lessons/kit/common.js" in held["To the end"]
    assert "lessons/kit/prediction.py" in held["{answer}, as you said."]
    assert ("{count} equal line", "{count} equal lines") in held


@pytest.mark.parametrize(
    ("text", "said", "fault"),
    [
        ("Play", "", "not translated: Play"),
        ("{count} misses", "未命中", "other values than in English, {'{count}'}: {count} misses"),
        ("{count} misses", "{n} 次", "other values than in English"),
        ("{count} misses", "{count} 次 {}", "a brace that belongs to no value: {count} misses"),
        ("at most {most:,}", "最多 {most}", "other values than in English"),
        ("no such string", "没有", "marked nowhere: no such string"),
    ],
)
def test_a_wrong_file_is_refused(
    text: str, said: str, fault: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "zh.po"
    held = Catalog(locale="zh")
    held.add(text, said)
    with file.open("wb") as opened:
        write_po(opened, held)
    monkeypatch.setattr(catalogue, "path", lambda language: file)
    assert any(each.startswith(fault) for each in catalogue.faults("zh"))
    assert any(each.startswith("not in the file: ") for each in catalogue.faults("zh"))


def test_an_update_adds_what_is_marked_and_keeps_what_is_translated(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "zh.po"
    held = Catalog(locale="zh")
    held.add("Play", "播放")
    held.add("no such string", "没有")
    with file.open("wb") as opened:
        write_po(opened, held)
    monkeypatch.setattr(catalogue, "path", lambda language: file)
    catalogue.update("zh")
    faults = list(catalogue.faults("zh"))
    assert "not translated: Pause" in faults and "not translated: Play" not in faults
    assert not any("no such string" in each for each in faults)


def test_the_file_is_as_an_update_leaves_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for language in OTHERS:
        before = catalogue.path(language).read_bytes()
        file = tmp_path / f"{language}.po"
        file.write_bytes(before)
        with monkeypatch.context() as patch:
            patch.setattr(catalogue, "path", lambda language, file=file: file)
            catalogue.update(language)
        assert file.read_bytes() == before
