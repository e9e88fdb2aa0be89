"""The class's table: what students' superoptimizers make of the same programs, verified and ranked.

Students append lines to a file that all of them can write. A line has a graph, and no figure:
nothing that it says of itself is believed. Every graph is verified and counted here, in a process
of its own.
"""

from __future__ import annotations

import errno
import html
import json
import math
import os
import stat
import time
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import geometric_mean
from typing import Any, NamedTuple

from mlc_course.errors import CourseError, UsageError
from mlc_course.grading.checks import UNFUSED, Examined, moves, race, same_graph
from mlc_course.grading.process import (
    BUBBLEWRAP,
    RLIMITS,
    Limits,
    RemoteBench,
    has_bubblewrap,
    printable,
    values,
)
from mlc_course.lessons.lesson_21_capstone.families import PRACTICE, practice
from mlc_course.lessons.lesson_21_capstone.plain_programs import Moved, measured
from mlc_course.units import plural
from mlc_course.words import columns, padded

CLASS_PROGRAMS: Mapping[str, str] = {
    f"{family}_{number}": practice(family, seed=number) for family in PRACTICE for number in (1, 2)
}
LONGEST_LINE, LONGEST_NAME = 20_000, 40  # characters
MOST_BYTES, MOST_LINES = 16 << 20, 20_000  # of the file
LONGEST_SENTENCE, MOST_SHOWN = 160, 20  # about lines and graphs, below a table
SHARED = 160 * 1024  # bytes that a block may hold


class Entry(NamedTuple):
    """A line of the file: whose it is, of which program, and the graph that was made of it."""

    student: str
    program: str
    graph: str


class Result(NamedTuple):
    """A graph as it was judged; ``ratio`` is its speed in units of the unfused program.

    ``mark`` is a word on why it may mislead; ``fault``, why there is none although it was asked
    for.
    """

    moved: Moved
    ratio: float | None = None
    mark: str = ""
    fault: str = ""


class Row(NamedTuple):
    """A student: programs solved, launches of these, share of their bytes, and speed, if timed."""

    student: str
    solved: int
    launches: int
    share: float
    ratio: float | None
    mark: str


def hand_in(superoptimize: Callable[[str], str], student: str, path: str | Path) -> None:
    """Append what a superoptimizer makes of the class's programs to the class's file.

    Raises ``UsageError`` for a name that is too long, for what is no graph's text, and for a file
    that cannot be written.
    """
    name = _as_name(student)
    if not name or len(name) > LONGEST_NAME:
        raise UsageError("a name", expected=f"1 to {LONGEST_NAME} letters", got=student)
    lines = []
    for program, text in CLASS_PROGRAMS.items():
        graph = superoptimize(text)
        line = json.dumps({"student": name, "program": program, "graph": str(graph)})
        if not isinstance(graph, str) or len(line) > LONGEST_LINE:
            raise UsageError(
                f"no graph of {program}; nothing is handed in",
                expected=f"a text that takes at most {LONGEST_LINE:,} characters as JSON",
                got=f"{len(line):,}" if isinstance(graph, str) else type(graph).__name__,
            )
        lines.append(f"{line}\n")
    try:
        # An empty line first ends what a writer has left that was stopped in the middle.
        _append(Path(path), "".join(("\n", *lines)).encode())
    except OSError as error:
        raise UsageError(f"{path} cannot be written", got=error.strerror) from None
    print(f"{name}: {plural(len(lines), 'graph')} handed in to {path}")


def _append(path: Path, content: bytes) -> None:
    """Append in one call, so that nobody else's lines come between these."""
    try:
        # Not to be made anew: in a folder such as /tmp, Linux then refuses a file of somebody else.
        file = os.open(path, os.O_WRONLY | os.O_APPEND)
    except FileNotFoundError:
        file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o666)
    with open(file, "ab", buffering=0) as stream:
        written = stream.write(content)
    if written != len(content):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def _as_name(student: object) -> str:
    """Return a name as a table shows it: on one line, each letter in its composed form."""
    return printable(unicodedata.normalize("NFC", " ".join(str(student).split())))


