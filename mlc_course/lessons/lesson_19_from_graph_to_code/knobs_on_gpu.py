"""The forms of a kernel timed on an NVIDIA GPU, where there is one."""

from __future__ import annotations

import statistics
from collections.abc import Iterator

import numpy as np

from mlc_course.errors import MachineError, WrongResult
from mlc_course.lessons.lesson_19_from_graph_to_code.knobs import KNOBS, form
from mlc_course.mugraph.codegen import program_of
from mlc_course.mugraph.cuda import (
    Session,
    compile_cubin,
    fitting_generation,
    gpus,
    launch_plan,
)
from mlc_course.mugraph.ir import KernelGraph
from mlc_course.mugraph.runtime import check, random_inputs

STORAGE = "float16"
REPEATS = 25


def gpu_times(graph: KernelGraph) -> Iterator[str]:
    """Yield a line for each form of a graph's kernel: its time on the first GPU of this machine.

    Each is compared with the interpreter before it is timed, with nothing of its own in the level 2
    cache. Raises ``MachineError`` where there is no GPU, driver or compiler, and ``WrongResult``
    for wrong values.
    """
    found = gpus()
    if not found:
        raise MachineError("no NVIDIA GPU on this machine", got="a driver without a device")
    gpu = found[0]
    inputs = {name: each.astype(STORAGE) for name, each in random_inputs(graph).items()}
    yield f"on {gpu.name}:"
    with Session(gpu) as session:
        room = session.empty((2 * max(gpu.l2_bytes, 1),), np.dtype("uint8"))
        for knob in KNOBS:
            kernel = form(graph, knob).kernel
            program = program_of(graph, [kernel])
            plan = launch_plan(program, STORAGE)
            arrays = {each.name: session.put(inputs[each.name]) for each in program.inputs}
            for each in program.outputs:
                arrays[each.name] = session.empty(each.shape, np.dtype(STORAGE))
            cubin = compile_cubin(plan.text, gpu.arch, fitting_generation())
            launch = session.loaded(cubin.image, plan.launches)(arrays)
            launch()
            session.synchronize()
            outputs = [session.get(arrays[each.name]) for each in program.outputs]
            seen = check(graph, inputs, outputs, STORAGE)
            if not seen.passed:
                raise WrongResult(f"{knob}, on {gpu.name}", got=seen)
            whole, seconds = session.captured(launch), list[float]()
            for _ in range(REPEATS):
                session.set_bytes(room, 1)
                seconds.append(session.timed(whole))
            yield f"{knob:<17}{1e6 * statistics.median(seconds):>8.1f} µs"
