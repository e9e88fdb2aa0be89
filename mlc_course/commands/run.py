"""``mlc-course run``: a compiled graph on random inputs, checked and timed beside NumPy."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tqdm import tqdm

from mlc_course.commands.output import NOWHERE, Results
from mlc_course.commands.verify import graph as read
from mlc_course.commands.verify import operators_in
from mlc_course.errors import CourseError, UsageError
from mlc_course.machine import describe, usable_cores
from mlc_course.measure import Comparison, Timing
from mlc_course.mugraph.cuda import current_device
from mlc_course.mugraph.ir import Array, KernelGraph
from mlc_course.mugraph.programs import MODELS, NAMES, PROGRAM_OF, workload
from mlc_course.mugraph.runtime import (
    Compiled,
    Racer,
    check,
    compile_graph,
    fastest_of_each,
    race,
    random_inputs,
    timed,
)
from mlc_course.mugraph.verify import verify
from mlc_course.parallel import interrupted_once
from mlc_course.units import milliseconds, plural

CPU = "cpu"
RIGHT, WRONG = 0, 1
UNTIMED = ("cuda", "box")  # one is timed by ``make gpu``, the other says nothing of time
FEW = 4  # elements of an output that are printed


def run(
    source: str,
    *,
    target: str,
    operators: Path | None = None,
    threads: int | None = None,
    arch: str | None = None,
    seed: int = 0,
    with_check: bool = False,
    with_time: bool = False,
    results: Results = NOWHERE,
) -> int:
    """Run a graph once on random inputs; 1 when a check finds a difference."""
    if with_time and target in UNTIMED:
        raise UsageError(
            "--time",
            expected="--target cpu or opencl, beside NumPy",
            got=f"--target {target}",
            hint="make gpu times kernels on an NVIDIA GPU",
        )
    known = read(source, operators_in(operators))
    threads = usable_cores() if threads is None else threads
    compiled = compile_graph(known, target, threads=threads, arch=arch)
    inputs = random_inputs(known, seed)
    outputs = compiled(**inputs)
    kernels = plural(len(compiled.program.kernels), "kernel")
    place = str(describe())
    if target == "cuda":
        place = current_device().name
    elif target == CPU:
        place += f", {plural(threads, 'thread')}"
    elif target == "opencl":
        place += ", as many threads as OpenCL's driver takes"
    print(f"{known.name}: {kernels} on {place}")
    record: dict[str, Any] = {
        "graph": known.name,
        "target": target,
        "on": place,
        "threads": threads,
        "kernels": len(compiled.program.kernels),
    }
    status = RIGHT
    for value, array in zip(compiled.program.outputs, outputs, strict=True):
        more = " ..." if array.size > FEW else ""
        print(f"    {value.name}{list(value.shape)}: {array.ravel()[:FEW]}{more}")
    try:
        if with_check:
            found = check(known, inputs, outputs)
            print(f"    {found}")
            record["errors"] = list(found.errors)
            status = RIGHT if found.passed else WRONG
        if with_time and status == RIGHT:
            with interrupted_once() as asked:
                record["times"] = _timed(compiled, inputs) if compiled.program.kernels else []
            if asked.is_set():
                raise KeyboardInterrupt  # it has ended the timing early
    finally:  # what was found is kept, also after Ctrl-C
        results.write(record)
    return status


def _timed(compiled: Compiled, inputs: Mapping[str, Array]) -> list[dict[str, Any]]:
    known, threads = compiled.graph, compiled.options.threads
    program = program_of(known)
    if compiled.target.name != CPU:  # no cost model ranks its tilings
        found = timed(compiled, program, inputs)
        low, high = found.interval
        said = f"in turns with {found.baseline.name} on {plural(threads, 'thread')}"
        print(f"    measured {said}")
        print(
            f"    {milliseconds(found.timing.median_s)}, "
            f"{milliseconds(found.baseline.median_s)} in NumPy: "
            f"{found.ratio:.2f}x [{low:.2f}, {high:.2f}]{found.mark}"
        )
        return [plain_times(found)]
    with tqdm(total=4, disable=None, leave=False) as bar:

        def step(said: str) -> None:
            bar.set_description(said)
            bar.update(1)

        racers = fastest_of_each(race(program, {known.name: known}, threads=threads, on_step=step))
    for line in table(racers, threads):
        print(line)
    return [plain(each) for each in racers]


def program_of(graph: KernelGraph) -> KernelGraph:
    """Return the known program that a graph computes, to be run in NumPy; else the graph.

    A name is where to look first: that they compute the same is for the verifier to say.
    """
    first = PROGRAM_OF.get(graph.name, graph.name)
    names = sorted((*NAMES, *MODELS), key=lambda name: name != first)
    return next(filter(None, (_known(name, graph) for name in names)), graph)


def _known(name: str, graph: KernelGraph) -> KernelGraph | None:
    """Return a known program on the sizes of a graph that computes the same; else None."""
    try:
        program = workload(name).resized(graph.size_of)
        same = program.input_shapes == graph.input_shapes and verify(graph, program).equal
    except CourseError:  # it does not fit these sizes, or it cannot be told
        return None
    return program if same else None


def table(racers: list[Racer], threads: int) -> list[str]:
    """Return the measured times of graphs, one a line, beside NumPy's."""
    first = racers[0].comparison
    width = max(5, *(len(each.name) for each in racers))
    lines = [
        f"    measured on {plural(threads, 'thread')}, in turns with {first.baseline.name}",
        f"    {'':<{width}} {'ms':>9} {'of NumPy':>9}  {'interval':>14}  limited by (estimate)",
        f"    {'NumPy':<{width}} {_ms(first.baseline)}",
    ]
    for each in racers:
        low, high = each.comparison.interval
        lines.append(
            f"    {each.name:<{width}} {_ms(each.comparison.timing)} "
            f"{each.comparison.ratio:>8.2f}x  [{low:.2f}, {high:.2f}]".ljust(width + 45)
            + f"{each.limited_by}{each.comparison.mark}"
        )
    return lines


def _ms(timing: Timing) -> str:
    return f"{milliseconds(timing.median_s).removesuffix(' ms'):>9}"


def plain(racer: Racer) -> dict[str, Any]:
    """Return a measured graph as plain data, for ``--json``."""
    return {
        "name": racer.name,
        "text": str(racer.compiled.graph),
        "kernels": str(racer.compiled.program),
        "estimated_s": racer.estimated_s,
        "limited_by": racer.limited_by,
        "errors": list(racer.passed.errors),
        **plain_times(racer.comparison),
    }


def plain_times(found: Comparison) -> dict[str, Any]:
    """Return times beside NumPy as plain data."""
    return {
        "median_s": found.timing.median_s,
        "baseline": found.baseline.name,
        "numpy_median_s": found.baseline.median_s,
        "ratio": found.ratio,
        "interval": list(found.interval),
        "warning": found.warning,
    }
