"""The installed TVM and its ffi search together without a crash.

They are two packages with one ABI and no guard between them: in a pair that does not fit,
``tune_tir`` ends the process with a segmentation fault, so it runs in a child.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from mlc_course.commands.doctor import installed_pair, pinned_pair

# A builder of our own: the default one imports TVM's GPU intrinsics in each worker, 15 s a time.
SEARCH = """
import sys

import tvm
from tvm import te
from tvm.s_tir import meta_schedule


def build(module, target, _params):
    return tvm.compile(module, target=target).mod


a, b = (te.placeholder((16, 16), "float32", name=name) for name in "AB")
k = te.reduce_axis((0, 16), name="k")
c = te.compute((16, 16), lambda i, j: te.sum(a[i, k] * b[k, j], axis=k), name="C")
database = meta_schedule.tune_tir(
    te.create_prim_func([a, b, c]),
    target=tvm.target.Target({"kind": "llvm", "num-cores": 1}),
    work_dir=sys.argv[1],
    max_trials_global=2,
    num_trials_per_iter=2,
    builder=meta_schedule.builder.LocalBuilder(f_build=build, max_workers=1),
)
print("measured", len(database))
"""
PATIENCE_S = 300.0


def run(program: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run Python text in a child process whose working folder and first argument is ``folder``."""
    return subprocess.run(
        [sys.executable, "-c", program, str(folder)],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
    )


def crash(
    done: subprocess.CompletedProcess[str],
    installed: Mapping[str, str | None],
    pinned: Mapping[str, str | None],
) -> str | None:
    """How a child ended other than by returning, with the pair to blame; None when it returned."""
    if 0 <= done.returncode < 128:
        return None
    signal = -done.returncode if done.returncode < 0 else done.returncode - 128  # a shell's 128 + n
    lines = [f"tune_tir ended by signal {signal}"]
    for label, pair in (("installed", installed), ("pinned", pinned)):
        versions = " with ".join(f"{package} {version}" for package, version in pair.items())
        lines.append(f"  {label:<9}  {versions}")
    return "\n".join(lines)


@pytest.mark.slow
def test_a_search_survives_on_the_installed_pair(tmp_path: Path) -> None:
    done = run(SEARCH, tmp_path)
    ended_by = crash(done, installed_pair(), pinned_pair())
    assert ended_by is None, ended_by
    assert done.returncode == 0, done.stderr
    assert "measured 2" in done.stdout


def test_a_crash_names_the_pair(tmp_path: Path) -> None:
    done = run("import os; os.abort()", tmp_path)
    installed = {"apache-tvm": "0.27.0.post1", "apache-tvm-ffi": "0.1.15.post2"}
    said = crash(done, installed, pinned_pair())
    assert said is not None
    assert "installed  apache-tvm 0.27.0.post1 with apache-tvm-ffi 0.1.15.post2" in said
    assert "pinned     apache-tvm 0.27.0.post1 with apache-tvm-ffi 0.1.14.post1" in said


@pytest.mark.skipif(os.name == "nt", reason="signals as exit statuses are POSIX")
@pytest.mark.parametrize(("status", "signal"), [(-11, 11), (139, 11), (-6, 6)])
def test_a_segmentation_fault_is_a_crash(status: int, signal: int) -> None:
    said = crash(subprocess.CompletedProcess([], status), {}, {})
    assert said is not None
    assert f"signal {signal}" in said


@pytest.mark.parametrize("status", [0, 1])
def test_an_exception_is_no_crash(status: int) -> None:
    assert crash(subprocess.CompletedProcess([], status), {}, {}) is None
