"""The package holds no answer: no public function of it earns a mark where a function is asked for.

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

from mlc_course.grading.course import read_exam
from mlc_course.grading.process import Called

ROOT = Path(__file__).parents[2]
HELPER = ROOT / "tests/helpers/library_answers.py"
ONCE_HAD = ["10_parallelism", "11_packing_and_the_micro_kernel"]  # and lesson 12, which takes long


def asking_for_functions() -> list[str]:
    exams = [read_exam(path) for path in sorted((ROOT / "solutions").glob("*/*.ipynb"))]
    return [
        exam.assignment
        for exam in exams
        if any(isinstance(d.subject, Called) for test in exam.tests for d in test.demands)
    ]


@pytest.mark.slow
@pytest.mark.fuzz
def test_no_function_of_the_package_is_an_answer(
    tmp_path: Path, full: bool, seed: int, tried: Callable[[str, int], None]
) -> None:
    every = asking_for_functions()
    drawn = ONCE_HAD if seed == SEED else [random.Random(seed).choice(every)]
    some = every if full else drawn
    command = [sys.executable, str(HELPER), *some]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=550)
    assert done.returncode == 0, done.stderr[-2000:]
    told = json.loads(done.stdout.splitlines()[-1])
    assert told["functions"] > 3000
    assert sorted(told["found"]) == sorted(set(some))
    for assignment, (count, earned) in told["found"].items():
        assert not earned, f"{assignment}: {earned}"
        assert count > 100, f"{assignment}: only {count} functions take these arguments"
        tried("functions of the package", count)
