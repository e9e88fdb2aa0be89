"""Every row of the table against sources that do not know it: a processor, an emulator, symbols.

``check_rows`` is what ``mlc-course select --check-isa`` runs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

import numpy as np
from tqdm.auto import tqdm

from mlc_course.errors import CourseError, MachineError, TextError, UsageError, check_known
from mlc_course.instruction_selection.intel_guide import Guide
from mlc_course.instruction_selection.isa import AVX2, NEON, VNNI, Instruction
from mlc_course.instruction_selection.semantics.assembled import architecture_of, assembled
from mlc_course.instruction_selection.semantics.by_guide import refuted_by_guide
from mlc_course.instruction_selection.semantics.emulator import run_in_emulator
from mlc_course.instruction_selection.semantics.inputs import (
    COUNT,
    Array,
    immediates,
    trials,
    variables_of,
)
from mlc_course.instruction_selection.semantics.mutants import (
    broken_meanings,
    caught,
    differs,
)
from mlc_course.instruction_selection.semantics.one_instruction import (
    Alone,
    alone,
    assembly_of,
    emission,
    level_for,
)
from mlc_course.instruction_selection.semantics.packages import missing
from mlc_course.instruction_selection.semantics.processor import (
    compiled_alone,
    in_the_emulator,
    lacking,
    on_this_processor,
)
from mlc_course.instruction_selection.semantics.symbolic import proved_by_symbols

Verdict = Literal["agrees", "differs", "left out"]
PROOF, GUIDE = "symbols", "intel"  # the sources that are a proof for all inputs, and no run on some
EVERY_ROW: tuple[Instruction, ...] = AVX2 + VNNI + NEON


@dataclass(frozen=True)
class Finding:
    """The verdict of one source on a row at one width, with the number of inputs tried.

    Inputs are those of one lane of the result; a proof counts none. ``note`` is the reason why a
    source was left out, the input on which it differs, or what LLVM made of the row where that is
    not the row's own instruction.
    """

    source: str
    width: int
    verdict: Verdict
    inputs: int = 0
    complete: bool = False
    note: str = ""


@dataclass(frozen=True)
class BrokenCount:
    """The numbers of wrong meanings of a row: made, refused by the check, and changing nothing.

    ``accepted`` says what is wrong with those that differ and were not refused: there is a gap in
    the check's inputs.
    """

    made: int
    refused: int
    same: int
    accepted: tuple[str, ...]


@dataclass(frozen=True)
class RowCheck:
    """The findings of all sources on one row, over all its immediates."""

    row: Instruction
    findings: tuple[Finding, ...]
    broken: BrokenCount | None = None

    @property
    def verdict(self) -> Verdict:
        """The verdict on the row: a source differs; otherwise, one agrees or none does."""
        verdicts = {each.verdict for each in self.findings}
        found: tuple[Verdict, ...] = ("differs", "agrees")
        return next((each for each in found if each in verdicts), "left out")

    def agreeing(self) -> dict[str, list[int]]:
        """Return the sources that agree, each with the widths at which it was asked."""
        found: dict[str, list[int]] = {}
        for each in self.findings:
            if each.verdict == "agrees":
                found.setdefault(each.source, []).append(each.width)
        return found

    @property
    def tried(self) -> int:
        """The most inputs on which a source that runs the instruction was asked."""
        return max((each.inputs for each in self.findings), default=0)

    @property
    def extent(self) -> str:
        """The inputs on which the sources agree, in words."""
        found = [each for each in self.findings if each.verdict == "agrees"]
        words = f"{self.tried:,} inputs" if self.tried else ""
        if any(each.complete and each.source not in (PROOF, GUIDE) for each in found):
            words = f"all {words}"
        proved = any(each.source in (PROOF, GUIDE) for each in found)
        return ", ".join(filter(None, (words, "proved for all" if proved else "")))

    def __str__(self) -> str:
        agreed = ", ".join(
            f"{source} {' '.join(map(str, widths))}" for source, widths in self.agreeing().items()
        )
        head = f"{self.row.name:<12} {self.row.signature:<24} {self.verdict:<9} {self.extent:<38} "
        notes = [
            f"  {each.source}, {each.width} bits: {each.note}"
            for each in self.findings
            if each.verdict == "differs" or (each.source == GUIDE and each.note)
        ]
        return "\n".join([f"{head}{agreed}".rstrip(), *notes])

    def to_dict(self) -> dict[str, Any]:
        """Return what a record keeps."""
        found: dict[str, Any] = {
            "row": self.row.name,
            "family": self.row.family,
            "kind": self.row.kind,
            "signature": self.row.signature,
            "feature": self.row.feature,
            "verdict": self.verdict,
            "findings": [vars(each) for each in self.findings],
        }
        return found | ({"broken": vars(self.broken)} if self.broken else {})


def check_rows(
    rows: Sequence[Instruction] = EVERY_ROW,
    *,
    sources: Sequence[str] | None = None,
    broken: bool = False,
    count: int = COUNT,
    progress: bool = True,
    guide: Guide | None = None,
) -> Iterator[RowCheck]:
    """Yield what each source says of each row, with every immediate.

    ``sources`` are names of ``SOURCES``, all by default; those that ``left_out`` names cannot be
    asked here. With ``guide``, Intel's pseudocode is one more source, ``intel``. ``broken`` also
    counts which wrong meanings of each row the inputs tell apart. ``count`` is the number of inputs
    where not every one is tried.

    Raises:
        UsageError: there is no such source.
    """
    known = dict(SOURCES)
    if guide is not None:
        known[GUIDE] = partial(_by_guide, guide)
    asked = tuple(known) if sources is None else tuple(sources)
    for each in asked:
        check_known("no source of meanings", each, known)
    bar = tqdm(rows, desc="rows", unit=" rows", leave=False, disable=None if progress else True)
    for row in bar:
        fixed = [row if k is None else row.with_immediate(k) for k in immediates(row)]
        findings = [finding for name in asked for finding in known[name](fixed, count)]
        yield RowCheck(row, tuple(findings), _broken(fixed, count) if broken else None)


def left_out() -> dict[str, str]:
    """Return the sources that cannot be asked on this machine, each with the reason."""
    found = {}
    for name, modules in _NEEDED.items():
        packages = missing(*modules)
        if packages:
            found[name] = f"pip install -c constraints.txt {' '.join(packages)}"
    return found


# ---- the sources: each is asked about one row, with all its immediates


def _on_processor(rows: Sequence[Instruction], count: int) -> Iterator[Finding]:
    """Ask this processor at every width that it has, through TVM."""
    for width in sorted(rows[0].reach):
        level = level_for(rows[0], width)
        if level is None:
            yield Finding("processor", width, "left out", note="the row is of no level")
        elif lacked := lacking(level):
            note = f"this processor lacks {', '.join(lacked)}"
            yield Finding("processor", width, "left out", note=note)
        else:
            made = [alone(row, width, count=count) for row in rows]
            module = compiled_alone(made, level)
            got = [on_this_processor(module, each) for each in made]
            yield _compared("processor", made, got, _emissions(module, made))


def _as_compiled(rows: Sequence[Instruction], count: int) -> Iterator[Finding]:
    """Run what TVM makes of a row for AArch64 in the emulator."""
    name, width = "compiled, emulated", 128
    level = level_for(rows[0], width)
    if level is None or architecture_of(rows[0]) != "aarch64":
        return
    made = [alone(row, width, count=count) for row in rows]
    module = compiled_alone(made, level)
    try:
        got = in_the_emulator(module, made)
    except (MachineError, UsageError) as error:
        yield Finding(name, width, "left out", note=_reason(error))
        return
    yield _compared(name, made, got, _emissions(module, made))


def _by_emulator(rows: Sequence[Instruction], count: int) -> Iterator[Finding]:
    """Run the instruction as an assembler writes it in the emulator, on 128 bits."""
    made = [alone(row, 128, count=count) for row in rows]
    got = []
    try:
        for each in made:
            arguments: list[Array | int] = [*each.operands(), each.empty(), each.steps]
            architecture = architecture_of(each.row)
            *_, stored = run_in_emulator(assembled(each.row), arguments, architecture=architecture)
            got.append(each.in_memory(stored))
    except (MachineError, UsageError) as error:
        yield Finding("emulator", 128, "left out", note=_reason(error))
        return
    yield _compared("emulator", made, got, "")


def _by_symbols(rows: Sequence[Instruction], _: int) -> Iterator[Finding]:
    """Prove a row equal to Triton's formula of it, on 128 bits."""
    for row in rows:
        try:
            found = proved_by_symbols(row)
        except (MachineError, UsageError) as error:
            yield Finding(PROOF, 128, "left out", note=_reason(error))
            return
        if found is not None:
            values = ", ".join(f"{name} = {value}" for name, value in found.items())
            yield Finding(PROOF, 128, "differs", note=f"{row}: {values}")
            return
    yield Finding(PROOF, 128, "agrees", complete=True)


