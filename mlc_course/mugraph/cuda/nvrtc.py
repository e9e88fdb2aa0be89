"""CUDA C++ to machine code by NVRTC, NVIDIA's compiler as a library: no GPU and no nvcc needed.

Its wheels are on PyPI, one for each generation of CUDA (``GENERATIONS``), with the headers of the
runtime beside it. Registers, spills and shared memory are read from what its assembler logs.
"""

from __future__ import annotations

import ctypes
import importlib.util
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from mlc_course.errors import MachineError, RefusedText, UsageError, check_known

GENERATIONS: Mapping[int, tuple[str, str]] = {  # folders of the wheels: library, headers
    13: ("cu13/lib", "cu13/include"),
    12: ("cuda_nvrtc/lib", "cuda_runtime/include"),
}
EXTRA = "cuda-text"
ARCHITECTURE = re.compile(r"sm_\d{2,3}[af]?")
STANDARD = "--std=c++17"
TARGETS = ("sm_80", "sm_90", "sm_90a")  # for which the course's kernels are compiled in tests
# KiB of shared memory that one block can have (CUDA C++ programming guide, compute capabilities).
SHARED_KIB = {"80": 163, "86": 99, "87": 163, "89": 99, "90": 227, "100": 227, "103": 227}
SMALLEST_SHARED_KIB = 99  # of those since sm_80


@dataclass(frozen=True)
class Resources:
    """The needs of one kernel, as the assembler logs them; sizes in bytes."""

    registers: int
    stack: int
    spill_stores: int
    spill_loads: int
    shared: int  # static: what is asked for at launch comes on top
    barriers: int

    @property
    def spills(self) -> int:
        return self.spill_stores + self.spill_loads


@dataclass(frozen=True)
class Cubin:
    """Machine code for one architecture, and what each of its kernels needs."""

    arch: str
    image: bytes
    kernels: Mapping[str, Resources]


def generations() -> tuple[int, ...]:
    """Return the generations of CUDA whose compiler is installed, the newest first."""
    return tuple(each for each in GENERATIONS if _library(each))


def header_folders(generation: int) -> list[Path]:
    """Return the folders with the headers that a generation's wheels bring; none without them."""
    if generation not in GENERATIONS:
        return []
    _, folder = GENERATIONS[generation]
    return [root / folder for root in _wheels() if (root / folder).is_dir()]


def compile_cubin(text: str, arch: str, generation: int | None = None) -> Cubin:
    """Return the machine code of a text for an architecture such as ``sm_90``.

    Raises ``MachineError`` where NVRTC is not installed, ``UsageError`` for an architecture
    that it does not know, and ``RefusedText`` with its log for a text that it refuses.
    """
    options = [f"--gpu-architecture={checked_arch(arch)}", "--ptxas-options=-v"]
    image, log = _compiled(text, options, "CUBIN", arch, generation)
    return Cubin(arch, image, dict(resources(log)))


def compile_ptx(text: str, arch: str, generation: int | None = None) -> str:
    """Return the PTX of a text, with the lines it comes from; raises as ``compile_cubin`` does."""
    virtual = checked_arch(arch).replace("sm_", "compute_")
    options = [f"--gpu-architecture={virtual}", "-lineinfo"]
    image, _ = _compiled(text, options, "PTX", arch, generation)
    return image.rstrip(b"\0").decode()


def checked_arch(arch: str) -> str:
    """Return the name of an architecture; raise ``UsageError`` for what is none."""
    if not ARCHITECTURE.fullmatch(arch):
        raise UsageError(
            "no GPU architecture", expected=f"such as {', '.join(TARGETS)}", got=repr(arch)
        )
    return arch


def shared_limit(arch: str) -> int:
    """Return the most shared memory that a block can have, in bytes; a safe least if not known."""
    number = checked_arch(arch).removeprefix("sm_").rstrip("af")
    return 1024 * SHARED_KIB.get(number, SMALLEST_SHARED_KIB)


def resources(log: str) -> Iterator[tuple[str, Resources]]:
    """Yield what each kernel needs, by its name, from an assembler's log."""
    parts = re.split(r"Compiling entry function '([^']+)' for '[^']+'", log)
    for name, text in zip(parts[1::2], parts[2::2], strict=True):
        yield (
            name,
            Resources(
                registers=_number(r"Used (\d+) registers", text),
                stack=_number(r"(\d+) bytes stack frame", text),
                spill_stores=_number(r"(\d+) bytes spill stores", text),
                spill_loads=_number(r"(\d+) bytes spill loads", text),
                shared=_number(r"(\d+) bytes smem", text),
                barriers=_number(r"used (\d+) barriers", text),
            ),
        )


