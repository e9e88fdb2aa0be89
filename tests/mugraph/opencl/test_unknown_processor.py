"""A processor that PoCL's LLVM does not know gets the name of an older one like it."""

from __future__ import annotations

import ctypes
import sys
from types import SimpleNamespace

import pytest

from mlc_course.mugraph.opencl import find_device
from mlc_course.mugraph.opencl.unknown_processor import (
    RECORD,
    give_name,
    instructions,
    is_unknown,
    place_of_name,
    similar,
)

linux = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
AVX2 = frozenset({"avx2", "fma", "f16c", "bmi1", "bmi2"})
AVX512 = AVX2 | {"avx512f", "avx512cd", "avx512bw", "avx512dq", "avx512vl"}


class Record:
    """Memory like that of a PoCL device: a triple and a name at two neighbouring places."""

    def __init__(self, triple: bytes, name: bytes, at: int = 640) -> None:
        self.texts = ctypes.create_string_buffer(triple), ctypes.create_string_buffer(name)
        self.memory = ctypes.create_string_buffer(RECORD)
        self.int_ptr = ctypes.addressof(self.memory)
        for number, text in enumerate(self.texts):
            place = self.int_ptr + at + 8 * number
            ctypes.c_uint64.from_address(place).value = ctypes.addressof(text)
        ctypes.c_uint64.from_address(self.int_ptr + 8).value = 1 << 45  # nothing is there

    def name(self, at: int = 648) -> bytes:
        return ctypes.c_char_p.from_address(self.int_ptr + at).value or b""


@pytest.mark.parametrize(
    ("flags", "name"),
    [
        (AVX2, "haswell"),
        (AVX512, "skylake-avx512"),
        (AVX512 - {"avx512vl"}, "haswell"),
        (AVX2 - {"fma"}, ""),
        (frozenset[str](), ""),
    ],
)
def test_the_older_processor_has_the_same_vectors(flags: frozenset[str], name: str) -> None:
    assert similar(flags) == name


@linux
def test_a_name_is_written_where_the_record_is_as_expected() -> None:
    record = Record(b"x86_64-unknown-linux-gnu", b"generic")
    assert place_of_name(record.int_ptr) == record.int_ptr + 648
    wanted = similar(instructions())
    assert give_name(record) == wanted
    assert record.name() == (wanted.encode() or b"generic")


@linux
@pytest.mark.parametrize(
    ("triple", "name"),
    [
        (b"x86_64-unknown-linux-gnu", b"znver3"),
        (b"x86_64-unknown-linux-gnu", b"generics"),
        (b"aarch64-unknown-linux-gnu", b"generic"),
        (b"", b"generic"),
    ],
)
def test_another_record_is_left_alone(triple: bytes, name: bytes) -> None:
    record = Record(triple, name)
    before = record.memory.raw
    assert place_of_name(record.int_ptr) == 0
    assert give_name(record) == ""
    assert record.memory.raw == before


@pytest.mark.parametrize(
    ("version", "unknown"),
    [
        ("OpenCL 3.0 PoCL HSTR: pthread-x86_64-unknown-linux-gnu-generic", True),
        ("OpenCL 3.0 PoCL HSTR: pthread-x86_64-unknown-linux-gnu-znver3", False),
        ("OpenCL 3.0 PoCL HSTR: cpu-aarch64-unknown-linux-gnu-generic", False),
        ("OpenCL 3.0 CUDA", False),
    ],
)
def test_a_device_says_whether_its_processor_is_unknown(version: str, unknown: bool) -> None:
    assert is_unknown(SimpleNamespace(version=version)) == unknown


def test_a_device_whose_processor_is_unknown_has_a_name() -> None:
    found = find_device()
    assert bool(found.processor) == (is_unknown(found.handle) and bool(similar(instructions())))
