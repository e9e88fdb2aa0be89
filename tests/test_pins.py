"""Versions are pinned in constraints.txt; pyproject.toml and environment*.yml agree with it."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import pytest
import yaml

ROOT = Path(__file__).parent.parent
TVM_PAIR = {"apache-tvm": "0.27.0.post1", "apache-tvm-ffi": "0.1.14.post1"}
FOR_CONDA = {  # the extras that each file installs
    "environment.yml": ("lab", "onnx", "bench"),
    "environment-gpu.yml": ("lab", "gpu13"),
}
PIN = re.compile(r"^([\w.-]+?)(?:==([\w.]+))?\s*(?:;\s*(.+))?$")


EXTRAS_OF_THE_COURSE = re.compile(r"mlc-course\[([\w,-]+)\]")


class Pin(NamedTuple):
    """One requirement; ``version`` and ``marker`` are empty where the line has none."""

    name: str
    version: str
    marker: str


def read_pin(line: str) -> Pin:
    """``'Ruff==0.17.6'`` -> ``Pin('ruff', '0.17.6', '')``; refuses any bound that is not exact."""
    found = PIN.match(line.partition(" #")[0].strip())
    if not found:
        raise ValueError(f"not a name with at most one exact version: {line!r}")
    name, version, marker = found.groups(default="")
    return Pin(re.sub(r"[-_.]+", "-", name).lower(), version, marker)


def read_pins(lines: Iterable[str]) -> dict[str, Pin]:
    """The requirements among ``lines`` by name; options, comments and blank lines are left out."""
    found = (line.strip() for line in lines)
    pins = (read_pin(line) for line in found if line and not line.startswith(("#", "-")))
    return {pin.name: pin for pin in pins}


def lines_of(extra: str, extras: Mapping[str, Sequence[str]]) -> Iterator[str]:
    """The requirements of an extra, with those of the other extras that it names."""
    for line in extras[extra]:
        if others := EXTRAS_OF_THE_COURSE.fullmatch(line):
            for other in others[1].split(","):
                yield from lines_of(other, extras)
        else:
            yield line


def disagreements(
    pyproject: str, constraints: str, environment: str, file: str = "environment.yml"
) -> Iterator[str]:
    """What the texts of the three files say differently, one sentence each."""
    project = tomllib.loads(pyproject)["project"]
    extras = project["optional-dependencies"]
    library = read_pins(project["dependencies"])
    for_conda = library | read_pins(
        line for extra in FOR_CONDA[file] for line in lines_of(extra, extras)
    )
    direct = library | read_pins(line for extra in extras for line in lines_of(extra, extras))
    locked = read_pins(constraints.splitlines())
    last = yaml.safe_load(environment)["dependencies"][-1]
    conda = read_pins(last["pip"])

    for name, version in TVM_PAIR.items():
        if name not in library or library[name].version != version:
            yield f"pyproject.toml: {name} is not pinned to {version}"
    for pin in direct.values():
        if pin.version and pin.name not in TVM_PAIR:
            yield f"pyproject.toml: {pin.name} is pinned outside of constraints.txt"
        if pin.name not in locked:
            yield f"constraints.txt: {pin.name} is missing"
        elif pin.version and locked[pin.name].version != pin.version:
            yield f"constraints.txt: {pin.name} differs from pyproject.toml"
    for pin in locked.values():
        if not pin.version:
            yield f"constraints.txt: {pin.name} has no version"
    for pin in for_conda.values():
        if pin.name in locked and conda.get(pin.name) != locked[pin.name]._replace(
            marker=pin.marker
        ):
            yield f"{file}: {pin.name} is not what pyproject.toml and constraints.txt say"
    for name in conda.keys() - for_conda.keys():
        yield f"{file}: {name} is not a dependency"


@pytest.mark.parametrize("environment", FOR_CONDA)
def test_the_three_files_agree(environment: str) -> None:
    names = ("pyproject.toml", "constraints.txt", environment)
    texts = [(ROOT / name).read_text(encoding="utf-8") for name in names]
    found = list(disagreements(*texts, environment))
    assert not found, "\n".join(found)


def test_no_pin_names_an_address_or_a_folder() -> None:
    pins = read_pins((ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines())
    assert len(pins) > len(TVM_PAIR)  # read_pin refuses lines that are more than name==version


PYPROJECT = """
[project]
dependencies = ["apache-tvm==0.27.0.post1", "apache-tvm-ffi==0.1.14.post1", "numpy"]
[project.optional-dependencies]
lab = ["mlc-course[bench]", "jupyterlab"]
onnx = ["onnx; platform_system == 'Linux'"]
bench = ["igraph"]
gpu13 = ["cupy"]
dev = ["mlc-course[lab,onnx]", "ruff"]
"""
CONSTRAINTS = """
apache-tvm==0.27.0.post1
apache-tvm-ffi==0.1.14.post1
numpy==2.4.6
JupyterLab==4.6.6
cupy==14.2.0
igraph==1.0.0
onnx==1.23.2
ruff==0.17.6
"""
ENVIRONMENT = """
dependencies:
  - python>=3.11
  - pip:
      - -c constraints.txt
      - apache-tvm==0.27.0.post1
      - apache-tvm-ffi==0.1.14.post1
      - numpy==2.4.6
      - jupyterlab==4.6.6
      - igraph==1.0.0
      - onnx==1.23.2; platform_system == 'Linux'
