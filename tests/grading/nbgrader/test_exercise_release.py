from __future__ import annotations

import filecmp
import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from sample_course import EXERCISE, NAME, ROOT, SOLUTION, cell, edit, make_course, nbgrader

from mlc_course.errors import UsageError
from mlc_course.grading.nbgrader import exercise_release as module
from mlc_course.grading.nbgrader.exercise_release import main, open_gradebook, release, settings


@pytest.fixture
def course(tmp_path: Path) -> Path:
    return make_course(tmp_path / "course")


def generate(course: Path, *names: str, db_url: str = "") -> list[Path]:
    return release(course / "solutions", course / "exercises", names or None, db_url=db_url)


def add_assignment(course: Path, name: str) -> Path:
    path = course / "solutions" / name / f"{name}.ipynb"
    path.parent.mkdir()
    path.write_bytes((course / SOLUTION).read_bytes())
    return path


# --- the repository -------------------------------------------------------------------------------


def differences(expected: Path, found: Path) -> Iterator[str]:
    """What is extra, missing or changed in ``found``, one sentence each."""
    texts = [
        {path.relative_to(folder): path for path in folder.rglob("*") if path.is_file()}
        for folder in (expected, found)
    ]
    for path in sorted(texts[0].keys() | texts[1].keys()):
        if path not in texts[1]:
            yield f"{path} is missing"
        elif path not in texts[0]:
            yield f"{path} is not generated from anything"
        elif not filecmp.cmp(texts[0][path], texts[1][path], shallow=False):
            yield f"{path} was changed, or its solution was"


def test_exercises_are_what_the_solutions_say(tmp_path: Path) -> None:
    release(ROOT / "solutions", tmp_path / "exercises")
    found = list(differences(tmp_path / "exercises", ROOT / "exercises"))
    assert not found, "make exercises\n" + "\n".join(found)


def test_extra_missing_and_changed_files_are_refused(course: Path, tmp_path: Path) -> None:
    add_assignment(course, "02_more")
    generate(course)
    other = tmp_path / "other"
    release(course / "solutions", other)
    assert list(differences(course / "exercises", other)) == []
    (other / "extra.txt").touch()
    (other / "02_more/02_more.ipynb").unlink()
    edit(other / NAME / f"{NAME}.ipynb", lambda notebook: notebook["cells"].pop())
    assert [each.split(" ", 1)[1] for each in differences(course / "exercises", other)] == [
        "was changed, or its solution was",
        "is missing",
        "is not generated from anything",
    ]


# --- what students get ----------------------------------------------------------------------------


def test_students_get_stubs_and_visible_tests_and_no_answers(course: Path) -> None:
    assert generate(course) == [course / EXERCISE]
    exercise = json.loads((course / EXERCISE).read_text(encoding="utf-8"))
    text = json.dumps(exercise)
    assert "SOLUTION" not in text and "HIDDEN" not in text
    assert "numbers.sum" not in text and "np.arange(5)" not in text
    answer = "".join(cell(exercise, "total")["source"])
    assert answer.startswith("def total(numbers):\n    # YOUR CODE HERE\n    raise Not")
    assert "".join(cell(exercise, "test-total")["source"]) == "assert total(np.ones(3)) == 3"
    assert cell(exercise, "test-total")["metadata"]["editable"] is False


def test_cells_keep_their_ids_and_lose_their_outputs(course: Path) -> None:
    def run(notebook: dict[str, Any]) -> None:
        output = {"output_type": "stream", "name": "stdout", "text": "secret"}
        cell(notebook, "imports").update(execution_count=7, outputs=[output])

    edit(course / SOLUTION, run)
    generate(course)
    solution, exercise = (json.loads((course / path).read_text()) for path in (SOLUTION, EXERCISE))
    assert [each["id"] for each in exercise["cells"]] == [each["id"] for each in solution["cells"]]
    assert cell(exercise, "imports")["outputs"] == []
    assert cell(exercise, "imports")["execution_count"] is None


def test_files_beside_the_notebook_are_copied_and_leftovers_are_not(course: Path) -> None:
    folder = (course / SOLUTION).parent
    for name in (
        "data/numbers.csv",
        ".ipynb_checkpoints/x.ipynb",
        "__pycache__/h.pyc",
        ".DS_Store",
    ):
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(name)
    made = [str(path.relative_to((course / EXERCISE).parent)) for path in generate(course)]
    assert made == [f"{NAME}.ipynb", "data/numbers.csv"]
    assert not list((course / "exercises").rglob(".*"))


def test_all_assignments_replace_what_was_there_and_some_leave_the_others(course: Path) -> None:
    second = add_assignment(course, "02_more")
    generate(course)
    edit(second, lambda notebook: notebook["cells"].pop())
    before = (course / EXERCISE).stat().st_ino
    assert [path.name for path in generate(course, "02_more")] == ["02_more.ipynb"]
    assert (course / EXERCISE).stat().st_ino == before
    second.unlink()
    generate(course)
    assert [path.name for path in (course / "exercises").iterdir()] == [NAME]
    assert sorted(path.name for path in course.iterdir() if path.is_dir()) == [
        "exercises",
        "solutions",
    ]


