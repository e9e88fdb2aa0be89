"""Check fused graphs on an NVIDIA GPU, and time them beside CuPy and PyTorch.

    python benchmarks/codegen_gpu.py --check

The seven programs at the shapes of Mirage's paper, in float16, with sums in float32. Our kernels
are launched by the driver alone; where CuPy is, they are also run through it, as a user does. Each
output is compared with float64 before anything is timed, and compute-sanitizer looks for races and
accesses out of bounds where it is installed. A side's calls are captured into a CUDA graph. Sides
take turns; before each launch memory larger than the L2 cache is written, and only what comes after
is timed, by events on the GPU. Inputs are random, since a GPU is faster on zeros.

What is found is written to results/gpu_NAME.json and .svg, unless --json and --plot say otherwise.
A comparison whose package is missing is named, and the others are made.
"""

from __future__ import annotations

import importlib
import re
import shutil
import statistics
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from codegen_cpu import SEVEN, WORK
from common import Target, command_line, finish
from matplotlib.figure import Figure
from other_compilers import ATTENTIONS, FUSED_ATTENTION, ROOT, torch_function

from mlc_course.errors import CourseError, MachineError, WrongResult
from mlc_course.mugraph.cuda import (
    GpuDevice,
    Session,
    compile_cubin,
    driver_version,
    extra_for,
    fitting_generation,
    gpus,
    launch_plan,
)
from mlc_course.mugraph.ir import Array, KernelGraph
from mlc_course.mugraph.programs import PROGRAM_OF, published, workload
from mlc_course.mugraph.runtime import check, compile_graph, random_inputs
from mlc_course.parallel import INTERRUPTED

STORAGE = "float16"
REPEATS, WARM = 100, 10
RESULTS = Path(__file__).parent / "results"
UNFUSED = "unfused"  # our own kernels, an operator each
CUPY, EAGER, COMPILED = "CuPy", "torch", "torch.compile"
TOOLS = ("memcheck", "racecheck")
FAULT = 9  # compute-sanitizer's status where it finds something
PATIENCE_S = 900.0  # for one of its runs
MEANWHILE = (
    "meanwhile: mlc-course run GRAPH --target cpu (or opencl, box), and\n"
    "mlc-course compile GRAPH --target cuda --arch sm_90 --out FILE.cu --cubin FILE.cubin"
)
# What ours should be over the best of the others, on an H200 (on an H100 Mirage reports 1.9, 2.7,
# 2.4 and 2.2); of gqa, over the fused attention alone.
WANTED: Mapping[str, float] = {"rms_norm_matmul": 1.9, "gated_mlp": 2.7, "lora": 1.1, "gqa": 1.0}


@dataclass(frozen=True)
class Side:
    """One way to compute a program: ``timed`` runs it once after the L2 cache was flushed."""

    name: str
    timed: Callable[[], float]  # seconds
    output: Callable[[], Array]
    is_graph: bool = True


def inputs_of(program: KernelGraph) -> dict[str, Array]:
    """Return random inputs of a program, as they are stored."""
    return {name: array.astype(STORAGE) for name, array in random_inputs(program).items()}


# ---- ours


def ours(
    session: Session, name: str, graph: KernelGraph, inputs: Mapping[str, Array], room: int
) -> Side:
    """Return a graph's kernels, launched by the driver; ``room`` bytes flush the L2 cache."""
    program = compile_graph(graph, "cuda", storage=STORAGE, arch=session.gpu.arch).program
    plan = launch_plan(program, STORAGE)
    kind = np.dtype(STORAGE)
    arrays = {each.name: session.put(inputs[each.name]) for each in program.inputs}
    for each in (*program.outputs, *program.temporaries):
        arrays.setdefault(each.name, session.empty(each.shape, kind))
    cubin = compile_cubin(plan.text, session.gpu.arch, fitting_generation())
    launch = session.loaded(cubin.image, plan.launches)(arrays)
    launch()
    session.synchronize()  # a fault is told here, rather than in a graph
    graph_launch = session.captured(launch)
    flushed = session.empty((room,), np.dtype("uint8"))

    def timed() -> float:
        session.set_bytes(flushed, 1)
        return session.timed(graph_launch)

    (output,) = program.outputs
    return Side(name, timed, lambda: session.get(arrays[output.name]))


def graphs_of(name: str) -> dict[str, KernelGraph]:
    """Return the published graphs of a program, and the program itself."""
    known = [graph for graph, program in PROGRAM_OF.items() if program == name]
    return {**{each: published(each) for each in known}, UNFUSED: workload(name)}


# ---- the others


