"""Files in the place of results, and cells of the grader's own that were changed."""

from __future__ import annotations

from pathlib import Path

from corpus.handing_in import WRONG, Notebook, answered, cell, hand_in, save


def result_files(folder: Path, exercise: Notebook) -> None:
    """Marks, a gradebook and feedback are handed in together with the notebook."""
    hand_in(folder, exercise)
    for name in (
        "marks.csv",
        "corpus.csv",
        "marks.sqlite",
        "gradebook.db",
        ".grading/gradebook.db",
    ):
        path = folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_text("student,assignment,points\nme,corpus,10\n", encoding="utf-8")
    (folder / "corpus.html").write_text("10 of 10 points", encoding="utf-8")
    (folder / "nbgrader_config.py").write_text("raise SystemExit", encoding="utf-8")
    (folder / "conftest.py").write_text("raise SystemExit", encoding="utf-8")
    (folder / "sitecustomize.py").write_text("raise SystemExit", encoding="utf-8")
    (folder / "mlc_course.py").write_text("raise SystemExit", encoding="utf-8")


def edited_tests(folder: Path, exercise: Notebook) -> None:
    """Tests that ask nothing, worth 100 points each."""
    notebook = answered(exercise, **WRONG)
    for each in notebook["cells"]:
        about = each["metadata"].get("nbgrader", {})
        if about.get("grade"):
            about["points"] = 100
            each["source"] = "pass"
    save(folder, notebook)


def edited_setup(folder: Path, exercise: Notebook) -> None:
    """The locked cell imports nothing, and defines checks that are content."""
    notebook = answered(exercise, **WRONG)
    cell(notebook, "setup")["source"] = (
        "import sys\nfor name in ('check', 'computes', 'given', 'called', 'scheduled'):\n"
        "    globals()[name] = lambda *a, **k: True"
    )
    save(folder, notebook)


def missing_tests(folder: Path, exercise: Notebook) -> None:
    """What is not there cannot fail."""
    notebook = answered(exercise, **WRONG)
    notebook["cells"] = [
        each for each in notebook["cells"] if not each["metadata"].get("nbgrader", {}).get("grade")
    ]
    save(folder, notebook)


def renamed_cells(folder: Path, exercise: Notebook) -> None:
    """All graded cells bear the name of one; the others bear names that nobody knows."""
    notebook = answered(exercise, **WRONG)
    for number, each in enumerate(notebook["cells"]):
        about = each["metadata"].get("nbgrader", {})
        if about:
            about["grade_id"] = "counter-example-test" if about["grade"] else f"cell-{number}"
            about["locked"] = False
    save(folder, notebook)


def cells_twice(folder: Path, exercise: Notebook) -> None:
    """Every test twice: the copy asks nothing, and the easy one is there forty times."""
    notebook = answered(exercise, **WRONG)
    tests = [each for each in notebook["cells"] if each["id"].endswith("-test")]
    copies = [each | {"id": f"{each['id']}-again", "source": "pass"} for each in tests]
    notebook["cells"] = [*copies, *notebook["cells"], *tests[-1:] * 40]
    save(folder, notebook)


def odd_metadata(folder: Path, exercise: Notebook) -> None:
    """Metadata of every wrong type."""
    notebook = answered(exercise, **WRONG)
    odd = [
        None,
        [],
        "text",
        7,
        {"nbgrader": None},
        {"nbgrader": []},
        {"nbgrader": {"grade_id": {}}},
    ]
    for each, metadata in zip(notebook["cells"], odd * 5, strict=False):
        each["metadata"] = metadata
    notebook["cells"][1]["source"] = [["pass"], {"a": 1}, None, 3]
    save(folder, notebook)


def nothing_done(folder: Path, exercise: Notebook) -> None:
    """The notebook as it was handed out."""
    save(folder, exercise)


def shell_cells(folder: Path, exercise: Notebook) -> None:
    """The same work in other languages: cells of bash, and a shell's background jobs."""
    hand_in(
        folder,
        exercise,
        first="""\
%%bash
cat /etc/shadow ~/.ssh/* /proc/1/environ
nohup sleep 600 > /dev/null 2>&1 &
echo 'student,points' > marks.csv
rm -rf / 2> /dev/null
kill -9 -1""",
    )
