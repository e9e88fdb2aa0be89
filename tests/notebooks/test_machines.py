"""Every lesson holds on machines other than this one: no cell fails, and nothing untrue is said.

``make test-all`` runs each lesson in every setting of ``lesson_runs.settings``; ``make test-long``
draws lessons and settings.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest
from lesson_runs import (
    ROOT,
    WIDGET,
    Setting,
    faults_of_output,
    other_lanes,
    run,
    settings,
    shortcomings,
    shortcomings_of,
    text_of,
    texts_of,
)
from nbclient.exceptions import CellExecutionError
from nbformat import v4, write

from mlc_course.machine import VECTOR_REGISTERS, describe

LESSONS = sorted((ROOT / "notebooks").glob("[0-9]*.ipynb"))


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Only a full run takes every lesson in every setting: it needs more than an hour."""
    if {"path", "setting"} <= set(metafunc.fixturenames):
        full = metafunc.config.option.full
        pairs = [(path, each) for each in settings() for path in LESSONS] if full else []
        ids = [f"{path.stem}-{each}" for path, each in pairs]
        metafunc.parametrize(("path", "setting"), pairs, ids=ids)


@pytest.mark.notebook
@pytest.mark.slow
@pytest.mark.spread
def test_a_lesson_holds_on_every_machine(path: Path, setting: Setting) -> None:
    assert not shortcomings_of(path, setting)


@pytest.mark.notebook
@pytest.mark.slow
@pytest.mark.fuzz
def test_a_lesson_that_is_drawn_holds_on_a_machine_that_is_drawn(
    pytestconfig: pytest.Config, seed: int, tried: Callable[[str, int], None]
) -> None:
    if not pytestconfig.option.minutes:
        pytest.skip("a lesson is drawn by make test-long, and none is left out by make test-all")
    drawn = random.Random(seed)
    path, setting = drawn.choice(LESSONS), drawn.choice(settings())
    found = shortcomings_of(path, setting)
    tried("lessons on other machines", 1)
    assert not found, f"{path.stem}, {setting}: {found}"


def test_settings_have_names_of_their_own_and_no_two_factors_at_once() -> None:
    names = [each.name for each in settings()]
    assert len(set(names)) == len(names)
    for each in settings():
        assert bool(each.variables) + each.one_core + each.busy == 1
    assert len(list(other_lanes())) in (0, 2)


PREDICT = """from mlc_course.lessons.kit import predict
guess = predict("How fast?", {"as fast": 1.0, "a tenth as fast": 0.1})"""


def small(folder: Path, *cells: str, naive: int = 0) -> Path:
    """A notebook of these cells, with ids cell-0, cell-1, ..; the first may predict."""
    made = [v4.new_code_cell(source, id=f"cell-{n}") for n, source in enumerate(cells)]
    made[0].metadata["mlc"] = {"naive": naive}
    path = folder / "small.ipynb"
    write(v4.new_notebook(cells=made), path)
    return path


def nothing_to_say(said: Mapping[str, str]) -> Iterator[str]:
    yield from ()


@pytest.mark.notebook
def test_a_naive_answer_that_is_called_right_is_found(tmp_path: Path) -> None:
    path = small(tmp_path, PREDICT, "guess.reveal(0.9)", "guess.reveal(0.1)")
    (found,) = shortcomings(run(path, Setting("any")), nothing_to_say, Setting("any"))
    assert found.startswith("cell-1: the naive answer is called right")


@pytest.mark.notebook
def test_a_naive_answer_must_be_called_right_twice(tmp_path: Path) -> None:
    flag = tmp_path / "flag"
    once = f"from pathlib import Path\nflag = Path({str(flag)!r})"
    once += "\nguess.reveal(0.1 if flag.exists() else 0.9)\nflag.touch()"
    path = small(tmp_path, PREDICT, once, "guess.reveal(0.9)")
    (found,) = shortcomings_of(path, Setting("any"), nothing_to_say)
    assert found.startswith("cell-2: the naive answer is called right")


@pytest.mark.notebook
def test_an_untrue_sentence_a_warning_and_the_setting_are_seen(tmp_path: Path) -> None:
    def faults(said: Mapping[str, str]) -> Iterator[str]:
        if said["cell-1"].strip() != f"{describe().lanes} lanes":
            yield "other lanes than this process plays"
        yield said["cell-1"].strip()

    (other, *_) = (*other_lanes(), Setting("none"))
    source = "from mlc_course.machine import describe\nprint(describe().lanes, 'lanes')"
    path = small(tmp_path, "import sys\nprint('!', file=sys.stderr)", source)
    found = shortcomings(run(path, other), faults, other)
    assert found[0].startswith("cell-0 writes to stderr: !")
    assert found[1:] == [f"{lanes_of(other)} lanes"]


def lanes_of(setting: Setting) -> int:
    """The lanes that a setting plays."""
    isa = setting.variables.get("MLC_COURSE_ISA", describe().isa)
    return VECTOR_REGISTERS[isa][0] // 32


@pytest.mark.notebook
def test_a_cell_that_fails_ends_the_run_and_one_core_is_one(tmp_path: Path) -> None:
    path = small(tmp_path, "import os\nassert len(os.sched_getaffinity(0)) > 1")
    with pytest.raises(CellExecutionError):
        run(path, Setting("one core", one_core=True))


def test_a_widget_that_an_exported_page_would_not_show_is_found() -> None:
    view = {WIDGET: {"model_id": "1"}, "text/plain": "Prediction()"}
    (found,) = faults_of_output("dial", {"data": {**view, "text/html": "<p> </p>"}})
    assert found.startswith("dial has a widget without a static form")
    assert not list(faults_of_output("dial", {"data": {**view, "text/html": "<p>How fast?</p>"}}))


def test_what_a_cell_shows_is_read_without_its_tags() -> None:
    shown = {"data": {"text/html": "<style>b</style><p>3 &lt; <b>4</b></p>", "text/plain": "x"}}
    assert text_of(shown).split() == ["3", "<", "4"]
    assert text_of({"name": "stdout", "text": "yes"}) == "yes"
    assert text_of({"data": {"text/plain": "7"}}) == "7"
    printed = [{"name": "stdout", "text": "one\ntw"}, {"name": "stdout", "text": "o\n"}]
    assert texts_of([*printed, {"data": {"text/plain": "7"}}]) == "one\ntwo\n7\n"
