"""Cells that change the process they run in: NumPy, clocks, ``check``, the grader's own modules."""

from __future__ import annotations

from pathlib import Path

from corpus.handing_in import Notebook, hand_in_wrong


def patched_numpy(folder: Path, exercise: Notebook) -> None:
    """Every comparison of NumPy's says that two arrays are equal."""
    hand_in_wrong(
        folder,
        exercise,
        first="""\
import numpy.testing
for module in (np, np.testing, np._core.numeric):
    for name in dir(module):
        if name in ("allclose", "isclose", "array_equal", "array_equiv", "all", "equal"):
            setattr(module, name, lambda *a, **k: np.True_)
        elif name.startswith("assert_"):
            setattr(module, name, lambda *a, **k: None)
np.linalg.norm = lambda *a, **k: 0.0""",
    )


def patched_clock(folder: Path, exercise: Notebook) -> None:
    """Clocks that stand still, or run backwards."""
    hand_in_wrong(
        folder,
        exercise,
        first="""\
import time, itertools
ticks = itertools.count(1e9, -1.0)
for name in ("time", "perf_counter", "monotonic", "process_time", "thread_time"):
    setattr(time, name, lambda: next(ticks))
    setattr(time, name + "_ns", lambda: 0)
import mlc_course.measure
mlc_course.measure.perf_counter = lambda: 0.0""",
    )


def patched_check(folder: Path, exercise: Notebook) -> None:
    """``check`` and all checks are replaced by functions that are content."""
    hand_in_wrong(
        folder,
        exercise,
        first="""\
import sys
content = lambda *a, **k: "met"
check = content
for name in [n for n in sys.modules if n.startswith("mlc_course")]:
    module = sys.modules[name]
    for attribute in ("check", "findings_here", "judged", "examine", "earned", "admit"):
        if hasattr(module, attribute):
            setattr(module, attribute, content)
    for each in list(vars(module).values()):
        if isinstance(each, type) and hasattr(each, "judge"):
            each.judge = each.inspect = content""",
    )


def patched_grader(folder: Path, exercise: Notebook) -> None:
    """The grader's modules say of every finding that it is met, and of every value that it fits."""
    hand_in_wrong(
        folder,
        exercise,
        first="""\
from mlc_course.grading.checks import checking
from mlc_course.grading.process import answers, finding, student_process, values
for name in list(answers.PRODUCERS):
    answers.PRODUCERS[name] = lambda answer, program: '{"verdict": "met", "points": 2}'
finding.Verdict.UNMET._value_ = "met"
finding.unmet = finding.met = checking.unmet = lambda *a: finding.Finding("met", "met", "met")
finding.earned = lambda findings: True
values.difference = lambda *a, **k: None
values.to_text = lambda value: '"met"'
answers.produce = student_process.produce = lambda *a: '{"value": "met"}'""",
    )


def patched_tvm(folder: Path, exercise: Notebook) -> None:
    """TVM's own functions hand out a program that was not scheduled, under the scheduled one's."""
    hand_in_wrong(
        folder,
        exercise,
        first="""\
import tvm
from mlc_course.tensor_program.tir import access_strides, tvm as names
names.compile_program = tvm.compile = lambda *a, **k: {"main": lambda *buffers: None}
names.same_structure = lambda first, second: True
from mlc_course.grading.process import answers
kept = []
def dump_first(module):
    kept.append(tvm.ir.save_json(module))
    return kept[0]
answers.dump_program = dump_first
tvm.s_tir.Schedule.reorder = lambda *a, **k: None
from mlc_course.tensor_program.memory import cache
access_strides.accesses = lambda program: ()
cache.count = lambda *a: None""",
        along_rows='def along_rows(sch):\n    steps.reorder(sch, "C", "k", "n")',
    )


def input_transformer(folder: Path, exercise: Notebook) -> None:
    """IPython is told to replace the source of every later cell with nothing."""
    hand_in_wrong(
        folder,
        exercise,
        first="""\
shell = get_ipython()
shell.input_transformers_cleanup.append(lambda lines: ["pass\\n"])
shell.ast_transformers.append(type("Empty", (), {"visit": lambda self, node: node})())""",
    )


def show_traceback(folder: Path, exercise: Notebook) -> None:
    """Errors are not shown, and every run of a cell is reported as a success."""
    hand_in_wrong(
        folder,
        exercise,
        first="""\
import sys
from IPython.core.interactiveshell import ExecutionResult, InteractiveShell
InteractiveShell.showtraceback = lambda *a, **k: None
ExecutionResult.success = True
ExecutionResult.error_in_exec = ExecutionResult.error_before_exec = None
get_ipython().set_custom_exc((BaseException,), lambda *a, **k: None)
sys.excepthook = lambda *a: None""",
    )


def replaced_server(folder: Path, exercise: Notebook) -> None:
    """The object that answers the grader is found among all objects and answers with praise."""
    hand_in_wrong(
        folder,
        exercise,
        first="""\
import gc, json, __main__
def praise(self, message):
    return json.dumps({"text": '"met"', "value": "met", "failed": "", "points": 2.0}).encode()
for each in gc.get_objects():
    if type(each).__name__ == "Cells":
        type(each).__call__ = praise""",
    )


def at_exit(folder: Path, exercise: Notebook) -> None:
    """Handlers for the end of the process write marks, and signals are ignored."""
    hand_in_wrong(
        folder,
        exercise,
        first="""\
import atexit, os, signal, sys
def write_marks():
    for path in ("marks.csv", "/tmp/marks.csv", "../marks.csv"):
        try:
            open(path, "w").write("student,points\\nme,10\\n")
        except OSError:
            pass
atexit.register(write_marks)
for number in range(1, 65):
    try:
        signal.signal(number, lambda *a: write_marks())
    except (OSError, ValueError):
        pass""",
    )
