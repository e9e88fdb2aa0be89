"""Record programs for the whole catalogue at all levels, as the rules that the course ships.

    python -m mlc_course.instruction_selection.search.record [--levels avx2,neon] [--jobs 2]

What a rule claims is proved again wherever it is used. The file is written once all are found.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import sys
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import replace
from importlib.resources import as_file, files
from pathlib import Path

from tqdm import tqdm

from mlc_course.instruction_selection.isa import LEVELS, level_of
from mlc_course.instruction_selection.search.rewriting import canonical
from mlc_course.instruction_selection.search.rules import SHIPPED, Rule, rule_data, rule_key
from mlc_course.instruction_selection.search.selection import select_program
from mlc_course.instruction_selection.spec import CATALOGUE

SECONDS = 120.0  # for one search, on a busy machine


def recorded(
    name: str, level: str, seconds: float = SECONDS
) -> tuple[str, dict[str, object]] | str:
    """Search for one specification of the catalogue: the key and the data of its rule.

    Where no program was found and proved, or the time limit ended the search, return a sentence.
    """
    cell, _ = canonical(CATALOGUE[name].specification.cell)
    found = select_program(cell, level_of(level), seconds=seconds)
    if found.program is None or found.certificate is None or found.out_of_time:
        late = f", and the time limit of {seconds:g} s ended the search" * found.out_of_time
        return f"{name} at {level} is not recorded: found {found.program}{late}; {found.coverage}"
    certificate = replace(found.certificate, seconds=round(found.certificate.seconds, 1))
    rule = Rule(found.program, certificate, found.tried)
    return rule_key(cell, level_of(level)), rule_data(rule)


def record(path: Path, names: Sequence[str], levels: Sequence[str], jobs: int) -> list[str]:
    """Write the rules of these specifications at these levels into a file.

    Rules of other levels that the file holds are kept. Returns a sentence for each specification
    that has no rule.
    """
    kept = json.loads(path.read_text("utf-8")) if path.exists() else {}
    rules = {key: data for key, data in kept.items() if key.partition(":")[0] not in levels}
    missing = []
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(jobs, context) as pool:
        asked = [pool.submit(recorded, name, level) for level in levels for name in names]
        for each in tqdm(as_completed(asked), total=len(asked), unit=" rules", disable=None):
            match each.result():
                case str() as why:
                    missing.append(why)
                case key, data:
                    rules[key] = data
    text = json.dumps(rules, indent=1, sort_keys=True) + "\n"
    draft = path.with_suffix(".part")
    draft.write_text(text, encoding="utf-8")
    draft.replace(path)
    return missing


def main(arguments: Sequence[str] | None = None) -> int:
    """Record the catalogue; 1 where something has no rule."""
    parser = argparse.ArgumentParser(description="record programs for the whole catalogue")
    parser.add_argument("--levels", default=",".join(LEVELS), metavar="A,B")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--out", type=Path, metavar="FILE", help="default: the rules shipped")
    asked = parser.parse_args(arguments)
    levels = [level_of(each).name for each in asked.levels.split(",")]
    with as_file(files("mlc_course.instruction_selection.search").joinpath(SHIPPED)) as shipped:
        missing = record(asked.out or shipped, tuple(CATALOGUE), levels, asked.jobs)
    print("\n".join(missing) or f"all recorded in {asked.out or shipped}")
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main())
