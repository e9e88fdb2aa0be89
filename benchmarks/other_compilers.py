"""Time found graphs on this CPU beside torch.compile and JAX, each in a process of its own.

    python3 -m venv other && other/bin/pip install torch jax
    python benchmarks/other_compilers.py other/bin/python --json results/other_compilers.json

The other environment needs a C++ compiler for torch.compile. Programs are the seven of
``codegen_cpu.py``, written as a user of each library writes them; attention has the keys in the
layout that the library's fused kernel wants. Sides take turns: while one is timed, the others wait
for a line on their input. Every output is compared with float64 before anything is timed.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

TURNS, CALLS, LEAST_S, PAUSE_S = 7, 25, 0.1, 0.3  # threads that have slept take a while to wake
MOST_ERROR = 1e-4  # of the largest element: the same function, not the same rounding
FUSED_ATTENTION = "torch fused attention"
SIDES = ("torch", "torch.compile", "torch.compile, max-autotune", FUSED_ATTENTION, "jax")
ATTENTIONS = ("gqa", "qk_norm_attention", "stable_attention")
ROOT = {"gqa": 1.0, "qk_norm_attention": 1.0, "stable_attention": 64**-0.5}  # scales of scores


# ---- in a process of the other environment


def worker(side: str, program: str, folder: Path, threads: int) -> None:
    """Compile a program, then answer every line of the input with the time of a turn."""
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:threads])
    given = dict(np.load(folder / "inputs.npz"))
    arrays = [given[name] for name in sorted(given)]
    call, version = (in_jax if side == "jax" else in_torch)(side, program, arrays, threads)
    for _ in range(3):
        out = call()
    np.save(folder / "output.npy", np.asarray(out))
    print(json.dumps({"version": version}), flush=True)
    for _ in sys.stdin:
        print(json.dumps({"seconds": one_turn(call)}), flush=True)


def one_turn(call: Callable[[], Any]) -> float:
    """Return the median time of some calls."""
    began = time.perf_counter()
    call()
    calls = max(CALLS, int(LEAST_S / (time.perf_counter() - began)))
    seconds = []
    for _ in range(calls):
        began = time.perf_counter()
        call()
        seconds.append(time.perf_counter() - began)
    return statistics.median(seconds)


def in_torch(
    side: str, program: str, arrays: list[Any], threads: int
) -> tuple[Callable[[], Any], str]:
    """Return a call of a program in PyTorch, and the library's version."""
    import torch

    torch.set_num_threads(threads)
    tensors = [torch.from_numpy(each) for each in arrays]
    function = torch_function(side, program)
    if side == FUSED_ATTENTION:
        tensors[1] = tensors[1].transpose(1, 2).contiguous()

    def call() -> Any:
        with torch.inference_mode():
            return function(*tensors)

    return call, f"torch {torch.__version__}"


def torch_function(side: str, program: str) -> Callable[..., Any]:
    """Return a program as a function of PyTorch's tensors; fused attention has its keys in rows."""
    import torch
    from torch.nn import functional

    def rms(x: Any, axis: int) -> Any:
        return torch.sqrt(torch.mean(x * x, axis, keepdim=True))

    def scores(q: Any, k: Any) -> Any:
        if program == "qk_norm_attention":
            q, k = q / rms(q, 2), k / rms(k, 1)
        return (q @ k) * ROOT[program]

    def attention(q: Any, k: Any, v: Any) -> Any:
        return torch.softmax(scores(q, k), 2) @ v

    def fused_attention(q: Any, k: Any, v: Any) -> Any:
        if program == "qk_norm_attention":
            q, k = q / rms(q, 2), k / rms(k, 2)
        found = functional.scaled_dot_product_attention(
            q[None], k[None], v[None], scale=ROOT[program]
        )
        return found[0]

    def n_trans(h: Any, x: Any, a: Any) -> Any:
        y = (h / rms(h, 1) + x) * a + x
        return y / rms(y, 1)

    functions: Mapping[str, Callable[..., Any]] = {
        "rms_norm_matmul": lambda x, g, w: (x * g / rms(x, 1)) @ w,
        "gated_mlp": lambda x, w1, w2: functional.silu(x @ w1) * (x @ w2),
        "lora": lambda x, w, a, b: x @ w + (x @ a) @ b,
        "n_trans": n_trans,
        **dict.fromkeys(ATTENTIONS, attention),
    }
    if side == FUSED_ATTENTION:
        return fused_attention
    if side.startswith("torch.compile"):
        mode = "max-autotune" if side.endswith("max-autotune") else "default"
        compiled: Callable[..., Any] = torch.compile(functions[program], mode=mode)
        return compiled
    return functions[program]


