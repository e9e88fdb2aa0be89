"""``mlc-course table``: the class's superoptimizers, verified and ranked while they come in."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from pathlib import Path

from mlc_course.commands.output import NOWHERE, Results, check_file, write_text
from mlc_course.errors import UsageError
from mlc_course.lessons.lesson_21_capstone import ClassTable, as_page, as_plain, as_text, handed_in
from mlc_course.units import plural

SHORTEST_S, LONGEST_S = 1, 3600


def run(
    *,
    file: Path,
    html_path: Path | None = None,
    watch: bool = False,
    seconds: int = 3,
    timed: bool = False,
    results: Results = NOWHERE,
    sleep: Callable[[float], object] = time.sleep,
) -> int:
    """Print the table of a class's file; with ``watch`` again whenever it has changed.

    Raises ``UsageError`` for a file that is no class's, and for results of a table that never ends.
    """
    if watch and results:
        raise UsageError("table: --watch has no last result", expected="--json without --watch")
    if not SHORTEST_S <= seconds <= LONGEST_S:
        raise UsageError("table: --every", expected=f"{SHORTEST_S} to {LONGEST_S}", got=seconds)
    check_file(html_path, (".html",))
    table, shown, on_page = ClassTable(timed), "", ""
    entries, skipped = handed_in(file)
    while True:
        refused = table.judge(entries, patience=seconds if watch else math.inf)
        waiting = table.waiting(entries)
        rows = table.rows(entries)
        faults = [*skipped, *refused]
        if waiting:
            faults = [f"{plural(waiting, 'graph')} still to be judged", *faults]
        if html_path:
            page = as_page(rows, faults, seconds=seconds if watch else None)
            try:
                if page != on_page:
                    write_text(html_path, page)
                on_page = page
            except UsageError as error:
                if not watch:
                    raise
                faults.append(_said(error, "it is tried again"))
        if shown != (shown := as_text(rows, faults)):
            print(shown, flush=True)
        if not watch:
            results.write({"rows": as_plain(rows), "skipped": skipped, "refused": refused})
            return 0
        if not waiting:
            sleep(seconds)
        try:
            entries, skipped = handed_in(file)
        except UsageError as error:  # it was a class's file before, and may be one again
            skipped = [_said(error, "the table is of what was read before")]


def _said(error: UsageError, what_then: str) -> str:
    return f"{error.what}, {error.got}; {what_then}"
