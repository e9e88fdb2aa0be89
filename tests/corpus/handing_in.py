"""A student's submission, made from the notebook that was released."""

from __future__ import annotations

import json
from copy import deepcopy
from pathlib import Path
from typing import Any

Notebook = dict[str, Any]

FILE = "corpus.ipynb"
SOLUTION = Path(__file__).parent / "solutions" / "corpus" / FILE

# An answer to every exercise, of the right form and wrong.
WRONG = {
    "along_rows": "def along_rows(sch):\n    pass",
    "add_rows": """\
@T.prim_func(s_tir=True)
def add_rows(
    A: T.Buffer((24, 40), "float32"),
    b: T.Buffer((40,), "float32"),
    C: T.Buffer((24, 40), "float32"),
):
    for i, j in T.grid(24, 40):
        with T.sblock("C"):
            v_i, v_j = T.axis.remap("SS", [i, j])
            C[v_i, v_j] = A[v_i, v_j]
""",
    "mean_of_rows": "def mean_of_rows(a):\n    return np.zeros(len(a))",
    "flaws": 'flaws = dict.fromkeys(["one", "two", "three", "four"], "none")',
    "counter_example": "counter_example = [1.0, 2.0, 3.0]",
}
ANSWER_NAMES = tuple(WRONG)
CHEAP = ("mean_of_rows", "flaws", "counter_example")  # to grade: no program is compiled


def right() -> dict[str, str]:
    """The solution's own answers."""
    cells = json.loads(SOLUTION.read_text(encoding="utf-8"))["cells"]
    return {
        cell["id"].replace("-", "_"): "".join(cell["source"])
        for cell in cells
        if cell["metadata"].get("nbgrader", {}).get("solution")
    }


def cell(notebook: Notebook, cell_id: str) -> dict[str, Any]:
    """One cell of a notebook, by its id."""
    return next(each for each in notebook["cells"] if each["id"] == cell_id)


def code(cell_id: str, source: str) -> dict[str, Any]:
    """A new cell of a student's own."""
    return {
        "cell_type": "code",
        "execution_count": None,
        "id": cell_id,
        "metadata": {},
        "outputs": [],
        "source": source,
    }


def answered(exercise: Notebook, *, first: str = "", last: str = "", **answers: str) -> Notebook:
    """The notebook with these answers, and with cells before and after them; others stay empty."""
    notebook = deepcopy(exercise)
    for name, source in answers.items():
        cell(notebook, name.replace("_", "-"))["source"] = source
    if first:
        notebook["cells"].insert(2, code("first", first))
    if last:
        notebook["cells"].append(code("last", last))
    return notebook


def save(folder: Path, notebook: Notebook, name: str = FILE) -> Path:
    """Write a notebook below a student's folder."""
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(notebook), encoding="utf-8")
    return path


def hand_in(
    folder: Path, exercise: Notebook, *, first: str = "", last: str = "", **answers: str
) -> None:
    """Hand in these answers; to the other questions a wrong one, or none where it costs time."""
    others = {name: WRONG[name] for name in CHEAP}
    save(folder, answered(exercise, first=first, last=last, **{**others, **answers}))


def hand_in_wrong(
    folder: Path, exercise: Notebook, *, first: str = "", last: str = "", **answers: str
) -> None:
    """Hand in wrong answers to all questions but these."""
    hand_in(folder, exercise, first=first, last=last, **{**WRONG, **answers})
