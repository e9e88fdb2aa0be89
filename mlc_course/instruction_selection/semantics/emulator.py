"""Code for AArch64 or x86-64, run by an emulator: Unicorn, which is QEMU's translator.

``run_in_emulator`` calls a function with arrays; ``run_library_in_emulator`` calls one that TVM has
compiled, from its object file. Code for Arm runs on any machine so.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from mlc_course.errors import UsageError
from mlc_course.instruction_selection.semantics.packages import package

Architecture = Literal["aarch64", "x86-64"]
AnyArray = npt.NDArray[Any]

PAGE = 1 << 12
CODE, DATA, STACK, STACK_BYTES = 1 << 20, 1 << 30, 1 << 28, 1 << 20
RETURN = 1 << 16  # where a function returns to: nothing is there
ALIGNMENT = 64
STEPS = 1 << 31  # instructions after which a function is taken to hang
POINTERS = {  # the registers of a C function's first arguments
    "aarch64": tuple(f"UC_ARM64_REG_X{i}" for i in range(8)),
    "x86-64": tuple(f"UC_X86_REG_{name}" for name in ("RDI", "RSI", "RDX", "RCX", "R8", "R9")),
}
FLOATING_POINT = 3 << 20  # of CPACR_EL1: vector registers may be used


class _Memory:
    """The contents of memory, by address, before they are written to an emulator."""

    def __init__(self, start: int) -> None:
        self.start = start
        self.bytes = bytearray()

    def put(self, data: bytes) -> int:
        """Return the address at which ``data`` will be found."""
        self.bytes += bytes(-len(self.bytes) % ALIGNMENT)
        at = self.start + len(self.bytes)
        self.bytes += data
        return at


def run_in_emulator(
    code: bytes,
    arguments: Sequence[AnyArray | int],
    *,
    architecture: Architecture = "aarch64",
) -> list[AnyArray]:
    """Call a function of the C ABI, and return its arrays as they are afterwards.

    Arguments are arrays, passed as pointers, and integers, in x0 to x7 (rdi, rsi, rdx, rcx, r8, r9
    on x86-64). ``code`` starts with the function, returns with ``ret`` and depends on no other
    address.

    Raises:
        MachineError: Unicorn is not installed.
        UsageError: there are more arguments than registers, or the emulator does not run the code:
            an instruction that it does not know, an address outside the arrays.
    """
    memory = _Memory(DATA)
    places = [
        each if isinstance(each, int) else memory.put(np.ascontiguousarray(each).tobytes())
        for each in arguments
    ]
    found = _run(code, 0, memory, places, architecture)
    return [
        _read(found, place - DATA, each)
        for place, each in zip(places, arguments, strict=True)
        if not isinstance(each, int)
    ]


def run_library_in_emulator(
    object_file: bytes, function: str, arrays: Sequence[AnyArray]
) -> list[AnyArray]:
    """Call a function that TVM compiled for AArch64, and return its arrays as they are afterwards.

    ``object_file`` is what ``write_to_file(path, "o")`` of TVM's module writes, ``function`` the
    name in its ``IRModule``; arrays are its buffers in order, with the shapes that it declares.

    Raises:
        MachineError: Unicorn is not installed.
        UsageError: the file has no such function, or the emulator does not run it.
    """
    code, symbols = _loaded(object_file)
    entry = symbols.get(f"__tvm_ffi_{function}")
    if entry is None:
        raise UsageError(
            "the object file has no such function",
            expected=" | ".join(x for x in symbols if x.startswith("__tvm_ffi_")),
            got=function,
        )
    memory = _Memory(DATA)
    places = [memory.put(np.ascontiguousarray(each).tobytes()) for each in arrays]
    packed = b""
    for each, place in zip(arrays, places, strict=True):
        tensor = memory.put(_tensor(each, place, memory))
        packed += struct.pack("<iIq", _DL_TENSOR, 0, tensor)
    passed = [0, memory.put(packed), len(arrays), memory.put(bytes(16))]
    found = _run(code, entry, memory, passed, "aarch64")
    return [_read(found, at - DATA, each) for at, each in zip(places, arrays, strict=True)]


def _read(memory: bytes, at: int, like: AnyArray) -> AnyArray:
    found = np.frombuffer(memory, like.dtype, like.size, at).reshape(like.shape)
    return found.copy()


def _run(
    code: bytes, entry: int, memory: _Memory, passed: Sequence[int], architecture: Architecture
) -> bytes:
    """Return the memory after a call of the function at ``entry`` in ``code``."""
    unicorn = package("unicorn")
    arm = architecture == "aarch64"
    registers = package("unicorn.arm64_const" if arm else "unicorn.x86_const")
    names = POINTERS[architecture]
    if len(passed) > len(names):
        raise UsageError(
            "too many arguments for the registers that pass them",
            expected=f"at most {len(names)}",
            got=len(passed),
        )
    if arm:
        machine = unicorn.Uc(unicorn.UC_ARCH_ARM64, unicorn.UC_MODE_ARM, registers.UC_CPU_ARM64_MAX)
        machine.reg_write(registers.UC_ARM64_REG_CPACR_EL1, FLOATING_POINT)
    else:
        machine = unicorn.Uc(unicorn.UC_ARCH_X86, unicorn.UC_MODE_64)
    for start, data in ((CODE, code), (DATA, bytes(memory.bytes))):
        machine.mem_map(start, _pages(len(data)))
        machine.mem_write(start, data)
    machine.mem_map(STACK, STACK_BYTES)
    top = STACK + STACK_BYTES // 2
    if arm:
        machine.reg_write(registers.UC_ARM64_REG_SP, top)
        machine.reg_write(registers.UC_ARM64_REG_X30, RETURN)
    else:
        machine.reg_write(registers.UC_X86_REG_RSP, top - 8)
        machine.mem_write(top - 8, RETURN.to_bytes(8, "little"))
    for name, value in zip(names, passed, strict=False):
        machine.reg_write(getattr(registers, name), value)
    counter = registers.UC_ARM64_REG_PC if arm else registers.UC_X86_REG_RIP
    try:
        machine.emu_start(CODE + entry, RETURN)
    except unicorn.UcError as error:
        at = machine.reg_read(counter) - CODE
        raise UsageError(
            "the emulator does not run this code",
            expected=f"{architecture} code that Unicorn {unicorn.__version__} knows, on its arrays",
            got=f"{error} at byte {at}"
            + (f": {code[at : at + 4].hex()}" if 0 <= at < len(code) else ""),
        ) from None
    return bytes(machine.mem_read(DATA, len(memory.bytes)))


def _pages(count: int) -> int:
    return -(-max(count, 1) // PAGE) * PAGE


# ---- what TVM's functions take: tensors as DLPack has them

_DL_TENSOR = 7  # TVM FFI's type index of a pointer to one
_CODES = {"i": 0, "u": 1, "f": 2}


def _tensor(array: AnyArray, place: int, memory: _Memory) -> bytes:
    shape = memory.put(struct.pack(f"<{array.ndim}q", *array.shape))
    code, bits = _CODES[array.dtype.kind], 8 * array.dtype.itemsize
    kind = struct.pack("<iBBH", array.ndim, code, bits, 1)
    return struct.pack("<Qii", place, 1, 0) + kind + struct.pack("<QQQ", shape, 0, 0)


# ---- object files, as far as TVM's code for AArch64 needs them


@dataclass(frozen=True)
class _Relocation:
    at: int  # in the image
    kind: int
    value: int  # in the image, or -1 for what another library has


@dataclass(frozen=True)
class _Object:
    """An object file with its sections side by side, and what must be filled in."""

    image: bytes
    symbols: dict[str, int]
    relocations: tuple[_Relocation, ...]

    @staticmethod
    def read(data: bytes) -> _Object:
        """Read an ELF file for AArch64.

        Raises:
            UsageError: it is no such file.
        """
        if data[:6] != b"\x7fELF\x02\x01" or struct.unpack_from("<H", data, 18)[0] != 183:
            raise UsageError(
                "not an object file for AArch64",
                expected="ELF, 64 bits, little endian, as write_to_file(path, 'o') writes it",
                got=data[:20].hex(),
            )
        start, size, count = (
            *struct.unpack_from("<Q", data, 40),
            *struct.unpack_from("<HH", data, 58),
        )
        headers = [struct.unpack_from("<IIQQQQIIQQ", data, start + i * size) for i in range(count)]
        image, at = bytearray(), {}
        for number, (_, kind, flags, _, offset, length, _, _, align, _) in enumerate(headers):
            if flags & 2 and kind in (1, 8):  # in memory: with data, or zeros
                image += bytes(-len(image) % max(align, 16))
                at[number] = len(image)
                image += data[offset : offset + length] if kind == 1 else bytes(length)
        symbols, places = {}, []
        for _, kind, _, _, offset, length, link, _, _, _ in headers:
            if kind != 2:
                continue
            names = headers[link][4]
            for entry in range(offset, offset + length, 24):
                name, _, _, section, value, _ = struct.unpack_from("<IBBHQQ", data, entry)
                text = data[names + name : data.index(b"\0", names + name)].decode()
                places.append(at[section] + value if section in at else -1)
                if text and section in at:
                    symbols[text] = places[-1]
        relocations = []
        for _, kind, _, _, offset, length, _, section, _, _ in headers:
            if kind != 4 or section not in at:
                continue
            for entry in range(offset, offset + length, 24):
                where, info, added = struct.unpack_from("<QQq", data, entry)
                place = places[info >> 32]
                value = place + added if place >= 0 else -1
                relocations.append(_Relocation(at[section] + where, info & 0xFFFFFFFF, value))
        return _Object(bytes(image), symbols, tuple(relocations))

    def linked(self, start: int) -> bytes:
        """Return the image as it is at an address; what other libraries have is left empty.

        TVM's functions call others only to raise errors.
        """
        got: dict[int, int] = {}
        image = bytearray(self.image)
        image += bytes(-len(image) % 8)
        for each in self.relocations:  # pages and offsets of the table of addresses
            if each.kind in _THROUGH_TABLE and each.value not in got:
                got[each.value] = len(image)
                target = start + each.value if each.value >= 0 else 0
                image += struct.pack("<Q", target)
        for each in self.relocations:
            value = got[each.value] if each.kind in _THROUGH_TABLE else each.value
            if value >= 0:
                _patch(image, each.at, each.kind, start + value, start + each.at)
        return bytes(image)


@lru_cache(maxsize=1)  # a file has many functions
def _loaded(object_file: bytes) -> tuple[bytes, dict[str, int]]:
    """Return the code of an object file as it is in memory, and where its functions start."""
    found = _Object.read(object_file)
    return found.linked(CODE), found.symbols


# Kinds of relocation (ELF for the Arm 64-bit architecture, table "static AArch64 relocations").
_PAGE_OF, _LOW_ADD, _JUMP, _CALL, _GOT_PAGE, _GOT_LOW = 275, 277, 282, 283, 311, 312
_LOW_SCALED = {278: 0, 284: 1, 285: 2, 286: 3, 299: 4}  # kind -> shift of a load's offset
_ABSOLUTE, _RELATIVE = (257, 8), (261, 4)
_THROUGH_TABLE = (_GOT_PAGE, _GOT_LOW)


def _patch(image: bytearray, at: int, kind: int, target: int, here: int) -> None:
    """Fill one address in; kinds that code does not have are left alone (debugging tables)."""
    if kind == _ABSOLUTE[0]:
        struct.pack_into("<Q", image, at, target)
        return
    if kind == _RELATIVE[0]:
        struct.pack_into("<i", image, at, target - here)
        return
    (word,) = struct.unpack_from("<I", image, at)
    if kind in (_PAGE_OF, _GOT_PAGE):
        pages = (target >> 12) - (here >> 12)
        word |= (pages & 3) << 29 | (pages >> 2 & 0x7FFFF) << 5
    elif kind == _LOW_ADD:
        word |= (target & 0xFFF) << 10
    elif kind in _LOW_SCALED:
        word |= ((target & 0xFFF) >> _LOW_SCALED[kind]) << 10
    elif kind == _GOT_LOW:
        word |= ((target & 0xFFF) >> 3) << 10
    elif kind in (_JUMP, _CALL):
        word |= (target - here) >> 2 & 0x3FFFFFF
    struct.pack_into("<I", image, at, word)
