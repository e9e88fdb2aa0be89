"""``mlc-course compile``: the kernel program of a graph, and its text for a target."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from mlc_course.commands.output import NOWHERE, Results, check_file, write_bytes, write_text
from mlc_course.commands.verify import graph as read
from mlc_course.commands.verify import operators_in
from mlc_course.errors import UsageError, check_known
from mlc_course.mugraph.cuda import compile_cubin, launch_plan
from mlc_course.mugraph.runtime import TARGETS, Compiled, Text, arch_here, compile_graph
from mlc_course.units import plural

PROGRAM = {".txt": Text("the kernel program", lambda program, options: f"{program}\n")}


def run(
    source: str,
    *,
    target: str,
    operators: Path | None = None,
    threads: int | None = None,
    storage: str = "float32",
    arch: str | None = None,
    out: Path | None = None,
    cubin: Path | None = None,
    results: Results = NOWHERE,
) -> int:
    """Print the kernel program of a graph, or write its text into a file; 0 when it compiles."""
    check_known("no target", target, TARGETS)
    texts = {**PROGRAM, **TARGETS[target].texts}
    check_file(out, tuple(texts))
    if cubin and target != "cuda":
        raise UsageError("--cubin", expected="--target cuda", got=f"--target {target}")
    check_file(cubin, (".cubin",))
    known = read(source, operators_in(operators))
    compiled = compile_graph(known, target, threads=threads, storage=storage, arch=arch)
    if out is None and cubin is None:
        print(compiled.program)
    if out:
        written = texts[out.suffix]
        write_text(out, written.write(compiled.program, compiled.options))
        kernels = plural(len(compiled.program.kernels), "kernel")
        print(f"{out}: {written.what} of {known.name}, {kernels}")
    results.write(
        {
            "graph": known.name,
            "target": target,
            "storage": storage,
            "threads": compiled.options.threads,
            "kernels": len(compiled.program.kernels),
            "program": str(compiled.program),
            "written": [str(path) for path in (out, cubin) if path],
            "resources": write_cubin(compiled, cubin) if cubin else None,
        }
    )
    return 0


def write_cubin(compiled: Compiled, path: Path) -> list[dict[str, Any]]:
    """Write a graph's machine code for a GPU; print and return what each kernel needs of it.

    Registers are those of a thread, spills and shared memory are bytes of a thread and of a block.
    """
    options = compiled.options
    plan = launch_plan(compiled.program, options.storage)
    made = compile_cubin(plan.text, options.arch or arch_here())
    write_bytes(path, made.image)
    print(f"{path}: machine code of {compiled.graph.name} for {made.arch}")
    found = []
    for launch in plan.launches:
        needed = made.kernels[launch.name]
        shared = launch.shared_bytes + needed.shared
        print(
            f"    {launch.name}: {plural(launch.threads, 'thread')} a block, "
            f"{plural(needed.registers, 'register')} each, {needed.spills} bytes spilled, "
            f"{shared:,} bytes of shared memory a block"
        )
        found.append(
            {
                "kernel": launch.name,
                "arch": made.arch,
                "threads": launch.threads,
                "registers": needed.registers,
                "spilled_bytes": needed.spills,
                "shared_bytes": shared,
            }
        )
    return found
