"""Rooms import without the packages that only others of them need, and say which extra is missing.

Each import is tried in a child process in which these packages are not to be found.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from mlc_course.errors import CourseError, MissingPackage
from mlc_course.extras import brought_by, install, on_demand
from mlc_course.parallel import executor_for

ROOT = Path(__file__).parent.parent
# What is blocked for everybody: what JupyterLab brings, and every package of an extra.
LAB = ("jupyterlab", "jupyter_server", "jupyter_client", "ipykernel", "IPython", "ipywidgets")
LAB += ("anywidget", "traitlets", "nbformat", "nbconvert", "nbclient", "jinja2", "mistune")
OTHERS = ("matplotlib", "igraph", "onnx", "nbgrader", "sklearn", "exo", "distributed", "dask")
OTHERS += ("cupy", "pyopencl", "unicorn", "keystone", "triton", "sphinx", "z3")
TVM = ("tvm", "tvm_ffi")

ENGINES = ("tensor_program", "instruction_selection", "mugraph", "dynamic_shape")
GROUND = ("errors", "extras", "deadline", "units", "machine", "parallel", "drawing", "measure")
# Rooms that run programs through TVM, or read them from it.
NEED_TVM = {
    *(f"instruction_selection.{room}" for room in ("compare", "insert", "lower", "prove")),
    *(f"instruction_selection.{room}" for room in ("search", "semantics", "spec")),
    "instruction_selection.tvm_intrinsics",
    *(f"mugraph.{room}" for room in ("cpu_kernels", "runtime", "symbolic")),
    *(f"dynamic_shape.{room}" for room in ("importers", "codegen", "programs")),
}

CHILD = """\
import importlib, importlib.abc, json, sys
blocked, modules, program = json.loads(sys.argv[1])
class Absent(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in blocked:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, Absent())
for module in modules:
    try:
        importlib.import_module(module)
    except Exception as error:
        print(f"{module}: {type(error).__name__}: {error}")
exec(program)
"""


def without(blocked: tuple[str, ...], modules: list[str], program: str = "") -> str:
    """What a child process without these packages prints when it imports the modules, and runs."""
    words = json.dumps([blocked, modules, program])
    done = subprocess.run(
        [sys.executable, "-c", CHILD, words], capture_output=True, text=True, cwd=ROOT
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def rooms(*floors: str) -> list[str]:
    """The rooms of these floors, by the names below ``mlc_course``."""
    found = [path.parent for path in (ROOT / "mlc_course").rglob("__init__.py")]
    names = [".".join(path.relative_to(ROOT / "mlc_course").parts) for path in found]
    return sorted(name for name in names if name.partition(".")[0] in floors)


def test_engines_import_without_jupyterlab_and_without_any_extra() -> None:
    modules = [f"mlc_course.{room}" for room in (*GROUND, *rooms(*ENGINES), "exercise")]
    assert without(LAB + OTHERS, modules) == ""


def test_mugraphs_import_without_tvm() -> None:
    light = [room for room in rooms(*ENGINES) if room.partition(".")[0] != "tensor_program"]
    modules = [f"mlc_course.{room}" for room in (*GROUND, *light) if room not in NEED_TVM]
    assert {f"mlc_course.mugraph.{room}" for room in ("ir", "verify", "search", "cost")} < {
        *modules
    }
    assert without(LAB + OTHERS + TVM, modules) == ""


def test_a_room_that_needs_tvm_says_how_to_install_it() -> None:
    needing = sorted(f"mlc_course.{room}" for room in NEED_TVM)
    said = without(TVM, needing).split("mlc_course.")[1:]
    assert len(said) == len(needing)
    for words in said:
        assert "MissingPackage: the package tvm" in words and "pip install mlc-course" in words


VERIFY_AND_SEARCH = """\
from mlc_course.commands import main
from mlc_course.mugraph.cost import A100, cost
from mlc_course.mugraph.programs import workload
from mlc_course.mugraph.search import Found, superoptimize
assert main(["verify", "rms_norm_matmul", "rms_norm_matmul_fused"]) == 0
program = workload("lora")
found = next(each for each in superoptimize(program) if isinstance(each, Found))
print("found, and cheaper:", found.cost.total < cost(program, A100).total)
"""


@pytest.mark.slow
def test_mugraphs_are_verified_and_found_without_tvm() -> None:
    said = without(LAB + OTHERS + TVM, [], VERIFY_AND_SEARCH)
    assert "equal" in said and said.endswith("cheaper: True\n")


COMMANDS = """\
import contextlib, io
from mlc_course.commands import main
for words in (
    ["fuse", "model.onnx"],
    ["fuse", "bias_gelu", "--plot", "picture.svg"],
    ["lecture", "05", "--no-browser"],
    ["grade", ".", "--no-gradebook"],
):
    with contextlib.chdir(folder), contextlib.redirect_stderr(io.StringIO()) as said:
        status = main(words)
    print(status, " ".join(said.getvalue().split()))
"""


@pytest.mark.slow
def test_a_command_names_the_extra_that_it_needs(tmp_path: Path) -> None:
    (tmp_path / "model.onnx").write_bytes(b"")
    said = without(LAB + OTHERS, [], f"folder = {str(tmp_path)!r}\n{COMMANDS}")
    refusals = [line for line in said.splitlines() if line.startswith("2 MissingPackage")]
    for words, extra in zip(refusals, ("onnx", "bench", "lab", "grade"), strict=True):
        assert f"pip install 'mlc-course[{extra}]'" in words


def test_every_extra_that_an_error_names_exists() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    sources = [path.read_text(encoding="utf-8") for path in (ROOT / "mlc_course").rglob("*.py")]
    named = {
        words.split(mark)[0].strip("\"'")
        for source in sources
        for opening, mark in (('brought_by("', '"'), ("mlc-course[", "]"))
        for words in source.split(opening)[1:]
    }
    written_by_code = {name for name in named if "{" in name}
    assert named - written_by_code <= set(project["optional-dependencies"])
    assert named


def test_what_is_on_demand_is_imported_when_it_is_used() -> None:
    decoder = on_demand("json", "lab").decoder
    assert decoder.JSONDecoder is json.JSONDecoder


def test_a_missing_package_is_an_error_of_the_course_and_an_import_error() -> None:
    absent = on_demand("no_such_package", "onnx")
    with pytest.raises(MissingPackage, match=r"mlc-course\[onnx\]") as refused:
        absent.load("model")
    assert isinstance(refused.value, CourseError) and isinstance(refused.value, ImportError)


def test_a_missing_module_of_the_course_is_a_fault_of_the_course() -> None:
    with pytest.raises(ModuleNotFoundError, match="mlc_course"), brought_by("lab"):
        import mlc_course.no_such_room  # type: ignore[import-not-found]  # noqa: F401


def test_the_library_itself_is_installed_without_an_extra() -> None:
    assert install() == "pip install mlc-course"


def test_a_dask_cluster_names_its_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(MissingPackage, match=r"mlc-course\[cluster\]"):
        executor_for("dask://localhost:1", None)
