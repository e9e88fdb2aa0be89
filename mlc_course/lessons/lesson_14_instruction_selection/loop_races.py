"""A loop over bytes: a program of instructions beside LLVM's loops and NumPy, here or recorded.

A machine without the level shows the recording, which names its machine and date.
"""

from __future__ import annotations

import datetime
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from IPython.display import HTML

from mlc_course.drawing import NUMPY
from mlc_course.errors import check_known
from mlc_course.instruction_selection.compare import FOUND, LoopComparison, compare
from mlc_course.instruction_selection.insert import compiled, processor_has
from mlc_course.instruction_selection.isa import CellProgram, level_of
from mlc_course.instruction_selection.spec import Specification, entry
from mlc_course.lessons.kit import Bar, bars_svg, shown
from mlc_course.lessons.lesson_14_instruction_selection.program_text import read_program
from mlc_course.lessons.lesson_14_instruction_selection.recorded import recorded
from mlc_course.machine import describe
from mlc_course.measure import Comparison

OUTPUTS = 8192
ROUNDS = 5
AS_WRITTEN = ("loop", "vectorize")
OURS, WRITTEN, BEST = "our program", "LLVM, the loop as written", "LLVM, in the best types"
RECORDED = {  # what ``record`` races
    "gauss_121_u8": "pavgb(B, paddb(A, psubb(D, pavgb(A, D))))",
    "sat_add_u8": "paddusb(A, B)",
    "avg_round_u8": "pavgb(A, B)",
}


@dataclass(frozen=True)
class Contestant:
    """Microseconds for a call, speed in units of NumPy's with its quartiles, and instructions.

    ``instructions`` are vector instructions for 32 bytes of the result, without loads and stores,
    and ``names`` says how many of each.
    """

    us: float
    over_numpy: tuple[float, float, float]
    instructions: float | None
    names: str = ""

    @property
    def label(self) -> str:
        counted = "" if self.instructions is None else f", {self.instructions:.3g} instr."
        return f"{self.over_numpy[1]:.3g} x NumPy, {self.us:.3f} µs{counted}"


@dataclass(frozen=True)
class LoopRace:
    """A program against LLVM and NumPy; ratios are lower quartile, median, upper quartile.

    ``over_llvm`` is the time of LLVM's best loop divided by the program's, ``recorded`` the date of
    a recording, and ``None`` where the race was run here.
    """

    spec: str
    level: str
    contestants: Mapping[str, Contestant]
    over_llvm: tuple[float, float, float]
    machine: str
    recorded: str | None = None

    @property
    def ours(self) -> Contestant:
        return self.contestants[OURS]

    @property
    def llvm(self) -> Contestant:
        return self.contestants[BEST]

    @property
    def where(self) -> str:
        """Where and when it was run, for a recording; empty where it was run here."""
        return f"recorded on {self.machine}, {self.recorded}" if self.recorded else ""

    @property
    def verdict(self) -> str:
        """What the race says, as a sentence; a difference within the quartiles is none."""
        low, ratio, high = self.over_llvm
        if low > 1.03:
            said = f"{ratio:.1f} times as fast as LLVM's best loop"
        elif high < 0.97:
            said = f"slower than LLVM's best loop: {ratio:.2f} times as fast"
        else:
            said = f"as fast as LLVM's best loop: {ratio:.2f} times"
        where = f", {self.where}" if self.where else ""
        return f"Our program is {said}{where}."

    def listing(self) -> str:
        """Return the vector instructions of each program that make 32 bytes of the result."""
        width = max(map(len, self.contestants))
        held = [(name, each) for name, each in self.contestants.items() if each.names]
        return "\n".join(f"{name:<{width}}  {each.names}" for name, each in held)

    def picture(self) -> HTML:
        """Draw speeds in units of NumPy's, as bars with the middle half of their readings."""
        bars = [
            Bar(name, each.over_numpy[1], each.label, (each.over_numpy[0], each.over_numpy[2]))
            for name, each in self.contestants.items()
        ]
        title = f"{self.spec}: {OUTPUTS:,} outputs, one thread, {self.level}"
        if self.where:
            title += f", {self.where}"
        drawn = bars_svg(title, bars, axis="speed, NumPy's is 1", mark=(1.0, "NumPy", NUMPY))
        return shown(drawn)

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @staticmethod
    def from_json(data: Mapping[str, Any]) -> LoopRace:
        held = {
            name: Contestant(**{**each, "over_numpy": tuple(each["over_numpy"])})
            for name, each in data["contestants"].items()
        }
        rest = {**data, "contestants": held, "over_llvm": tuple(data["over_llvm"])}
        return LoopRace(**rest)


def loop_race(
    spec: Specification, program: CellProgram, *, level: str = "avx2", rounds: int = ROUNDS
) -> LoopRace:
    """Race a program against LLVM's loops and NumPy, or show the recording of such a race.

    Raises:
        UsageError: this processor lacks the level and nothing is recorded, or no such level.
        WrongResult: the program computes something else.
    """
    if not processor_has(level):
        return recorded_race(spec.name, level)
    made = compiled(spec, OUTPUTS, "tensorize", level=level, program=program)
    found = compare(spec, level_of(level), made.kernel, outputs=OUTPUTS, rounds=rounds)
    return _race(found, str(describe()))


def recorded_race(name: str, level: str) -> LoopRace:
    """Return the recorded race of a specification.

    Raises:
        UsageError: nothing is recorded for it.
    """
    held = {(each["spec"], each["level"]): each for each in recorded("loop_races")}
    check_known("no race is recorded", f"{name}, {level}", [", ".join(each) for each in held])
    return LoopRace.from_json(held[name, level])


def record(path: Path, levels: Sequence[str] = ("avx2", "avx512"), rounds: int = 31) -> None:
    """Race the lesson's loops on this machine and write the recording."""
    found = []
    for level in levels:
        for name, text in RECORDED.items():
            spec = entry(name).specification
            race = loop_race(spec, read_program(text, spec.cell), level=level, rounds=rounds)
            today = datetime.datetime.now(datetime.UTC).date().isoformat()
            found.append({**race.to_json(), "recorded": today})
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


def _race(found: LoopComparison, machine: str) -> LoopRace:
    as_written = min(
        (each for each in found.llvm if each.partition(",")[0] in AS_WRITTEN),
        key=lambda each: found.timings[each].median_s,
    )
    chosen = {OURS: FOUND, WRITTEN: as_written, BEST: found.best_llvm}
    if found.other_words:
        words = min(found.other_words, key=lambda each: found.timings[each].median_s)
        chosen[f"LLVM, {words.partition(':')[0]}"] = words
    return LoopRace(
        found.spec,
        found.level,
        {name: _contestant(found, each) for name, each in chosen.items()},
        _quartiles(found.over_llvm),
        machine,
    )


def _contestant(found: LoopComparison, name: str) -> Contestant:
    timing, numpy = found.timings[name], found.timings[found.best_numpy]
    over = _quartiles(Comparison(timing, numpy))
    count, names = found.per_32_bytes(name), ""
    if count is not None:
        code = found.code[name].instructions
        factor = count / sum(code.values())
        names = ", ".join(f"{n * factor:.3g} {each}" for each, n in code.most_common())
    return Contestant(1e6 * timing.median_s, over, count, names)


def _quartiles(found: Comparison) -> tuple[float, float, float]:
    low, high = found.ratio_iqr
    return low, found.ratio, high