def _by_guide(guide: Guide, rows: Sequence[Instruction], _: int) -> Iterator[Finding]:
    """Prove a row equal to Intel's pseudocode of it, at every width."""
    if architecture_of(rows[0]) != "x86-64":
        return
    for width in sorted(rows[0].reach):
        try:
            notes = (refuted_by_guide(row, width, guide) for row in rows)
            note = next(filter(None, notes), None)
        except CourseError as error:
            unread = "not read: " if isinstance(error, TextError) else ""
            yield Finding(GUIDE, width, "left out", note=f"{unread}{_reason(error)}")
            continue
        if note is None:
            yield Finding(GUIDE, width, "agrees", complete=True)
        else:
            yield Finding(GUIDE, width, "differs", note=note)


Source = Callable[[Sequence[Instruction], int], Iterator[Finding]]
SOURCES: Mapping[str, Source] = {
    "processor": _on_processor,
    "compiled, emulated": _as_compiled,
    "emulator": _by_emulator,
    PROOF: _by_symbols,
}
_NEEDED = {
    "compiled, emulated": ("unicorn",),
    "emulator": ("unicorn", "keystone"),
    PROOF: ("triton", "keystone", "z3"),
}


def _compared(source: str, made: Sequence[Alone], got: Sequence[Array], emitted: str) -> Finding:
    """Return whether each instruction gave what its meaning says, or the first that did not."""
    width = made[0].width
    for each, lanes in zip(made, got, strict=True):
        if not np.array_equal(lanes, each.wanted):
            return Finding(source, width, "differs", note=_difference(each, lanes))
    complete = all(each.tried.complete for each in made)
    inputs = sum(each.tried.distinct for each in made)
    return Finding(source, width, "agrees", inputs, complete, emitted)


