"""The scripts in benchmarks/ run for minutes; here each only has to start."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

SCRIPTS = sorted((Path(__file__).parent.parent / "benchmarks").glob("*.py"))
LOAD = "import importlib, sys; [importlib.import_module(name) for name in sys.argv[1:]]"


def test_every_script_finds_what_it_imports() -> None:
    command = [sys.executable, "-c", LOAD, *(path.stem for path in SCRIPTS)]
    done = subprocess.run(command, cwd=SCRIPTS[0].parent, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_a_module_that_is_gone_is_noticed() -> None:
    done = subprocess.run([sys.executable, "-c", LOAD, "mlc_course.gone"], capture_output=True)
    assert done.returncode != 0
