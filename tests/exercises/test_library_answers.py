"""The package holds no answer: no function, schedule or value of it earns a mark by itself.

Exercises ask for something that the library does not have. Hiding its modules while answers are
asked for would not do: who has the package can read it, and copy what is hidden. See
``helpers/library_answers.py``.
"""

from __future__ import annotations

import json
import random
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from cases import SEED

ROOT = Path(__file__).parents[2]
HELPER = ROOT / "tests/helpers/library_answers.py"
EVERY = sorted(path.name for path in (ROOT / "solutions").iterdir())
ONCE_HAD = ["10_parallelism", "18_superoptimization"]  # and others, which take longer
# Schedules of lessons that are the subject of an exercise: of two steps or fewer, and in a notebook
# that the reader has just been through.
SUBJECTS = {
    "05_loop_reorder": ["along-rows-test: along_rows = mlc_course.lessons.kit.untiled"],
    "08_fusion": ["one-pass-test: one_pass = mlc_course.lessons.lesson_08_fusion.row_by_row"],
}


@pytest.mark.slow
@pytest.mark.fuzz
@pytest.mark.timeout(1800)  # it tries thousands, most of them for no longer than 0.1 s each
@pytest.mark.parametrize("assignment", EVERY)
def test_nothing_in_the_package_is_an_answer(
    tmp_path: Path, assignment: str, full: bool, seed: int, tried: Callable[[str, int], None]
) -> None:
    drawn = ONCE_HAD if seed == SEED else [random.Random(seed).choice(EVERY)]
    if not full and assignment not in drawn:
        pytest.skip("tried by make test-all")
    command = [sys.executable, str(HELPER), assignment]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]
    told = json.loads(done.stdout.splitlines()[-1])
    assert told["functions"] > 3000
    count, earned = told["found"][assignment]
    assert earned == SUBJECTS.get(assignment, []), f"{assignment}: {earned}"
    assert count > 100, f"{assignment}: only {count} answers"
    tried("answers of the package", count)
