"""Symbolic dimensions: sizes that are known when the program runs."""

from __future__ import annotations

import keyword
import unicodedata
from dataclasses import dataclass

from mlc_course.errors import UsageError

Dim = int | str  # a size, or the name of a symbolic dimension
LARGEST = 2**40  # of a size that is written in a program


def is_name(text: str) -> bool:
    """Tell whether a text can be a dimension's name, also in a formula."""
    is_plain = unicodedata.normalize("NFKC", text) == text
    return text.isidentifier() and is_plain and not keyword.iskeyword(text)


@dataclass(frozen=True)
class SymbolicDim:
    """A size that is not known yet; it is at least 1.

    ``ranges`` are the sizes it may have, as pairs of the smallest and the largest, or None where
    there is no largest. ``likely`` are sizes that it often has: they choose between variants of a
    kernel, and never prove anything.
    """

    name: str
    ranges: tuple[tuple[int, int | None], ...] = ((1, None),)
    likely: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        """Raise ``UsageError`` for a bad name, an empty range, a likely size outside of all."""
        if not is_name(self.name):
            raise UsageError("a symbolic dimension", expected="a name", got=repr(self.name))
        for low, high in self.ranges:
            if not 1 <= low <= (low if high is None else high) <= LARGEST:
                raise UsageError(
                    f"{self.name}: a range of sizes",
                    expected=f"[low, high] with 1 <= low <= high <= {LARGEST}",
                    got=[low, high],
                )
        if not self.ranges:
            raise UsageError(f"{self.name}: no range", expected="one or more", got="none")
        for size in self.likely:
            if not self.may_be(size):
                raise UsageError(
                    f"{self.name}: a likely size outside its ranges",
                    expected=" or ".join(map(_range_text, self.ranges)),
                    got=size,
                )

    @property
    def smallest(self) -> int:
        """The smallest size of all ranges."""
        return min(low for low, _ in self.ranges)

    @property
    def largest(self) -> int | None:
        """The largest size of all ranges, or None."""
        highs = [high for _, high in self.ranges]
        return None if None in highs else max(high for high in highs if high is not None)

    def may_be(self, size: int) -> bool:
        """Tell whether one of the ranges holds a size."""
        return any(low <= size and (high is None or size <= high) for low, high in self.ranges)


def _range_text(bounds: tuple[int, int | None]) -> str:
    low, high = bounds
    return f"at least {low}" if high is None else f"{low} to {high}"
