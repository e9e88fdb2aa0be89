"""The CUDA C++ of a kernel, compiled to PTX and run on this CPU: its numbers, and its faults."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mlc_course.lessons.lesson_19_from_graph_to_code.changes import changed
from mlc_course.lessons.lesson_19_from_graph_to_code.knobs import Form
from mlc_course.mugraph.cuda import compile_ptx
from mlc_course.mugraph.gpu_text import CUDA, source_of
from mlc_course.mugraph.ir import FLOAT64, evaluate
from mlc_course.mugraph.ptx import load

ARCH, STORAGE = "sm_80", "float16"
TOLERANCE = 4e-3  # of the largest element: float16 has eleven bits


@dataclass(frozen=True)
class TextRun:
    """The largest error of one run, as a share of the largest element, and the first fault."""

    error: float
    fault: str

    def __str__(self) -> str:
        numbers = "right" if self.error <= TOLERANCE else "wrong"
        return f"numbers {numbers}; {self.fault or 'no fault'}"


def run_text(made: Form, name: str = "") -> TextRun:
    """Run the text of a kernel on small sizes; with a name, of the kernel with that change.

    Copies land as late as they may, and warps keep in step. Raises ``MachineError`` where NVRTC is
    not installed.
    """
    small = made.small()
    kernel = changed(small.kernel, name).kernel if name else small.kernel
    source = source_of((kernel,), CUDA, STORAGE)
    module = load(compile_ptx(source.text, ARCH))
    rng = np.random.default_rng(0)
    shapes = small.graph.input_shapes
    inputs = {key: rng.standard_normal(shape).astype(STORAGE) for key, shape in shapes.items()}
    (output,) = (np.zeros(each.shape, STORAGE) for each in kernel.outputs)
    given = [*(inputs[each.name] for each in kernel.inputs), output]
    grid = [extent for _, extent in kernel.grid]
    report = module.launch(
        source.names[0], grid, kernel.threads, kernel.shared_bytes, given, copies="late"
    )
    (exact,) = evaluate(small.graph, [inputs[key].astype("f8") for key in shapes], FLOAT64)
    apart = np.abs(output.astype("f8") - exact).max() / np.abs(exact).max()
    return TextRun(float(apart), str(report.faults[0].says) if report.faults else "")
