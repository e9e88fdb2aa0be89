from __future__ import annotations

from dataclasses import asdict, fields, replace
from pathlib import Path

import psutil
import pytest

from mlc_course import machine
from mlc_course.machine import VECTOR_REGISTERS

AVX512 = "fpu sse sse2 avx avx2 fma avx512f avx512dq avx512vl"
SYSFS = {  # index -> level, type, size, line
    "index0": ("1", "Data", "32K", "64"),
    "index1": ("1", "Instruction", "48K", "128"),
    "index2": ("2", "Unified", "1024K", "64"),
    "index3": ("3", "Unified", "32M", "64"),
}
FILES = ("level", "type", "size", "coherency_line_size")


def write_sysfs(root: Path, entries: dict[str, tuple[str, ...]]) -> Path:
    """A tree like the kernel's /sys/devices/system/cpu/cpu0/cache."""
    for index, texts in entries.items():
        (root / index).mkdir()
        for name, text in zip(FILES, texts, strict=True):
            (root / index / name).write_text(f"{text}\n")
    return root


def test_this_machine_is_described_plausibly() -> None:
    here = machine.describe()
    assert here.cpu.strip()
    assert 1 <= here.cores <= (psutil.cpu_count() or here.cores)
    assert (here.vector_bits, here.vector_registers) == VECTOR_REGISTERS[here.isa]
    sizes = [size for size in (here.l1d_bytes, here.l2_bytes, here.l3_bytes) if size]
    assert sizes == sorted(sizes)
    assert here.line_bytes in (32, 64, 128, 256)
    assert here.memory_bytes > 1 << 28
    assert here.isa in str(here)


def test_a_description_is_plain_data() -> None:
    here = machine.describe()
    assert here.to_dict() == asdict(here)
    assert set(here.to_dict()) == {field.name for field in fields(here)}


@pytest.mark.parametrize(
    ("flags", "architecture", "isa"),
    [
        (AVX512, "x86_64", "AVX-512"),
        ("avx2 fma avx512f", "x86_64", "AVX2"),  # the first AVX-512 had no short vectors
        ("sse2 avx2 fma", "AMD64", "AVX2"),
        ("sse2 avx2", "x86_64", "SSE"),
        ("sse sse2", "x86_64", "SSE"),
        ("", "x86_64", "SSE"),
        ("fp asimd", "aarch64", "NEON"),
        ("", "arm64", "NEON"),
    ],
)
def test_the_vectors_follow_from_the_flags(flags: str, architecture: str, isa: str) -> None:
    assert machine._isa(set(flags.split()), architecture) == isa


@pytest.mark.parametrize(("isa", "lanes"), {"AVX-512": 16, "AVX2": 8, "NEON": 4, "SSE": 4}.items())
def test_lanes_are_float32_per_register(isa: str, lanes: int) -> None:
    bits, _ = VECTOR_REGISTERS[isa]
    assert replace(machine.describe(), vector_bits=bits).lanes == lanes


def test_caches_are_read_as_the_kernel_describes_them(tmp_path: Path) -> None:
    assert machine._caches_linux(write_sysfs(tmp_path, SYSFS)) == {
        "l1d": 32 << 10,
        "l2": 1 << 20,
        "l3": 32 << 20,
        "line": 64,
    }


def test_the_ways_of_a_set_are_read_where_the_kernel_tells_them(tmp_path: Path) -> None:
    write_sysfs(tmp_path, SYSFS)
    (tmp_path / "index0" / "ways_of_associativity").write_text("8\n")
    (tmp_path / "index2" / "ways_of_associativity").write_text("unknown\n")
    found = machine._caches_linux(tmp_path)
    assert found["l1d_ways"] == 8
    assert "l2_ways" not in found
    assert "l3_ways" not in found


def test_a_machine_without_a_third_cache_has_none(tmp_path: Path) -> None:
    found = machine._caches_linux(
        write_sysfs(tmp_path, {k: SYSFS[k] for k in ("index0", "index2")})
    )
    assert "l3" not in found


@pytest.mark.parametrize("size", ["", "big", "M"])
def test_a_size_that_is_no_size_is_left_out(tmp_path: Path, size: str) -> None:
    odd = SYSFS | {"index3": ("3", "Unified", size, "64")}
    assert set(machine._caches_linux(write_sysfs(tmp_path, odd))) == {"l1d", "l2", "line"}


def test_a_file_that_is_missing_is_left_out(tmp_path: Path) -> None:
    write_sysfs(tmp_path, SYSFS)
    (tmp_path / "index2" / "size").unlink()
    assert set(machine._caches_linux(tmp_path)) == {"l1d", "l3", "line"}


def test_no_description_of_caches_is_no_error(tmp_path: Path) -> None:
    assert machine._caches_linux(tmp_path / "absent") == {}


@pytest.mark.parametrize(
    ("text", "size"), [("32K", 32768), ("2M", 1 << 21), ("1G", 1 << 30), ("512", 512)]
)
def test_sizes_have_units(text: str, size: int) -> None:
    assert machine._bytes(text) == size


@pytest.mark.parametrize(
    ("cpuinfo", "flags"),
    [
        ("model name\t: X\nflags\t\t: fpu avx2 fma\nbugs\t: none\n", {"fpu", "avx2", "fma"}),
        ("processor\t: 0\nFeatures\t: fp asimd\n", {"fp", "asimd"}),
        ("nothing of the kind", set()),
    ],
)
def test_flags_are_read_from_cpuinfo(
    monkeypatch: pytest.MonkeyPatch, cpuinfo: str, flags: set[str]
) -> None:
    monkeypatch.setattr(machine, "_cpuinfo", lambda: cpuinfo)
    monkeypatch.setattr(machine, "_sysctl", lambda names: "")
    assert machine._cpu_flags() == flags


def test_flags_are_read_from_sysctl_on_a_mac(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "_cpuinfo", lambda: "")
    monkeypatch.setattr(machine, "_sysctl", lambda names: "SMEP AVX2 BMI1\nFPU SSE FMA\n")
    assert {"avx2", "fma"} <= machine._cpu_flags()


def test_the_caches_of_a_mac_are_those_of_its_fast_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    known = {
        "hw.perflevel0.l1dcachesize": "131072\n",
        "hw.l1dcachesize": "65536\n",
        "hw.l2cachesize": "4194304\n",
        "hw.cachelinesize": "128\n",
    }
    monkeypatch.setattr(machine, "_sysctl", lambda name: known.get(name, ""))
    assert machine._caches_macos() == {"l1d": 131072, "l2": 4194304, "line": 128}


def test_a_machine_that_tells_nothing_is_described_all_the_same(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in ("_cpuinfo", "_sysctl"):
        monkeypatch.setattr(machine, name, lambda *_: "")
    for name in ("_caches_linux", "_caches_macos"):
        monkeypatch.setattr(machine, name, dict)
    monkeypatch.setattr(machine.platform, "processor", lambda: "")
    monkeypatch.setattr(machine.platform, "machine", lambda: "riscv64")
    here = machine.describe.__wrapped__()
    assert here.cpu == "unknown"
    assert (here.l1d_bytes, here.l2_bytes, here.l3_bytes) == (0, 0, 0)
    assert here.cores >= 1