def in_jax(
    _side: str, program: str, arrays: list[Any], _threads: int
) -> tuple[Callable[[], Any], str]:
    """Return a call of a program in JAX, and the library's version."""
    import jax
    from jax import numpy as jnp

    def rms(x: Any, axis: int) -> Any:
        return jnp.sqrt(jnp.mean(x * x, axis, keepdims=True))

    def attention(q: Any, k: Any, v: Any) -> Any:
        if program == "qk_norm_attention":
            q, k = q / rms(q, 2), k / rms(k, 1)
        return jax.nn.softmax((q @ k) * ROOT[program], 2) @ v

    def n_trans(h: Any, x: Any, a: Any) -> Any:
        y = (h / rms(h, 1) + x) * a + x
        return y / rms(y, 1)

    functions: Mapping[str, Callable[..., Any]] = {
        "rms_norm_matmul": lambda x, g, w: (x * g / rms(x, 1)) @ w,
        "gated_mlp": lambda x, w1, w2: jax.nn.silu(x @ w1) * (x @ w2),
        "lora": lambda x, w, a, b: x @ w + (x @ a) @ b,
        "n_trans": n_trans,
        **dict.fromkeys(ATTENTIONS, attention),
    }
    function = jax.jit(functions[program])
    arguments = [jnp.asarray(each) for each in arrays]
    return lambda: function(*arguments).block_until_ready(), f"jax {jax.__version__}"


# ---- in this process


