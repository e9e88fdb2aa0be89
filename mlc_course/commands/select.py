"""``mlc-course select``: the vector instructions of an inner loop, found, proved and timed."""

from __future__ import annotations

import os
import platform
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from platformdirs import user_data_path
from tqdm import tqdm

from mlc_course.commands.output import NOWHERE, Results, check_file
from mlc_course.commands.selection_report import Answer, catalogue_lines, event_line
from mlc_course.errors import CourseError, UsageError
from mlc_course.instruction_selection.compare import OUTPUTS as TIMED_OUTPUTS
from mlc_course.instruction_selection.compare import LoopComparison, compare
from mlc_course.instruction_selection.insert import check_level, compiled, processor_has
from mlc_course.instruction_selection.intel_guide import read_guide
from mlc_course.instruction_selection.isa import Level, level_of
from mlc_course.instruction_selection.lower import RegisterProgram, check_layout, lower
from mlc_course.instruction_selection.search import RULES_FILE, Rules, Selecting, Selection, Tried
from mlc_course.instruction_selection.semantics import EVERY_ROW, check_rows, left_out
from mlc_course.instruction_selection.spec import CATALOGUE, Specification, named_specification
from mlc_course.instruction_selection.tvm_intrinsics import TVM_INTRINSICS, check_intrinsic
from mlc_course.parallel import INTERRUPTED, interrupted_once
from mlc_course.units import plural

FOUND, NOTHING = 0, 1
BEST_FIRST = ("vnni", "avx512", "avx2", "neon")
NARROWEST = 128  # bits of a register


@dataclass(frozen=True)
class Record:
    """Where programs that were found are kept; ``why_not`` says why they are not."""

    rules: Rules | None
    why_not: str = ""

    @property
    def path(self) -> Path | None:
        return self.rules.path if self.rules else None


def run(
    source: str | None,
    *,
    level: str | None = None,
    width: int | None = None,
    seconds: float = 20.0,
    seed: int = 0,
    explain: bool = False,
    measured: bool = False,
    results: Results = NOWHERE,
    rules_path: Path | None = None,
    fresh: bool = False,
    intel_path: Path | None = None,
    about: str | None = None,
) -> int:
    """Print a program for a specification; 0 with a proved one, 1 without one, 130 after Ctrl-C.

    ``about`` is ``list``, ``isa`` or ``tvm`` for what takes no specification. Programs are recorded
    in ``rules_path``, in the file that ``MLC_COURSE_RULES`` names, or in the user's data folder;
    ``fresh`` looks for no recorded program and records none. ``intel_path`` is a file of Intel's
    Intrinsics Guide, which ``isa`` asks, too.
    """
    if intel_path is not None and about != "isa":
        raise UsageError(
            "--intel belongs to --check-isa",
            expected="mlc-course select --check-isa --intel FILE",
            got=f"--intel {intel_path}",
        )
    if (source is None) == (about is None):
        raise UsageError(
            "select takes a specification, or one of --list, --check-isa, --check-tvm",
            expected="a name, a line such as 'u8 A, u8 B -> u8 O: min(A + B, 255)', or a file",
            got="none" if source is None else f"{source!r}, and a switch that takes none",
            hint="mlc-course select --list",
        )
    if about is not None:
        of_search = {
            "--level": level is not None and about != "isa",
            "--width": width is not None,
            "--explain": explain,
            "--run": measured,
            "--rules": rules_path is not None,
            "--fresh": fresh,
        }
        if given := [name for name, is_given in of_search.items() if is_given]:
            raise UsageError(
                f"only a search reads {', '.join(given)}, and this makes none",
                expected="--check-isa with --level, --intel or --json; others with --json",
                got=", ".join(given),
            )
    if about == "list":
        return _list(results)
    if about == "isa":
        return _check_isa(level, results, intel_path)
    if about == "tvm":
        return _check_tvm(results)
    assert source is not None
    return _select(
        source,
        level_of(level) if level is not None else default_level(),
        width,
        seconds,
        seed,
        explain,
        measured,
        results,
        rules_path,
        fresh,
    )


def default_level() -> Level:
    """Return the level of most instructions that this processor has; of none, its vendor's least.

    It has not what a narrower one lacks that it stands in for.
    """
    is_arm = platform.machine() in ("arm64", "aarch64")
    least = "neon" if is_arm else "avx2"
    return level_of(next((name for name in BEST_FIRST if processor_has(name)), least))


def record_in(path: Path | None, *, fresh: bool = False) -> Record:
    """Return where to look for programs found earlier, and to record those that will be found.

    Raises:
        UsageError: a file that was asked for cannot be written, or holds something else. The
            default file is left out where it cannot be written.
    """
    if fresh:
        return Record(None, "--fresh records nothing")
    asked = path or (Path(os.environ[RULES_FILE]) if os.environ.get(RULES_FILE) else None)
    if asked is not None:
        rules = Rules(asked)  # before it is opened to write: a pipe waits for a reader
        check_file(asked)
        return Record(rules)
    default = user_data_path("mlc-course") / "instruction_rules.json"
    try:
        check_file(default)
    except UsageError as error:
        return Record(Rules(), f"{error.what}: {error.got}")
    return Record(Rules(default))


