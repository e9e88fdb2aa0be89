"""max and min as free functions of the multiset of their arguments.

A stable softmax, and every form of FlashAttention, subtracts a maximum that cancels in the end.
Such graphs are equal whatever the maximum is, so it may be any function of the values that it is
taken of, in any order: a *free* maximum. max of max is one maximum of all, and max knows no more
laws than that; with relu(x) = max(x, 0), relu(2x) = 2 relu(x) takes others.

What is equal for every such function is equal for max. A test with a free maximum needs no luck
with a random order, in which hundreds of tests say what here two do.
"""

from __future__ import annotations

from typing import Any


class FreeMaxima:
    """Defines max and min in an arithmetic by its functions and its sums.

    The maximum of x and y is f(g(x) + g(y)), where f and g are functions that nothing is known of.
    """

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self._of: dict[int, tuple[Any, str, Any]] = {}  # maxima, and what is inside of f

    def maximum(self, x: Any, y: Any) -> Any:
        return self._largest("max", self._members("max", x) + self._members("max", y))

    def minimum(self, x: Any, y: Any) -> Any:
        return self._largest("min", self._members("min", x) + self._members("min", y))

    def max(self, x: Any, axis: int) -> Any:
        if x.shape[axis] == 1:
            return x
        return self._largest("max", self.sum(self._members("max", x), axis))

    def _members(self, name: str, x: Any) -> Any:
        known = self.is_largest_of(x)
        if known and known[0] == name:
            return known[1]
        return self.function(f"{name} of", x)

    def _largest(self, name: str, members: Any) -> Any:
        found = self.function(name, members)
        self.keep_members(found, name, members)
        return found

    def is_largest_of(self, x: Any) -> tuple[str, Any] | None:
        """Return max or min and what is inside of f, if x is known to be such a value."""
        known = self._of.get(id(x))
        return known and known[1:]

    def keep_members(self, x: Any, name: str, members: Any) -> None:
        """Remember of x, as it is read back from somewhere, that it is f of these members."""
        self._of[id(x)] = x, name, members

    def sum(self, x: Any, axis: int) -> Any:
        """Add up along an axis, as the arithmetic does."""
        return super().sum(x, axis)  # type: ignore[misc]

    def function(self, name: str, x: Any) -> Any:
        """Apply a function of which only its name is known, as the arithmetic does."""
        return super().function(name, x)  # type: ignore[misc]