class Side:
    """A process of the other environment that has compiled a program."""

    def __init__(
        self, python: str, name: str, program: str, inputs: Mapping[str, Any], threads: int
    ) -> None:
        self.folder = tempfile.TemporaryDirectory()
        path = Path(self.folder.name)
        # by number: a worker gives them in this order
        np.savez(path / "inputs.npz", **{f"{n:03}": x for n, x in enumerate(inputs.values())})
        self.process = subprocess.Popen(
            [python, __file__, "worker", name, program, str(path), str(threads)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        said = self._line()
        self.version = said["version"] if said else ""
        self.output = np.load(path / "output.npy") if said else None

    def _line(self) -> Any:
        assert self.process.stdout
        for line in self.process.stdout:
            if line.startswith("{"):  # libraries print, too
                return json.loads(line)
        return None

    def turn(self) -> float:
        """Return the time of a call, measured by the other process."""
        assert self.process.stdin
        self.process.stdin.write("turn\n")
        self.process.stdin.flush()
        return float(self._line()["seconds"])

    def close(self) -> None:
        """End the process."""
        self.process.communicate()
        self.folder.cleanup()


def measured(python: str, name: str, threads: int) -> dict[str, Any]:
    """Return the times of all sides for one program."""
    from codegen_cpu import UNFUSED, graphs_of

    from mlc_course.measure import limited_threads
    from mlc_course.mugraph.ir import FLOAT64, evaluate
    from mlc_course.mugraph.programs import in_numpy, workload
    from mlc_course.mugraph.runtime import race, random_inputs

    program = workload(name)
    inputs = random_inputs(program)
    graphs = graphs_of(program, threads)
    best = race(program, graphs, threads=threads, always=(UNFUSED,))[0]
    calls: dict[str, Callable[[], float]] = {}
    ours, theirs = best.compiled.bind(inputs), in_numpy(program, inputs)
    calls["ours"], calls["numpy"] = lambda: one_turn(ours), lambda: one_turn(theirs)
    (want,) = evaluate(program, [x.astype(float) for x in inputs.values()], FLOAT64)
    versions, sides = {}, []
    for side in SIDES:
        if side == "torch fused attention" and name not in ATTENTIONS:
            continue
        made = Side(python, side, name, inputs, threads)
        sides.append(made)
        if made.output is None:
            print(f"  {side}: does not run")
            continue
        error = float(np.abs(made.output - want).max() / np.abs(want).max())
        assert error < MOST_ERROR, f"{side} computes something else: {error:.1e}"
        versions[side], calls[side] = made.version, made.turn
    seconds: dict[str, list[float]] = {side: [] for side in calls}
    with limited_threads(threads):
        for _ in range(TURNS):
            for side, call in calls.items():
                time.sleep(PAUSE_S if threads > 1 else 0)
                seconds[side].append(call())
    for made in sides:
        made.close()
    ratios = {
        side: sorted(b / a for a, b in zip(seconds["ours"], each, strict=True))
        for side, each in seconds.items()
    }
    return {
        "program": name,
        "threads": threads,
        "graph": best.name,
        "ms": {side: 1e3 * statistics.median(each) for side, each in seconds.items()},
        "ratio": {side: statistics.median(each) for side, each in ratios.items()},
        "interval": {side: [each[0], each[-1]] for side, each in ratios.items()},
        "versions": versions,
    }


def draw(rows: list[dict[str, Any]], path: Path) -> None:
    """Draw the ratios on one thread: a group of bars for each program."""
    from matplotlib.figure import Figure

    rows = [row for row in rows if row["threads"] == 1]
    figure = Figure(figsize=(8, 5), layout="constrained")
    axes = figure.subplots()
    sides = ("numpy", *SIDES)
    for place, side in enumerate(sides):
        at = [n + (place - len(sides) / 2) * 0.13 for n in range(len(rows))]
        axes.barh(at, [row["ratio"].get(side, 0) for row in rows], 0.12, label=side)
    axes.set_yticks(range(len(rows)), [row["program"] for row in rows])
    axes.axvline(1, color="black", linewidth=1)
    axes.set_xlabel("ours is so many times as fast, 1 thread")
    axes.invert_yaxis()
    axes.legend(fontsize="small")
    figure.savefig(path)


def main() -> int:
    """Measure all programs; print how many times as fast as each side ours is."""
    from codegen_cpu import SEVEN, numpy_kernels
    from common import Target, command_line, finish

    from mlc_course.machine import usable_cores
    from mlc_course.units import plural

    parser = command_line(__doc__)
    parser.add_argument("python", help="an interpreter that has torch and jax")
    parser.add_argument("--programs", nargs="*", default=SEVEN, help="only these")
    arguments = parser.parse_args()
    rows, targets = [], []
    for threads in sorted({1, usable_cores()}):
        some = []
        for name in arguments.programs:
            some.append(measured(arguments.python, name, threads))
            said = ", ".join(
                f"{side} {ratio:.2f}x"
                for side, ratio in some[-1]["ratio"].items()
                if side != "ours"
            )
            print(
                f"{plural(threads, 'thread')}: {name:<18} {some[-1]['ms']['ours']:7.3f} ms; {said}"
            )
        rows += some
        compiled = statistics.geometric_mean(
            min(r for side, r in row["ratio"].items() if side.startswith("torch.compile"))
            for row in some
        )
        targets.append(Target(f"of torch.compile, the faster mode, {threads}", 1.4, compiled))
        fused = [
            row["ratio"]["torch fused attention"]
            for row in some
            if "torch fused attention" in row["ratio"]
        ]
        if fused:
            targets.append(Target(f"of torch's fused attention, least, {threads}", 1.0, min(fused)))
    return finish(
        arguments, {"rows": rows, "numpy": numpy_kernels()}, targets, lambda path: draw(rows, path)
    )


if __name__ == "__main__":
    if sys.argv[1:2] == ["worker"]:
        _, _, side, program, folder, threads = sys.argv
        worker(side, program, Path(folder), int(threads))
    else:
        sys.exit(main())
