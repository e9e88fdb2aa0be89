from __future__ import annotations

from dataclasses import asdict, fields, replace
from pathlib import Path

import psutil
import pytest

from mlc_course import machine
from mlc_course.errors import UsageError
from mlc_course.machine import VECTOR_REGISTERS
from mlc_course.tensor_program.tir import tvm

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
        ("", "x86_64", "unknown"),
        ("", "riscv64", "unknown"),
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
    monkeypatch.delenv("MLC_COURSE_ISA", raising=False)
    for name in ("_cpuinfo", "_sysctl"):
        monkeypatch.setattr(machine, name, lambda *_: "")
    for name in ("_caches_linux", "_caches_macos"):
        monkeypatch.setattr(machine, name, dict)
    monkeypatch.setattr(machine.platform, "processor", lambda: "")
    monkeypatch.setattr(machine.platform, "machine", lambda: "riscv64")
    here = machine.describe.__wrapped__()
    assert (here.cpu, here.isa) == ("unknown", "unknown")
    assert (here.l1d_bytes, here.l2_bytes, here.l3_bytes) == (0, 0, 0)
    assert here.cores >= 1


def cgroups(root: Path, own: str, files: dict[str, str]) -> tuple[Path, Path]:
    """The file that names a process's control groups, and a tree like the kernel's of them."""
    tree = root / "cgroup"
    for name, text in files.items():
        (tree / name).parent.mkdir(parents=True, exist_ok=True)
        (tree / name).write_text(f"{text}\n")
    (root / "own").write_text(own)
    return root / "own", tree


V1 = "4:memory:/docker/1\n2:cpu,cpuacct:/docker/1\n1:name=systemd:/docker/1\n"


@pytest.mark.parametrize(
    ("own", "files", "quota"),
    [
        ("0::/\n", {"cpu.max": "50000 100000"}, 0.5),
        ("0::/\n", {"cpu.max": "max 100000"}, None),
        ("0::/\n", {}, None),
        ("0::/a/b\n", {"a/b/cpu.max": "300000 100000", "a/cpu.max": "150000 100000"}, 1.5),
        ("0::/a/b\n", {"a/b/cpu.max": "50000 100000", "a/cpu.max": "400000 100000"}, 0.5),
        ("0::/a/b\n", {"a/b/cpu.max": "max 100000", "cpu.max": "200000 100000"}, 2.0),
        ("0::/seen/by/the/host\n", {"cpu.max": "50000 100000"}, 0.5),
        ("0::/../../outside\n", {"cpu.max": "50000 100000"}, 0.5),
        (
            V1,
            {
                "cpu,cpuacct/docker/1/cpu.cfs_quota_us": "150000",
                "cpu,cpuacct/docker/1/cpu.cfs_period_us": "100000",
            },
            1.5,
        ),
        (V1, {"cpu/cpu.cfs_quota_us": "25000", "cpu/cpu.cfs_period_us": "100000"}, 0.25),
        (V1, {"cpu/cpu.cfs_quota_us": "-1", "cpu/cpu.cfs_period_us": "100000"}, None),
        ("0::/\n", {"cpu.max": ""}, None),
        ("0::/\n", {"cpu.max": "nonsense"}, None),
        ("0::/\n", {"cpu.max": "50000 0"}, None),
        ("nonsense", {"cpu.max": "50000 100000"}, 0.5),
        ("", {"cpu.max": "50000 100000"}, None),
    ],
)
def test_the_least_quota_of_the_own_groups_counts(
    tmp_path: Path, own: str, files: dict[str, str], quota: float | None
) -> None:
    assert machine.cpu_quota(*cgroups(tmp_path, own, files)) == quota


def test_a_system_without_control_groups_has_no_quota(tmp_path: Path) -> None:
    assert machine.cpu_quota(tmp_path / "no", tmp_path / "such") is None
    assert machine.memory_left(tmp_path / "no", tmp_path / "such") is None


@pytest.mark.parametrize(
    ("quota", "allowed", "usable"),
    [(None, 4, 4), (0.5, 4, 1), (2.5, 4, 2), (8.0, 4, 4), (1.0, 1, 1)],
)
def test_a_quota_makes_cores_fewer(
    monkeypatch: pytest.MonkeyPatch, quota: float | None, allowed: int, usable: int
) -> None:
    monkeypatch.setattr(machine, "cpu_quota", lambda: quota)
    monkeypatch.setattr(machine, "allowed_cores", lambda: allowed)
    assert machine.usable_cores() == usable