def array_function(xp: Any, program: str) -> Callable[..., Any]:
    """Return a program as a function of the arrays of NumPy or CuPy; sums of squares in float32."""

    def rms(x: Any, axis: int) -> Any:
        wide = x.astype("float32")
        return xp.sqrt(xp.mean(wide * wide, axis, keepdims=True)).astype(x.dtype)

    def attention(q: Any, k: Any, v: Any) -> Any:
        if program == "qk_norm_attention":
            q, k = q / rms(q, 2), k / rms(k, 1)
        scores = xp.matmul(q, k) * q.dtype.type(ROOT[program])
        weights = xp.exp(scores - scores.max(2, keepdims=True))
        return xp.matmul(weights / weights.sum(2, keepdims=True), v)

    def gated_mlp(x: Any, w1: Any, w2: Any) -> Any:
        gate = xp.matmul(x, w1)
        return gate / (1 + xp.exp(-gate)) * xp.matmul(x, w2)

    def n_trans(h: Any, x: Any, a: Any) -> Any:
        y = (h / rms(h, 1) + x) * a + x
        return y / rms(y, 1)

    functions: Mapping[str, Callable[..., Any]] = {
        "rms_norm_matmul": lambda x, g, w: xp.matmul(x * g / rms(x, 1), w),
        "gated_mlp": gated_mlp,
        "lora": lambda x, w, a, b: xp.matmul(x, w) + xp.matmul(xp.matmul(x, a), b),
        "n_trans": n_trans,
        **dict.fromkeys(ATTENTIONS, attention),
    }
    return functions[program]


def in_cupy(program: str, arrays: Sequence[Array], room: int) -> Side:
    """Return a program in CuPy, an operator after the other."""
    cp = importlib.import_module("cupy")
    function, given = array_function(cp, program), [cp.asarray(each) for each in arrays]
    flushed = cp.empty(room, "uint8")
    cp.cuda.Device().synchronize()
    stream = cp.cuda.Stream(non_blocking=True)
    start, end = cp.cuda.Event(), cp.cuda.Event()
    with stream:
        for _ in range(3):  # compiles, chooses, and fills the pool: a capture may not allocate
            out = function(*given)
        stream.synchronize()
        try:
            stream.begin_capture()
            try:
                out = function(*given)
            finally:
                graph = stream.end_capture()
        except Exception as error:  # the same calls without a graph are a comparison, too
            print(f"CuPy's {program} is not captured: {error}")
            graph = None

    def timed() -> float:
        nonlocal out
        with stream:
            flushed.fill(1)
            start.record(stream)
            if graph is None:
                out = function(*given)
            else:
                graph.launch(stream)
            end.record(stream)
            end.synchronize()
        return float(cp.cuda.get_elapsed_time(start, end)) / 1e3

    return Side(CUPY, timed, lambda: cp.asnumpy(out), is_graph=graph is not None)


def in_torch(side: str, program: str, arrays: Sequence[Array], room: int) -> Side:
    """Return a program in PyTorch: as it is written, compiled, or with its fused attention."""
    torch = importlib.import_module("torch")
    given = [torch.from_numpy(each).cuda() for each in arrays]
    if side == FUSED_ATTENTION:
        given[1] = given[1].transpose(1, 2).contiguous()
    function = torch_function(side, program)
    flushed = torch.empty(room, dtype=torch.uint8, device="cuda")
    torch.cuda.synchronize()
    stream, graph = torch.cuda.Stream(), torch.cuda.CUDAGraph()
    start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    with torch.inference_mode():
        with torch.cuda.stream(stream):
            for _ in range(3):
                function(*given)
        torch.cuda.synchronize()
        with torch.cuda.graph(graph, stream=stream):
            out = function(*given)

    def timed() -> float:
        with torch.cuda.stream(stream):
            flushed.fill_(1)
            start.record(stream)
            graph.replay()
            end.record(stream)
        end.synchronize()
        return float(start.elapsed_time(end)) / 1e3

    return Side(side, timed, lambda: np.asarray(out.cpu().numpy()))


def others(program: str, arrays: Sequence[Array], room: int, here: Iterable[str]) -> Iterator[Side]:
    """Yield the sides that the installed packages have for a program."""
    if "cupy" in here:
        yield in_cupy(program, arrays, room)
    if "torch" in here:
        fused = (FUSED_ATTENTION,) if program in ATTENTIONS else ()
        for side in (EAGER, COMPILED, *fused):
            try:
                yield in_torch(side, program, arrays, room)
            except (
                Exception
            ) as error:  # torch.compile needs a C compiler, fused attention a new GPU
                print(f"{side} is not compared: {error}")


# ---- what is measured


def in_turns(sides: Sequence[Side]) -> dict[str, list[float]]:
    """Return the seconds of each side, turn by turn."""
    for side in sides:
        for _ in range(WARM):
            side.timed()
    seconds: dict[str, list[float]] = {side.name: [] for side in sides}
    for _ in range(REPEATS):
        for side in sides:
            seconds[side.name].append(side.timed())
    return seconds


