"""An instruction as data: types, the meaning of a lane, what it needs, how TVM reaches it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from types import MappingProxyType
from typing import Literal, TypeAlias

from mlc_course.errors import UsageError
from mlc_course.instruction_selection.integers import (
    Formula,
    IntType,
    Operand,
    int_type,
    lift,
    variable,
)

# A meaning builds the formula of one lane of the result: from T, the type that a row of a family is
# for, and for each operand its lane, or the list of the lanes that one lane of the result reads.
Meaning: TypeAlias = "Callable[..., Operand]"
# ``lane``: lane i of the result reads lanes i of the operands (or the i-th group of lanes).
# ``long``: the same, with lanes of the result twice as wide: it takes two registers.
# ``narrow``: two registers become one with lanes half as wide. ``widen``: one becomes two.
# ``interleave``: lanes of two registers in turns, as two registers.
# A result of two registers takes two instructions, one for the low half of the operands and one for
# the high half: punpcklbw and punpckhbw, uaddl and uaddl2. So does NEON's ``narrow``: sqxtun fills
# the low half of a register, and sqxtun2 the high half; x86's packs take both registers at once.
Kind: TypeAlias = Literal["lane", "long", "narrow", "widen", "interleave"]

WIDTHS = (128, 256, 512)
SUFFIXES = {8: "b", 16: "w", 32: "d", 64: "q"}


@dataclass(frozen=True)
class Read:
    """The lanes of an operand that one lane of the result reads: their type and number."""

    type: IntType
    lanes: int = 1

    @property
    def bytes(self) -> int:
        return self.type.bytes * self.lanes


@dataclass(frozen=True)
class Instruction:
    """One instruction of a vector unit.

    ``reach`` says for each width in bits how TVM reaches the instruction, and ``tir_text`` makes an
    expression of it:

    ==================  ==========================================================================
    ``llvm.NAME``       LLVM's intrinsic of the operands, and of the immediate as a last, int32 one
    ``halves(NAME)``    the intrinsic of each of two registers, as halves of one
    ``unpack``          lanes of two registers in turns (of one register and of zeros)
    ``extend``          half of a register, each lane extended to twice its width
    ``mask(...)``       all bits of a lane where the expression holds, none elsewhere
    other text          an expression of TIR: ``{0}`` and ``{1}`` are the operands (of ``long``,
                        their extended halves), ``{k}`` is the immediate in every lane, ``{less_k}``
                        its negative; ``llvm.NAME(...)`` is an intrinsic with the type of the result
    ==================  ==========================================================================

    ``cycles`` is the reciprocal throughput: 0.5 where a processor starts two in a cycle. It was
    measured on one processor for x86; for NEON it is a guess. It ranks programs of equal
    ``weight``, the number of micro-operations that the search counts, and is good for nothing else.
    """

    name: str
    family: str
    reads: tuple[Read, ...]
    result: IntType
    meaning: Meaning = field(compare=False, repr=False)
    reach: Mapping[int, str] = field(compare=False, repr=False)
    feature: str
    cycles: float
    kind: Kind = "lane"
    commutes: bool = False
    has_immediate: bool = False
    immediate: int | None = None
    weight: int = 1
    named_by_type: bool = True  # the name tells the type of the lanes

    def __post_init__(self) -> None:
        empty = [
            name
            for name in ("name", "family", "reads", "reach", "feature")
            if not getattr(self, name)
        ]
        if empty or self.cycles <= 0 or self.weight < 1 or not set(self.reach) <= set(WIDTHS):
            raise UsageError(
                f"the row of {self.name or 'an instruction'} lacks something",
                expected=f"a name, operands, a feature, cycles, its reach at some of {WIDTHS} bits",
                got=", ".join(empty) or f"cycles {self.cycles}, widths {sorted(self.reach)}",
            )

    def with_immediate(self, value: int) -> Instruction:
        return replace(self, immediate=value)

    def lane(self, *operands: Operand | Sequence[Operand]) -> Formula:
        """Return one lane of the result, from the lanes of each operand that it reads.

        An operand of which one lane is read is a formula, others are sequences of formulas.
        """
        fixed = () if self.immediate is None else (self.immediate,)
        return lift(self.meaning(*operands, *fixed))

    def lanes(self, operands: Sequence[Sequence[Operand]]) -> list[Formula]:
        """Return all lanes of the result from all lanes of each operand, in the order of memory.

        For ``interleave`` these are the lanes in turns; the order in which registers hold them is
        not a matter of the meaning.
        """
        if self.kind == "interleave":
            return [lift(x) for together in zip(*operands, strict=True) for x in together]
        count = len(operands[0]) // self.reads[0].lanes
        groups = [
            [lanes[i * r.lanes : (i + 1) * r.lanes] for i in range(count)]
            for lanes, r in zip(operands, self.reads, strict=True)
        ]
        return [
            self.lane(*(part[0] if len(part) == 1 else part for part in parts))
            for parts in zip(*groups, strict=True)
        ]

    @cached_property
    def variables(self) -> tuple[tuple[Formula, ...], ...]:
        """Variables for the lanes that one lane of the result reads, for each operand."""
        return tuple(
            tuple(
                variable("abc"[at] + (str(i) if read.lanes > 1 else ""), read.type)
                for i in range(read.lanes)
            )
            for at, read in enumerate(self.reads)
        )

    @cached_property
    def formula(self) -> Formula:
        """The meaning of one lane, over ``variables``; an immediate must be given."""
        return self.lane(*(part[0] if len(part) == 1 else part for part in self.variables))

    @property
    def immediates(self) -> Sequence[int | None]:
        """The immediates that the row may have, or ``None`` alone where it has none.

        A shift by all bits of a lane is left out: LLVM's shifts do not define it. A narrowing shift
        may drop as many bits as the result has.
        """
        if not self.has_immediate:
            return (None,)
        return range(1, self.result.bits + (self.kind == "narrow"))

    @property
    def signature(self) -> str:
        reads = ", ".join(f"{r.type}{f'*{r.lanes}' if r.lanes > 1 else ''}" for r in self.reads)
        return f"{reads}{', k' if self.has_immediate else ''} -> {self.result}"

    def __str__(self) -> str:
        return self.name if self.immediate is None else f"{self.name} #{self.immediate}"


def family(
    name: str,
    types: str,
    signature: str,
    meaning: Meaning,
    reach: Mapping[int, str],
    *,
    feature: str,
    cycles: float,
    kind: Kind = "lane",
    commutes: bool = False,
    weight: int = 1,
) -> list[Instruction]:
    """Return one instruction for each type T of a family.

    In ``name`` and ``reach``, ``{w}`` is b, w, d or q by the bits of T, ``{s}`` is s or u by its
    sign, ``{us}`` is s or us, and ``{n}`` its bits. ``signature`` reads like ``u8*2,s8*2->T``: each
    lane of the result reads two neighbouring lanes of both operands; ``k`` is an immediate, and
    ``2T`` the type of T's sign with twice its bits.
    """
    made = []
    for of in map(int_type, types.split()):
        reads, result = signature.split("->")
        parts = [part.strip() for part in reads.split(",")]
        words = {
            "w": SUFFIXES[of.bits],
            "s": "s" if of.signed else "u",
            "us": "s" if of.signed else "us",
            "n": str(of.bits),
        }
        made.append(
            Instruction(
                name=_filled(name, words),
                family=name,
                reads=tuple(_read(part, of) for part in parts if part != "k"),
                result=_named(result.strip(), of),
                meaning=_of_type(meaning, of),
                reach=MappingProxyType({w: _filled(text, words) for w, text in reach.items()}),
                feature=feature,
                cycles=cycles,
                kind=kind,
                commutes=commutes,
                has_immediate="k" in parts,
                weight=weight,
                named_by_type=len(types.split()) == 1 or "{" in name,
            )
        )
    return made


def _filled(text: str, words: Mapping[str, str]) -> str:
    for word, value in words.items():
        text = text.replace("{" + word + "}", value)
    return text


def _read(text: str, of: IntType) -> Read:
    name, _, lanes = text.partition("*")
    return Read(_named(name, of), int(lanes or 1))


def _named(text: str, of: IntType) -> IntType:
    if text == "T":
        return of
    return IntType(of.signed, 2 * of.bits) if text == "2T" else int_type(text)


def _of_type(meaning: Meaning, of: IntType) -> Meaning:
    return lambda *operands: meaning(of, *operands)
