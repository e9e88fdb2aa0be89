"""The hardware of this machine: cores, vector registers, caches, memory, as the system reports it.

Its peak FLOP/s and bandwidth are measured instead: see ``tensor_program.memory.roofs``.
"""

from __future__ import annotations

import functools
import os
import platform
import re
import subprocess
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

import psutil

from mlc_course.errors import UsageError

FLOAT32_BITS = 32
UNKNOWN = "unknown"
# instruction set -> (bits in a vector register, number of vector registers); where nothing is known
# programs are written for the smallest
VECTOR_REGISTERS = {
    "AVX-512": (512, 32),
    "AVX2": (256, 16),
    "NEON": (128, 32),
    "SSE": (128, 16),
    UNKNOWN: (128, 16),
}
# A machine can stand in for another: with this variable set to one of these names, programs are
# written for that instruction set. They are compiled for it too if it is a narrower one, and NumPy
# does the same with OPENBLAS_CORETYPE=Haswell. For a wider one instructions are counted, while
# programs run as code for this processor.
STAND_IN = "MLC_COURSE_ISA"
ON_X86 = ("AVX-512", "AVX2", "SSE")  # the widest first
# Another machine's caches: sizes of the levels from the first on, such as 32K,256K,1M.
OTHER_CACHES = "MLC_COURSE_CACHES"
OTHER_WAYS = 8, 8, 16  # 12 where a size has a factor of 3, as 48K has
CGROUPS = Path("/sys/fs/cgroup")
OWN_CGROUP = Path("/proc/self/cgroup")


@dataclass(frozen=True)
class Machine:
    """A machine's hardware; sizes are in bytes, and what the system does not tell is 0."""

    cpu: str
    system: str
    cores: int
    isa: str
    vector_bits: int
    vector_registers: int
    l1d_bytes: int
    l2_bytes: int
    l3_bytes: int
    line_bytes: int
    memory_bytes: int
    l1d_ways: int = 0
    l2_ways: int = 0
    l3_ways: int = 0

    @property
    def lanes(self) -> int:
        """Number of float32 in one vector register."""
        return self.vector_bits // FLOAT32_BITS

    def to_dict(self) -> dict[str, object]:
        return asdict(self)

    def __str__(self) -> str:
        return f"{self.cpu}, {self.cores} cores, {self.isa}"


@functools.cache
def describe() -> Machine:
    """The machine that runs this process; what cannot be read is 0 or 'unknown'.

    It may stand in for another one: ``MLC_COURSE_ISA`` names other instructions, and
    ``MLC_COURSE_CACHES`` other caches. Raises ``UsageError`` where one of them makes no sense.
    """
    isa = stand_in() or _native()
    bits, registers = VECTOR_REGISTERS[isa]
    caches = _asked_caches() or _caches_linux() or _caches_macos()
    return Machine(
        cpu=_cpu_name() + _played(),
        system=f"{platform.system()} {platform.release()}",
        cores=usable_cores(),
        isa=isa,
        vector_bits=bits,
        vector_registers=registers,
        l1d_bytes=caches.get("l1d", 0),
        l2_bytes=caches.get("l2", 0),
        l3_bytes=caches.get("l3", 0),
        line_bytes=caches.get("line", 64),
        memory_bytes=psutil.virtual_memory().total,
        l1d_ways=caches.get("l1d_ways", 0),
        l2_ways=caches.get("l2_ways", 0),
        l3_ways=caches.get("l3_ways", 0),
    )


def stand_in() -> str | None:
    """The instruction set that ``MLC_COURSE_ISA`` asks for, if it is another one.

    Raises ``UsageError`` where this machine cannot stand in for one that has it.
    """
    asked, native = os.environ.get(STAND_IN, ""), _native()
    if asked in ("", native):
        return None
    possible = ON_X86 if native in ON_X86 else (native,)
    if asked not in possible:
        raise UsageError(
            f"{STAND_IN}: this machine cannot stand in for one with {asked}",
            expected=" | ".join(possible),
            got=asked,
            hint=f"unset {STAND_IN}",
        )
    return asked


def runs_as_written() -> bool:
    """Return True where this processor has the instructions that programs are written for.

    It has not where it stands in for a wider one: there, instructions are counted in code for the
    wider one, and programs run as code for this processor.
    """
    asked = stand_in()
    return asked is None or ON_X86.index(asked) > ON_X86.index(_native())


