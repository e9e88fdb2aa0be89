"""``mlc-course compile``: the kernel program of a graph, and its text for a target."""

from __future__ import annotations

from pathlib import Path

from mlc_course.commands.output import check_file, write_text
from mlc_course.commands.verify import graph as read
from mlc_course.commands.verify import operators_in
from mlc_course.errors import check_known
from mlc_course.mugraph.runtime import TARGETS, Text, compile_graph
from mlc_course.units import plural

PROGRAM = {".txt": Text("the kernel program", lambda program, options: f"{program}\n")}


def run(
    source: str,
    *,
    target: str,
    operators: Path | None = None,
    threads: int | None = None,
    storage: str = "float32",
    out: Path | None = None,
) -> int:
    """Print the kernel program of a graph, or write its text into a file; 0 when it compiles."""
    check_known("no target", target, TARGETS)
    texts = {**PROGRAM, **TARGETS[target].texts}
    check_file(out, tuple(texts))
    known = read(source, operators_in(operators))
    compiled = compile_graph(known, target, threads=threads, storage=storage)
    if out is None:
        print(compiled.program)
        return 0
    written = texts[out.suffix]
    write_text(out, written.write(compiled.program, compiled.options))
    kernels = plural(len(compiled.program.kernels), "kernel")
    print(f"{out}: {written.what} of {known.name}, {kernels}")
    return 0