def handed_in(path: Path) -> tuple[list[Entry], list[str]]:
    """Return the entries of the class's file, and a sentence for each line that is skipped.

    A last line without an end is being written: it is left for the next time. Raises
    ``UsageError`` for what is no plain file, or larger than a class's.
    """
    try:
        text = _content(path).decode("utf-8", errors="replace")
    except FileNotFoundError:
        return [], [f"{printable(str(path))}: nobody has handed in anything yet"]
    except OSError as error:
        raise UsageError(f"{path} cannot be read", got=error.strerror) from None
    entries, faults = [], []
    lines = text.split("\n")
    for number, line in enumerate(lines[:-1][:MOST_LINES], start=1):
        try:
            if line.strip():
                entries.append(_entry(line))
        except (ValueError, RecursionError, MemoryError) as error:
            faults.append(f"line {number} is skipped: {printable(str(error))[:80]}")
    if len(lines) - 1 > MOST_LINES:
        faults.append(f"only the first {MOST_LINES:,} lines are read")
    elif lines[-1].strip():
        faults.append(f"line {len(lines)} has no end yet")
    return entries, faults


def _content(path: Path) -> bytes:
    """Read what has been opened, whatever takes its name meanwhile; a pipe is not waited for."""
    with open(path, "rb", opener=lambda name, how: os.open(name, how | os.O_NONBLOCK)) as file:
        plain = stat.S_ISREG(os.fstat(file.fileno()).st_mode)
        content = file.read(MOST_BYTES + 1) if plain else b""
    if not plain or len(content) > MOST_BYTES:
        raise UsageError(
            f"{path} is not a class's file",
            expected=f"a plain file of at most {MOST_BYTES:,} bytes",
            got="more" if plain else "another kind",
        )
    return content


def _entry(line: str) -> Entry:
    """Return the entry of a line; raises ``ValueError`` for a line that is none."""
    if len(line) > LONGEST_LINE:
        raise ValueError(f"longer than {LONGEST_LINE:,} characters")
    found = json.loads(line)
    if not isinstance(found, dict) or {*found} != {*Entry._fields}:
        raise ValueError(f"not the fields {', '.join(Entry._fields)}")
    if not all(isinstance(each, str) for each in found.values()):
        raise ValueError("a field that is not a text")
    if found["program"] not in CLASS_PROGRAMS:
        raise ValueError(f"no program of the class: {found['program'][:40]}")
    student = _as_name(found["student"])
    if not student or len(student) > LONGEST_NAME:
        raise ValueError(f"a name of 1 to {LONGEST_NAME} letters is missing")
    return Entry(student, found["program"], found["graph"])


@dataclass
class ClassTable:
    """The results of a class so far; each graph is judged once. ``timed`` measures them too."""

    timed: bool = False
    limits: Limits = field(default_factory=lambda: Limits(seconds=600, request_seconds=30))
    known: dict[tuple[str, str], Result | str] = field(default_factory=dict)

    def judge(self, entries: Sequence[Entry], *, patience: float = math.inf) -> list[str]:
        """Judge graphs that are new, for so many seconds; returns a sentence for each trouble.

        Another call goes on where this one has stopped.
        """
        new = [key for key in dict.fromkeys(map(_key, entries)) if key not in self.known]
        ends, bench = time.monotonic() + patience, self._bench()
        try:
            for place, (program, graph) in enumerate(new):
                if place and time.monotonic() > ends:
                    break
                if bench.spent > self.limits.seconds / 2:  # of which a graph has half for itself
                    bench.stop()
                    bench = self._bench()
                self.known[program, graph] = self._judged(bench, CLASS_PROGRAMS[program], graph)
        finally:
            bench.stop()
        said = [(each, self._trouble(each)) for each in dict.fromkeys(entries)]
        return [f"{each.student}, {each.program}: {why}" for each, why in said if why]

    def waiting(self, entries: Sequence[Entry]) -> int:
        """Return how many graphs are not judged yet."""
        return len({*map(_key, entries)} - self.known.keys())

    def _bench(self) -> RemoteBench:
        return RemoteBench(self.limits, BUBBLEWRAP if has_bubblewrap() else RLIMITS)

    def _judged(self, bench: RemoteBench, program: str, graph: str) -> Result | str:
        answer = Examined(bench)
        try:
            bench.load_graph(values.to_text(graph), program)
            same_graph().judge(answer)
            moves(measured(program).launches, left=1.0, shared=SHARED).judge(answer)
            found = Result(measured(graph))
        except CourseError as error:
            return _said(error)
        if not self.timed:
            return found
        try:
            seen = race(answer, UNFUSED)
            return found._replace(ratio=seen.ratio, mark=seen.mark)
        except CourseError as error:
            return found._replace(fault=f"equal, but not timed: {_said(error)}")

    def _trouble(self, entry: Entry) -> str:
        found = self.known.get(_key(entry), "")
        return found if isinstance(found, str) else found.fault

    def rows(self, entries: Sequence[Entry]) -> list[Row]:
        """Return a row for each student, with the best graph of each program, the best first."""
        best: dict[str, dict[str, Result]] = {}
        for each in entries:
            found = self.known.get(_key(each))
            of_student = best.setdefault(each.student, {})
            if isinstance(found, Result) and (
                each.program not in of_student or found.moved < of_student[each.program].moved
            ):
                of_student[each.program] = found
        rows = [_row(student, found) for student, found in best.items()]
        return sorted(rows, key=lambda row: (-row.solved, row.share, row.student))


