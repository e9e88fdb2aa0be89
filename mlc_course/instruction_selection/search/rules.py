"""Rules: programs that were found once, with the cells they compute and their certificates.

A rule is a claim in a file, and files can be wrong. So a rule is used only after its program was
proved again, which takes a small part of the time of the search.
"""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

from mlc_course.errors import UsageError
from mlc_course.instruction_selection.integers import int_type
from mlc_course.instruction_selection.isa import (
    CellOp,
    CellProgram,
    Constant,
    Equation,
    Input,
    Instruction,
    Level,
)
from mlc_course.instruction_selection.prove import Certificate
from mlc_course.instruction_selection.spec import Cell

RULES_FILE = "MLC_COURSE_RULES"  # the variable that names the file of one's own rules
SHIPPED = "recorded_rules.json"  # beside this file; ``record`` writes it
_MOST_LANES, _LONGEST = 64, 10_000  # of a program that a file may hold
# What data of the wrong kind raises: a list in place of a dictionary, infinity in place of a number
_UNREADABLE = (KeyError, TypeError, ValueError, AttributeError, OverflowError, UsageError)


@dataclass(frozen=True)
class Rule:
    """A program for a cell whose operands are named x0, x1, ..., with what the search tried."""

    program: CellProgram
    certificate: Certificate
    tried: int


def rule_key(standard: Cell, level: Level) -> str:
    """Return the text that names a cell with operands x0, x1, ... at a level."""
    operands = ", ".join(
        f"{each.type}*{each.lanes} in {each.range[0]}..{each.range[1]}"
        for each in standard.operands
    )
    into = f" onto {standard.accumulator}" if standard.accumulator else ""
    return f"{level}: {operands} -> {standard.result}{into}: {standard.goal!r}"


def rule_data(rule: Rule) -> dict[str, object]:
    """Return a rule as the file has it."""
    return {
        "program": encoded(rule.program),
        "certificate": rule.certificate.to_json(),
        "tried": rule.tried,
    }


@dataclass
class Rules:
    """Rules of a file. ``add`` writes the file anew, whole or not at all."""

    path: Path | None = None

    def __post_init__(self) -> None:
        self._shipped = json.loads(
            files("mlc_course.instruction_selection.search").joinpath(SHIPPED).read_text("utf-8")
        )
        self._own: dict[str, object] = {}
        if self.path is not None and self.path.exists():
            self._own = _read(self.path)

    def find(self, standard: Cell, level: Level) -> Rule | None:
        """Return the rule for a cell, or ``None``; one that cannot be read is none."""
        key = rule_key(standard, level)
        for rules in (self._own, self._shipped):
            if isinstance(data := rules.get(key), dict):
                try:
                    return Rule(
                        decoded(data["program"], level.rows),
                        Certificate.from_json(data["certificate"]),
                        _count(data["tried"]),
                    )
                except _UNREADABLE:
                    continue
        return None

    def add(self, standard: Cell, level: Level, rule: Rule) -> None:
        """Record a rule in the file, if there is one."""
        if self.path is None:
            return
        path = self.path.resolve()  # a link stays one
        path.parent.mkdir(parents=True, exist_ok=True)
        with _alone(path.parent):
            now = _read(path) if path.exists() else {}  # what others have added since
            now[rule_key(standard, level)] = rule_data(rule)
            text = json.dumps(now, indent=1, sort_keys=True) + "\n"
            beside = path.with_name(f".{os.getpid()}.part")  # short, where the name is long
            try:
                beside.write_text(text, encoding="utf-8")
                beside.replace(path)
            finally:
                beside.unlink(missing_ok=True)
        self._own = now


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Wait until no other process or thread writes rules in a folder, and keep them waiting."""
    opened = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(opened, fcntl.LOCK_EX)
        yield
    finally:
        os.close(opened)


def _count(data: object) -> int:
    if isinstance(data, bool) or not isinstance(data, int) or data < 0:
        raise UsageError("a recorded number of programs", expected="an integer from 0", got=data)
    return data


def _read(path: Path) -> dict[str, object]:
    if not path.is_file():  # a pipe waits for ever, and /dev/full has no end
        raise UsageError(
            f"{path}: no file of rules",
            expected="a file that a search wrote, or a name for a new one",
            got="a folder" if path.is_dir() else "a device or a pipe",
        )
    try:
        found = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError, RecursionError) as problem:
        raise UsageError(
            f"{path.name}: the recorded rules cannot be read",
            expected="the JSON that a search wrote",
            got=problem,
            hint="move the file away: what it held is searched for again",
        ) from None
    if not isinstance(found, dict):
        raise UsageError(
            f"{path.name}: the recorded rules cannot be read",
            expected="a dictionary of rules",
            got=type(found).__name__,
            hint="move the file away: what it held is searched for again",
        )
    return found


def encoded(program: CellProgram) -> list[dict[str, object]]:
    """Return a program as lists and dictionaries that JSON can hold."""
    made = []
    for each in program.equations:
        data: dict[str, object] = {"type": str(each.type), "lanes": each.lanes}
        match each.op:
            case Input(name):
                data["input"] = name
            case Constant(values):
                data["constant"] = list(values)
            case Instruction() as row:
                data |= {"row": row.name, "reads": row.signature, "of": list(each.operands)}
                if row.immediate is not None:
                    data["immediate"] = row.immediate
        made.append(data)
    return made


def decoded(data: Sequence[Mapping[str, object]], rows: Sequence[Instruction]) -> CellProgram:
    """Return the program that ``encoded`` wrote, of instructions among these rows.

    Raises:
        UsageError: it names a row that is not there, it is longer than any program that a search
            writes, or it is not such a list at all.
    """
    if not isinstance(data, list) or not all(isinstance(each, dict) for each in data):
        raise UsageError("a recorded program is no list of lines", got=type(data).__name__)
    known = {(row.name, row.signature): row for row in rows}
    made: list[Equation] = []
    sizes: list[int] = []  # of the text of each value, in which shared values are repeated
    for number, each in enumerate(data):
        operands = each.get("of", [])
        op: CellOp
        if "input" in each:
            op = Input(str(each["input"]))
        elif "constant" in each and isinstance(values := each["constant"], list) and values:
            op = Constant(tuple(int(x) for x in values))
        elif (row := known.get((str(each.get("row")), str(each.get("reads"))))) is not None:
            immediate = each.get("immediate")
            op = row if immediate is None else row.with_immediate(int(str(immediate)))
        else:
            raise UsageError("a recorded program has an unknown line", got=dict(each))
        if not isinstance(operands, list) or not all(
            isinstance(x, int) and 0 <= x < number for x in operands
        ):
            raise UsageError("a recorded program reads a value that is not there", got=dict(each))
        lanes = int(str(each["lanes"]))
        sizes.append(1 + sum(sizes[x] for x in operands))
        if lanes > _MOST_LANES or sizes[-1] > _LONGEST:
            raise UsageError(
                "a recorded program is too large",
                expected=f"up to {_MOST_LANES} lanes, and {_LONGEST:,} values in its text",
                got=dict(each),
            )
        made.append(Equation(op, tuple(operands), int_type(str(each["type"])), lanes))
    return CellProgram(tuple(made))
