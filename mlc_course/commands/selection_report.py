"""The report of ``mlc-course select``, printed and as JSON: only what holds for this result."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import groupby
from pathlib import Path
from typing import Any, assert_never

from mlc_course.instruction_selection.lower import RegisterProgram
from mlc_course.instruction_selection.search import (
    Covered,
    Event,
    Found,
    Refuted,
    Selection,
    Tried,
    Undecided,
    encoded,
)
from mlc_course.instruction_selection.spec import CATALOGUE, Specification
from mlc_course.units import plural

FEW = 6  # candidates that are shown without --explain
LINE = 100


@dataclass(frozen=True)
class Answer:
    """A selection with all that a reader should know of it.

    ``registers`` is its program on whole registers, where there is one. ``not_recorded`` is the
    reason why it was not recorded.
    """

    spec: Specification
    found: Selection
    width: int
    registers: RegisterProgram | None
    limit_s: float
    stopped: bool
    recorded_in: Path | None
    not_recorded: str
    runs_here: bool
    events: tuple[str, ...]

    def text(self, *, explain: bool = False) -> str:
        """Return all of it as lines; ``explain`` adds reasons, rows, constants and events."""
        parts = [list(self._head())]
        if self.found.program is not None:
            parts.append(list(self._program()))
            parts.append(list(self._proof(explain=explain)))
        parts.append(list(self._search(explain=explain)))
        if explain:
            parts.append(list(self._tried_over()))
            events = (line for line, _ in groupby(self.events) if line)
            parts.append(["events:", *(f"  {line}" for line in events)])
        return "\n\n".join("\n".join(lines) for lines in parts if lines)

    # ---- parts of the text

    def _head(self) -> Iterator[str]:
        spec = self.spec
        if spec.line is None:
            result = f"{spec.cell.result} {spec.result.buffer}"
            yield from _wrapped(f"{spec.name}, in TensorIR: {result} = {spec.cell.goal!r}")
        else:
            yield from _wrapped(f"{spec.name}: {spec.line}")
        moved = {
            name: f"{place.buffer}[{', '.join(map(str, place.at(0, 0)))}]"
            for name, place in spec.places.items()
            if place.buffer != name
        }
        if moved:
            where = ", ".join(f"{name} begins at {at}" for name, at in moved.items())
            yield from _wrapped(f"for the first output, {where}")
        if spec.sentence:
            yield from _wrapped(spec.sentence)
        if spec.promise:
            yield from _wrapped(f"promised: {spec.promise}; nothing is said of other inputs")
        here = "" if self.runs_here else "; not run here: this processor lacks the level"
        yield f"level {self.found.level}, registers of {self.width} bits{here}"

    def _program(self) -> Iterator[str]:
        found = self.found
        if found.recorded:
            yield "recorded, and proved again; in one line:"
        else:
            yield f"found in {found.seconds:.1f} s, {found.tried:,} programs tried; in one line:"
        yield f"  {found.program}"
        if self.registers is None:
            return
        yield ""
        yield self.registers.listing(explain=True)
        count, outputs = self.registers.instructions, self.registers.outputs
        per = 32 * count / (outputs * self.found.cell.result.bytes)
        executed = map(self.registers.executed, range(len(self.registers.steps)))
        several = [f"v{number} as {of}" for number, of in enumerate(executed) if of > 1]
        counted = f"counting {', '.join(several)}; " if several else ""
        yield from _wrapped(
            f"{plural(count, 'instruction')} for {plural(outputs, 'output')}, {per:.3g} for 32 "
            f"bytes of the result; {counted}loads, stores and constants not counted"
        )
        yield from _wrapped("; ".join(_legend(self.registers)))

    def _proof(self, *, explain: bool) -> Iterator[str]:
        certificate = self.found.certificate
        assert certificate is not None
        inputs = f"all inputs with {self.spec.promise}" if self.spec.promise else "all inputs"
        yield from _wrapped(f"proved for {inputs}: {replace(certificate, reason=None)}")
        if explain and certificate.reason:
            yield from _wrapped(f"why: {certificate.reason}")
        if self.registers is not None:
            yield from _wrapped(
                f"layout: each of the {self.registers.outputs} outputs is this program on its own "
                "operands, node for node, so the proof holds for every lane"
            )

    def _search(self, *, explain: bool) -> Iterator[str]:
        found = self.found
        if found.program is None:
            yield (
                f"no program was found and proved in {found.seconds:.1f} s; "
                f"{found.tried:,} were tried"
            )
        covered = found.coverage
        if not found.recorded:
            in_parts = found.covered is None and not self.stopped
            more = "; it was searched in parts, not as a whole" if in_parts else ""
            covered = f"covered: {covered}{more}"
        yield from _wrapped(covered)
        if self.stopped:
            yield "stopped by Ctrl-C: this is what was found until then"
        elif found.recorded:
            yield "--fresh searches anew, and shows which candidates are refuted"
        elif found.out_of_time:
            better = "one" if found.program is None else "a better one"
            yield (
                f"the time limit of {self.limit_s:g} s ended the search: --seconds "
                f"{max(1, round(2 * self.limit_s))} may find {better}"
            )
        elif found.program is None:
            yield "the search ended before its time limit: more time changes nothing"
        yield from self._candidates(explain=explain)
        if found.program is not None and not found.recorded:
            if self.recorded_in is not None and not self.not_recorded:
                yield f"recorded in {self.recorded_in}"
            elif self.not_recorded:
                yield f"not recorded: {self.not_recorded}"

    def _candidates(self, *, explain: bool) -> Iterator[str]:
        if self.found.recorded:
            return
        found = self.found
        refuted = (refutation(each) for each in found.refuted if each.whole)
        undecided = (
            f"{each.program}: {each.why.removeprefix('Not known: ')}"
            for each in found.undecided
            if each.whole and each.program != str(found.program)  # it was proved after all
        )
        for what, lines in (("refuted", refuted), ("not used, undecided", undecided)):
            once = list(dict.fromkeys(lines))
            shown = once if explain else once[:FEW]
            for line in shown:
                yield from _wrapped(f"{what}: {line}")
            if len(once) > len(shown):
                yield f"{what}: {len(once) - len(shown)} more, see --explain"
        refuted_parts = sum(not each.whole for each in found.refuted)
        undecided_parts = sum(not each.whole for each in found.undecided)
        if refuted_parts or undecided_parts:
            yield (
                f"for parts of it: {plural(refuted_parts, 'candidate')} refuted, "
                f"{undecided_parts} undecided; see --explain"
            )

    def _tried_over(self) -> Iterator[str]:
        covered = self.found.covered
        if covered is None:
            return
        yield from _wrapped(f"rows: {'; '.join(covered.rows)}")
        yield from _wrapped(f"constants: {'; '.join(covered.constants)}")
        yield "a value that is used twice counts twice"
        if covered.lighter:
            yield from _wrapped(
                f"lighter: fewer than {plural(self.found.weight, 'instruction')} on registers for "
                "as many outputs as one register of the narrowest operand or result has"
            )
        if covered.reread:
            yield (
                f"registers are reread as lanes of other widths below {covered.reread} bits; "
                "wider lanes are read as they were made"
            )

    # ---- the same for --json

    def plain(self, seed: int) -> dict[str, Any]:
        """Return it as JSON's types."""
        found, registers = self.found, self.registers
        return {
            "name": self.spec.name,
            "specification": self.spec.text,
            "promise": self.spec.promise,
            "level": found.level.name,
            "width": self.width,
            "runs_here": self.runs_here,
            "seed": seed,
            "seconds": found.seconds,
            "tried": found.tried,
            "recorded": found.recorded,
            "stopped": self.stopped,
            "program": None if found.program is None else str(found.program),
            "equations": None if found.program is None else encoded(found.program),
            "weight": found.weight,
            "certificate": None if found.certificate is None else found.certificate.to_json(),
            "registers": None if registers is None else _registers(registers),
            "coverage": found.coverage,
            "covered": _covered(found.covered),
            "refuted": [
                {
                    "goal": each.goal,
                    "whole": each.whole,
                    "program": each.program,
                    "inputs": dict(each.model),
                    "wanted": each.wanted,
                    "found": each.found,
                }
                for each in found.refuted
            ],
            "undecided": [
                {
                    "goal": each.goal,
                    "whole": each.whole,
                    "program": each.program,
                    "why": each.why,
                }
                for each in found.undecided
            ],
            "measured": None,
        }


