"""`make pins` without a network: what it compares, whom it blames, and what it says."""

from __future__ import annotations

import importlib
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from mlc_course.errors import MachineError
from mlc_course.parallel import INTERRUPTED, Said

ROOT = Path(__file__).parent.parent


@pytest.fixture(scope="module")
def pins() -> Iterator[Any]:
    sys.path.insert(0, str(ROOT / "benchmarks"))
    yield importlib.import_module("pins")
    sys.path.remove(str(ROOT / "benchmarks"))


CONSTRAINTS = """# The head of the file.

apache-tvm==1.0
apache-tvm-ffi==1.0
Jinja2==3.1
# 4.25 starts slowly.
jsonschema==4.24.0
cupy-cuda13x==14.2
"""
NEWEST = {
    "apache-tvm": "1.0",
    "apache-tvm-ffi": "1.1",
    "jinja2": "3.2",
    "jsonschema": "4.26",
    "lark": "1.3",
}
CANARIES = ("TVM searches", "a notebook", "mypy")


def test_the_pins_of_the_repository_are_read(pins: Any) -> None:
    text = (ROOT / "constraints.txt").read_text(encoding="utf-8")
    assert {*pins.PAIR, "jupyterlab"} <= pins.read_pins(text).keys()
    reasons = pins.read_reasons(text)
    assert "1.4 s" in reasons["jsonschema"] and "both or neither" in reasons["apache-tvm"]
    assert "accessible-pygments" not in reasons  # what is above it is the head of the file
    needs = pins.unpinned((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    assert {"apache-tvm", "apache-tvm-ffi", "jupyterlab", "mypy"} <= set(needs)
    assert "jinja2" in needs and not any("mlc-course" in each for each in needs)
    assert not any("==1" in each or "==0" in each for each in needs)


def test_what_moved_came_along_or_was_not_tried_is_told_apart(pins: Any) -> None:
    found = pins.compared(pins.read_pins(CONSTRAINTS), NEWEST, pins.read_reasons(CONSTRAINTS))
    assert [(m.package, m.pinned, m.newest, m.reason) for m in found.moves] == [
        ("apache-tvm-ffi", "1.0", "1.1", ""),
        ("jinja2", "3.1", "3.2", ""),
        ("jsonschema", "4.24.0", "4.26", "4.25 starts slowly."),
    ]
    assert found.added == {"lark": "1.3"} and found.not_tried == ("cupy-cuda13x",)


def test_the_pair_moves_as_one_and_is_suspected_first(pins: Any) -> None:
    moves = [pins.Move(name, "1", "2") for name in ("attrs", "jupyterlab", *pins.PAIR)]
    assert pins.units_of(moves) == (pins.PAIR, ("jupyterlab",), ("attrs",))


@pytest.mark.parametrize("guilty", [set(), {3}, {0, 6}, {2, 3, 5}, set(range(7))])
def test_the_culprits_are_found_whichever_they_are(pins: Any, guilty: set[int]) -> None:
    units = tuple((f"p{number}",) for number in range(7))
    wanted = {units[number] for number in guilty}
    asked = 0

    def works(held: Sequence[Any]) -> bool:
        nonlocal asked
        asked += 1
        return wanted <= set(held)

    assert set(pins.culprits(units, works)) == wanted
    assert asked <= 1 + 5 * len(guilty)


def test_where_all_pins_do_not_help_nobody_is_blamed(pins: Any) -> None:
    assert pins.culprits((("a",), ("b",)), lambda _: False) is None
    assert pins.culprits((), lambda _: False) is None


class StandIn:
    """An environment in which a canary passes if the packages that it needs are held back."""

    def __init__(self, needs: Mapping[str, set[str]], newest: Mapping[str, str] = NEWEST) -> None:
        self.needs, self.newest = needs, newest
        self.here: dict[str, str] = {}
        self.installs = 0

    def install(self, _: Sequence[str], held: Mapping[str, str]) -> float:
        self.installs += 1
        self.here = {**self.newest, **held}
        return 1e6

    def install_course(self) -> None:
        pass

    def installed(self) -> Mapping[str, str]:
        return self.here

    def run(self, canary: Any) -> Said:
        moved = {name for name, version in self.here.items() if version == self.newest[name]}
        broken = self.needs.get(canary.name, set()) & moved
        return Said(1, "", f"first\nbroken by {', '.join(broken)}\n") if broken else Said(0, "", "")


def tried(pins: Any, environment: StandIn) -> Any:
    report = pins.Report()
    canaries = [pins.Canary(name, ()) for name in CANARIES]
    pins.try_newest(environment, [], CONSTRAINTS, canaries, report)
    return report


def test_each_broken_canary_has_its_own_culprits(pins: Any) -> None:
    needs = {
        "TVM searches": {"apache-tvm-ffi"},
        "a notebook": {"apache-tvm-ffi", "jinja2"},
        "mypy": {"lark"},  # which has no pin, so no move is to blame
    }
    report = tried(pins, StandIn(needs))
    assert {m.package: (m.verdict, m.breaks) for m in report.moves} == {
        "apache-tvm-ffi": ("fails", ("TVM searches", "a notebook")),
        "jinja2": ("fails", ("a notebook",)),
        "jsonschema": ("passes", ()),
    }
    assert report.not_by_a_move == ("mypy",)
    lines = list(pins.table(report))
    assert lines[1].endswith("fails: TVM searches, a notebook")
    assert lines[3].endswith("passes; 4.25 starts slowly.")
    assert "canary, mypy: status 1: broken by lark; fails with the pins, too" in lines


def test_when_nothing_breaks_it_is_installed_once(pins: Any) -> None:
    environment = StandIn({})
    report = tried(pins, environment)
    assert environment.installs == 1 and report.downloaded == 1e6
    assert {m.verdict for m in report.moves} == {"passes"}


def test_versions_that_do_not_fit_each_other_are_no_solution(pins: Any) -> None:
    class Refusing(StandIn):
        def install(self, wanted: Sequence[str], held: Mapping[str, str]) -> float:
            if held.get("jinja2") == "3.1" and held.get("jsonschema") == "4.26":
                raise MachineError("pip cannot install this")
            return super().install(wanted, held)

    report = tried(pins, Refusing({"a notebook": {"jinja2"}}))
    fails = {m.package for m in report.moves if m.verdict == "fails"}
    assert fails == {"jinja2", "jsonschema"}


@pytest.fixture
def in_folder(pins: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Let it work in a folder of the test, where making an environment takes no time."""
    monkeypatch.setattr(pins, "FOLDER", tmp_path / "pins")
    monkeypatch.setattr(pins.Environment, "make", lambda self: self.folder.mkdir(parents=True))
    monkeypatch.setattr(pins, "check_disk", lambda *_: None)
    return tmp_path


def test_ctrl_c_keeps_what_is_known_and_leaves_no_environment(
    pins: Any, in_folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def stopped(*arguments: Any) -> None:
        arguments[-1].moves = (pins.Move("jinja2", "3.1", "3.2"),)
        raise KeyboardInterrupt

    monkeypatch.setattr(pins, "try_newest", stopped)
    file = in_folder / "pins.json"
    assert pins.main(["--json", str(file)]) == INTERRUPTED
    kept = json.loads(file.read_text())
    assert kept["stopped"] and kept["moves"][0]["verdict"] == "not known"
    assert {"machine", "date", "versions"} <= kept.keys()
    assert "jinja2" in capsys.readouterr().out
    assert not pins.FOLDER.exists()


def test_what_cannot_be_installed_is_told(
    pins: Any, in_folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def failing(*_: Any) -> None:
        raise MachineError("pip cannot install this", got="no network")

    monkeypatch.setattr(pins, "try_newest", failing)
    assert pins.main([]) == 2
    assert "no network" in capsys.readouterr().err and not pins.FOLDER.exists()
    assert pins.main(["--json", str(in_folder)]) == 2
    assert "cannot write" in capsys.readouterr().err


def test_a_full_disk_is_told_before_anything_is_downloaded(pins: Any) -> None:
    with pytest.raises(MachineError, match="0.1 GB free"):
        pins.check_disk(ROOT, lambda _: 100_000_000)


def test_what_pip_downloads_is_counted(
    pins: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    said = "Downloading a-1.whl (2.5 MB)", "  Downloading b-1.whl (500 kB)", "Using cached c-1.whl"
    environment = pins.Environment(tmp_path)
    (tmp_path / "bin").mkdir()
    python = Path(environment.python)
    python.write_text("#!/bin/sh\n" + "".join(f"echo '{line}'\n" for line in said))
    python.chmod(0o755)
    assert environment.install(["a"], {"b": "1"}) == 3e6
    assert (
        capsys.readouterr().out == "    downloads a-1.whl, 2.5 MB\n    downloads b-1.whl, 500 kB\n"
    )
    python.write_text("#!/bin/sh\necho 'ERROR: no such version'; exit 1\n")
    with pytest.raises(MachineError, match="no such version"):
        environment.install(["a"], {})


def test_a_canary_that_hangs_or_dies_says_so(pins: Any) -> None:
    assert pins.verdict_of(Said(None, "", "")) == "took too long: it said nothing"
    assert pins.verdict_of(Said(-11, "a\nb\n", "")) == "status -11: b"
    assert pins.verdict_of(Said(0, "", "a warning")) == "passes"
