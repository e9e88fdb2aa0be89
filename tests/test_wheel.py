"""The wheel is whole: built as a release is, and installed in an environment of its own."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tarfile
import venv
import zipfile
from importlib import metadata
from pathlib import Path

import pytest

from mlc_course.course_files import course_files

ROOT = Path(__file__).parent.parent
NOT_OF_A_RELEASE = (".git", ".venv", "out", "build", "dist", "*.egg-info", "__pycache__")
NOT_OF_A_RELEASE += (".ipynb_checkpoints", ".*_cache", ".hypothesis", ".grading")
ROOMS = """\
import mlc_course, mlc_course.exercise, mlc_course.lessons.kit
import mlc_course.tensor_program.ladders, mlc_course.dynamic_shape.codegen
import mlc_course.instruction_selection.search, mlc_course.mugraph.search
print(mlc_course.__file__)
"""

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        int(metadata.version("setuptools").partition(".")[0]) < 77,
        reason="this environment is older than the pin of setuptools: make setup",
    ),
]


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the sdist and the wheel that is made of it; no network, no build left here."""
    folder = tmp_path_factory.mktemp("release")
    source = folder / "source"
    shutil.copytree(ROOT, source, ignore=shutil.ignore_patterns(*NOT_OF_A_RELEASE), symlinks=True)
    words = [sys.executable, "-m", "build", "--no-isolation", "--outdir", folder / "dist", source]
    done = subprocess.run(words, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    return folder / "dist"


@pytest.fixture(scope="module")
def wheel(built: Path) -> Path:
    (path,) = built.glob("*.whl")
    return path


@pytest.fixture(scope="module")
def programs(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The programs of a new environment with the wheel; it borrows all other packages from ours."""
    home = tmp_path_factory.mktemp("environment")
    venv.create(home, with_pip=False, symlinks=True)
    (site,) = home.glob("lib/python*/site-packages")
    # Read as a plain folder, so that the course that is installed there for editing is not found.
    borrowed = [folder for folder in sys.path if Path(folder).name == "site-packages"]
    (site / "borrowed.pth").write_text("\n".join(borrowed))
    words = [sys.executable, "-m", "pip", "--python", home / "bin" / "python", "install"]
    words += ["--quiet", "--no-compile", "--no-deps", "--no-index", "--ignore-installed", wheel]
    done = subprocess.run(words, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return home / "bin"


def run(programs: Path, *words: object, cwd: Path, status: int = 0) -> str:
    """What a program of the environment prints, far from the checkout."""
    clean = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    clean["PATH"] = os.pathsep.join((str(programs), clean["PATH"]))
    done = subprocess.run(list(map(str, words)), cwd=cwd, env=clean, capture_output=True, text=True)
    assert done.returncode == status, done.stderr
    return done.stdout + done.stderr


def test_every_file_of_the_package_is_in_the_wheel(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        held = {name for name in archive.namelist() if name.startswith("mlc_course/")}
    ours = {
        path.relative_to(ROOT).as_posix()
        for path in (ROOT / "mlc_course").rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert ours - held == set()
    carried = {f"mlc_course/carried/{path}" for path in (*course_files(ROOT), "constraints.txt")}
    recorded = {name for name in held if re.search(r"/carried/benchmarks/.*\.json$", name)}
    assert held - ours - recorded == carried
    assert not any("solution" in Path(name).parent.name for name in held)


def test_the_wheel_has_the_licences_of_all_that_is_in_it(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        held = {name.rpartition("/licenses/")[2] for name in archive.namelist()}
    assert {"LICENSE", "LICENSE-text", "THIRD_PARTY.md"} <= held


def test_the_sdist_has_what_the_wheel_is_made_of_and_no_solutions(built: Path) -> None:
    (path,) = built.glob("*.tar.gz")
    with tarfile.open(path) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert {"setup.py", "pyproject.toml", "LICENSE", "notebooks/index.ipynb"} < names
    assert not any(name.startswith(("solutions", "tests")) for name in names)


def test_the_command_and_the_engines_come_with_the_wheel(programs: Path, tmp_path: Path) -> None:
    assert "superoptimize" in run(programs, "mlc-course", "--help", cwd=tmp_path)
    place = run(programs, programs / "python", "-W", "error", "-c", ROOMS, cwd=tmp_path)
    assert place.strip().startswith(str(programs.parent))


def test_the_lessons_are_laid_out_and_opened_without_a_checkout(
    programs: Path, tmp_path: Path
) -> None:
    said = run(programs, "mlc-course", "lab", cwd=tmp_path, status=2)
    assert "mlc-course init mlc" in said
    assert "files new" in run(programs, "mlc-course", "init", "mlc", cwd=tmp_path)
    laid_out = tmp_path / "mlc"
    for path, content in course_files(ROOT).items():
        assert (laid_out / path).read_bytes() == content
    opened = "from mlc_course.course_files import course_folder; print(course_folder())"
    said = run(programs, programs / "python", "-c", opened, cwd=laid_out / "exercises")
    assert said.strip() == str(laid_out.resolve())
    run(programs, "mlc-course", "lecture", "05", "--html", "05.html", cwd=laid_out)