def _played() -> str:
    """The words behind the processor's name that say what it stands in for."""
    isa = stand_in()
    roles = []
    if isa:
        roles.append(f"code for {isa} only" if runs_as_written() else f"counts for {isa}")
    if os.environ.get(OTHER_CACHES):
        roles.append(f"caches of {os.environ[OTHER_CACHES]}")
    return f" ({', '.join(roles)})" if roles else ""


def _asked_caches() -> dict[str, int]:
    """Sizes as ``_caches_linux`` returns them, of the caches that ``MLC_COURSE_CACHES`` lists."""
    asked = os.environ.get(OTHER_CACHES, "")
    if not asked:
        return {}
    try:
        sizes = [_bytes(each.strip()) for each in asked.split(",")]
    except ValueError:
        sizes = []
    if not 1 <= len(sizes) <= 3 or sorted(sizes) != sizes or min(sizes) < 4096:
        raise UsageError(
            f"{OTHER_CACHES}: not the sizes of caches",
            expected="one to three sizes of 4K or more, the smallest first, such as 32K,256K,1M",
            got=asked,
            hint=f"unset {OTHER_CACHES}",
        )
    found = {"line": 64}
    for name, size, ways in zip(("l1d", "l2", "l3"), sizes, OTHER_WAYS, strict=False):
        found[name], found[f"{name}_ways"] = size, ways if size % 3 else 12
    return found


def usable_cores() -> int:
    """Cores that this process may keep busy, which a container or ``taskset`` can make fewer.

    A quota of 2.5 cores is enough for two threads; there is always one.
    """
    quota = cpu_quota()
    cores = allowed_cores()
    return cores if quota is None else max(1, min(cores, int(quota)))


