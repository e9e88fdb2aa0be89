"""The running time of each lesson's cells, from the first to the last, on this machine."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import nbformat
from common import Target, command_line, finish
from matplotlib.figure import Figure
from nbclient import NotebookClient
from tqdm import tqdm

NOTEBOOKS = Path(__file__).parents[1] / "notebooks"
MOST_S = 90.0  # on two cores


def run(path: Path) -> float:
    """Run all cells of a lesson and return the seconds that this took, the kernel's start too."""
    notebook = nbformat.read(path, as_version=4)
    began = time.monotonic()
    resources = {"metadata": {"path": str(path.parent)}}
    NotebookClient(notebook, timeout=600, resources=resources).execute()
    return time.monotonic() - began


def draw(seconds: dict[str, float], path: Path) -> None:
    """A bar for each lesson, and the time that no lesson should need as a dashed line."""
    figure = Figure(figsize=(8, 0.35 * len(seconds) + 1), layout="constrained")
    axes = figure.subplots()
    axes.barh(list(seconds), list(seconds.values()))
    axes.axvline(MOST_S, linestyle="--")
    axes.invert_yaxis()
    axes.set_xlabel("seconds to run all cells")
    figure.savefig(path)


def main() -> int:
    parser = command_line(__doc__)
    parser.add_argument(
        "lessons", nargs="*", metavar="NN", help="numbers of lessons; all by default"
    )
    arguments = parser.parse_args()
    paths = [
        path
        for path in sorted(NOTEBOOKS.glob("[0-9]*.ipynb"))
        if not arguments.lessons or path.name[:2] in arguments.lessons
    ]
    seconds = {path.stem: round(run(path), 1) for path in tqdm(paths, unit="lesson")}
    slowest = max(seconds.values())
    targets = [Target(f"{MOST_S:.0f} s, of the slowest lesson's", 1.0, MOST_S / slowest)]
    return finish(arguments, {"run_s": seconds}, targets, lambda path: draw(seconds, path))


if __name__ == "__main__":
    sys.exit(main())
