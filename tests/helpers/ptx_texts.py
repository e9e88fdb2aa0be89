"""PTX of one instruction, written by hand, and the numbers that it is tried on."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mlc_course.mugraph.ptx import load

BITS = {"pred": 1, "f16x2": 32, "bf16x2": 32, "bf16": 16}
HEAD = """.version 8.0
.target sm_90
.address_size 64
"""


def bits_of(kind: str) -> int:
    return BITS.get(kind) or int(kind[1:])


def text_of(lines: str, kinds: Sequence[str], result: str) -> str:
    """A kernel that sets %d from %a, %b, ... of each thread, which are of some kinds."""
    names = "abcd"[: len(kinds)]
    parameters = ", ".join(f".param .u64 p{n}" for n in range(len(kinds) + 1))
    registers = "".join(
        f".reg .b{bits_of(kind)} %{name}_;\n"
        for name, kind in zip([*names, "out"], [*kinds, result], strict=True)
    )
    loads = "".join(
        f"ld.param.u64 %p, [p{n}];\nmul.wide.u32 %w, %t, {bits_of(kind) // 8};\n"
        f"add.s64 %p, %p, %w;\nld.global.b{bits_of(kind)} %{name}_, [%p];\n"
        for n, (name, kind) in enumerate(zip(names, kinds, strict=True))
    )
    end = (
        f"ld.param.u64 %p, [p{len(kinds)}];\nmul.wide.u32 %w, %t, {bits_of(result) // 8};\n"
        f"add.s64 %p, %p, %w;\nst.global.b{bits_of(result)} [%p], %out_;\n"
    )
    return (
        f"{HEAD}.visible .entry one({parameters})\n{{\n.reg .b64 %p, %w;\n.reg .b32 %t;\n"
        f".reg .pred %q;\n{registers}mov.u32 %t, %tid.x;\n{loads}{lines}\n{end}ret;\n}}\n"
    )


def results(lines: str, kinds: Sequence[str], result: str, *values: np.ndarray) -> np.ndarray:
    """The bits that instructions leave in %out_, for as many threads as there are values."""
    threads = len(values[0])
    found = np.zeros(threads, f"u{bits_of(result) // 8}")
    arguments = [np.ascontiguousarray(each) for each in values]
    module = load(text_of(lines, kinds, result))
    module.launch("one", 1, threads, 0, [*arguments, found]).checked()
    return found