def allowed_cores() -> int:
    """Cores that this process may run on, each for as much of the time as its quota allows."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return psutil.cpu_count(logical=False) or os.cpu_count() or 1


def cpu_quota(own: Path = OWN_CGROUP, root: Path = CGROUPS) -> float | None:
    """Cores' worth of time that Linux gives this process's group; None without a limit.

    A group's time is part of its parents', so the least quota from here up is what counts. Once it
    is used up, all threads stop until the next tenth of a second.
    """
    quotas = [quota for folder in _cgroups(own, root, "cpu") if (quota := _quota(folder))]
    return min(quotas, default=None)


def memory_left(own: Path = OWN_CGROUP, root: Path = CGROUPS) -> int | None:
    """Bytes that this process's group may still take; None without a limit. See ``cpu_quota``.

    Memory of a group that only keeps files can be taken back, and counts as free.
    """
    rooms = (_room(folder) for folder in _cgroups(own, root, "memory"))
    return min((room for room in rooms if room is not None), default=None)


def _cgroups(own: Path, root: Path, controller: str) -> Iterator[Path]:
    """Folders of the groups that this process is in, from its own up, of either version.

    A container may see its own group as the root, while its path is told as the host sees it.
    """
    for line in _text(own).splitlines():
        _, controllers, path = (line.split(":", 2) + ["", ""])[:3]
        if controllers and controller not in controllers.split(","):
            continue
        for mount in (root / controllers, root / controller) if controllers else (root,):
            group = mount / path.strip("/")
            yield from (each for each in (group, *group.parents) if each.is_relative_to(mount))


def _quota(folder: Path) -> float | None:
    limit, _, period = _text(folder / "cpu.max").partition(" ")  # "50000 100000", "max 100000"
    if not limit:
        limit, period = (_text(folder / f"cpu.cfs_{x}_us") for x in ("quota", "period"))
    known = limit.strip().isdecimal() and period.strip().isdecimal()
    return int(limit) / int(period) if known and int(limit) and int(period) else None


def _room(folder: Path) -> int | None:
    for limit, usage in (
        ("memory.max", "memory.current"),
        ("memory.limit_in_bytes", "memory.usage_in_bytes"),
    ):
        most, used = (_text(folder / name).strip() for name in (limit, usage))
        if most.isdecimal() and used.isdecimal():
            kept = re.search(
                r"^(?:total_)?inactive_file (\d+)$", _text(folder / "memory.stat"), re.M
            )
            return max(0, int(most) - int(used) + (int(kept[1]) if kept else 0))
    return None


def _text(path: Path) -> str:
    try:
        return path.read_text()
    except (OSError, UnicodeDecodeError):
        return ""


def features() -> frozenset[str]:
    """Return the processor's features, such as ``avx2`` and ``dotprod``, as LLVM names them.

    Where it stands in for a narrower one, it has only the features of that one.
    """
    flags = _cpu_flags()
    if platform.system() == "Darwin" and platform.machine() in ("arm64", "aarch64"):
        flags |= {"asimd"}
        flags |= {f for f, name in _ON_APPLE.items() if _sysctl(name).strip() == "1"}
    found = {_LLVM_NAMES.get(flag, flag) for flag in flags}
    asked = stand_in()
    if asked in ("AVX2", "SSE"):
        found = {name for name in found if not name.startswith("avx512")}
    if asked == "SSE":
        found -= {"avx", "avx2", "fma"}
    return frozenset(found)


# Linux's name of a feature -> LLVM's, where they differ.
_LLVM_NAMES = {
    "avx512_vnni": "avx512vnni",
    "avx_vnni": "avxvnni",
    "asimd": "neon",
    "asimddp": "dotprod",
}
_ON_APPLE = {"asimddp": "hw.optional.arm.FEAT_DotProd", "i8mm": "hw.optional.arm.FEAT_I8MM"}


def _native() -> str:
    """The instruction set of this processor."""
    return _isa(_cpu_flags(), platform.machine())


def _isa(flags: set[str], architecture: str) -> str:
    if {"avx512f", "avx512vl", "avx512dq"} <= flags:
        return "AVX-512"
    if {"avx2", "fma"} <= flags:
        return "AVX2"
    if architecture in ("arm64", "aarch64"):
        return "NEON"
    return "SSE" if flags & {"sse2", "sse"} else UNKNOWN


def _cpuinfo() -> str:
    return _text(Path("/proc/cpuinfo"))


def _cpu_flags() -> set[str]:
    found = re.search(r"^(?:flags|Features)\s*:(.*)$", _cpuinfo(), re.MULTILINE)
    if found:
        return set(found[1].split())
    return set(_sysctl("machdep.cpu.leaf7_features machdep.cpu.features").lower().split())


def _cpu_name() -> str:
    found = re.search(r"^model name\s*:(.*)$", _cpuinfo(), re.MULTILINE)
    name = found[1] if found else _sysctl("machdep.cpu.brand_string")
    return name.strip() or platform.processor() or UNKNOWN


def _sysctl(names: str) -> str:
    if platform.system() != "Darwin":
        return ""
    done = subprocess.run(["sysctl", "-n", *names.split()], capture_output=True, text=True)
    return done.stdout


def _caches_linux(root: Path = Path("/sys/devices/system/cpu/cpu0/cache")) -> dict[str, int]:
    """Sizes by name (l1d, l1d_ways, ... line), as the kernel describes the first core's caches."""
    sizes: dict[str, int] = {}
    for index in sorted(root.glob("index*")):
        try:
            level = (index / "level").read_text().strip()
            kind = (index / "type").read_text().strip()
            size = (index / "size").read_text().strip()
            line = (index / "coherency_line_size").read_text().strip()
            found = _bytes(size), int(line)
        except (OSError, ValueError):
            continue
        if kind != "Instruction":
            name = "l1d" if level == "1" else f"l{level}"
            sizes[name], sizes["line"] = found
            sizes[f"{name}_ways"] = _ways(index)
    return {name: size for name, size in sizes.items() if size}


def _ways(index: Path) -> int:
    """Number of lines in a set; 0 where the kernel does not say."""
    text = _text(index / "ways_of_associativity").strip()
    return int(text) if text.isdecimal() else 0


def _bytes(text: str) -> int:
    """``'32K'`` -> 32768. Raises ``ValueError`` when it is not a size."""
    units = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}
    return int(text[:-1]) * units[text[-1]] if text[-1:] in units else int(text)


def _caches_macos() -> dict[str, int]:
    # Apple's fast cores are described under perflevel0, Intel's under the plain names.
    names = {
        "l1d": ("hw.perflevel0.l1dcachesize", "hw.l1dcachesize"),
        "l2": ("hw.perflevel0.l2cachesize", "hw.l2cachesize"),
        "l3": ("hw.l3cachesize",),
        "line": ("hw.cachelinesize",),
    }
    read = {key: [_sysctl(name).strip() for name in tried] for key, tried in names.items()}
    return {key: int(found[0]) for key, texts in read.items() if (found := [t for t in texts if t])}
