"""Right answers, said otherwise than the solution says them."""

from __future__ import annotations

from pathlib import Path

from corpus.handing_in import Notebook, hand_in, right


def _right(folder: Path, exercise: Notebook, first: str = "", last: str = "", **own: str) -> None:
    hand_in(folder, exercise, first=first, last=last, **{**right(), **own})


def the_solution(folder: Path, exercise: Notebook) -> None:
    """The answers as they stand in the solution."""
    _right(folder, exercise)


def another_schedule(folder: Path, exercise: Notebook) -> None:
    """More steps than were asked for: split, vectorized, with the init taken out."""
    _right(
        folder,
        exercise,
        along_rows="""\
def along_rows(sch):
    steps.split(sch, "C", "n", 16)
    steps.reorder(sch, "C", "n_0", "k", "n_1")
    steps.vectorize(sch, "C", "n_1")""",
    )


def tvm_alone(folder: Path, exercise: Notebook) -> None:
    """TVM's own primitives, without the course's steps."""
    _right(
        folder,
        exercise,
        along_rows="""\
def along_rows(schedule):
    block = schedule.get_sblock("C")
    m, n, k = schedule.get_loops(block)
    schedule.reorder(m, k, n)
    return schedule""",
    )


def partial_function(folder: Path, exercise: Notebook) -> None:
    """Answers that are no ``def``: a lambda and a ``functools.partial``."""
    _right(
        folder,
        exercise,
        along_rows='along_rows = lambda sch: steps.reorder(sch, "C", "k", "n")',
        mean_of_rows="import functools\nmean_of_rows = functools.partial(np.mean, axis=1)",
    )


def callable_object(folder: Path, exercise: Notebook) -> None:
    """Objects with ``__call__``, made by a class of the student's."""
    _right(
        folder,
        exercise,
        along_rows="""\
class Reorder:
    def __init__(self, *loops): self.loops = loops
    def __call__(self, sch): steps.reorder(sch, "C", *self.loops)
along_rows = Reorder("k", "n")""",
        mean_of_rows="""\
class MeanOfRows:
    def __call__(self, a): return a.sum(1) / a.shape[1]
mean_of_rows = MeanOfRows()""",
    )


def loops_and_lists(folder: Path, exercise: Notebook) -> None:
    """Answers built by loops, with NumPy's own numbers inside."""
    _right(
        folder,
        exercise,
        mean_of_rows="""\
def mean_of_rows(a):
    means = []
    for row in a:
        total = np.float64(0)
        for number in row:
            total += number
        means.append(total / len(row))
    return np.array(means)""",
        flaws="""\
flaws = {}
for key, flaw in zip(("four", "three", "two", "one"), ("clock", "threads", "none", "warm-up")):
    flaws[key] = flaw""",
        counter_example="counter_example = tuple(np.float64(x) for x in (1e20, -1e20, 1.0))",
    )


def other_names(folder: Path, exercise: Notebook) -> None:
    """Loops, blocks and buffers by other names, and another kind of iterator."""
    _right(
        folder,
        exercise,
        add_rows="""\
@T.prim_func(s_tir=True)
def plus(X: T.Buffer((24, 40)), vector: T.Buffer(40), out: T.Buffer((24, 40))):
    for column in range(40):
        for row in T.serial(24):
            with T.sblock("addition"):
                r = T.axis.spatial(24, row)
                c = T.axis.spatial(40, column)
                T.reads(X[r, c], vector[c])
                T.writes(out[r, c])
                out[r, c] = vector[c] + X[r, c]
add_rows = plus""",
    )


def a_module(folder: Path, exercise: Notebook) -> None:
    """A program in a module, vectorized by a schedule of the student's own."""
    _right(
        folder,
        exercise,
        add_rows=right()["add_rows"]
        + """
from mlc_course.tensor_program.tir import IRModule, Schedule
sch = Schedule(IRModule({"main": add_rows}))
steps.vectorize(sch, "C", "j")
add_rows = sch.mod["main"]""",
    )


def unicode_names(folder: Path, exercise: Notebook) -> None:
    """Names and words in other alphabets."""
    _right(
        folder,
        exercise,
        first="Größe = 'ß λ 中文 🙂'\nprint(Größe)",
        mean_of_rows="""\
def mittel(α):
    \"\"\"Durchschnitt je Zeile — «α».\"\"\"
    return α.mean(axis=1)
mean_of_rows = mittel""",
    )


def slow_and_right(folder: Path, exercise: Notebook) -> None:
    """A cell that computes for more than a second."""
    _right(
        folder,
        exercise,
        first="import time\ntime.sleep(1.2)",
        flaws=f"time.sleep(0.5)\n{right()['flaws']}",
    )
