"""How tests are run: dealt to workers by files, counted, and repeated with fresh seeds."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parent.parent
SHARED = (
    "pyproject.toml",
    "tests/conftest.py",
    "tests/helpers/cases.py",
    "tests/helpers/golden.py",
    "tests/helpers/repeatable.py",
)
DRAWS = """
import pytest
from hypothesis import given, settings, strategies as st

@settings(max_examples=20)
@given(st.integers(0, 1000))
def test_hardly_any_number(n):
    assert n != 471

@pytest.mark.fuzz
def test_most_seeds(seed, tried):
    tried("seeds", 1)
    assert seed % 7

def test_that_draws_nothing():
    pass
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A folder that runs its tests as this one does, and has none."""
    for name in SHARED:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    return tmp_path


def run(project: Path, *words: str) -> str:
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *words]
    outside = {name: each for name, each in os.environ.items() if name != "PYTEST_ADDOPTS"}
    done = subprocess.run(command, cwd=project, env=outside, capture_output=True, text=True)
    return done.stdout


def test_what_fails_on_a_fresh_seed_is_told_with_the_command_that_repeats_it(project: Path) -> None:
    (project / "tests" / "test_draws.py").write_text(DRAWS)
    assert "3 passed" in run(project, "--seed", "1")
    said = run(project, "--minutes", "1")
    assert "2 failed, 1 deselected" in said
    repeat = dict(re.findall(r"^pytest --seed (\d+) '(.*)'$", said, re.MULTILINE))
    assert sorted(repeat.values()) == [
        "tests/test_draws.py::test_hardly_any_number",
        "tests/test_draws.py::test_most_seeds",
    ]
    for seed, test in repeat.items():
        assert "1 failed" in run(project, "--seed", seed, test)


def test_without_a_seed_a_run_repeats_itself(project: Path) -> None:
    lines = DRAWS.replace("n != 471", "n > 1000")
    (project / "tests" / "test_draws.py").write_text(lines)
    first, second = (run(project, "-k", "hardly").partition("short test summary")[0] for _ in "ab")
    times = re.compile(r"in \d.*s|0x\w+")
    assert "1 failed" not in first and "n=0" in first
    assert times.sub("", first) == times.sub("", second)


DRAWN = """
from pathlib import Path
from hypothesis import given, strategies as st

seen = []

@given(st.integers(), st.text())
def test_draws(number, text):
    seen.append((number, text))

def test_what_was_drawn():
    Path("drawn.txt").write_text(ascii(seen))
"""


def test_what_is_drawn_does_not_depend_on_what_is_loaded(project: Path) -> None:
    """As it is dealt to one worker or another."""
    (project / "tests" / "test_drawn.py").write_text(DRAWN)
    drawn = set()
    for _ in range(2):
        assert "failed" not in run(project)
        drawn.add((project / "drawn.txt").read_text())
        numbers = [1_000_003 + 7 * each for each in range(200)]
        (project / "ours.py").write_text(f"NUMBERS = {numbers}\n")
        (project / "tests" / "test_before.py").write_text("import ours\ndef test_it(): pass\n")
    assert len(drawn) == 1


WITHOUT_A_SEED = """
import pickle, random
from pathlib import Path

ENGINE = '''
import random, secrets, numpy as np
drawn = [random.Random().random(), np.random.default_rng().random(), secrets.randbits(60)]
'''

def test_engines_draw():
    for name in ("mlc_course.engine", "another.engine"):
        engine = {"__name__": name}
        exec(ENGINE, engine)
        Path(name).write_text(ascii(engine["drawn"]))
    assert isinstance(random.SystemRandom(), random.Random)
    assert b"random\\n" in pickle.dumps(random.Random(1), 0)  # another process reads it
"""


def test_the_library_draws_alike_in_each_run_unless_a_seed_is_asked_for(project: Path) -> None:
    (project / "tests" / "test_engines.py").write_text(WITHOUT_A_SEED)
    ours, others = [], []
    for asked in ((), (), ("--seed", "1")):
        assert "1 passed" in run(project, *asked)
        ours.append((project / "mlc_course.engine").read_text())
        others.append((project / "another.engine").read_text())
    assert ours[0] == ours[1] != ours[2]
    assert len(set(others)) == 3


def test_counts_are_added_up_over_workers_and_written(project: Path) -> None:
    counts = "import pytest\n@pytest.mark.parametrize('n', range(4))\ndef test_n(n, tried, full):"
    counts += "\n    tried('things', 10 if full else 1)\n"
    for name in ("a", "b"):
        (project / "tests" / f"test_{name}.py").write_text(counts)
    assert re.search(r"^ +8  things$", run(project, "-n", "2"), re.MULTILINE)
    (project / "counts.json").touch()  # of the last time, as in benchmarks/results
    run(project, "-n", "2", "--full", "--record=counts.json")
    written = json.loads((project / "counts.json").read_text())
    assert written["tried"] == {"things": 80} and written["tests"] == {"passed": 8}
    run(project, "--full", "--record=counts.json", "--collect-only")
    assert json.loads((project / "counts.json").read_text()) == written


def test_a_file_stays_with_one_worker_and_so_do_all_that_drive_a_browser(project: Path) -> None:
    text = "import os, pathlib, pytest\n@pytest.mark.{}\n@pytest.mark.parametrize('n', range(9))\n"
    text += "def test_n(n):\n    with open('{}', 'a') as file:\n"
    text += "        print(os.environ['PYTEST_XDIST_WORKER'], file=file)\n"
    marks = {"one": "browser", "two": "browser", "three": "slow", "four": "slow"}
    for name, mark in marks.items():
        (project / "tests" / f"test_{name}.py").write_text(text.format(mark, name))
    assert "36 passed" in run(project, "-n", "2")
    workers = {name: set((project / name).read_text().split()) for name in marks}
    assert all(len(each) == 1 for each in workers.values())
    assert workers["one"] == workers["two"]
    assert len(set.union(*workers.values())) == 2


def test_the_makefile_does_not_name_the_record_as_a_file_of_tests() -> None:
    """With a space, pytest takes a record that exists for tests, and never reads our options."""
    recipe = (ROOT / "Makefile").read_text(encoding="utf-8")
    assert "--record=benchmarks/results/test_all.json" in recipe
