"""Integer types of lanes: signed or unsigned, 1 to 64 bits."""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np

from mlc_course.errors import UsageError

_TEXT = re.compile(r"(s|u|int|uint)(8|16|32|64)")


@dataclass(frozen=True, order=True)
class IntType:
    """A two's complement integer type; ``str(U8)`` is ``u8``, ``U8.dtype`` is ``uint8``."""

    signed: bool
    bits: int

    @property
    def bytes(self) -> int:
        return self.bits // 8

    @property
    def lo(self) -> int:
        """The least value of the type."""
        return -(1 << (self.bits - 1)) if self.signed else 0

    @property
    def hi(self) -> int:
        """The greatest value of the type."""
        return (1 << (self.bits - self.signed)) - 1

    @property
    def dtype(self) -> str:
        """The name that NumPy and TVM use."""
        return f"{'' if self.signed else 'u'}int{self.bits}"

    @property
    def numpy(self) -> np.dtype[np.signedinteger | np.unsignedinteger]:
        return np.dtype(self.dtype)

    def holds(self, lo: int, hi: int) -> bool:
        """Return whether every integer from ``lo`` to ``hi`` is a value of the type."""
        return self.lo <= lo and hi <= self.hi

    def wrapped(self, value: int) -> int:
        """Return the value of the type that has the low bits of ``value``."""
        low = value & ((1 << self.bits) - 1)
        return low - (1 << self.bits) if low > self.hi else low

    def __str__(self) -> str:
        return f"{'s' if self.signed else 'u'}{self.bits}"


def int_type(text: str) -> IntType:
    """Return the type that a text such as ``u8``, ``s16`` or ``int32`` names.

    Raises:
        UsageError: the text names no integer type.
    """
    found = _TEXT.fullmatch(text.strip())
    if found is None:
        raise UsageError(
            "this is no type of an integer lane",
            expected="u8, s8, u16, s16, u32, s32, u64 or s64",
            got=text,
        )
    return IntType(found[1] in ("s", "int"), int(found[2]))


def bits_for(lo: int, hi: int) -> int:
    """Return the bits of the narrowest two's complement word that holds ``lo`` to ``hi``."""
    return max(x.bit_length() if x >= 0 else (~x).bit_length() for x in (lo, hi)) + 1


U8, S8, U16, S16, U32, S32, U64, S64 = (
    IntType(signed, bits) for bits in (8, 16, 32, 64) for signed in (False, True)
)
BOOL = IntType(signed=False, bits=1)
