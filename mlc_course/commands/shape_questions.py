"""Read questions on sizes: a formula such as ``B*S == T``, or a query such as ``same_shape %3 %7``.

``%3`` and ``%x`` are values of a program; a query is about their shapes.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from mlc_course.commands.names import SHAPE_FORMS
from mlc_course.dynamic_shape.ir import Dim, Equation, Module, parse_constraint, said
from mlc_course.dynamic_shape.solve import (
    AllProved,
    Claims,
    Refuted,
    Reshape,
    Solver,
    Unknown,
    ask_all,
    broadcast_is_redundant,
    equal_prefixes,
    fits,
    is_divisible,
    reshape_kind,
    same_count,
    same_shape,
)
from mlc_course.errors import CourseError, TextError, check_known

Shape = tuple[Dim, ...]
Reply = AllProved | Reshape | Refuted | Unknown
WORDS = re.compile(r"\s*\w+(\s+%?\w+)*\s*")  # a query; a formula has other signs
UNITS = {"": 1, "K": 2**10, "M": 2**20, "G": 2**30}


@dataclass(frozen=True)
class Question:
    """A question as it is printed, and the claims that it is made of, or a reshape's shapes."""

    text: str
    claims: Claims = ()
    reshape: tuple[Shape, Shape] | None = None

    def answer(self, solver: Solver) -> Reply:
        """Ask a solver."""
        return reshape_kind(solver, *self.reshape) if self.reshape else ask_all(solver, self.claims)


def read_question(text: str, module: Module) -> Question:
    """Return the question that a text asks of a program.

    Raises ``TextError`` for a text of no known form and for a value that is not in the program, or
    that another operator computes; ``ShapeError`` or ``UsageError`` for a number that a query
    cannot take.
    """
    if not WORDS.fullmatch(text):
        claim = parse_constraint(text)
        return Question(said(claim), (claim,))
    try:
        return _Reader(module).query(*text.split())
    except CourseError as error:
        error.add_note(f"in the query {text.strip()}")
        raise


def shape_text(dims: Shape) -> str:
    """Return a shape such as ``[B, S, 64]``."""
    return f"[{', '.join(map(str, dims))}]"


class _Reader:
    def __init__(self, module: Module) -> None:
        self.function = module.function
        values = range(len(self.function.types))
        self.numbers = {self.function.name_of(value): value for value in values}

    def query(self, name: str, *words: str) -> Question:
        check_known("no query", name, SHAPE_FORMS, TextError)
        shapes = {word: shape_text(self.shape(word)) for word in words if word.startswith("%")}
        text = " ".join((name, *(f"{word} {shapes.get(word, '')}".strip() for word in words)))
        match name, words:
            case "same_shape", (a, b):
                return Question(text, same_shape(self.shape(a), self.shape(b)))
            case "same_count", (a, b):
                return Question(text, same_count(self.shape(a), self.shape(b)))
            case "equal_prefixes", (a, i, b, j):
                ours, others = self.shape(a), self.shape(b)
                return Question(text, equal_prefixes(ours, number(i), others, number(j)))
            case "is_divisible", (a, by):
                return Question(text, is_divisible(self.shape(a), number(by)))
            case "fits", (a, size, limit):
                return Question(text, fits(self.shape(a), number(size), number(limit)))
            case "broadcast_is_redundant", (a,):
                equation, operand = self.computed(a, "broadcast")
                axes: Any = dict(equation.attributes)["dims"]
                claims = broadcast_is_redundant(operand, equation.type.dims, axes)
                return Question(f"{text} from {shape_text(operand)}", claims)
            case "reshape_kind", (a,):
                equation, operand = self.computed(a, "reshape")
                return Question(
                    f"{text} from {shape_text(operand)}", reshape=(operand, equation.type.dims)
                )
        example, _ = SHAPE_FORMS[name]
        raise TextError("a query", expected=f"such as {example}", got=" ".join((name, *words)))

    def value(self, word: str) -> int:
        check_known("no value", word, self.numbers, TextError)
        return self.numbers[word]

    def shape(self, word: str) -> Shape:
        return self.function.types[self.value(word)].dims

    def computed(self, word: str, op: str) -> tuple[Equation, Shape]:
        """Return the equation of a value that an operator computes, and its operand's shape."""
        at = self.value(word) - len(self.function.inputs)
        name = self.function.equations[at].op.name if at >= 0 else "an input"
        if name != op:
            raise TextError(word, expected=f"a value that {op} computes", got=name)
        equation = self.function.equations[at]
        return equation, self.function.types[equation.operands[0]].dims


def number(word: str) -> int:
    """Return a number such as 4096 or 48K; raise ``TextError`` for another word."""
    found = re.fullmatch(r"([0-9]{1,13})([KMG]?)", word)
    if not found:
        raise TextError("a number", expected="such as 4096, or 48K for 48*1024", got=word)
    return int(found[1]) * UNITS[found[2]]
