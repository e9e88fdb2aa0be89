"""A recording is whole or not there, and knows the code that it is of."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import nbformat
import pytest

from mlc_course.errors import CourseError, UsageError
from mlc_course.lecture import load, outdated, path_of, read_deck, record
from mlc_course.lecture.recording import digest

FIRST = """from mlc_course.lessons.kit import predict
asked = predict('How many?', ['one', 'two'])
asked"""


def notebook(tmp_path: Path, *sources: str) -> Path:
    cells = [nbformat.v4.new_code_cell(source, id=f"c{at}") for at, source in enumerate(sources)]
    cells[0].metadata |= {"slideshow": {"slide_type": "slide"}, "lecture": {"wall": ["# 1"]}}
    path = tmp_path / "01_sample.ipynb"
    nbformat.write(nbformat.v4.new_notebook(cells=cells), path)
    return path


@pytest.mark.slow
def test_outputs_and_widgets_are_kept_without_their_scripts(tmp_path: Path) -> None:
    made = record(notebook(tmp_path, FIRST, "print('hello')", "1 + 1"), tmp_path)
    assert load("01_sample", tmp_path) == made
    (widget,) = made.widgets.values()
    assert widget["state"]["choices"] == ["one", "two"]
    assert widget["module"] == "mlc_course.lessons.kit.prediction"
    assert "_esm" not in widget["state"] and "_css" not in widget["state"]
    assert made.outputs["c1"] == [{"output_type": "stream", "name": "stdout", "text": "hello\n"}]
    assert made.outputs["c2"][0]["data"] == {"text/plain": "2"}


@pytest.mark.slow
def test_a_cell_that_fails_leaves_the_recording_before_untouched(tmp_path: Path) -> None:
    path_of("01_sample", tmp_path).write_text("before")
    with pytest.raises(CourseError, match="fails"):
        record(notebook(tmp_path, "1 / 0"), tmp_path)
    assert path_of("01_sample", tmp_path).read_text() == "before"
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "01_sample.ipynb",
        "01_sample.json",
    ]


@pytest.mark.slow
def test_an_interrupt_ends_quickly_and_keeps_the_recording_before(tmp_path: Path) -> None:
    path, begun = path_of("01_sample", tmp_path), tmp_path / "begun"
    path.write_text("before")
    wait = f"import pathlib, time; pathlib.Path({str(begun)!r}).touch(); time.sleep(300)"
    program = (
        "import pathlib, sys; from mlc_course.lecture import record\n"
        "try: record(*map(pathlib.Path, sys.argv[1:]))\n"
        "except KeyboardInterrupt: sys.exit(130)"
    )
    words = [sys.executable, "-c", program, str(notebook(tmp_path, wait)), str(tmp_path)]
    with subprocess.Popen(words) as process:
        while not begun.exists():
            assert process.poll() is None
            time.sleep(0.1)
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 130
    assert path.read_text() == "before"


def test_other_code_is_noticed(tmp_path: Path) -> None:
    deck = read_deck(notebook(tmp_path, "1", "2"))
    known = {"machine": "m", "date": "d", "outputs": {}, "widgets": {}}
    path_of("01_sample", tmp_path).write_text(json.dumps({**known, "sources": {"gone": "0"}}))
    assert outdated(deck, load("01_sample", tmp_path)) == ["c0", "c1", "gone"]


def test_another_order_of_the_cells_is_other_code(tmp_path: Path) -> None:
    deck = read_deck(notebook(tmp_path, "1", "2", "3"))
    digests = {cell.name: digest(cell.source) for cell in deck.code}
    known = {"machine": "m", "date": "d", "outputs": {}, "widgets": {}}
    turned = {name: digests[name] for name in ("c1", "c0", "c2")}
    for sources, changed in ((digests, []), (turned, ["c0", "c1"])):
        text = json.dumps({**known, "sources": sources})
        path_of("01_sample", tmp_path).write_text(text)
        assert outdated(deck, load("01_sample", tmp_path)) == changed


@pytest.mark.parametrize("text", ["", "{", "[]", '{"machine": "m"}', "null"])
def test_a_file_that_is_no_recording_is_refused(tmp_path: Path, text: str) -> None:
    path_of("01_sample", tmp_path).write_text(text)
    with pytest.raises(UsageError, match="not a recording"):
        load("01_sample", tmp_path)


def test_a_lesson_without_recording_says_how_to_make_one(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="--record"):
        load("01_sample", tmp_path)
