"""``mlc-course table``: the class's superoptimizers, verified and ranked while they come in."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

from mlc_course.commands.output import NOWHERE, Results, check_file, write_text
from mlc_course.errors import UsageError
from mlc_course.lessons.lesson_21_capstone import ClassTable, as_page, as_plain, as_text, handed_in

SHORTEST_S = 1


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
    """Print the table of a class's file; with ``watch`` again whenever the file has changed.

    Raises ``UsageError`` for a file that is no class's, and for results of a table that never ends.
    """
    if watch and results:
        raise UsageError("table: --watch has no last result", expected="--json without --watch")
    if seconds < SHORTEST_S:
        raise UsageError("table: --every", expected=f"{SHORTEST_S} or more", got=seconds)
    check_file(html_path, (".html",))
    table, before = ClassTable(timed), None
    while True:
        entries, faults = handed_in(file)
        if before != (entries, faults):
            before = entries, faults
            refused = table.judge(entries)
            rows = table.rows(entries)
            print(as_text(rows), *faults, *refused, sep="\n", flush=True)
            if html_path:
                page = as_page(rows, [*faults, *refused], seconds=seconds if watch else None)
                write_text(html_path, page)
        if not watch:
            results.write({"rows": as_plain(rows), "skipped": faults, "refused": refused})
            return 0
        sleep(seconds)
