"""The rules of a class, in one file: what being late costs, and how many assignments are dropped.

They are in a file beside the solutions, not in options, because every run has to follow the same.
"""

from __future__ import annotations

import math
import tomllib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

from mlc_course.errors import UsageError, did_you_mean
from mlc_course.grading.course import Late, Submission
from mlc_course.grading.handed_in import HandedIn
from mlc_course.grading.reports.sheets import alive, records, refuse

RULES = "rules.toml"  # beside the solutions
DAY_S = 24 * 60 * 60
KEYS = {
    "": ("drop_lowest", "days_late", "late", "due", "columns"),
    "late": ("percent_a_day", "most_days"),
}

Work = tuple[str, str]  # a student and an assignment


@dataclass(frozen=True)
class Rules:
    """A class's rules; without a file, nothing is late and nothing is dropped.

    ``days_late`` are days that the instructor wrote down, which count before any time; ``columns``
    are the names that assignments have in a learning platform.
    """

    percent_a_day: float = 0.0
    most_days: int | None = None
    drop_lowest: int = 0
    due: Mapping[str, datetime] = field(default_factory=dict)
    days_late: Mapping[Work, int] = field(default_factory=dict)
    columns: Mapping[str, str] = field(default_factory=dict)

    def late(self, work: Work, handed_in: HandedIn) -> Late:
        """How late a submission is, and what that costs."""
        days, unsure = self._days(work, handed_in)
        if days == 0:
            return Late()
        too_late = self.most_days is not None and days > self.most_days
        kept = 0.0 if too_late else max(0.0, 1 - days * self.percent_a_day / 100)
        said = f"{days} day{'s' if days > 1 else ''}{unsure} late"
        cost = (
            f"more than {self.most_days} days count 0"
            if too_late
            else f"{100 * (1 - kept):g} % off"
        )
        return Late(days, kept, f"{said}: {cost}")

    def _days(self, work: Work, handed_in: HandedIn) -> tuple[int, str]:
        if work in self.days_late:
            return self.days_late[work], ""
        due = self.due.get(work[1])
        if due and handed_in.at:
            return max(0, math.ceil((handed_in.at - due).total_seconds() / DAY_S)), ""
        return (1, " or more") if handed_in.is_marked_late else (0, "")

    def is_unknown(self, work: Work, handed_in: HandedIn) -> bool:
        """Tell whether there is a time to be met, and nothing says whether it was."""
        says = handed_in.at is not None or handed_in.is_marked_late
        return work[1] in self.due and work not in self.days_late and not says


def read_rules(
    path: Path | None, solutions: Path, submissions: Sequence[Submission], known: Collection[str]
) -> Rules:
    """The rules in a file, or in ``rules.toml`` beside the solutions, or none.

    ``known`` are all assignments. Raises ``UsageError`` for what is not as it has to be.
    """
    if path is None:
        path = solutions.parent / RULES
        if not path.exists():
            return Rules()
    try:
        tree = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise UsageError(f"{path} cannot be read", expected="rules, as TOML", got=error) from None
    _check_keys(path, "", tree)
    late = _part(path, tree, "late")
    _check_keys(path, "late", late)
    due, columns = _part(path, tree, "due"), _part(path, tree, "columns")
    for name, table in (("due", due), ("columns", columns)):
        _check_names(path, name, table, known)
    for assignment, time in due.items():
        if not isinstance(time, datetime) or time.tzinfo is None:
            raise UsageError(
                f"{path}: due, {assignment}",
                expected="a time with its offset, such as 2026-11-20T23:59:00+01:00",
                got=time,
            )
    for assignment, column in columns.items():
        if not isinstance(column, str):
            raise UsageError(f"{path}: columns, {assignment}", expected="a name", got=column)
    most_days = late.get("most_days")
    return Rules(
        _number(path, "percent_a_day", late.get("percent_a_day", 0), 100),
        None if most_days is None else _whole(path, "most_days", most_days),
        _whole(path, "drop_lowest", tree.get("drop_lowest", 0)),
        due,
        _days_late(path, tree.get("days_late"), submissions, known),
        columns,
    )


def _part(path: Path, tree: Mapping[str, Any], name: str) -> dict[str, Any]:
    found = tree.get(name, {})
    if not isinstance(found, dict):
        raise UsageError(f"{path}: {name}", expected=f"a part [{name}]", got=found)
    return found


def _check_keys(path: Path, part: str, table: Mapping[str, Any]) -> None:
    _refuse_unknown(f"{path}{': ' if part else ''}{part}", table, KEYS[part])


def _check_names(path: Path, part: str, table: Mapping[str, Any], known: Collection[str]) -> None:
    _refuse_unknown(f"{path}: {part}", table, known)


def _refuse_unknown(where: str, table: Mapping[str, Any], known: Collection[str]) -> None:
    for key in table:
        if key not in known:
            raise UsageError(
                f"{where}: {key!r} is not known",
                expected=" | ".join(known),
                got=key,
                hint=did_you_mean(key, known),
            )


def _number(path: Path, name: str, value: object, most: float) -> float:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if not is_number or not 0 <= value <= most:  # type: ignore[operator]
        raise UsageError(f"{path}: {name}", expected=f"a number from 0 to {most:g}", got=value)
    return float(value)  # type: ignore[arg-type]


def _whole(path: Path, name: str, value: object) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise UsageError(f"{path}: {name}", expected="a whole number, 0 or more", got=value)
    return value


def _days_late(
    path: Path, name: object, submissions: Sequence[Submission], assignments: Collection[str]
) -> dict[Work, int]:
    """Days from a table beside the rules, with the columns student, assignment and days.

    The table is for the whole course: a line on an assignment that nobody handed in here is passed
    over.
    """
    if name is None:
        return {}
    if not isinstance(name, str):
        raise UsageError(f"{path}: days_late", expected="the name of a CSV file", got=name)
    table, known = path.parent / name, {(each.student, each.assignment) for each in submissions}
    elsewhere = set(assignments) - {each.assignment for each in submissions}
    found, faults = dict[Work, int](), list[str]()
    for number, line in records(table, ("student", "assignment", "days")):
        work, days = (alive(line["student"]), line["assignment"].strip()), line["days"].strip()
        where = f"line {number}, {work[0]!r}, {work[1]!r}"
        if work[1] in elsewhere:
            continue
        if work not in known:
            faults.append(f"{where}: no such submission")
        elif work in found:
            faults.append(f"{where}: a second time")
        elif not (days.isdecimal() and len(days) < 5):
            faults.append(f"{where}: days {days!r}")
        else:
            found[work] = int(days)
    refuse(table, faults, "a line for each late submission, with whole days from 0")
    return found
