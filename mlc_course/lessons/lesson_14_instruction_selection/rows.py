"""Rows of the table that a reader writes from the words of a manual: as data, read as formulas.

A row is ``{"reads": "s16*2, s16*2", "result": "s32", "lane": "wrap(s32, a[0] * b[0] + ...)"}``:
what one lane of the result is, over exact integers. Operands are ``a``, ``b``, ``c`` in their
order; an operand of which several lanes are read is a list.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NoReturn

from mlc_course.errors import UnmetCheck, UsageError
from mlc_course.instruction_selection.integers import (
    Formula,
    IntType,
    Operand,
    absolute,
    const,
    equals,
    greater,
    int_type,
    lift,
    maximum,
    minimum,
    reread,
    saturate,
    variable,
    where,
    wrap,
)
from mlc_course.instruction_selection.prove import Proved, Refuted, prove_equal

LONGEST = 300  # characters of a lane
LARGEST = 1 << 64
NAMES = "abc"
_TYPED = {"wrap": wrap, "saturate": saturate}
_PLAIN: dict[str, tuple[int, Callable[..., Formula]]] = {
    "minimum": (2, minimum),
    "maximum": (2, maximum),
    "absolute": (1, absolute),
    "where": (3, where),
    "equals": (2, equals),
    "greater": (2, greater),
}
_KNOWN = f"+ - * << >> & | ^, {', '.join((*_TYPED, *_PLAIN))}, types such as s16, whole numbers"


@dataclass(frozen=True)
class ManualRow:
    """An instruction as a manual tells it, and its row: types with lanes, and the meaning.

    ``hint`` says what to look at where an answer is refuted.
    """

    name: str
    text: str
    reads: str = field(
        repr=False
    )  # a reader who looks at an exercise's row does not see the answer
    result: str = field(repr=False)
    lane: Callable[..., Operand] = field(repr=False)
    hint: str = field(repr=False)

    def inputs(self) -> list[list[Formula]]:
        """Return variables for the lanes of each operand."""
        return [
            [variable(f"{name}[{i}]" if lanes > 1 else name, of) for i in range(lanes)]
            for name, (of, lanes) in zip(NAMES, _reads(self.reads), strict=False)
        ]


TO_WRITE: Mapping[str, ManualRow] = {
    each.name: each
    for each in (
        ManualRow(
            "vphsubsw",
            "Subtracts the second of each pair of adjacent signed 16-bit integers of an operand\n"
            "from the first, and packs the signed saturated results into the destination.\n"
            "  DEST.word[i] := SaturateToSignedWord(SRC.word[2*i] - SRC.word[2*i + 1])",
            "s16*2",
            "s16",
            lambda a: saturate(int_type("s16"), a[0] - a[1]),
            "which lane is subtracted from which, and what becomes of a difference below -32768?",
        ),
        ManualRow(
            "vpshldw #5",
            "Concatenates words of the first and the second source to 32 bits, the first above\n"
            "the second, shifts the result left by 5, and stores the upper 16 bits.\n"
            "  tmp[31:0] := SRC1.word[i] : SRC2.word[i]\n"
            "  DEST.word[i] := (tmp << 5)[31:16]",
            "u16, u16",
            "u16",
            lambda a, b: wrap(int_type("u16"), (a << 5) | (b >> 11)),
            "which bits of b come in from below, and which bits of a are shifted out?",
        ),
        ManualRow(
            "vpdpwssds",
            "Multiplies two pairs of signed words, and adds both products to the signed\n"
            "doubleword of the destination, with signed saturation of the sum.\n"
            "  p1 := SRC1.word[2*i] * SRC2.word[2*i]          (signed, 32 bits)\n"
            "  p2 := SRC1.word[2*i + 1] * SRC2.word[2*i + 1]  (signed, 32 bits)\n"
            "  DEST.dword[i] := SaturateToSignedDword(DEST.dword[i] + p1 + p2)",
            "s32, s16*2, s16*2",
            "s32",
            lambda a, b, c: saturate(int_type("s32"), a + b[0] * c[0] + b[1] * c[1]),
            "is anything rounded, wrapped or saturated before all three are added?",
        ),
    )
}


def check_row(row: ManualRow, answer: Mapping[str, object]) -> str:
    """Prove that an answer is the row; return a sentence.

    Raises:
        UnmetCheck: it is not read, or it means something else, with an input that tells them apart.
    """
    given = {key: _text(row, key, answer[key]) for key in ("reads", "result", "lane")}
    try:
        reads, result = _reads(given["reads"]), int_type(given["result"])
    except UsageError as error:
        raise UnmetCheck(
            f"{row.name}: types that cannot be read",
            expected='such as "s32, u8*4": a type for each operand, and *lanes where it reads more',
            got=error.got,
        ) from None
    wanted = _reads(row.reads)
    bits = [of.bits * lanes for of, lanes in reads]
    if (
        bits != [of.bits * lanes for of, lanes in wanted]
        or result.bits != int_type(row.result).bits
    ):
        raise UnmetCheck(
            f"{row.name}: it reads or writes other lanes",
            expected="what one lane of the result needs of each operand, in the manual's order",
            got=f"{given['reads']} -> {given['result']}",
            hint="which lanes of the sources does DEST[i] depend on, and how wide are they?",
        )
    inputs = row.inputs()
    known = {
        name: reread(lanes, true, of)
        for name, lanes, (true, _), (of, _) in zip(NAMES, inputs, wanted, reads, strict=False)
    }
    found = _Lane(row.name, known).formula(given["lane"])
    lane = lift(row.lane(*(x[0] if len(x) == 1 else x for x in inputs)))
    verdict = prove_equal([wrap(result, lane)], [found])
    match verdict:
        case Proved():
            return f"{row.name} is proved"
        case Refuted():
            at = ", ".join(f"{name} = {value}" for name, value in verdict.model.items())
            if not result.holds(verdict.found, verdict.found):
                raise UnmetCheck(
                    f"{row.name}: a lane of {result} cannot hold this",
                    expected=f"{result.lo:,} to {result.hi:,}, for all inputs",
                    got=f"{verdict.found:,} at {at}",
                    hint="does the manual wrap, or does it saturate?",
                )
            raise UnmetCheck(
                f"{row.name}: the instruction computes something else",
                expected=f"{verdict.wanted} at {at}",
                got=verdict.found,
                hint=row.hint,
            )
        case _:
            raise UnmetCheck(
                f"{row.name}: no method proves it",
                expected="the manual's formula, in its own steps",
                got=given["lane"],
            )


def _text(row: ManualRow, key: str, value: object) -> str:
    if type(value) is not str or not value.strip() or len(value) > LONGEST:
        raise UnmetCheck(
            f"{row.name}: {key} is no text", expected=f"at most {LONGEST} characters", got=value
        )
    return value.strip()


def _reads(text: str) -> list[tuple[IntType, int]]:
    found = []
    for part in text.split(","):
        of, star, lanes = part.partition("*")
        if star and lanes.strip() not in ("1", "2", "4", "8"):
            raise UsageError("no number of lanes", expected="2, 4 or 8", got=part.strip())
        found.append((int_type(of), int(lanes) if star else 1))
    return found


class _Lane:
    """Reads the formula of a lane."""

    def __init__(self, row: str, known: Mapping[str, Sequence[Formula]]) -> None:
        self.row, self.known = row, known

    def formula(self, text: str) -> Formula:
        try:
            tree = ast.parse(text, mode="eval")
            return self.value(tree.body)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            raise UnmetCheck(
                f"{self.row}: the lane cannot be read", expected=_KNOWN, got=text
            ) from None
        except UsageError as error:
            raise UnmetCheck(f"{self.row}: {error.what}", expected=_KNOWN, got=text) from None

    def value(self, tree: ast.expr) -> Formula:
        match tree:
            case ast.Constant(value=int(number)) if type(number) is int and number < LARGEST:
                return const(number)
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return const(0) - self.value(operand)
            case ast.BinOp(left=left, op=op, right=right):
                return self.binary(op, self.value(left), self.value(right))
            case ast.Name(id=name) if name in self.known:
                lanes = self.known[name]
                if len(lanes) > 1:
                    self.refuse(f"{name} is {len(lanes)} lanes", f"{name}[0]", name)
                return lanes[0]
            case ast.Subscript(value=ast.Name(id=name), slice=ast.Constant(value=int(at))):
                lanes = self.known.get(name, ())
                if not 0 <= at < len(lanes):
                    self.refuse("no such lane", ", ".join(self.known), f"{name}[{at}]")
                return lanes[at]
            case ast.Call(func=ast.Name(id=name), args=arguments, keywords=[]):
                return self.call(name, arguments)
        self.refuse("this is no part of a lane", _KNOWN, ast.unparse(tree))

    def binary(self, op: ast.operator, left: Formula, right: Formula) -> Formula:
        match op:
            case ast.Add():
                return left + right
            case ast.Sub():
                return left - right
            case ast.Mult():
                return left * right
            case ast.BitAnd():
                return left & right
            case ast.BitOr():
                return left | right
            case ast.BitXor():
                return left ^ right
            case ast.LShift() | ast.RShift() if right.lo == right.hi and 0 <= right.lo < 64:
                shifted = left << right.lo if isinstance(op, ast.LShift) else left >> right.lo
                return shifted
            case ast.LShift() | ast.RShift():
                self.refuse("a shift by no number", "<< 5: by a number of 0 to 63", str(right))
        self.refuse("no such operator", _KNOWN, type(op).__name__)

    def call(self, name: str, arguments: Sequence[ast.expr]) -> Formula:
        if name in _TYPED and len(arguments) == 2 and isinstance(arguments[0], ast.Name):
            return _TYPED[name](int_type(arguments[0].id), self.value(arguments[1]))
        if name in _PLAIN and len(arguments) == _PLAIN[name][0]:
            return _PLAIN[name][1](*map(self.value, arguments))
        expected = ", ".join([f"{each}(s16, x)" for each in _TYPED] + list(_PLAIN))
        self.refuse("no such function, or other arguments", expected, name)

    def refuse(self, what: str, expected: str, got: Any) -> NoReturn:
        raise UnmetCheck(f"{self.row}: {what}", expected=expected, got=got)
