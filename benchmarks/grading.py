"""How long does a class take? 300 submissions of a five-exercise notebook, on all cores.

    python benchmarks/grading.py --json results/grading.json --check

Of every 20 submissions, 12 are solved, 4 lack one exercise, 3 are empty, and one hangs in a cell.
The costs of one submission are measured apart, before, with nothing beside them.
"""

from __future__ import annotations

import copy
import json
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from common import Target, command_line, finish
from matplotlib.figure import Figure

from mlc_course.grading.course import (
    Exam,
    Settings,
    Store,
    Submission,
    grade,
    grade_all,
    grading_of,
    prepare,
    race_all,
    read_exam,
    run_races,
)
from mlc_course.grading.nbgrader import release
from mlc_course.grading.process import Child, chosen
from mlc_course.machine import usable_cores
from mlc_course.parallel import executor_for

ROOT = Path(__file__).parents[1]
ASSIGNMENT = "11_packing_and_the_micro_kernel"
MINUTES = 10.0
KINDS = ["solved"] * 12 + ["lacking"] * 4 + ["empty"] * 3 + ["hanging"]


def answers(notebook: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """The solution cells of a notebook by their names."""
    return {
        grading_of(cell)["grade_id"]: cell
        for cell in notebook["cells"]
        if grading_of(cell).get("solution")
    }


def hand_in(count: int, solved: dict[str, Any], empty: dict[str, Any]) -> Iterator[Submission]:
    """A class, every notebook different from every other."""
    names = list(answers(solved))
    for number in range(count):
        kind = KINDS[number % len(KINDS)]
        notebook = copy.deepcopy(empty if kind == "empty" else solved)
        own = answers(notebook)
        name = names[number % len(names)]
        if kind == "lacking":
            own[name]["source"] = answers(empty)[name]["source"]
        if kind == "hanging":
            own[name]["source"] = "while True:\n    pass"
        notebook["metadata"]["number"] = number
        yield Submission(f"{number:03}-{kind}", ASSIGNMENT, json.dumps(notebook).encode())


def seconds(call: Callable[[], object], times: int = 3) -> float:
    """The median time of a call."""
    taken = []
    for _ in range(times):
        start = time.monotonic()
        call()
        taken.append(time.monotonic() - start)
    return statistics.median(taken)


def costs(exam: Exam, solved: bytes, empty: bytes, settings: Settings) -> dict[str, float]:
    """What one submission costs, in seconds, part by part."""
    sandbox, limits = chosen(settings.sandbox), settings.limits

    def start() -> None:
        with Child("mlc_course.grading.process.student_process", limits, sandbox) as child:
            child.ask(json.dumps({"do": "run", "source": ""}).encode())

    def graded(notebook: bytes) -> Any:
        submission = Submission("cost", exam.assignment, notebook)
        return grade(exam, submission, seed=1, limits=limits, sandbox=sandbox)

    marks = graded(solved)
    races = seconds(lambda: run_races(exam, marks, {}, limits=limits, sandbox=sandbox))
    return {
        "start a process for the student's cells": seconds(start),
        "grade an empty notebook": seconds(lambda: graded(empty)),
        "grade a solved notebook, without its races": seconds(lambda: graded(solved)),
        "the races of a solved notebook": races,
    }


def main() -> int:
    parser = command_line(__doc__)
    parser.add_argument("--count", type=int, default=300, help="submissions (default 300)")
    arguments = parser.parse_args()
    path = ROOT / "solutions" / ASSIGNMENT / f"{ASSIGNMENT}.ipynb"
    exam = read_exam(path)
    with tempfile.TemporaryDirectory() as folder:
        (released,) = release(ROOT / "solutions", Path(folder), [ASSIGNMENT])
        empty = released.read_bytes()
        store = Store(Path(folder) / "marks.sqlite")
        settings = Settings(seed=store.seed)
        apart = costs(exam, path.read_bytes(), empty, settings)
        for part, cost in apart.items():
            print(f"{cost:6.2f} s  {part}")
        submissions = list(
            hand_in(arguments.count, json.loads(path.read_bytes()), json.loads(empty))
        )
        times = [time.monotonic()]
        prepare(exam, ROOT / "solutions", store, settings)
        times.append(time.monotonic())
        failed = grade_all(submissions, [exam], store, settings, executor_for(None, usable_cores()))
        times.append(time.monotonic())
        race_all([exam], store, settings)
        times.append(time.monotonic())
        marks = list(store.marks())
        store.close()
    assert not failed and len(marks) == arguments.count
    for each in marks:
        if "solved" in each.student and each.points < each.out_of:
            lost = [str(f) for t in each.tests if t.points < t.out_of for f in t.findings]
            print("LOST POINTS:", each.student, each.remarks, *lost, sep="\n")
    parts = dict(zip(("prepare", "grade", "race"), map(_minutes, times, times[1:]), strict=True))
    total = sum(parts.values())
    own = statistics.median(each.seconds for each in marks if "solved" in each.student)
    print(f"{arguments.count} submissions, {usable_cores()} cores: {total:.1f} minutes {parts}")
    figures = {
        "assignment": ASSIGNMENT,
        "exercises": len(exam.tests),
        "submissions": arguments.count,
        "cores": usable_cores(),
        "sandbox": marks[0].sandbox,
        "minutes": total,
        "minutes_of": parts,
        "seconds_apart": apart,
        "median_seconds_of_a_solved_one_in_the_batch": own,
        "counters_only": sum(each.counters_only for each in marks),
        "percent": {kind: _percent(marks, kind) for kind in dict.fromkeys(KINDS)},
    }
    share = arguments.count / 300
    targets = [Target("allowed minutes / minutes taken", 1.0, MINUTES * share / total)]
    return finish(arguments, figures, targets, lambda path: draw(figures, path))


def draw(figures: dict[str, Any], path: Path) -> None:
    """What one submission costs, and what the class took."""
    apart = figures["seconds_apart"]
    figure = Figure(figsize=(9, 2.8), layout="constrained")
    axes = figure.subplots()
    bars = axes.barh(list(apart), list(apart.values()), color="#0072b2")
    axes.bar_label(bars, fmt=" %.1f s")
    axes.invert_yaxis()
    axes.margins(x=0.12)
    axes.set_xlabel("seconds, one submission, nothing beside it")
    axes.set_title(
        f"{figures['submissions']} submissions on {figures['cores']} cores: "
        f"{figures['minutes']:.0f} minutes"
    )
    figure.savefig(path)


def _minutes(start: float, end: float) -> float:
    return (end - start) / 60


def _percent(marks: list[Any], kind: str) -> float:
    own = [100 * each.points / each.out_of for each in marks if each.student.endswith(kind)]
    return statistics.mean(own) if own else 0.0


if __name__ == "__main__":
    sys.exit(main())