@pytest.mark.parametrize(
    ("files", "left"),
    [
        ({"memory.max": "max", "memory.current": "1"}, None),
        ({"memory.max": "1000", "memory.current": "400"}, 600),
        ({"memory.max": "1000", "memory.current": "1400"}, 0),
        (
            {
                "memory.max": "1000",
                "memory.current": "400",
                "memory.stat": "anon 1\ninactive_file 9",
            },
            609,
        ),
        ({"a/memory.max": "500", "a/memory.current": "1", "memory.max": "max"}, 499),
    ],
)
def test_memory_is_what_the_own_groups_leave(
    tmp_path: Path, files: dict[str, str], left: int | None
) -> None:
    assert machine.memory_left(*cgroups(tmp_path, "0::/a\n", files)) == left


def test_memory_is_limited_by_groups_of_the_first_version(tmp_path: Path) -> None:
    files = {
        "memory/docker/1/memory.limit_in_bytes": "1000",
        "memory/docker/1/memory.usage_in_bytes": "300",
    }
    assert machine.memory_left(*cgroups(tmp_path, V1, files)) == 700


# --- standing in for another ----------------------------------------------------------------------


@pytest.fixture
def fresh(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """Descriptions that are made anew, of a processor with AVX-512."""
    monkeypatch.delenv("MLC_COURSE_ISA", raising=False)
    monkeypatch.setattr(machine, "_isa", lambda *_: "AVX-512")
    monkeypatch.setattr(machine, "describe", machine.describe.__wrapped__)
    return monkeypatch


@pytest.mark.parametrize("isa", ["AVX2", "SSE"])
def test_a_machine_stands_in_for_one_with_fewer_registers(
    fresh: pytest.MonkeyPatch, isa: str
) -> None:
    native = machine.describe()
    fresh.setenv("MLC_COURSE_ISA", isa)
    found = machine.describe()
    assert (found.isa, found.vector_bits, found.vector_registers) == (isa, *VECTOR_REGISTERS[isa])
    assert found.cpu == f"{native.cpu} (code for {isa} only)"
    assert found.l2_bytes == native.l2_bytes


def test_a_wider_machine_is_stood_in_for_by_its_counts(fresh: pytest.MonkeyPatch) -> None:
    fresh.setattr(machine, "_isa", lambda *_: "AVX2")
    fresh.setenv("MLC_COURSE_ISA", "AVX-512")
    found = machine.describe()
    assert found.lanes == 16
    assert found.cpu.endswith("(counts for AVX-512)")
    assert not machine.runs_as_written()
    assert tvm.host_cpu.__wrapped__() == "skylake-avx512"
    fresh.setattr(tvm.codegen, "llvm_get_system_cpu", lambda: "znver3")
    assert str(tvm.cpu_target().attrs["mcpu"]) == "znver3"
    fresh.setenv("MLC_COURSE_ISA", "SSE")
    assert machine.runs_as_written()


def test_a_machine_stands_in_for_one_with_other_caches(fresh: pytest.MonkeyPatch) -> None:
    fresh.setenv("MLC_COURSE_CACHES", "32K,256K,1M")
    found = machine.describe()
    assert (found.l1d_bytes, found.l2_bytes, found.l3_bytes) == (1 << 15, 1 << 18, 1 << 20)
    assert (found.l1d_ways, found.l2_ways, found.l3_ways) == machine.OTHER_WAYS
    assert found.cpu.endswith("(caches of 32K,256K,1M)")
    fresh.setenv("MLC_COURSE_CACHES", "48K,2M,64M")
    assert machine.describe().l1d_ways == 12


@pytest.mark.parametrize("asked", ["much", "256K,32K", "0", "32K,256K,1M,2M", "1K"])
def test_caches_that_make_no_sense_are_refused(fresh: pytest.MonkeyPatch, asked: str) -> None:
    fresh.setenv("MLC_COURSE_CACHES", asked)
    with pytest.raises(UsageError, match="not the sizes of caches"):
        machine.describe()


@pytest.mark.parametrize("isa", ["", "AVX-512"])
def test_nothing_changes_where_it_stands_in_for_itself(fresh: pytest.MonkeyPatch, isa: str) -> None:
    native = machine.describe()
    fresh.setenv("MLC_COURSE_ISA", isa)
    assert machine.describe() == native


@pytest.mark.parametrize("isa", ["NEON", "AVX-1024", "avx2"])
def test_what_a_machine_cannot_run_is_refused(fresh: pytest.MonkeyPatch, isa: str) -> None:
    fresh.setenv("MLC_COURSE_ISA", isa)
    with pytest.raises(UsageError, match=r"AVX-512 \| AVX2 \| SSE"):
        machine.describe()


def test_a_stand_in_is_compiled_for(fresh: pytest.MonkeyPatch) -> None:
    fresh.setenv("MLC_COURSE_ISA", "AVX2")
    assert tvm.host_cpu.__wrapped__() == "haswell"