def _select(
    source: str,
    level: Level,
    width: int | None,
    seconds: float,
    seed: int,
    explain: bool,
    measured: bool,
    results: Results,
    rules_path: Path | None,
    fresh: bool,
) -> int:
    spec = named_specification(source)
    width = level.width if width is None else width
    check_width(width, level)
    if measured:
        check_level(level.name)
    record = record_in(rules_path, fresh=fresh)
    results.check_apart(record.path)
    search = Selecting(spec.cell, level, seconds, seed, record.rules)
    events: list[str] = []
    stopped, not_recorded = _follow(search, events)
    found = search.result
    if found.out_of_time:
        not_recorded = not_recorded or "the time limit ended the search"
    registers, problem = None, None
    try:
        registers, problem = _lowered(spec, found, width)
    except KeyboardInterrupt:
        stopped = True
    answer = Answer(
        spec=spec,
        found=found,
        width=width,
        registers=registers,
        limit_s=seconds,
        stopped=stopped,
        recorded_in=record.path if found.program is not None and not stopped else None,
        not_recorded=not_recorded or record.why_not,
        runs_here=processor_has(level.name),
        events=tuple(events),
    )
    print(answer.text(explain=explain), flush=True)  # whatever ends the process later
    data = answer.plain(seed)
    try:
        if problem is not None:
            raise problem
        if measured and registers is not None and not stopped:
            compared, stopped = _measured(spec, found, width)
            data["measured"] = compared.to_dict() if compared else None
    finally:  # what was found is kept, also where it cannot be timed
        results.write(data)
    if stopped:
        print("stopped")
        return INTERRUPTED
    return FOUND if found.program is not None else NOTHING


def check_width(width: int, level: Level) -> None:
    """Check that a level has registers of so many bits; raises ``UsageError`` where it has not."""
    known = [bits for bits in (128, 256, 512) if NARROWEST <= bits <= level.width]
    if width not in known:
        wider = width == 512 and level.name == "avx2"
        raise UsageError(
            f"{level} has no registers of {width} bits",
            expected=" or ".join(map(str, known)),
            got=width,
            hint="--level avx512" if wider else None,
        )


def _follow(search: Selecting, events: list[str]) -> tuple[bool, str]:
    """Show how far a search is; return whether Ctrl-C ended it, and why it was not recorded."""
    with tqdm(unit=" programs", unit_scale=True, disable=None, leave=False) as bar:
        try:
            with interrupted_once() as asked:
                for event in search:
                    events.append(event_line(event))
                    if isinstance(event, Tried):
                        instructions = plural(event.instructions, "instruction")
                        bar.set_description(instructions, refresh=False)
                        bar.update(event.tried)
                    if asked.is_set():
                        raise KeyboardInterrupt  # it came where Python drops what is raised
        except KeyboardInterrupt:
            return True, "stopped before the search ended"
        except OSError as error:  # of the file of rules; the program is there
            return False, str(error)
    return False, ""


def _lowered(
    spec: Specification, found: Selection, width: int
) -> tuple[RegisterProgram | None, CourseError | None]:
    """Return the program on whole registers, or why there is none."""
    if found.program is None:
        return None, None
    try:
        registers = lower(spec.cell, found.program, width)
        check_layout(spec.cell, found.program, registers)
    except CourseError as error:
        return None, error
    return registers, None


def _measured(
    spec: Specification, found: Selection, width: int
) -> tuple[LoopComparison | None, bool]:
    """Time the program beside LLVM's loops and NumPy; return also whether Ctrl-C came."""
    assert found.program is not None
    try:
        with interrupted_once() as asked:
            made = compiled(
                spec,
                TIMED_OUTPUTS,
                "tensorize",
                level=found.level.name,
                program=found.program,
                width=width,
            )
            compared = compare(spec, found.level, made.kernel)
    except KeyboardInterrupt:
        print("\nnot measured")
        return None, True
    print(f"\n{compared}")
    return compared, asked.is_set()  # it has ended the timing early


def _list(results: Results) -> int:
    """Print the catalogue."""
    print("\n".join(catalogue_lines()))
    results.write(
        {
            "specifications": {
                name: {"line": each.line, "sentence": each.sentence}
                for name, each in CATALOGUE.items()
            }
        }
    )
    return FOUND


def _check_isa(level: str | None, results: Results, intel_path: Path | None) -> int:
    """Hold every row, or those of a level, against its sources; 1 where one differs."""
    rows = EVERY_ROW if level is None else level_of(level).rows
    guide = None if intel_path is None else read_guide(intel_path)
    checks = []
    for each in check_rows(rows, guide=guide):
        tqdm.write(str(each))
        checks.append(each)
    verdicts = [each.verdict for each in checks]
    unasked = [each.row.name for each in checks if each.verdict == "left out"]
    words = f"{verdicts.count('agrees')} agree, {verdicts.count('differs')} differ"
    print(f"{plural(len(checks), 'row')}: {words}")
    if unasked:
        print(f"no source here for {', '.join(unasked)}")
    for source, how in left_out().items():
        print(f"{source}: left out ({how})")
    results.write({"rows": [each.to_dict() for each in checks], "left_out": left_out()})
    return NOTHING if "differs" in verdicts else FOUND


def _check_tvm(results: Results) -> int:
    """Compare TVM's own tensor intrinsics with their descriptions; 1 where one is not right."""
    checks = []
    for name in _shown(TVM_INTRINSICS):
        checks.append(check_intrinsic(name))
        tqdm.write(f"{checks[-1]}\n")
    right = sum(each.is_right for each in checks)
    print(f"{right} of {plural(len(checks), 'tensor intrinsic')} compile and are proved right")
    plain = [
        {
            "name": each.intrinsic.name,
            "target": each.intrinsic.target_text,
            "right": each.is_right,
            "verdict": str(each.verdict),
            "promised": None if each.promised is None else str(each.promised),
            "fault": each.fault,
        }
        for each in checks
    ]
    results.write({"intrinsics": plain})
    return FOUND if right == len(checks) else NOTHING


def _shown(names: Iterable[str]) -> Iterable[str]:
    return tqdm(list(names), unit=" intrinsics", disable=None, leave=False)
