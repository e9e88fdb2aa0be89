"""Machine code of another processor as bytes, and the memory of a call, for an emulator.

TVM's function takes a row of arguments, each a type and a pointer to a description of an array
(DLPack's ``DLTensor``). Sources: ELF for the Arm 64-bit architecture (relocations), and
``tvm/ffi/c_api.h`` (``TVMFFIAny``).
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from mlc_course.errors import MachineError

Array: TypeAlias = "npt.NDArray[np.signedinteger | np.unsignedinteger]"

ENTRY = "__tvm_ffi_main"
ALLOCATED, SYMBOLS, RELOCATIONS = 2, 2, 4  # sh_flags, and two of sh_type
ANY_TENSOR = 7  # TVMFFIAny's type of a pointer to a DLTensor
CPU = 1  # DLPack's type of device
KINDS = {"i": 0, "u": 1}  # DLPack's codes of integers
LINE = 64  # bytes; arrays begin at a multiple
STUB = bytes.fromhex("000020d4")  # brk #0: a call of TVM's runtime ends the emulation


@dataclass(frozen=True)
class MachineCode:
    """Code and constants as they lie in memory from ``base`` on.

    The function begins at ``entry``. Called as C calls ``f(NULL, arguments, count, result)``, it
    returns 0. Whatever calls the runtime, to report an error, jumps to a breakpoint at ``stub``.
    """

    image: bytes
    base: int
    entry: int
    stub: int


@dataclass(frozen=True)
class CallMemory:
    """Memory of a call, from ``base`` on: arguments, descriptions of arrays, and the arrays.

    ``arguments`` and ``result`` are addresses to pass, ``count`` is the number of arguments, and
    ``arrays`` are the addresses of the arrays by their names.
    """

    memory: bytes
    base: int
    arguments: int
    count: int
    result: int
    arrays: Mapping[str, int]

    def read(self, memory: bytes, name: str, like: Array) -> Array:
        """Return an array of the shape and type of ``like`` from the memory after a call."""
        at = self.arrays[name] - self.base
        held = np.frombuffer(memory[at : at + like.nbytes], like.dtype)
        return held.reshape(like.shape).copy()


def call_memory(arrays: Mapping[str, Array], base: int) -> CallMemory:
    """Return the memory of a call with these arrays, in the order of the parameters."""
    count = len(arrays)
    described = 16 * (count + 1)  # TVMFFIAny: an argument each, and the result
    shapes = described + 48 * count
    size = shapes + sum(8 * each.ndim for each in arrays.values())
    places: dict[str, int] = {}
    for name, each in arrays.items():
        places[name] = size = -(-size // LINE) * LINE
        size += each.nbytes
    memory = bytearray(size)
    for number, (name, each) in enumerate(arrays.items()):
        here = described + 48 * number
        struct.pack_into("<iiQ", memory, 16 * number, ANY_TENSOR, 0, base + here)
        kind, bits = KINDS[each.dtype.kind], 8 * each.dtype.itemsize
        fields = base + places[name], CPU, 0, each.ndim, kind, bits, 1, base + shapes, 0, 0
        struct.pack_into("<QiiiBBHQQQ", memory, here, *fields)
        struct.pack_into(f"<{each.ndim}q", memory, shapes, *each.shape)
        shapes += 8 * each.ndim
        data = np.ascontiguousarray(each).tobytes()
        memory[places[name] : places[name] + len(data)] = data
    addresses = {name: base + at for name, at in places.items()}
    return CallMemory(bytes(memory), base, base, count, base + 16 * count, addresses)


@dataclass(frozen=True)
class _Section:
    name: str
    kind: int
    flags: int
    offset: int
    size: int
    link: int
    info: int
    alignment: int


def machine_code(object_file: bytes, base: int, entry: str = ENTRY) -> MachineCode:
    """Return the code of an AArch64 object file, placed and linked to lie at ``base``.

    ``base`` is a multiple of 4,096.

    Raises:
        MachineError: this is no such file, it has no function of that name, or it asks for a
            relocation that is not known here.
    """
    if object_file[:6] != b"\x7fELF\x02\x01" or _half(object_file, 18) != 183:
        raise MachineError(
            "this is no object file that can be placed here",
            expected="an ELF file for AArch64",
            got=object_file[:6],
        )
    sections = list(_sections(object_file))
    places: dict[int, int] = {}
    image = bytearray()
    for number, each in enumerate(sections):
        if each.flags & ALLOCATED and each.name != ".eh_frame":
            image += bytes(-len(image) % max(each.alignment, 1))
            places[number] = len(image)
            image += object_file[each.offset : each.offset + each.size]
    image += bytes(-len(image) % 4)
    stub = len(image)
    image += STUB
    symbols = list(_symbols(object_file, sections))
    for each in sections:
        if each.kind != RELOCATIONS or each.info not in places:
            continue
        for at in range(each.offset, each.offset + each.size, 24):
            offset, info, addend = struct.unpack_from("<QQq", object_file, at)
            name, section, value = symbols[info >> 32]
            target = stub if section not in places else places[section] + value
            _relocate(image, base, places[each.info] + offset, info & 0xFFFFFFFF, target + addend)
    known = {name: places[section] + value for name, section, value in symbols if section in places}
    if entry not in known:
        raise MachineError(
            "the object file has no such function",
            expected=entry,
            got=", ".join(filter(None, known)),
        )
    return MachineCode(bytes(image), base, base + known[entry], base + stub)


def _half(data: bytes, at: int) -> int:
    return int(struct.unpack_from("<H", data, at)[0])


def _sections(data: bytes) -> Iterator[_Section]:
    (start,) = struct.unpack_from("<Q", data, 0x28)
    count, names = _half(data, 0x3C), _half(data, 0x3E)
    raw = [struct.unpack_from("<IIQQQQIIQQ", data, start + 64 * i) for i in range(count)]
    texts = raw[names][4]
    for name, kind, flags, _, offset, size, link, info, alignment, _ in raw:
        end = data.index(0, texts + name)
        text = data[texts + name : end].decode()
        yield _Section(text, kind, flags, offset, size, link, info, alignment)


def _symbols(data: bytes, sections: list[_Section]) -> Iterator[tuple[str, int, int]]:
    """Yield the name, the section and the value of each symbol."""
    table = next(each for each in sections if each.kind == SYMBOLS)
    texts = sections[table.link].offset
    for at in range(table.offset, table.offset + table.size, 24):
        name, _, _, section, value, _ = struct.unpack_from("<IBBHQQ", data, at)
        end = data.index(0, texts + name)
        yield data[texts + name : end].decode(), section, value


# R_AARCH64_LDST*_ABS_LO12_NC and ADD_ABS_LO12_NC: the low 12 bits of an address, over the bytes
# that the instruction moves.
_LOW_12 = {277: 1, 278: 1, 284: 2, 285: 4, 286: 8, 299: 16}


def _relocate(image: bytearray, base: int, at: int, kind: int, target: int) -> None:
    """Write the address of ``target``, an offset in the image, into the instruction at ``at``."""
    (word,) = struct.unpack_from("<I", image, at)
    address, here = base + target, base + at
    match kind:
        case 257:  # R_AARCH64_ABS64
            struct.pack_into("<Q", image, at, address)
            return
        case 261:  # R_AARCH64_PREL32
            struct.pack_into("<i", image, at, address - here)
            return
        case 275:  # R_AARCH64_ADR_PREL_PG_HI21
            pages = (address >> 12) - (here >> 12)
            word |= (pages & 3) << 29 | ((pages >> 2) & 0x7FFFF) << 5
        case 282 | 283:  # R_AARCH64_JUMP26, R_AARCH64_CALL26
            word |= ((address - here) >> 2) & 0x3FFFFFF
        case _ if kind in _LOW_12:
            word |= ((address & 0xFFF) // _LOW_12[kind]) << 10
        case _:
            raise MachineError(
                "the object file asks for a relocation that is not known here",
                expected="those of code and constants",
                got=kind,
            )
    struct.pack_into("<I", image, at, word)
