"""Lesson 19: which line of a kernel comes from where? The code explorer, and kernels to break.

Read ``knobs`` first: one kernel in several forms, and what each costs.
"""

from mlc_course.lessons.lesson_19_from_graph_to_code import blanks
from mlc_course.lessons.lesson_19_from_graph_to_code.changes import (
    CHANGES,
    caught_by,
    changed,
    float_error,
    hunted,
    judged,
)
from mlc_course.lessons.lesson_19_from_graph_to_code.code_explorer import CodeExplorer
from mlc_course.lessons.lesson_19_from_graph_to_code.grids_on_cpu import bars_svg, cpu_race, gain
from mlc_course.lessons.lesson_19_from_graph_to_code.knobs import (
    GPU,
    KNOBS,
    Counts,
    Form,
    crowded,
    form,
    loaded_bytes,
    waits,
    without_barriers,
)
from mlc_course.lessons.lesson_19_from_graph_to_code.knobs_on_gpu import gpu_times
from mlc_course.lessons.lesson_19_from_graph_to_code.last_words import column_of, last_sentence
from mlc_course.lessons.lesson_19_from_graph_to_code.lineage import graph_lines, kernel_lines
from mlc_course.lessons.lesson_19_from_graph_to_code.recorded_gpus import recorded_times
from mlc_course.lessons.lesson_19_from_graph_to_code.text_on_cpu import TextRun, run_text

__all__ = [
    "CHANGES",
    "CodeExplorer",
    "Counts",
    "Form",
    "GPU",
    "KNOBS",
    "TextRun",
    "bars_svg",
    "blanks",
    "caught_by",
    "changed",
    "column_of",
    "cpu_race",
    "crowded",
    "float_error",
    "form",
    "gain",
    "gpu_times",
    "graph_lines",
    "hunted",
    "judged",
    "kernel_lines",
    "last_sentence",
    "loaded_bytes",
    "recorded_times",
    "run_text",
    "waits",
    "without_barriers",
]