def _registers(registers: RegisterProgram) -> dict[str, Any]:
    return {
        "outputs": registers.outputs,
        "instructions": registers.instructions,
        "steps": [
            {
                "register": f"v{number}",
                "operation": registers.text_of(number),
                "lanes": f"{step.type} x {registers.register_bytes // step.type.bytes}",
                "sentence": registers.sentence_of(number),
            }
            for number, step in enumerate(registers.steps)
        ],
        "stored": [f"v{number}" for number in registers.results],
    }


def _covered(covered: Covered | None) -> dict[str, Any] | None:
    if covered is None:
        return None
    return {
        "instructions": covered.instructions,
        "lighter": covered.lighter,
        "rows": list(covered.rows),
        "constants": list(covered.constants),
    }


def _wrapped(text: str) -> list[str]:
    return textwrap.wrap(text, LINE, subsequent_indent="  ", break_long_words=False)


def _legend(registers: RegisterProgram) -> Iterator[str]:
    """Yield what the letters and functions in the sentences mean, as far as there are any."""
    said = " ".join(map(registers.sentence_of, range(len(registers.steps))))
    yield "a, b, c are the registers that an instruction reads, in their order"
    if re.search(r"\b[abc]0\b", said):
        yield "a0, a1 are neighbouring lanes of a"
    if found := re.search(r"\bwrap\(.*, [su](\d+)\)", said):
        of = found[0].rpartition(", ")[2].rstrip(")")
        yield f"wrap(x, {of}) is the {of} that is x modulo 2^{of[1:]}"


def refutation(each: Refuted) -> str:
    """Say on which input a candidate is wrong, with both values."""
    lanes = {name.partition("[")[0]: 0 for name in each.model}
    for name in each.model:
        lanes[name.partition("[")[0]] += 1
    inputs = ", ".join(
        f"{name.partition('[')[0] if lanes[name.partition('[')[0]] == 1 else name} = {value}"
        for name, value in each.model.items()
    )
    return f"{each.program} at {inputs} gives {each.found}, not {each.wanted}"


def event_line(event: Event) -> str:
    """Return an event of a search as a line; "" for one without news."""
    match event:
        case Tried():
            if not event.tried:
                return ""
            count = plural(event.instructions, "instruction")
            return f"{event.goal}: {count}, {event.tried:,} tried, {event.kept:,} values so far"
        case Refuted():
            return f"{event.goal}: refuted: {refutation(event)}"
        case Undecided():
            return f"{event.goal}: undecided: {event.program}: {event.why}"
        case Found():
            return f"{event.cell.name}: found {event.program}, weight {event.weight}"
        case Covered():
            return f"{event.goal}: {event}"
    assert_never(event)


def catalogue_lines() -> Iterator[str]:
    """Yield the specifications of the course: name, sentence, line."""
    for name, each in CATALOGUE.items():
        yield f"{name}: {each.sentence}"
        yield f"    {re.sub(r' +', ' ', each.line)}"
