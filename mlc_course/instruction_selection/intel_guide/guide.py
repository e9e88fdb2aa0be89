"""The file of Intel's Intrinsics Guide: each intrinsic's operands, instruction and operation.

The file is Intel's and may not be handed on, so that the user brings it. It is read as a stream of
XML without a document type: such a file has no use for entities, and some use them to do harm.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from xml.parsers import expat

from mlc_course.errors import UsageError
from mlc_course.instruction_selection.integers import IntType

MOST_BYTES = 32 << 20  # of a file; the guide's has some 15 MB
MOST_ELEMENTS = 1 << 20  # of a file; the guide's has some 100,000
MOST_LEVELS = 8  # of elements within elements; the guide has three
EXPECTED = "the XML file of Intel's Intrinsics Guide: <intrinsic> elements with an <operation>"
HINT = "the guide's page, under Download, has it as data-3.6.9.xml or the like"

_LANE = re.compile(r"([SU])I(8|16|32|64)")
_REGISTER = re.compile(r"__m(128|256|512)i")
_IMMEDIATES = ("int", "const int", "unsigned int", "const unsigned int")


@dataclass(frozen=True)
class Parameter:
    """An operand or the result of an intrinsic: its name, its type in C, and that of its lanes."""

    name: str
    type: str
    etype: str = ""

    @property
    def bits(self) -> int | None:
        """The bits of a register of integers; ``None`` for anything else."""
        found = _REGISTER.fullmatch(self.type)
        return int(found[1]) if found else None

    @property
    def is_immediate(self) -> bool:
        return self.type in _IMMEDIATES

    @property
    def is_mask(self) -> bool:
        return self.type.startswith("__mmask")

    @property
    def lane(self) -> IntType | None:
        """The type of the lanes; ``None`` where the guide names none, as for a register of bits."""
        found = _LANE.fullmatch(self.etype)
        return IntType(found[1] == "S", int(found[2])) if found else None


@dataclass(frozen=True)
class Entry:
    """An intrinsic: ``instructions`` are mnemonics in small letters, ``operations`` pseudocode.

    An entry of the guide has one operation or none, and few have more.
    """

    name: str
    result: Parameter
    parameters: tuple[Parameter, ...]
    instructions: tuple[str, ...]
    operations: tuple[str, ...]

    @property
    def registers(self) -> tuple[Parameter, ...]:
        return tuple(each for each in self.parameters if each.bits)

    @property
    def immediates(self) -> tuple[Parameter, ...]:
        return tuple(each for each in self.parameters if each.is_immediate)


@dataclass(frozen=True)
class Guide:
    """All entries of a file by the mnemonics of their instructions."""

    by_mnemonic: Mapping[str, tuple[Entry, ...]]

    def entries(self, mnemonic: re.Pattern[str]) -> Iterator[Entry]:
        """Yield the entries of all instructions whose whole mnemonic the pattern describes."""
        for name, entries in self.by_mnemonic.items():
            if mnemonic.fullmatch(name):
                yield from entries


def read_guide(path: Path) -> Guide:
    """Return the entries of a file of the guide.

    Raises:
        UsageError: the file cannot be read, is too large, is no XML, or has no intrinsics.
    """
    parser = expat.ParserCreate()
    reader = _Reader(path)
    parser.StartElementHandler = reader.start
    parser.EndElementHandler = reader.end
    parser.CharacterDataHandler = reader.text
    parser.StartDoctypeDeclHandler = reader.doctype
    parser.buffer_text = True
    try:
        parser.Parse(_content(path), True)
    except (expat.ExpatError, LookupError, ValueError) as error:  # the latter two of encodings
        raise _refused(path, f"this is no XML: {error}") from None
    if not reader.found:
        raise _refused(path, "no <intrinsic> with an <instruction> is in it")
    return Guide({name: tuple(entries) for name, entries in reader.found.items()})


def _content(path: Path) -> bytes:
    try:
        if not path.is_file():
            raise _refused(path, "a folder or a device" if path.exists() else "no such file")
        if path.stat().st_size > MOST_BYTES:
            raise _refused(path, f"more than {MOST_BYTES >> 20} MiB")
        return path.read_bytes()
    except (OSError, ValueError) as error:  # the latter of a path with a zero byte
        raise _refused(path, str(error)) from None


def _refused(path: Path, got: str) -> UsageError:
    return UsageError(
        f"{path} is not Intel's Intrinsics Guide", expected=EXPECTED, got=got, hint=HINT
    )


@dataclass
class _Reader:
    """Handlers of the parser's events: they keep what an entry has, and leave out the rest."""

    path: Path
    found: dict[str, list[Entry]] = field(default_factory=lambda: defaultdict(list))
    open: list[str] = field(default_factory=list)
    elements: int = 0
    name: str = ""
    result: Parameter = Parameter("", "")
    parameters: list[Parameter] = field(default_factory=list)
    instructions: list[str] = field(default_factory=list)
    operations: list[list[str]] = field(default_factory=list)

    def start(self, element: str, attributes: dict[str, str]) -> None:
        self.open.append(element)
        self.elements += 1
        if self.elements > MOST_ELEMENTS:
            raise _refused(self.path, f"more than {MOST_ELEMENTS:,} elements")
        if len(self.open) > MOST_LEVELS:
            raise _refused(self.path, f"elements more than {MOST_LEVELS} levels deep")
        match element:
            case "intrinsic":
                self.name, self.result = attributes.get("name", ""), Parameter("", "")
                self.parameters, self.instructions, self.operations = [], [], []
            case "return":
                self.result = _parameter(attributes)
            case "parameter":
                self.parameters.append(_parameter(attributes))
            case "instruction":
                self.instructions.append(attributes.get("name", "").lower())
            case "operation":
                self.operations.append([])
            case _:
                pass

    def text(self, text: str) -> None:
        if self.open[-1] == "operation":
            self.operations[-1].append(text)

    def end(self, element: str) -> None:
        self.open.pop()
        if element != "intrinsic":
            return
        entry = Entry(
            self.name,
            self.result,
            tuple(each for each in self.parameters if each.type != "void"),
            tuple(self.instructions),
            tuple("".join(parts) for parts in self.operations),
        )
        for each in dict.fromkeys(filter(None, entry.instructions)):
            self.found[each].append(entry)

    def doctype(self, *_: object) -> None:
        raise _refused(self.path, "a document type, which may declare entities")


def _parameter(attributes: Mapping[str, str]) -> Parameter:
    return Parameter(*(attributes.get(each, "").strip() for each in ("varname", "type", "etype")))
