"""Write the meaning of an operator, a Python function, down as the text of a graph."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from mlc_course.errors import CourseError, GraphError
from mlc_course.mugraph.ir import Builder, Value, ops

REFUSED = "not written down: "
NO_NUMBER = "x stands for a formula here, which math and comparisons cannot take"
HIGHEST = 8  # power that is written down, factor by factor


@dataclass(frozen=True)
class Formula:
    """A formula that writes itself down: ``+ - * /`` and whole powers, with whole numbers."""

    value: Value

    def __add__(self, other: Formula | int) -> Formula:
        return Formula(self.value + _plain(other))

    def __sub__(self, other: Formula | int) -> Formula:
        return Formula(self.value - _plain(other))

    def __mul__(self, other: Formula | int) -> Formula:
        return Formula(self.value * _plain(other))

    def __truediv__(self, other: Formula | int) -> Formula:
        return Formula(self.value / _plain(other))

    def __pow__(self, power: int) -> Formula:
        if not (isinstance(power, int) and 1 <= power <= HIGHEST):
            told = "a formula" if isinstance(power, Formula) else repr(power)
            raise _too_much(f"** {told}", hint="powers are whole numbers from 1 to 8")
        made = self
        for _ in range(power - 1):
            made = made * self
        return made

    def __array_ufunc__(self, function: Any, method: str, *args: Any, **options: Any) -> Any:
        raise _too_much(f"np.{function.__name__}", hint="NumPy computes with floats, not residues")

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        raise _too_much(f"x.{name}")

    def __neg__(self) -> Formula:
        return Formula(-self.value)

    def __rsub__(self, other: int) -> Formula:
        return -self + other

    def __rtruediv__(self, other: int) -> Formula:
        nothing = self.value - self.value  # a graph has no numbers but in shift and scale
        return Formula((nothing + other) / self.value)

    __radd__, __rmul__ = __add__, __mul__


def _plain(other: object) -> Any:
    if isinstance(other, Formula):
        return other.value
    if isinstance(other, int):
        return other
    raise _too_much(repr(other), hint="numbers are whole here: write x / 2, not 0.5 * x")


def _too_much(got: str, *, hint: str = "") -> GraphError:
    return GraphError(
        f"{got} is more than a field has", expected="m.exp and + - * /", got=got, hint=hint or None
    )


class Writing:
    """The arithmetic that writes down the operators it is asked for."""

    def exp(self, x: object) -> Formula:
        if not isinstance(x, Formula):
            raise _too_much(f"m.exp({x!r})", hint="m.exp takes a formula of x")
        return Formula(ops.exp(x.value))

    def __getattr__(self, name: str) -> Any:
        raise _too_much(f"m.{name}")


def written_as(meaning: Callable[[Any, Any], Any], name: str) -> str | None:
    """Return the text of a graph ``name(X[n=8])`` that computes ``meaning(m, x)``.

    None for a meaning that is not written yet. Where it uses more of ``m`` than exp, fails, or
    returns no formula, the text is ``REFUSED`` and the reason: it replaces an earlier text, which
    would otherwise be judged once more.
    """
    builder = Builder(name)
    try:
        made = meaning(Writing(), Formula(builder.input("X", "n=8")))
        if made is None or made is ...:
            return None
        if not isinstance(made, Formula):
            got = "a function, without (...)" if callable(made) else repr(made)
            raise GraphError(f"{name} returns no formula of x", got=got)
    except NotImplementedError:
        return None
    except CourseError as error:
        return f"{REFUSED}{error}"
    except Exception as error:
        said = f"{REFUSED}{name} fails\n  got       {type(error).__name__}: {error}"
        return f"{said}\n  hint      {NO_NUMBER}" if "Formula" in str(error) else said
    return str(builder.returns(made.value))
