"""Compiled programs under valgrind, without Python around them: every instruction is counted."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import tvm
import tvm_ffi

from mlc_course.tensor_program.memory import Cache
from mlc_course.tensor_program.tir import TensorProgram, cpu_target

HARNESS = Path(__file__).parent / "valgrind_harness.c"
TOOLS = ("valgrind", "cc", "objdump")
needs_valgrind = pytest.mark.skipif(
    not all(map(shutil.which, TOOLS)), reason=f"needs {', '.join(TOOLS)}"
)
FIRST = "__tvm_ffi_main"  # in every library of TVM's
PADDING = re.compile(r"(data16 |cs )*(nop[wl]?|xchg\s+%ax,%ax)\b")


@dataclass(frozen=True)
class Compiled:
    """A program as a library in a folder, beside the harness that calls it."""

    folder: Path
    text: str  # LLVM's assembly
    shapes: tuple[str, ...]

    def under(self, *options: str, calls: int = 1) -> str:
        """Run it so often under a tool of valgrind, and return what valgrind prints."""
        words = [str(self.folder / "harness"), str(self.folder / "lib.so"), str(calls)]
        command = ["valgrind", *options, *words, *self.shapes]
        return subprocess.run(command, capture_output=True, text=True, check=True).stderr


def compiled(
    program: TensorProgram, shapes: Sequence[tuple[int, ...]], folder: Path, *, cpu: str
) -> Compiled:
    """Compile for a processor that valgrind knows: it has no AVX-512."""
    module: Any = tvm.compile(getattr(program, "mod", program), target=cpu_target(cpu=cpu))
    module.export_library(str(folder / "lib.so"))
    ffi = Path(tvm_ffi.__file__).parent
    linked = ["-Wl,--no-as-needed", f"-L{ffi}/lib", "-ltvm_ffi", "-ldl", f"-Wl,-rpath,{ffi}/lib"]
    command = ["cc", "-O1", HARNESS, f"-I{ffi}/include", "-o", folder / "harness", *linked]
    subprocess.run(command, check=True)
    text = str(module.mod.inspect_source("asm"))
    return Compiled(folder, text, tuple("x".join(map(str, shape)) for shape in shapes))


def data_misses(program: Compiled, cache: Cache) -> tuple[int, int]:
    """Misses of one call in a cache, and in a second one that holds everything."""

    def told(calls: int) -> Iterator[int]:
        text = program.under(
            "--tool=cachegrind",
            "--cache-sim=yes",
            f"--cachegrind-out-file={program.folder / 'cachegrind'}",
            f"--D1={cache.bytes},{cache.ways},{cache.line}",
            f"--LL={1 << 23},16,{cache.line}",
            calls=calls,
        )
        for name in ("D1 ", "LLd"):
            found = re.search(rf"{name} misses:\s+([\d,]+)", text)
            assert found, text
            yield int(found[1].replace(",", ""))

    first, last = (one - none for one, none in zip(told(1), told(0), strict=True))
    return first, last


@dataclass(frozen=True)
class Ran:
    """How often an instruction ran, and how often it jumped."""

    times: int
    jumps: int


def executed(program: Compiled) -> list[Ran]:
    """Count the runs of each instruction of a program in one call of it, in the text's order."""
    out = program.folder / "callgrind"
    program.under(
        "--tool=callgrind",
        "--dump-instr=yes",
        "--collect-jumps=yes",
        "--compress-pos=no",
        "--compress-strings=no",
        f"--callgrind-out-file={out}",
    )
    times: dict[int, int] = {}
    jumps: dict[int, int] = {}
    ours = False
    waiting = 0
    for line in out.read_text().splitlines():
        if line.startswith("ob="):
            ours = line.endswith("/lib.so")
        elif line.startswith(("calls=", "jump=")):
            waiting = -1  # the next line is where from, or the cost of what was called
        elif jump := re.match(r"jcnd=(\d+)/", line):
            waiting = int(jump[1])
        elif cost := re.match(r"0x(\w+) \d+(?: (\d+))?", line):
            at = int(cost[1], 16)
            if ours and waiting > 0:
                jumps[at] = jumps.get(at, 0) + waiting
            elif ours and waiting == 0:
                times[at] = times.get(at, 0) + int(cost[2])
            waiting = 0
    addresses = _addresses(program.folder / "lib.so")
    return [Ran(times.get(at, 0), jumps.get(at, 0)) for at in addresses]


def _addresses(library: Path) -> list[int]:
    """The address of each instruction from the first of TVM's on, without those that only fill.

    A function that only its own file sees has no name in a library.
    """
    command = ["objdump", "-d", "--no-show-raw-insn", str(library)]
    listing = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    _, first, ours = listing.partition(f"<{FIRST}>:")
    assert first
    lines = (re.match(r"\s+(\w+):\s+(.+)", line) for line in ours.splitlines())
    return [int(at[1], 16) for at in lines if at and not PADDING.match(at[2])]
