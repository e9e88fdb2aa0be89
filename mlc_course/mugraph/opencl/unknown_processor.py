"""PoCL on a processor that is newer than its LLVM.

PoCL asks LLVM for the name of the processor it runs on. LLVM 14, which the wheel of PoCL 3.0 has,
calls a newer one ``generic``, and then refuses to compile for a processor of that name: every
kernel ends in ``unknown target CPU 'generic'``, and no option or variable changes the name. So an
older processor with the same vectors is written into PoCL's record of the device. It has to be the
one for which PoCL's own functions were compiled, a choice that PoCL makes by the instructions that
there are; otherwise a kernel calls each of them where it could have its code.
"""

from __future__ import annotations

import ctypes
import os
import re
import struct
from collections.abc import Set
from pathlib import Path
from typing import Any

RECORD = 2048  # bytes that are searched; PoCL's record of a device is larger
WORD = struct.Struct("<Q")
TRIPLE, UNKNOWN = b"x86_64-unknown-linux-gnu\0", b"generic\0"
# Instructions, and the processor for which PoCL's functions with them were compiled.
PROCESSORS: tuple[tuple[Set[str], str], ...] = (
    ({"avx512f", "avx512cd", "avx512bw", "avx512dq", "avx512vl"}, "skylake-avx512"),
    ({"avx2", "fma", "f16c", "bmi1", "bmi2"}, "haswell"),
)
_names: list[Any] = []  # PoCL's records point to them


def is_unknown(device: Any) -> bool:
    """Tell whether PoCL has no name for the processor of a device."""
    return str(device.version).endswith("pthread-x86_64-unknown-linux-gnu-generic")


def give_name(device: Any) -> str:
    """Give the processor of a PoCL device a name that its LLVM knows, and return it.

    "" is returned, and nothing is changed, for an old processor, and where PoCL's record of the
    device is not as expected.
    """
    name, place = similar(instructions()), place_of_name(device.int_ptr)
    if not name or not place:
        return ""
    kept = ctypes.create_string_buffer(name.encode())
    _names.append(kept)
    ctypes.c_uint64.from_address(place).value = ctypes.addressof(kept)
    return name


def similar(flags: Set[str]) -> str:
    """Return an older processor with the same vectors; "" where there are none of 256 bits."""
    return next((name for needed, name in PROCESSORS if needed <= flags), "")


def instructions() -> frozenset[str]:
    """Return the names of what this processor has, as Linux lists them."""
    found = re.search(r"^flags\s*:(.*)$", Path("/proc/cpuinfo").read_text(), re.MULTILINE)
    return frozenset(found[1].split()) if found else frozenset()


def place_of_name(record: int) -> int:
    """Return where a record points to the processor's name: just after its LLVM triple; else 0.

    Memory is read through the system, which refuses what is not there.
    """
    memory = os.open("/proc/self/mem", os.O_RDONLY)
    try:
        words = [each for (each,) in WORD.iter_unpack(os.pread(memory, RECORD, record))]
        for number, (triple, name) in enumerate(zip(words, words[1:], strict=False), 1):
            if _begins(memory, triple, TRIPLE) and _begins(memory, name, UNKNOWN):
                return record + number * WORD.size
    except OSError:
        pass
    finally:
        os.close(memory)
    return 0


def _begins(memory: int, address: int, text: bytes) -> bool:
    try:
        return os.pread(memory, len(text), address) == text
    except (OSError, OverflowError):  # no address
        return False