@pytest.mark.slow
def test_nbgrader_s_own_command_makes_the_same_bytes_from_every_folder(course: Path) -> None:
    generate(course)
    ours = (course / EXERCISE).read_bytes()
    shutil.rmtree(course / "exercises")
    inside = (course / SOLUTION).parent
    done = nbgrader(inside, "generate_assignment", NAME, JUPYTER_CONFIG_PATH=str(course))
    assert done.returncode == 0, done.stderr
    assert (course / EXERCISE).read_bytes() == ours
    assert (course / ".grading" / "gradebook.db").is_file()


# --- the gradebook --------------------------------------------------------------------------------


def test_graded_cells_and_their_points_are_registered(course: Path) -> None:
    db_url = settings(course).CourseDirectory.db_url
    generate(course, db_url=db_url)
    generate(course, db_url=db_url)
    with open_gradebook(db_url) as book:
        (notebook,) = book.find_assignment(NAME).notebooks
        assert {each.name: each.max_score for each in notebook.grade_cells} == {
            "test-total": 3,
            "test-twice": 2,
        }


def test_a_gradebook_with_submissions_keeps_its_cells_and_out_stays_as_it_was(course: Path) -> None:
    db_url = settings(course).CourseDirectory.db_url
    generate(course, db_url=db_url)
    before = (course / EXERCISE).read_bytes()
    with open_gradebook(db_url) as book:
        book.add_student("ada")
        with book.db.no_autoflush:
            book.add_submission(NAME, "ada")
    edit(course / SOLUTION, lambda notebook: notebook["cells"].pop())
    with pytest.raises(UsageError, match="submissions associated"):
        generate(course, db_url=db_url)
    assert (course / EXERCISE).read_bytes() == before


# --- refusals -------------------------------------------------------------------------------------


def same_grade_id(notebook: dict[str, Any]) -> None:
    cell(notebook, "twice")["metadata"]["nbgrader"]["grade_id"] = "total"


def no_points(notebook: dict[str, Any]) -> None:
    del cell(notebook, "test-total")["metadata"]["nbgrader"]["points"]


def no_end(notebook: dict[str, Any]) -> None:
    cell(notebook, "total")["source"] = "### BEGIN SOLUTION\ntotal = sum"


def answer_in_another_cell(notebook: dict[str, Any]) -> None:
    cell(notebook, "imports")["source"] = "### BEGIN SOLUTION\n### END SOLUTION"


def hidden_test_in_another_cell(notebook: dict[str, Any]) -> None:
    cell(notebook, "imports")["source"] = "### BEGIN HIDDEN TESTS\n### END HIDDEN TESTS"


def old_metadata(notebook: dict[str, Any]) -> None:
    cell(notebook, "total")["metadata"]["nbgrader"]["schema_version"] = 1


def no_id(notebook: dict[str, Any]) -> None:
    del cell(notebook, "total")["id"]


def same_id(notebook: dict[str, Any]) -> None:
    cell(notebook, "twice")["id"] = "total"


def no_cells(notebook: dict[str, Any]) -> None:
    del notebook["cells"]


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        (same_grade_id, "Duplicate grade id: total"),
        (no_points, "'test-total' does not have points"),
        (no_end, "no end solution statement found"),
        (answer_in_another_cell, "non-solution cell"),
        (hidden_test_in_another_cell, "non-grade cell"),
        (old_metadata, "schema version: 1"),
        (no_id, "cell 4 has no id of its own"),
        (same_id, "cell 4 has no id of its own"),
        (no_cells, "is no notebook"),
    ],
)
def test_a_bad_solution_is_refused_and_nothing_changes(
    course: Path, change: Any, complaint: str, capfd: pytest.CaptureFixture[str]
) -> None:
    generate(course)
    add_assignment(course, "00_good")
    edit(course / SOLUTION, change)
    with pytest.raises(UsageError) as caught:
        generate(course)
    assert complaint in str(caught.value) and NAME in str(caught.value)
    assert caught.value.expected and caught.value.got
    assert [path.name for path in (course / "exercises").iterdir()] == [NAME]
    assert sorted(path.name for path in course.iterdir() if path.is_dir()) == [
        "exercises",
        "solutions",
    ]
    assert capfd.readouterr() == ("", "")


def test_an_unknown_assignment_and_an_empty_course_are_refused(course: Path) -> None:
    with pytest.raises(UsageError, match="no assignment 99_none") as caught:
        generate(course, "99_none")
    assert caught.value.expected == NAME
    (course / SOLUTION).unlink()
    with pytest.raises(UsageError, match="no assignment at all"):
        generate(course)
    assert not (course / "exercises").exists()


def test_a_folder_without_settings_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="settings are not here"):
        settings(tmp_path)


def test_the_settings_hold_for_nbgrader_s_own_runs(course: Path) -> None:
    from nbgrader.preprocessors import Execute, OverwriteCells

    found = settings(course)
    assert (course / ".grading" / "exchange").is_dir()
    assert Execute(config=found).timeout == 60
    assert Execute(config=found).interrupt_on_timeout
    assert OverwriteCells(config=found).add_missing_cells


def test_the_command_prints_what_it_wrote_or_why_not(
    course: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(module, "ROOT", course)
    monkeypatch.setattr(module.settings, "__defaults__", (course,))
    assert main([]) == 0
    assert capsys.readouterr().out == f"{EXERCISE}\n"
    assert main(["99_none"]) == 2
    assert "UsageError: release: no assignment 99_none" in capsys.readouterr().err