def _difference(each: Alone, got: Array) -> str:
    at = int(np.argmax(got != each.wanted))
    trial = at // 2 if each.row.kind == "interleave" else at
    inputs = ", ".join(
        f"{name} = {int(values[trial])}"
        for name, values in zip(variables_of(each.row), each.tried.values, strict=True)
    )
    return f"{each.row}: {inputs} gives {int(got[at])}, the row says {int(each.wanted[at])}"


def _emissions(module: Any, made: Sequence[Alone]) -> str:
    """Say where LLVM did not make a row's own instruction of it."""
    lines = assembly_of(module.inspect_source("asm"), [each.name for each in made])
    found: dict[str, list[str]] = {}
    for each in made:
        said = emission(each.row, lines[each.name])
        if said:
            found.setdefault(said, []).append(str(each.row.immediate))
    some = [
        said if len(which) == len(made) else f"immediate {', '.join(which)}: {said}"
        for said, which in found.items()
    ]
    return "; ".join(some)


def _reason(error: CourseError) -> str:
    said = f"{error.what}: {error.got}" if error.got is not None else error.what
    return ", ".join([said, *getattr(error, "__notes__", ())])


def _broken(rows: Sequence[Instruction], count: int) -> BrokenCount:
    """Count wrong meanings of a row: with its first immediate, one in the middle, and its last."""
    made, refused, accepted = 0, 0, list[str]()
    for row in dict.fromkeys((rows[0], rows[len(rows) // 2], rows[-1])):
        tried = trials(row, count=count)
        for each in broken_meanings(row):
            made += 1
            if caught(row, each, tried):
                refused += 1
            elif differs(row, each):
                accepted.append(f"{row}: {each.what}")
    return BrokenCount(made, refused, made - refused - len(accepted), tuple(accepted))
