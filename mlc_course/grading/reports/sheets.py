"""Tables that a person fills in: read as a spreadsheet saved them, with the faults by line."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from mlc_course.errors import UsageError

DELIMITERS = ",;\t"
RUN_BY_SPREADSHEETS = ("=", "+", "-", "@", "\t", "\r")
MOST_FAULTS = 10  # of one file, in one message
BOM = "\ufeff"


@dataclass(frozen=True)
class Sheet:
    """A CSV file: its header, its other lines, and how it was written."""

    header: tuple[str, ...]
    lines: tuple[tuple[str, ...], ...]
    delimiter: str = ","
    has_bom: bool = False

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the columns."""
        return tuple(name.strip() for name in self.header)


def read_sheet(path: Path, wanted: Sequence[str]) -> Sheet:
    """A CSV file as spreadsheets save it: with commas, semicolons or tabs, UTF-8 or Windows-1252.

    Raises ``UsageError`` where it cannot be read, or lacks one of the columns ``wanted``.
    """
    try:
        raw = path.read_bytes()
    except OSError as error:
        raise UsageError(f"{path} cannot be read", got=error.strerror) from None
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError:
        text = raw.decode("cp1252", errors="replace")
    has_bom, text = text.startswith(BOM), text.removeprefix(BOM)
    best: Sheet | None = None
    for delimiter in DELIMITERS:
        try:
            rows = [tuple(row) for row in csv.reader(io.StringIO(text, ""), delimiter=delimiter)]
        except csv.Error:
            continue
        sheet = Sheet(rows[0] if rows else (), tuple(rows[1:]), delimiter, has_bom)
        if set(wanted) <= set(sheet.names):
            return sheet
        if best is None or len(sheet.header) > len(best.header):
            best = sheet
    raise UsageError(
        f"{path} is not the table that is expected here",
        expected=f"CSV with the columns {', '.join(wanted)}",
        got=", ".join(best.header)[:200] if best else "no CSV",
    )


def records(path: Path, wanted: Sequence[str]) -> Iterator[tuple[int, Mapping[str, str]]]:
    """Each line that has something, with its number as an editor counts it when none is split.

    Raises ``UsageError`` for no table, for one that has a column of ``wanted`` twice, and for a
    line with more fields than columns, such as ``ada,2,5`` for 2.5: its fields are in wrong places.
    """
    sheet = read_sheet(path, wanted)
    filled = [
        (number, line)
        for number, line in enumerate(sheet.lines, start=2)
        if any(field.strip() for field in line)
    ]
    twice = [f"column {name} twice" for name in wanted if sheet.names.count(name) > 1]
    columns = len(sheet.header)
    longer = [
        f"line {number}: {len(line)} fields for {columns} columns"
        for number, line in filled
        if len(line) > columns
    ]
    refuse(path, twice + longer, f"each of {', '.join(wanted)} once, and quotes around 2,5")
    for number, line in filled:
        padded = (*line, *[""] * columns)
        yield number, dict(zip(sheet.names, padded, strict=False))


def written(sheet: Sheet) -> str:
    """The text of a sheet, in the way in which it was read."""
    text = io.StringIO()
    csv.writer(text, delimiter=sheet.delimiter, lineterminator="\n").writerows(
        (sheet.header, *sheet.lines)
    )
    return BOM * sheet.has_bom + text.getvalue()


def refuse(path: Path, faults: Sequence[str], expected: str) -> None:
    """Raise ``UsageError`` with these faults of a file, if there are any."""
    if faults:
        more = len(faults) - MOST_FAULTS
        shown = [*faults[:MOST_FAULTS], *([f"and {more} more"] if more > 0 else [])]
        raise UsageError(f"{path} has faults", expected=expected, got="; ".join(shown))


def number_in(text: str) -> float:
    """A number with a point or a comma; raises ``ValueError``."""
    number = float(text.strip().replace(",", "."))
    if "_" in text or not abs(number) < float("inf"):  # Python alone reads 1_0 as 10
        raise ValueError(text)
    return number


def as_number(value: float) -> str:
    """The shortest text that ``number_in`` reads as this very number."""
    return repr(float(value)).removesuffix(".0")


def inert(text: str) -> str:
    """Text that no spreadsheet runs; ``alive`` gives it back, whatever it is."""
    first, second = text[:1], text[1:2]
    risky = first in RUN_BY_SPREADSHEETS or first == "'" and second in (*RUN_BY_SPREADSHEETS, "'")
    return f"'{text}" if first and risky else text


def alive(text: str) -> str:
    """The text of which ``inert`` made this one."""
    quoted = text[:1] == "'" and text[1:2] in (*RUN_BY_SPREADSHEETS, "'")
    return text[1:] if quoted else text