def through_cupy(graph: KernelGraph, inputs: Mapping[str, Array]) -> None:
    """Run a graph as a user does, on the arrays of NumPy and of CuPy; raises where it is wrong."""
    cp = importlib.import_module("cupy")
    call = compile_graph(graph, "cuda", storage=STORAGE, checked=True)
    (there,) = call(**inputs)
    (here,) = call(**{name: cp.asarray(array) for name, array in inputs.items()})
    if not isinstance(there, np.ndarray) or not np.array_equal(there, cp.asnumpy(here)):
        raise WrongResult(f"{graph.name}: arrays of NumPy and of CuPy give different results")


def sanitized(program: str) -> dict[str, str]:
    """Return what each tool of compute-sanitizer says about all kernels of a program."""
    tool = shutil.which("compute-sanitizer")
    if tool is None:
        return {}
    found = {}
    for name in TOOLS:
        once = [sys.executable, __file__, "--once", program]
        command = [tool, "--tool", name, "--error-exitcode", str(FAULT), *once]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_S)
        except subprocess.TimeoutExpired:
            found[name] = f"not done after {PATIENCE_S:.0f} s"
            continue
        lines = (done.stdout + done.stderr).strip().splitlines()
        found[name] = "" if done.returncode == 0 else "\n".join(lines[-20:])
    return found


def once(gpu: GpuDevice, program: str) -> int:
    """Run every graph of a program one time, for compute-sanitizer to look at."""
    inputs = inputs_of(workload(program))
    for name, graph in graphs_of(program).items():
        with Session(gpu) as session:
            ours(session, name, graph, inputs, 1)
    return 0


def measured(gpu: GpuDevice, program: str, here: Sequence[str]) -> dict[str, Any]:
    """Return one program's figures: errors, what the sanitizer says, and times of all sides."""
    graph, room = workload(program), 2 * gpu.l2_bytes
    inputs = inputs_of(graph)
    arrays = [inputs[each.name] for each in graph.inputs]
    graphs, sides, errors = graphs_of(program), list[Side](), dict[str, float]()
    with Session(gpu) as session:
        for name, each in graphs.items():
            sides.append(ours(session, name, each, inputs, room))
        sides += others(program, arrays, room, here)
        for side in sides:
            found = check(graph, inputs, [side.output()], STORAGE)
            print(f"    {side.name}: {found}", flush=True)
            errors[side.name] = max(found.errors)
            if not found.passed and side.name in graphs:
                raise WrongResult(f"{side.name} is wrong on {gpu.name}", got=found)
        if "cupy" in here:
            for each in graphs.values():
                through_cupy(each, inputs)
        seconds = in_turns(sides)
    return {
        "program": program,
        "us": {name: 1e6 * statistics.median(each) for name, each in seconds.items()},
        "middle_half_us": {name: middle_half(each) for name, each in seconds.items()},
        "errors": errors,
        "without_a_graph": [side.name for side in sides if not side.is_graph],
        "sanitizer": sanitized(program),
        "gbytes": WORK[program][2] / 2e9,  # that have to be moved; counted there for float32
    }


def middle_half(seconds: Sequence[float]) -> list[float]:
    """Return the quartiles of times, in microseconds."""
    low, _, high = statistics.quantiles(seconds, n=4)
    return [1e6 * low, 1e6 * high]


def best_of_ours(row: Mapping[str, Any]) -> str:
    """Return the name of the fastest fused graph of a program."""
    fused = [name for name in row["us"] if PROGRAM_OF.get(name) == row["program"]]
    return min(fused, key=lambda name: float(row["us"][name]))


def over(row: Mapping[str, Any]) -> float:
    """Return the time that is to be beaten by ours: of gqa its fused attention, else the best.

    It is 0 where no other side could be measured.
    """
    rivals = {each: us for each, us in row["us"].items() if each in (CUPY, EAGER, COMPILED)}
    if FUSED_ATTENTION in row["us"]:
        rivals[FUSED_ATTENTION] = row["us"][FUSED_ATTENTION]
    if row["program"] == "gqa":
        rivals = {each: us for each, us in rivals.items() if each == FUSED_ATTENTION}
    least = min(rivals.values(), default=0.0)
    return float(least / row["us"][best_of_ours(row)])


def line(row: Mapping[str, Any]) -> str:
    best = best_of_ours(row)
    sides = ", ".join(f"{name} {us:.1f}" for name, us in row["us"].items() if name != best)
    rate = row["gbytes"] / row["us"][best] * 1e3
    ratio = over(row)
    return (
        f"{row['program']:<18} {best} {row['us'][best]:.1f} us ({rate:.2f} TB/s), "
        f"{f'{ratio:.2f}x' if ratio else 'not compared'}; others: {sides}"
    )