"""


def test_files_that_agree_are_accepted() -> None:
    assert list(disagreements(PYPROJECT, CONSTRAINTS, ENVIRONMENT)) == []


@pytest.mark.parametrize(
    ("file", "old", "new", "complaint"),
    [
        (0, "ffi==0.1.14.post1", "ffi", "apache-tvm-ffi is not pinned to 0.1.14.post1"),
        (0, '"numpy"', '"numpy==2.4.6"', "numpy is pinned outside of constraints.txt"),
        (1, "ffi==0.1.14.post1", "ffi==0.1.15.post2", "apache-tvm-ffi differs"),
        (1, "numpy==2.4.6", "", "numpy is missing"),
        (1, "numpy==2.4.6", "numpy", "numpy has no version"),
        (2, "      - igraph==1.0.0\n", "", "environment.yml: igraph is not what"),
        (2, "- numpy==2.4.6", "- numpy==2.4.5", "environment.yml: numpy is not what"),
        (2, "; platform_system == 'Linux'", "", "environment.yml: onnx is not what"),
        (2, "- numpy==2.4.6", "- numpy==2.4.6\n      - scipy==1.17.1", "scipy is not a dependency"),
    ],
)
def test_files_that_disagree_are_refused(file: int, old: str, new: str, complaint: str) -> None:
    texts = [PYPROJECT, CONSTRAINTS, ENVIRONMENT]
    assert old in texts[file]
    texts[file] = texts[file].replace(old, new)
    assert any(complaint in found for found in disagreements(*texts))


def test_a_file_for_gpus_has_no_tools_of_developers() -> None:
    for_gpus = ENVIRONMENT.replace("onnx==1.23.2; platform_system == 'Linux'", "cupy==14.2.0")
    assert list(disagreements(PYPROJECT, CONSTRAINTS, for_gpus, "environment-gpu.yml")) == []
    found = list(disagreements(PYPROJECT, CONSTRAINTS, ENVIRONMENT, "environment-gpu.yml"))
    assert found == [
        "environment-gpu.yml: cupy is not what pyproject.toml and constraints.txt say",
        "environment-gpu.yml: onnx is not a dependency",
    ]


@pytest.mark.parametrize("line", ["numpy>=2", "numpy @ file:///somewhere", "numpy==2.4 --hash=x"])
def test_a_pin_that_is_not_exact_is_refused(line: str) -> None:
    with pytest.raises(ValueError, match="exact version"):
        read_pin(line)


def test_binder_finds_what_it_needs() -> None:
    """As repo2docker reads it: a Python it has, and this checkout before the packages."""
    environment = yaml.safe_load((ROOT / "environment.yml").read_text(encoding="utf-8"))
    python, *_, last = environment["dependencies"]
    assert re.fullmatch(r"python=3\.1[123]", python)  # "python>=..." would be the base image's
    assert {"-e .", "-c constraints.txt"} <= set(last["pip"])  # so the repository is copied first
    assert not (ROOT / "binder").exists() and not (ROOT / ".binder").exists()  # they go first