def _key(entry: Entry) -> tuple[str, str]:
    return entry.program, entry.graph


def _said(error: CourseError) -> str:
    """Return an error on one line, with what it got: for an end of a process that is the reason."""
    text = error.what if error.got is None else f"{error.what}: {error.got}"
    said = printable(" ".join(text.split()))
    return said if len(said) <= LONGEST_SENTENCE else f"{said[: LONGEST_SENTENCE - 3]}..."


def _row(student: str, found: Mapping[str, Result]) -> Row:
    shares = [
        result.moved.bytes / measured(CLASS_PROGRAMS[program]).bytes
        for program, result in found.items()
    ]
    ratios = [result.ratio for result in found.values() if result.ratio]
    return Row(
        student,
        len(found),
        sum(result.moved.launches for result in found.values()),
        geometric_mean(shares) if shares else 1.0,
        geometric_mean(ratios) if ratios else None,
        next((result.mark for result in found.values() if result.mark), ""),
    )


def words(row: Row) -> tuple[str, str, str, str, str]:
    """Return a row as the table writes it."""
    if not row.solved:
        return row.student, f"0 of {len(CLASS_PROGRAMS)}", "", "", ""
    speed = "" if row.ratio is None else f"{row.ratio:.2f} times as fast{row.mark}"
    solved = f"{row.solved} of {len(CLASS_PROGRAMS)}"
    return row.student, solved, str(row.launches), f"{row.share:.2f}", speed


HEADS = ("student", "programs solved", "launches", "share of bytes", "beside unfused")


def as_text(rows: Sequence[Row], faults: Sequence[str] = ()) -> str:
    """Return the table for a terminal, and the first sentences of what is wrong."""
    lines = [HEADS, *map(words, rows)]
    widths = [max(columns(line[place]) for line in lines) for place in range(len(HEADS))]
    table = [
        "  ".join(padded(cell, width) for cell, width in zip(line, widths, strict=True)).rstrip()
        for line in lines
    ]
    return "\n".join((*table, *_first(faults)))


def _first(faults: Sequence[str]) -> list[str]:
    more = len(faults) - MOST_SHOWN
    return [*faults[:MOST_SHOWN], *([f"and {more:,} more, see --json"] if more > 0 else [])]


def as_page(rows: Sequence[Row], faults: Sequence[str], *, seconds: int | None = None) -> str:
    """Return the table as a web page, which a browser loads again after so many seconds."""
    again = f'<meta http-equiv="refresh" content="{seconds}">' if seconds else ""

    def line(tag: str, cells: Sequence[str]) -> str:
        return "".join(f"<{tag}>{html.escape(cell)}</{tag}>" for cell in cells)

    body = "\n".join(f"<tr>{line('td', words(row))}</tr>" for row in rows)
    said = "".join(f"<li>{html.escape(fault)}</li>" for fault in _first(faults))
    return f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8">{again}<title>Superoptimizers of the class</title>
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<style>
:root {{ color-scheme: light dark; font: 1.2rem system-ui, sans-serif; }}
table {{ border-collapse: collapse; }} th, td {{ padding: .3em .8em; text-align: left; }}
tr + tr td {{ border-top: 1px solid #8888; }}
</style></head><body>
<h1>Superoptimizers of the class</h1>
<table><thead><tr>{line("th", HEADS)}</tr></thead><tbody>
{body}
</tbody></table>
<p>Every graph was verified, and its launches and bytes were counted, on the machine that shows
this page. Of each program the best graph counts; shares and times are geometric means.</p>
<ul>{said}</ul>
</body></html>
"""


def as_plain(rows: Sequence[Row]) -> list[dict[str, Any]]:
    """Return the rows as plain values."""
    return [row._asdict() for row in rows]