def _number(pattern: str, text: str) -> int:
    found = re.search(pattern, text)
    return int(found[1]) if found else 0


# ---- the library


def _wheels() -> list[Path]:
    """The folders in which NVIDIA's wheels put their files."""
    try:
        found = importlib.util.find_spec("nvidia")
    except ValueError:
        return []
    return [Path(each) for each in (found.submodule_search_locations or ())] if found else []


def _library(generation: int) -> Path | None:
    folder, _ = GENERATIONS[generation]
    names = ("libnvrtc.so.*", "nvrtc64_*.dll")
    found = (each for root in _wheels() for name in names for each in (root / folder).glob(name))
    return next((each for each in sorted(found) if "builtins" not in each.name), None)


@cache
def _loaded(generation: int) -> ctypes.CDLL:
    path = _library(generation)
    if path is None:
        raise MachineError(
            f"NVRTC, the compiler of CUDA {generation}, is not installed",
            hint=f"pip install 'mlc-course[{EXTRA}]' brings it; the text itself needs no compiler",
        )
    library = ctypes.CDLL(str(path))
    library.nvrtcGetErrorString.restype = ctypes.c_char_p
    library.nvrtcGetErrorString.argtypes = [ctypes.c_int]
    handle, size = ctypes.c_void_p, ctypes.POINTER(ctypes.c_size_t)
    library.nvrtcCreateProgram.argtypes = [
        ctypes.POINTER(handle), ctypes.c_char_p, ctypes.c_char_p, ctypes.c_int,
        ctypes.POINTER(ctypes.c_char_p), ctypes.POINTER(ctypes.c_char_p),
    ]  # fmt: skip
    library.nvrtcCompileProgram.argtypes = [handle, ctypes.c_int, ctypes.POINTER(ctypes.c_char_p)]
    library.nvrtcDestroyProgram.argtypes = [ctypes.POINTER(handle)]
    for what in ("ProgramLog", "PTX", "CUBIN"):
        getattr(library, f"nvrtcGet{what}Size").argtypes = [handle, size]
        getattr(library, f"nvrtcGet{what}").argtypes = [handle, ctypes.c_char_p]
    return library


def _compiled(
    text: str, options: list[str], kind: str, arch: str, generation: int | None
) -> tuple[bytes, str]:
    """Return the code that the compiler makes of a text, and its log."""
    if generation is None:
        generation = next(iter(generations()), max(GENERATIONS))
    check_known("no generation of CUDA", generation, GENERATIONS)
    library, program = _loaded(generation), ctypes.c_void_p()

    def checked(status: int, what: str) -> None:
        if status:
            said = library.nvrtcGetErrorString(status).decode()
            raise RefusedText(f"NVRTC: {what}", got=said)

    def taken(what: str) -> bytes:
        size = ctypes.c_size_t()
        checked(getattr(library, f"nvrtcGet{what}Size")(program, ctypes.byref(size)), what)
        memory = ctypes.create_string_buffer(max(1, size.value))
        checked(getattr(library, f"nvrtcGet{what}")(program, memory), what)
        return memory.raw[: size.value]

    name = b"kernels.cu"
    created = library.nvrtcCreateProgram(ctypes.byref(program), text.encode(), name, 0, None, None)
    checked(created, "create a program")
    try:
        every = [*options, STANDARD, *(f"-I{each}" for each in header_folders(generation))]
        given = (ctypes.c_char_p * len(every))(*(each.encode() for each in every))
        status = library.nvrtcCompileProgram(program, len(every), given)
        log = taken("ProgramLog").rstrip(b"\0").decode(errors="replace")
        if status:
            said = library.nvrtcGetErrorString(status).decode()
            if "gpu-architecture" in log:
                raise UsageError(f"CUDA {generation} has no code for {arch}", got=log.strip())
            raise RefusedText(f"NVRTC for {arch}: {said}", got=log.strip() or said)
        return taken(kind), log
    finally:
        library.nvrtcDestroyProgram(ctypes.byref(program))
