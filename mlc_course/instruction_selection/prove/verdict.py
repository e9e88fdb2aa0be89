"""The answers to "are these lanes equal for all inputs?": proved, refuted, or not known."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

from mlc_course.errors import UsageError

# In the order in which they are tried. A certificate names the last one that was needed.
Method: TypeAlias = Literal[
    "same formula",
    "normal form",
    "each sum one variable",
    "tables",
    "each shared part one variable",
    "all inputs",
    "case by case",
]
_WORDS: dict[Method, str] = {
    "same formula": "both sides are the same formula",
    "normal form": "both sides have the same normal form",
    "each sum one variable": "both sides are equal with one variable for each sum",
    "tables": "both sides are equal where sub-formulas with the same table are one",
    "each shared part one variable": "both sides are equal with one variable for what they share",
    "all inputs": "both sides, or the parts of their difference, were computed on all inputs",
    "case by case": "both sides are equal in each case",
}
METHODS: tuple[Method, ...] = get_args(Method)
Json: TypeAlias = "dict[str, str | int | float | None]"


@dataclass(frozen=True)
class Certificate:
    """The way in which lanes were proved equal.

    ``classes`` of the ``lanes`` differ by more than the names of their variables; each class is one
    question. ``inputs`` is the number of inputs that were computed, of formulas or of their parts,
    and ``reason`` a sentence that a reader can follow, where there is one.
    """

    method: Method
    lanes: int
    classes: int
    inputs: int
    seconds: float
    reason: str | None = None

    def to_json(self) -> Json:
        """Return the certificate as a dictionary that JSON can hold."""
        return {
            "method": self.method,
            "lanes": self.lanes,
            "classes": self.classes,
            "inputs": self.inputs,
            "seconds": self.seconds,
            "reason": self.reason,
        }

    @staticmethod
    def from_json(data: Mapping[str, object]) -> Certificate:
        """Return the certificate that ``to_json`` wrote.

        Raises:
            UsageError: a field is missing or is not of its type.
        """
        method, reason = data.get("method"), data.get("reason")
        counts = [data.get(name) for name in ("lanes", "classes", "inputs")]
        seconds = data.get("seconds")
        if (
            method not in METHODS
            or not all(isinstance(x, int) and x >= 0 for x in counts)
            or not isinstance(seconds, int | float)
            or not isinstance(reason, str | None)
        ):
            raise UsageError(
                "this is no certificate of a proof",
                expected=f"method, lanes, classes, inputs, seconds, reason; a method of {METHODS}",
                got=dict(data),
            )
        known = next(each for each in METHODS if each == method)
        lanes, classes, inputs = (int(str(x)) for x in counts)
        return Certificate(known, lanes, classes, inputs, float(seconds), reason)

    def __str__(self) -> str:
        lanes = "one lane" if self.lanes == 1 else f"{self.lanes} lanes"
        if self.classes > 1:
            lanes += f" of {self.classes} kinds"
        elif self.lanes > 1:
            lanes += " of one kind"
        tried = f", {self.inputs:,} inputs" if self.inputs else ""
        why = f": {self.reason}" if self.reason else ""
        return f"{_WORDS[self.method]} ({lanes}{tried}){why}"


@dataclass(frozen=True)
class Proved:
    """The lanes are equal for all inputs."""

    certificate: Certificate

    def __str__(self) -> str:
        return f"Proved: {self.certificate}."


@dataclass(frozen=True)
class Refuted:
    """An input, by the names of the variables, on which a lane differs.

    The two values were computed with exact Python integers.
    """

    model: Mapping[str, int]
    lane: int
    wanted: int
    found: int

    def __str__(self) -> str:
        at = ", ".join(f"{name} = {value}" for name, value in self.model.items())
        where = f" in lane {self.lane}" if self.lane else ""
        return f"Different{f' at {at}' if at else ''}: {self.found} and not {self.wanted}{where}."


@dataclass(frozen=True)
class Unknown:
    """Neither a proof nor an input on which the lanes differ was found."""

    why: str

    def __str__(self) -> str:
        return f"Not known: {self.why}."


Verdict: TypeAlias = "Proved | Refuted | Unknown"
