"""PTX as text, read into kernels: parameters, registers, shared arrays, instructions, labels.

Only the syntax is read here; ``instructions`` knows what an instruction does. Registers that are
declared in an inner scope, as inline assembly does, get a name of their own.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from mlc_course.errors import RefusedText

WIDTHS = {"pred": 1, **{f"{kind}{bits}": bits for kind in "bsuf" for bits in (8, 16, 32, 64)}}
WIDTHS |= {"f16x2": 32, "bf16": 16, "bf16x2": 32, "b128": 128}


@dataclass(frozen=True)
class Register:
    """A register, by its name; each thread has one."""

    name: str
    bits: int


@dataclass(frozen=True)
class Immediate:
    """A number in the text: an integer, or a float as its bits."""

    value: int
    float_bits: int = 0  # 32 or 64 for a float


@dataclass(frozen=True)
class Symbol:
    """A name of something with an address, a parameter, a special register or a label."""

    name: str


@dataclass(frozen=True)
class Address:
    """An address in brackets: a base and a number of bytes."""

    base: Register | Symbol | Immediate
    offset: int


@dataclass(frozen=True)
class Vector:
    """Operands in braces."""

    parts: tuple[Operand, ...]


@dataclass(frozen=True)
class Negated:
    """A predicate of which the opposite is meant."""

    register: Register


@dataclass(frozen=True)
class Pair:
    """Two predicates, with a bar between them; the second may be absent (``_``)."""

    first: Operand
    second: Operand


Operand = Register | Immediate | Symbol | Address | Vector | Negated | Pair


def halves_of(operand: Operand) -> tuple[Operand, Operand | None]:
    """Return the operands on both sides of a bar, or the only one."""
    return (operand.first, operand.second) if isinstance(operand, Pair) else (operand, None)


@dataclass(frozen=True)
class Instruction:
    """One instruction; ``line`` is the line of PTX, ``source_line`` that of the text before it."""

    opcode: str
    modifiers: tuple[str, ...]
    operands: tuple[Operand, ...]
    guard: Register | Negated | None
    line: int
    source_line: int
    text: str

    @property
    def kind(self) -> str:
        """The opcode with its modifiers."""
        return ".".join((self.opcode, *self.modifiers))

    def has(self, modifier: str) -> bool:
        """Return true if the opcode has a modifier."""
        return modifier in self.modifiers


@dataclass(frozen=True)
class Variable:
    """An array in shared or local memory; ``size`` is 0 for what is asked for at launch."""

    name: str
    space: str
    size: int
    align: int


@dataclass(frozen=True)
class Parameter:
    """A parameter of a kernel, of a fundamental type such as ``u64``."""

    name: str
    type: str


@dataclass
class Entry:
    """A kernel: what it declares, and its instructions in order."""

    name: str
    line: int
    parameters: tuple[Parameter, ...] = ()
    variables: list[Variable] = field(default_factory=list)
    instructions: list[Instruction] = field(default_factory=list)
    labels: dict[str, int] = field(default_factory=dict)
    most_threads: int | None = None


def parse_ptx(text: str) -> Mapping[str, Entry]:
    """Return the kernels of a text by their names; raise ``RefusedText`` for what is no PTX."""
    return _Parser(text).module()


def refused(what: str, line: int, got: object) -> RefusedText:
    """Return an error that names a line of PTX."""
    return RefusedText(f"PTX, line {line}: {what}", got=got)


DECLARED = re.compile(
    r"(?:\.align\s+(?P<align>\d+)\s+)?\.(?P<type>\w+)\s+(?P<name>[\w$%]+)(?:\[(?P<size>\d*)\])?"
)
ALIGNS = {"b8": 1, "u8": 1, "s8": 1, "b16": 2, "u16": 2, "b32": 4, "f32": 4, "b64": 8, "f64": 8}
NUMBER = re.compile(r"-?(?:0[fFdD][0-9a-fA-F]+|0[xX][0-9a-fA-F]+U?|\d+U?)")


class _Parser:
    def __init__(self, text: str) -> None:
        blank = re.sub(r"//[^\n]*", "", text)
        self.text = re.sub(r"/\*.*?\*/", lambda m: re.sub(r"[^\n]", " ", m[0]), blank, flags=re.S)
        self.at = 0
        self.line = 1
        self.source_line = 0
        self.variables: list[Variable] = []
        self.entries: dict[str, Entry] = {}
        self.scopes: list[dict[str, Register]] = []
        self.numbered: list[dict[str, int]] = []
        self.renamed = 0
        self.inlined: dict[tuple[str, str, str], tuple[str, str, str]] = {}

    # ---- the text, piece by piece

    def _skip(self, pattern: str = r"\s*") -> str:
        found = re.compile(pattern).match(self.text, self.at)
        if not found:
            return ""
        self._advance(found.end())
        return found[0]

    def _advance(self, end: int) -> None:
        self.line += self.text.count("\n", self.at, end)
        self.at = end

    def _until(self, end: str) -> str:
        place = self.text.find(end, self.at)
        if place < 0:
            raise refused(f"expected {end!r}", self.line, self.text[self.at : self.at + 40])
        found = self.text[self.at : place]
        self._advance(place + len(end))
        return found

    def _braces(self) -> None:
        """Skip what is in braces."""
        self._until("{")
        depth = 1
        while depth:
            found = re.compile(r"[{}]").search(self.text, self.at)
            if not found:
                raise refused("a brace is not closed", self.line, self.text[self.at :][:40])
            depth += 1 if found[0] == "{" else -1
            self._advance(found.end())

    # ---- declarations

    def module(self) -> Mapping[str, Entry]:
        while self._skip() is not None and self.at < len(self.text):
            if self._skip(r"\.(version|target|address_size|file|loc)\b[^\n]*"):
                continue
            if self._skip(r"\.section\b"):
                self._braces()
            elif self._skip(r"(\.visible\s+|\.weak\s+|\.extern\s+)*\.entry\b"):
                self._entry()
            elif self._skip(r"(\.visible\s+|\.weak\s+|\.extern\s+)*\.func\b"):
                self._function()
            elif self._skip(r"(\.extern\s+|\.visible\s+|\.weak\s+)*\.shared\b"):
                self.variables.append(self._variable("shared", self._until(";")))
            elif self._skip(r"\.pragma\b|[^;{]*\.(global|const)\b"):
                self._until(";")  # an instruction that names it is refused
            else:
                raise refused("what is this?", self.line, self.text[self.at :].split("\n")[0])
        for entry in self.entries.values():
            entry.variables += self.variables
        return self.entries

    def _function(self) -> None:
        """Skip a function: an instruction that calls it is refused."""
        found = re.compile(r"[;{]").search(self.text, self.at)
        if found and found[0] == "{":
            self._braces()
        else:
            self._until(";")

    def _variable(self, space: str, text: str) -> Variable:
        found = DECLARED.search(text)
        if not found or found["type"] not in WIDTHS:
            raise refused(f"a .{space} declaration", self.line, text.strip())
        element = WIDTHS[found["type"]] // 8
        count = 1 if found["size"] is None else int(found["size"] or 0)
        align = int(found["align"] or ALIGNS.get(found["type"], element))
        return Variable(found["name"], space, element * count, align)

    def _entry(self) -> None:
        self._skip()
        name = self._skip(r"[\w$]+")
        entry = Entry(name, self.line)
        self._skip()
        if self._skip(r"\("):
            parts = [part.strip() for part in self._until(")").split(",")]
            entry.parameters = tuple(self._parameter(part) for part in parts if part)
        head = self.text[self.at : self.text.index("{", self.at)]
        if found := re.search(
            r"\.(?:maxntid|reqntid)\s+(\d+)(?:\s*,\s*(\d+))?(?:\s*,\s*(\d+))?", head
        ):
            entry.most_threads = int(found[1]) * int(found[2] or 1) * int(found[3] or 1)
        self._until("{")
        self.entries[name] = entry
        self.scopes, self.numbered, self.renamed = [{}], [{}], 0
        while self.scopes:
            self._statement(entry)

    def _parameter(self, text: str) -> Parameter:
        found = re.search(
            r"\.param\s+(?:\.align\s+\d+\s+)?\.(\w+)\s+(?:\.ptr\b.*\s)?([\w$]+)$", text
        )
        if not found:
            raise refused("a parameter", self.line, text)
        return Parameter(found[2], found[1])

    # ---- statements

    def _statement(self, entry: Entry) -> None:
        self._skip()
        line = self.line
        if self._skip(r"\{"):
            self.scopes.append({})
            self.numbered.append({})
        elif self._skip(r"\}"):
            self.scopes.pop()
            self.numbered.pop()
        elif found := self._skip(r"\.loc\b[^\n]*"):
            self.source_line = self._source_line(found)
        elif label := self._skip(r"[\w$]+(?=\s*:(?!:))"):
            self._until(":")
            entry.labels[label] = len(entry.instructions)
        elif self._skip(r"\.reg\b"):
            self._registers(self._until(";"))
        elif space := self._skip(r"\.(shared|local)\b"):
            entry.variables.append(self._variable(space[1:], self._until(";")))
        elif self._skip(r"\.pragma\b"):
            self._until(";")
        elif self.at >= len(self.text) or self.text[self.at] == ".":
            raise refused("what is this?", line, self.text[self.at :].split("\n")[0])
        else:
            entry.instructions.append(self._instruction(" ".join(self._until(";").split()), line))

    def _source_line(self, text: str) -> int:
        """The line of the kernel, from where something on it was inlined if it was."""
        file, line, column, *rest = re.findall(r"(?<![\w$])\d+\b", text)
        place = (file, line, column)
        if len(rest) >= 3:
            self.inlined[place] = (rest[-3], rest[-2], rest[-1])
        seen = {place}
        while place in self.inlined and self.inlined[place] not in seen:
            place = self.inlined[place]
            seen.add(place)
        return int(place[1])

    def _registers(self, text: str) -> None:
        found = re.fullmatch(r"\s*\.(\w+)\s+(.*?)\s*", text, flags=re.S)
        if not found or found[1] not in WIDTHS:
            raise refused("a declaration of registers", self.line, text.strip())
        bits = WIDTHS[found[1]]
        for name in (part.strip() for part in found[2].split(",")):
            if several := re.fullmatch(r"([\w$%]+)<(\d+)>", name):
                self.numbered[-1][several[1]] = bits
            else:
                self.renamed += len(self.scopes) > 1
                own = name if len(self.scopes) == 1 else f"{name}'{self.renamed}"
                self.scopes[-1][name] = Register(own, bits)

    def _register(self, name: str) -> Register | None:
        stem = name.rstrip("0123456789")
        for scope, numbered in zip(reversed(self.scopes), reversed(self.numbered), strict=True):
            found = scope.get(name)
            if found:
                return found
            if stem in numbered and stem != name:
                scope[name] = Register(name, numbered[stem])
                return self._register(name)
        return None

    def _instruction(self, text: str, line: int) -> Instruction:
        found = re.fullmatch(r"(?:@(!?)([\w$%]+)\s+)?([a-z]\w*)((?:\.[\w:]+)*)\s*(.*)", text)
        if not found:
            raise refused("an instruction", line, text)
        guard: Register | Negated | None = None
        if found[2]:
            guard = self._register(found[2])
            if guard is None:
                raise refused(f"no register {found[2]}", line, text)
            guard = Negated(guard) if found[1] else guard
        modifiers = tuple(re.findall(r"\.((?:\w|::)+)", found[4]))
        operands = tuple(self._operand(part, line) for part in _split(found[5]))
        return Instruction(found[3], modifiers, operands, guard, line, self.source_line, text)

    def _operand(self, text: str, line: int) -> Operand:
        if text.startswith("{"):
            return Vector(tuple(self._operand(part, line) for part in _split(text[1:-1])))
        if text.startswith("["):
            return self._address(text[1:-1].strip(), line)
        if text.startswith("!"):
            register = self._register(text[1:].strip())
            if register is None:
                raise refused("no such register", line, text)
            return Negated(register)
        if "|" in text:
            first, second = text.split("|")
            return Pair(self._operand(first.strip(), line), self._operand(second.strip(), line))
        if NUMBER.fullmatch(text):
            return _number(text)
        return self._register(text) or Symbol(text)

    def _address(self, text: str, line: int) -> Address:
        found = re.fullmatch(r"([\w$%]+)\s*(?:\+\s*(-?\w+)|(-\s*\w+))?", text)
        if not found:
            raise refused("an address", line, text)
        base = self._operand(found[1], line)
        assert isinstance(base, Register | Symbol | Immediate)
        offset = int((found[2] or found[3] or "0").replace(" ", ""), 0)
        return Address(base, offset)


def _split(text: str) -> Iterator[str]:
    """Yield operands, which commas separate that are in no bracket."""
    depth, start = 0, 0
    for place, letter in enumerate(text):
        depth += (letter in "[{(") - (letter in "]})")
        if letter == "," and not depth:
            yield text[start:place].strip()
            start = place + 1
    if text[start:].strip():
        yield text[start:].strip()


def _number(text: str) -> Immediate:
    sign, digits = (-1, text[1:]) if text[0] == "-" else (1, text)
    if digits[:2] in ("0f", "0F"):
        return Immediate(int(digits[2:], 16) ^ (sign < 0) << 31, 32)
    if digits[:2] in ("0d", "0D"):
        return Immediate(int(digits[2:], 16) ^ (sign < 0) << 63, 64)
    digits = digits.rstrip("U")
    octal = len(digits) > 1 and digits[0] == "0" and digits.isdigit()
    return Immediate(sign * int(digits, 8 if octal else 0))


def float_of(number: Immediate) -> float:
    """Return the float that a number stands for."""
    if not number.float_bits:
        return float(number.value)
    letter, of = ("I", "f") if number.float_bits == 32 else ("Q", "d")
    return float(struct.unpack(of, struct.pack(letter, number.value))[0])
