"""The driver by ctypes: held against NVIDIA's own header, since no test machine has a GPU."""

from __future__ import annotations

import ctypes
import ctypes.util
import re
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from stand_in_driver import use_stand_in

from mlc_course.errors import MachineError, SizeError, UsageError
from mlc_course.mugraph.cuda import driver
from mlc_course.mugraph.cuda.driver import (
    SIGNATURES,
    GpuDevice,
    Packed,
    Session,
    driver_version,
    extra_for,
    fitting_generation,
    gpus,
    libcuda,
)
from mlc_course.mugraph.cuda.launches import KernelLaunch, check_fits, kernel_arch
from mlc_course.mugraph.cuda.nvrtc import GENERATIONS, header_folders

WIDE = re.compile(  # parameters of 64 bits: pointers, handles, addresses, sizes
    r"\*|\bCU(context|module|function|stream|event|graph|graphExec|deviceptr)\b|size_t|long long"
)
IMAGE = b"\x7fELF and then zeros \0\0 too"
ADDS = KernelLaunch("adds", (3, 1, 1), 8, 0, ("a", "b"))
HOPPER = GpuDevice(0, "a Hopper", (9, 0), 132, 60 << 20, 232_448)


@pytest.fixture(params=GENERATIONS)
def stand_in(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> ctypes.CDLL:
    """The library of a driver without a GPU, compiled with the header of a generation of CUDA."""
    return use_stand_in(tmp_path, monkeypatch, request.param)


@pytest.mark.parametrize("generation", GENERATIONS)
def test_functions_have_the_names_and_numbers_of_parameters_of_the_header(generation: int) -> None:
    folders = [each for each in header_folders(generation) if (each / "cuda.h").exists()]
    if not folders:
        pytest.skip(f"no header of CUDA {generation}")
    header = (folders[0] / "cuda.h").read_text(encoding="utf-8")
    for name, arguments in SIGNATURES.items():
        renamed = re.search(rf"#define (\w+)\s+(?:__CUDA_API_PTSZ\()?{name}\b", header)
        plain = renamed[1] if renamed else name
        assert renamed or not name.endswith("_v2"), name
        found = re.search(rf"CUresult CUDAAPI {plain}\(([^;]*)\);", header)
        assert found, name
        wanted = [each for each in found[1].split(",") if each.strip() != "void"]
        assert len(wanted) == len(arguments), name
        for said, declared in zip(wanted, arguments, strict=True):
            size = 8 if WIDE.search(said) else 1 if "unsigned char" in said else 4
            assert ctypes.sizeof(declared) == size, (name, said)


def test_a_kernel_adds_on_the_device_and_leaves_nothing_behind(stand_in: ctypes.CDLL) -> None:
    (gpu,) = gpus()
    assert gpu.name == "stand-in 7" and gpu.arch == "sm_90"
    assert gpu.multiprocessors == 132 and gpu.most_shared_bytes == 232_448
    a = np.random.default_rng(0).standard_normal((3, 8)).astype(np.float32)
    with Session(gpu) as session:
        given, result = session.put(a), session.put(np.zeros_like(a))
        launch = session.loaded(IMAGE, [ADDS])({"a": given, "b": result})
        launch()
        assert np.array_equal(session.get(result), a + 1)
        session.set_bytes(result, 0)
        assert not session.get(result).any()
        assert session.timed(launch) == pytest.approx(1.5e-3)
        session.fill(given, a + 5)
        launch()
        assert np.array_equal(session.get(result), a + 6)
        assert stand_in.stand_in_living() > 0
    assert stand_in.stand_in_living() == 0


def _all_of(calls: Iterable[Callable[[], None]]) -> None:
    for each in calls:
        each()


def test_a_captured_graph_runs_when_it_is_launched_and_not_before(stand_in: ctypes.CDLL) -> None:
    a = np.arange(24, dtype=np.float32).reshape(3, 8)
    with Session(gpus()[0]) as session:
        first, second, third = (session.put(each) for each in (a, 0 * a, 0 * a))
        bind = session.loaded(IMAGE, [ADDS])
        calls = [bind({"a": first, "b": second}), bind({"a": second, "b": third})]
        launch = session.captured(partial(_all_of, calls))
        calls.clear()  # the graph has its own copies of the arguments
        assert not session.get(third).any()
        launch()
        assert np.array_equal(session.get(third), a + 2)
    assert stand_in.stand_in_living() == 0


def test_a_capture_that_fails_ends_and_leaves_nothing(stand_in: ctypes.CDLL) -> None:
    def fails() -> None:
        raise KeyboardInterrupt

    with Session(gpus()[0]) as session:
        with pytest.raises(KeyboardInterrupt):
            session.captured(fails)
        session.synchronize()
    assert stand_in.stand_in_living() == 0


def test_shared_memory_above_48_kib_is_asked_for(stand_in: ctypes.CDLL) -> None:
    a = np.zeros((3, 8), np.float32)
    large = KernelLaunch("adds", (3, 1, 1), 8, 96 << 10, ("a", "b"))
    with Session(gpus()[0]) as session:
        arrays = {"a": session.put(a), "b": session.put(a)}
        session.loaded(IMAGE, [large])(arrays)()
        # the stand-in refuses a launch that has not asked, as a driver does
        (function, status) = (ctypes.c_void_p(), 1)
        module = ctypes.c_void_p()
        stand_in.cuModuleLoadData(ctypes.byref(module), IMAGE)
        stand_in.cuModuleGetFunction(ctypes.byref(function), module, b"adds")
        packed = Packed([arrays["a"].address, arrays["b"].address])
        status = stand_in.cuLaunchKernel(
            function, 3, 1, 1, 8, 1, 1, large.shared_bytes, session.stream, packed.pointers, None
        )
        assert status
        stand_in.cuModuleUnload(module)
    assert stand_in.stand_in_living() == 0


def test_errors_are_told_in_the_words_of_the_driver(stand_in: ctypes.CDLL) -> None:
    a = np.zeros((3, 8), np.float32)
    with Session(gpus()[0]) as session:
        arrays = {"a": session.put(a), "b": session.put(a)}
        faults = KernelLaunch("faults", (1, 1, 1), 8, 0, ("a", "b"))
        session.loaded(IMAGE, [faults])(arrays)()
        with pytest.raises(MachineError, match="CUDA_ERROR_ILLEGAL_ADDRESS: an illegal memory"):
            session.get(arrays["b"])
        with pytest.raises(MachineError, match="status 200, which it has no text for"):
            session.loaded(b"no machine code", [ADDS])
        with pytest.raises(MachineError, match="cuModuleGetFunction"):
            session.loaded(IMAGE, [KernelLaunch("none", (1, 1, 1), 8, 0, ())])
        with pytest.raises(MemoryError, match="CUDA_ERROR_OUT_OF_MEMORY"):
            session.empty((1 << 41,), np.dtype("float32"))
        with pytest.raises(ValueError, match="float64"):
            session.fill(arrays["a"], np.zeros((3, 8)))
    assert stand_in.stand_in_living() == 0


def test_the_version_says_which_extra_fits(stand_in: ctypes.CDLL) -> None:
    version = driver_version()
    assert version and extra_for(version) == f"gpu{version[0]}"


def test_machine_code_is_made_by_a_compiler_that_is_no_newer_than_the_driver(
    stand_in: ctypes.CDLL, monkeypatch: pytest.MonkeyPatch
) -> None:
    version = driver_version()
    assert version
    monkeypatch.setattr(driver, "generations", lambda: (13, 12))
    assert fitting_generation() == version[0]
    monkeypatch.setattr(driver, "generations", lambda: (14,))
    with pytest.raises(MachineError, match=rf"the driver's CUDA {version[0]}") as refused:
        fitting_generation()
    assert f"mlc-course[gpu{version[0]}]" in str(refused.value)


@pytest.mark.parametrize(
    ("version", "extra"),
    [
        (None, "gpu13"),
        ((12, 0), "gpu12"),
        ((12, 9), "gpu12"),
        ((13, 0), "gpu13"),
        ((14, 1), "gpu13"),
    ],
)
def test_an_extra_fits_a_driver(version: tuple[int, int] | None, extra: str) -> None:
    assert extra_for(version) == extra


def test_a_machine_without_a_driver_says_what_works_meanwhile() -> None:
    with pytest.raises(MachineError, match="no NVIDIA driver") as refused:
        libcuda("libcuda-which-is-not-there.so.1")
    assert "cpu, opencl and box" in str(refused.value)


def test_a_library_that_lacks_functions_is_refused() -> None:
    with pytest.raises(MachineError, match="the driver has no cuGetErrorName"):
        libcuda(ctypes.util.find_library("m"))


def test_arguments_are_pointers_to_the_addresses() -> None:
    addresses = [0x7FFF_0000_1000, 0xFFFF_FFFF_FFFF_FF00, 0]
    packed = Packed(addresses)
    assert len(packed.pointers) == len(addresses)
    for pointer, address in zip(packed.pointers, addresses, strict=True):
        assert ctypes.cast(pointer, ctypes.POINTER(ctypes.c_uint64)).contents.value == address


def test_a_launch_that_does_not_fit_is_refused_before_it_is_launched() -> None:
    whole = KernelLaunch("large", (1, 1, 1), 128, HOPPER.most_shared_bytes, ())
    check_fits([whole], HOPPER)
    more = KernelLaunch("large", (1, 1, 1), 128, HOPPER.most_shared_bytes + 1, ())
    with pytest.raises(SizeError, match="at most 232,448, on a Hopper"):
        check_fits([ADDS, more], HOPPER)
    with pytest.raises(UsageError, match="too old"):
        check_fits([ADDS], GpuDevice(0, "a Turing", (7, 5), 46, 4 << 20, 65_536))


@pytest.mark.parametrize("arch", ["sm_80", "sm_86", "sm_90", "sm_90a", "sm_100", "sm_120f"])
def test_an_architecture_that_runs_the_kernels_is_accepted(arch: str) -> None:
    assert kernel_arch(arch) == arch


@pytest.mark.parametrize("arch", ["sm_75", "sm_52", "sm90", "", "hopper", "sm_9"])
def test_an_architecture_that_does_not_is_refused(arch: str) -> None:
    with pytest.raises(UsageError, match="too old|no GPU architecture"):
        kernel_arch(arch)
