"""Right answers in notebooks that look otherwise than the one that was released."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path

from corpus.handing_in import FILE, Notebook, answered, cell, code, hand_in, right, save


def _right(folder: Path, exercise: Notebook, first: str = "", last: str = "", **own: str) -> None:
    hand_in(folder, exercise, first=first, last=last, **{**right(), **own})


def magics(folder: Path, exercise: Notebook) -> None:
    """Magics of lines and of cells, among them in the cell of an answer."""
    _right(
        folder,
        exercise,
        first="%matplotlib inline\n%load_ext autoreload\n%autoreload 2\n!echo hello",
        mean_of_rows=f"%%time\n{right()['mean_of_rows']}",
        counter_example=f"%matplotlib inline\n{right()['counter_example']}",
        flaws=f"%config InlineBackend.figure_format = 'retina'\n{right()['flaws']}",
        last="%timeit -n 2 -r 2 mean_of_rows(np.ones((3, 4)))",
    )


def a_plot(folder: Path, exercise: Notebook) -> None:
    """A cell that draws."""
    _right(
        folder,
        exercise,
        first="""\
import matplotlib.pyplot as plt
figure, axes = plt.subplots()
axes.plot([1, 2, 3])
plt.show()
figure""",
    )


def much_output(folder: Path, exercise: Notebook) -> None:
    """A megabyte of print."""
    _right(folder, exercise, first="for _ in range(10_000): print('x' * 100)")


def an_error_between(folder: Path, exercise: Notebook) -> None:
    """Cells that fail, and one that is no Python, between the answers."""
    notebook = answered(exercise, **right())
    for number, source in enumerate(
        ("1 / 0", "this is no python", "raise SystemExit(1)", "assert 0")
    ):
        notebook["cells"].insert(3 + 4 * number, code(f"own-{number}", source))
    save(folder, notebook)


def much_of_an_own(folder: Path, exercise: Notebook) -> None:
    """Sixty more cells, of text and of code."""
    notebook = answered(exercise, **right())
    text = {"cell_type": "markdown", "id": "note", "metadata": {}, "source": "*A note*"}
    own = [code(f"own-{i}", f"value_{i} = {i}\nvalue_{i}") for i in range(30)]
    notebook["cells"] = [*own, *notebook["cells"], *[text | {"id": f"n-{i}"} for i in range(30)]]
    save(folder, notebook)


def another_order(folder: Path, exercise: Notebook) -> None:
    """All answers first, then all tests, the last one first."""
    notebook = answered(exercise, **right())
    tests = [each for each in notebook["cells"] if each["id"].endswith("-test")]
    others = [each for each in notebook["cells"] if each not in tests]
    notebook["cells"] = [*others, *reversed(tests)]
    save(folder, notebook)


def no_setup(folder: Path, exercise: Notebook) -> None:
    """The locked cell with the imports was deleted."""
    notebook = answered(exercise, **right())
    notebook["cells"].remove(cell(notebook, "setup"))
    save(folder, notebook)


def no_tests(folder: Path, exercise: Notebook) -> None:
    """The tests were deleted."""
    notebook = answered(exercise, **right())
    notebook["cells"] = [each for each in notebook["cells"] if not each["id"].endswith("-test")]
    save(folder, notebook)


def rewritten_in_a_new_cell(folder: Path, exercise: Notebook) -> None:
    """The cells of the answers were deleted, and written again without metadata."""
    notebook = answered(exercise, **right())
    for each in notebook["cells"]:
        if each["metadata"].get("nbgrader", {}).get("solution"):
            each["metadata"] = {}
            each["id"] += "-again"
    save(folder, notebook)


def another_jupyter(folder: Path, exercise: Notebook) -> None:
    """Saved by an older Jupyter: no ids, a source in one string, outputs of every kind."""
    notebook = answered(exercise, **right())
    notebook["nbformat_minor"] = 4
    for each in notebook["cells"]:
        each["source"] = "".join(each["source"])
        del each["id"]
        if each["cell_type"] == "code":
            each["execution_count"] = 7
            each["outputs"] = [{"output_type": "stream", "name": "stdout", "text": ["x\n"] * 1000}]
    notebook["metadata"]["widgets"] = {"application/vnd.jupyter.widget-state+json": {}}
    save(folder, notebook)


def another_kernel(folder: Path, exercise: Notebook) -> None:
    """A kernel by another name, and none at all."""
    notebook = answered(exercise, **right())
    notebook["metadata"] = {"kernelspec": {"name": "mlc", "display_name": "MLC (Python 3.12)"}}
    save(folder, notebook)


def no_metadata(folder: Path, exercise: Notebook) -> None:
    """An editor that knows nothing of nbgrader dropped all metadata."""
    notebook = answered(exercise, **right())
    notebook["metadata"] = {}
    for each in notebook["cells"]:
        each["metadata"] = {}
    save(folder, notebook)


def line_ends_of_windows(folder: Path, exercise: Notebook) -> None:
    """Sources with CR LF, in a file that begins with a byte order mark."""
    notebook = answered(exercise, **right())
    for each in notebook["cells"]:
        each["source"] = "".join(each["source"]).replace("\n", "\r\n")
    path = save(folder, notebook)
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes())


def an_archive(folder: Path, exercise: Notebook) -> None:
    """A zip archive, in the student's folder, with a folder inside."""
    folder.mkdir(parents=True)
    with zipfile.ZipFile(folder / "my exercises.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(f"exercises/corpus/{FILE}", json.dumps(answered(exercise, **right())))
        archive.writestr("exercises/picture.png", b"\x89PNG")


def a_folder_below(folder: Path, exercise: Notebook) -> None:
    """Folders within folders, beside what Jupyter keeps for itself."""
    save(folder / "mlc course (1)" / "exercises" / "corpus", answered(exercise, **right()))
    save(folder / "mlc course (1)" / ".ipynb_checkpoints", exercise, "corpus-checkpoint.ipynb")


def a_loop_that_ended(folder: Path, exercise: Notebook) -> None:
    """A cell that ends the process and one that never ends: the answers are right all the same."""
    _right(folder, exercise, first="import os\nos._exit(1)", last="while True: pass")