def targets_of(rows: Sequence[Mapping[str, Any]]) -> list[Target]:
    """Hold the figures against what was wanted; what could not be compared falls short."""
    found = []
    for row in rows:
        if row["program"] in WANTED:
            rival = "its fused attention" if row["program"] == "gqa" else "the best of the others"
            what = f"{row['program']} over {rival}"
            found.append(Target(what, WANTED[row["program"]], over(row)))
    if any(row["sanitizer"] for row in rows):
        clean = [not said for row in rows for said in row["sanitizer"].values()]
        found.append(Target("clean runs of compute-sanitizer", 1.0, sum(clean) / len(clean)))
    return found


def draw(rows: Sequence[Mapping[str, Any]], name: str, path: Path) -> None:
    """Draw the times of all sides as parts of ours, a group of bars for each program."""
    sides = list(
        dict.fromkeys(side for row in rows for side in row["us"] if side not in PROGRAM_OF)
    )
    figure = Figure(figsize=(8, 4.5), layout="constrained")
    axes = figure.subplots()
    height = 0.8 / max(1, len(sides))
    for place, side in enumerate(sides):
        ratios = [row["us"].get(side, 0) / row["us"][best_of_ours(row)] for row in rows]
        axes.barh([n + place * height for n in range(len(rows))], ratios, height, label=side)
    axes.axvline(1, color="black", linewidth=1)
    axes.set_yticks(
        [n + 0.4 - height / 2 for n in range(len(rows))], [row["program"] for row in rows]
    )
    axes.set_xlabel(f"times as long as our fused kernel, {name}, float16")
    axes.invert_yaxis()
    axes.legend()
    figure.savefig(path)


# ---- the whole


def packages() -> dict[str, str]:
    """Return the versions of the packages that can be compared with, where they can be imported."""
    found = {}
    for name in ("cupy", "torch"):
        with suppress(ImportError):
            found[name] = str(importlib.import_module(name).__version__)
    return found


def missing(here: Iterable[str]) -> list[str]:
    """Return what is missing here, and which comparison goes with it."""
    cupy = f"pip install 'mlc-course[{extra_for(driver_version())}]'"
    known = {
        "cupy": f"CuPy is missing: no unfused program, no runs through CuPy ({cupy})",
        "torch": "PyTorch is missing: no torch, torch.compile, fused attention (pip install torch)",
    }
    found = [said for name, said in known.items() if name not in here]
    if not shutil.which("compute-sanitizer"):
        found.append("compute-sanitizer is not on PATH: no memcheck, no racecheck (CUDA toolkit)")
    return found


def file_name(gpu: str) -> str:
    """Return the name of a GPU's record: ``NVIDIA H200`` has ``gpu_nvidia_h200``."""
    return "gpu_" + re.sub(r"[^a-z0-9]+", "_", gpu.lower()).strip("_")


def main() -> int:
    """Measure, print a line for each program, and hold the figures against what was wanted."""
    parser = command_line(__doc__)
    parser.add_argument("--programs", nargs="*", default=SEVEN, help="only these")
    parser.add_argument("--once", metavar="PROGRAM", help="run its graphs one time, and no more")
    arguments = parser.parse_args()
    try:
        gpu = next(iter(gpus()), None)
        if gpu is None:
            raise MachineError("the driver shows no GPU")
        if arguments.once:
            return once(gpu, arguments.once)
        fitting_generation()  # before anything is measured
    except CourseError as error:
        print(f"{type(error).__name__}: {error}\n{MEANWHILE}", file=sys.stderr)
        return 1
    here = packages()
    print(f"{gpu.name}, {gpu.arch}, {gpu.multiprocessors} multiprocessors; {here}")
    for each in missing(here):
        print(each)
    rows, faults, is_stopped = list[dict[str, Any]](), list[str](), False
    try:
        for name in arguments.programs:
            print(name, flush=True)
            try:
                rows.append(measured(gpu, name, list(here)))
            except CourseError as error:  # the other programs are measured all the same
                faults.append(f"{name}: {error}")
                print(faults[-1], flush=True)
            else:
                print(line(rows[-1]), flush=True)
    except KeyboardInterrupt:
        is_stopped = True
        print("stopped; what was measured is kept")
    if not rows:
        return INTERRUPTED if is_stopped else 1
    arguments.json = arguments.json or RESULTS / f"{file_name(gpu.name)}.json"
    arguments.plot = arguments.plot or RESULTS / f"{file_name(gpu.name)}.svg"
    figures = {
        "gpu": gpu.name,
        "arch": gpu.arch,
        "driver": driver_version(),
        "packages": here,
        "missing": missing(here),
        "faults": faults,
        "rows": rows,
    }
    status = finish(arguments, figures, targets_of(rows), lambda path: draw(rows, gpu.name, path))
    return INTERRUPTED if is_stopped else 1 if faults else status


if __name__ == "__main__":
    sys.exit(main())
