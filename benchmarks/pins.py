"""Which pins can move? The newest of every package, in an environment of its own, and canaries.

The environment is ``out/pins/environment``; the repository's ``.venv`` is not touched. Where a
canary fails, packages are held back at their pins, half of them at a time, until it is known which
ones it needs. Ctrl-C ends it, and what is known by then is printed and written.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, Literal

from mlc_course.commands.output import check_file, write_text
from mlc_course.errors import CourseError, MachineError
from mlc_course.parallel import INTERRUPTED, Said, run_program
from mlc_course.provenance import provenance

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "out" / "pins"
EXTRAS = ("dev",)  # which names the others
PAIR = ("apache-tvm", "apache-tvm-ffi")  # one ABI in two packages: they move together
# What other packages stand on comes first, because the search for a culprit begins there.
FIRST = (*PAIR, "numpy", "jupyterlab", "notebook", "ipywidgets", "anywidget", "nbgrader")
PATIENCE_S = 600.0
NEEDED_BYTES = 4 << 30  # of disk: what is downloaded, and what is installed of it
SIZE = re.compile(r"Downloading (\S+) \(([\d.]+) (kB|MB|GB)\)")
OTHER_EXTRAS = re.compile(r"mlc-course\[([\w,-]+)\]")
UNITS = {"kB": 1e3, "MB": 1e6, "GB": 1e9}

Units = tuple[tuple[str, ...], ...]  # packages that move together
Verdict = Literal["passes", "fails", "not known"]
FAILS_WITH_PINS = "fails with the pins, too"

IMPORT_ROOMS = """\
import importlib, pkgutil, mlc_course
rooms = [each.name for each in pkgutil.walk_packages(mlc_course.__path__, "mlc_course.")
         if each.ispkg or each.name.count(".") == 1]
for room in rooms:
    importlib.import_module(room)
print(len(rooms), "rooms")
"""
START_LAB = """\
import os, socket, subprocess, sys, time, urllib.request
from mlc_course.commands.lab import command, environment
with socket.socket() as free:
    free.bind(("127.0.0.1", 0))
    port = free.getsockname()[1]
words = [*command(browser=False, port=port), "--IdentityProvider.token="]
server = subprocess.Popen(words, env=environment())
try:
    for _ in range(120):
        time.sleep(0.5)
        if server.poll() is not None:
            sys.exit("JupyterLab has ended")
        try:
            page = urllib.request.urlopen(f"http://127.0.0.1:{port}/lab").read().decode()
        except OSError:
            continue
        print("JupyterLab answers" if "jupyter-config-data" in page else page[:200])
        break
    else:
        sys.exit("JupyterLab does not answer")
finally:
    server.terminate()
    server.wait()
"""


@dataclass(frozen=True)
class Canary:
    """Something that breaks soon when a package does; ``words`` follow the name of a Python."""

    name: str
    words: tuple[str, ...]


CANARIES = (
    Canary("every room is imported", ("-c", IMPORT_ROOMS)),
    Canary("TVM searches", ("-m", "pytest", "-qq", "-n", "0", "tests/test_canary.py")),
    Canary("a ladder", ("-m", "mlc_course.commands", "ladder", "softmax", "--quick")),
    Canary(
        "a kernel on OpenCL",
        ("-m", "mlc_course.commands", "run", "lora", "--target", "opencl", "--check"),
    ),
    Canary(
        "a notebook",
        (
            *("-m", "nbconvert", "--to", "notebook", "--execute", "--output-dir", str(FOLDER)),
            "notebooks/02_tensor_program_abstraction.ipynb",
        ),
    ),
    Canary("JupyterLab starts", ("-c", START_LAB)),
    Canary("ruff", ("-m", "ruff", "check")),
    Canary("mypy", ("-m", "mypy", "--cache-dir", str(FOLDER / "mypy"))),
)


@dataclass(frozen=True)
class Move:
    """A package whose newest version is another than its pin."""

    package: str
    pinned: str
    newest: str
    verdict: Verdict = "not known"
    breaks: tuple[str, ...] = ()  # names of canaries
    reason: str = ""  # why it is pinned, where constraints.txt says so


@dataclass
class Report:
    """The findings so far; packages and canaries add to them as they are installed and run."""

    moves: tuple[Move, ...] = ()
    added: dict[str, str] = field(default_factory=dict)  # came along, and have no pin
    not_tried: tuple[str, ...] = ()  # pins of packages that this machine does not install
    not_by_a_move: tuple[str, ...] = ()  # canaries that fail with all the pins, too
    canaries: dict[str, str] = field(default_factory=dict)  # "passes", or the end of what it said
    downloaded: float = 0.0  # bytes
    stopped: bool = False

    def judge(self, blamed: Mapping[str, Collection[str]]) -> None:
        """Give each move its verdict; ``blamed`` are the packages that each canary needs held."""
        self.moves = tuple(replace(each, **_verdict(each.package, blamed)) for each in self.moves)

    def plain(self) -> dict[str, Any]:
        """Return it as JSON's types, after the machine, the date and the versions of ``.venv``."""
        return {**provenance(), **asdict(self)}


# ---- what could be installed


def canonical(name: str) -> str:
    """Return a package's name as packages are compared: ``Jinja2`` and ``jinja2`` are one."""
    return re.sub(r"[-_.]+", "-", name).lower()


def read_pins(constraints: str) -> dict[str, str]:
    """Return the version of each package that the text of ``constraints.txt`` pins."""
    lines = (line.partition("#")[0].strip() for line in constraints.splitlines())
    pairs = (line.split("==") for line in lines if line)
    return {canonical(name): version for name, version in pairs}


def read_reasons(constraints: str) -> dict[str, str]:
    """Return what comments directly above pins say of them; the file's head ends with a blank."""
    reasons: dict[str, str] = {}
    said: list[str] = []
    for line in constraints.splitlines():
        if line.startswith("#"):
            said.append(line.lstrip("# "))
            continue
        if line and said:
            reasons[canonical(line.partition("==")[0])] = " ".join(said)
        said = []
    return reasons


def unpinned(pyproject: str, extras: Sequence[str] = EXTRAS) -> list[str]:
    """Return what the course and its extras need, without the exact versions of the TVM pair."""
    project = tomllib.loads(pyproject)["project"]
    lines = [*project["dependencies"]]
    waiting = [*extras]
    for extra in waiting:
        for line in project["optional-dependencies"][extra]:
            others = OTHER_EXTRAS.fullmatch(line)
            waiting += others[1].split(",") if others else []
            lines += [] if others else [line]
    return list(dict.fromkeys(re.sub(r"==[\w.]+", "", line) for line in lines))


def compared(
    pins: Mapping[str, str], installed: Mapping[str, str], reasons: Mapping[str, str] | None = None
) -> Report:
    """Return which of the installed packages differ from their pins."""
    why = reasons or {}
    here = {canonical(name): version for name, version in installed.items()}
    moves = [
        Move(name, pins[name], here[name], reason=why.get(name, ""))
        for name in here.keys() & pins.keys()
    ]
    return Report(
        moves=tuple(sorted((m for m in moves if m.pinned != m.newest), key=lambda m: m.package)),
        added={name: here[name] for name in sorted(here.keys() - pins.keys())},
        not_tried=tuple(sorted(pins.keys() - here.keys())),
    )


def units_of(moves: Sequence[Move]) -> Units:
    """Return the moved packages, the TVM pair as one, in the order in which to suspect them."""
    names = [each.package for each in moves]
    pair = tuple(name for name in PAIR if name in names)
    others = sorted(
        (name for name in names if name not in pair),
        key=lambda name: (FIRST.index(name) if name in FIRST else len(FIRST), name),
    )
    return (*([pair] if pair else []), *((name,) for name in others))


# ---- who is to blame


def culprits(units: Units, works: Callable[[Units], bool]) -> Units | None:
    """Return the units that must be held back for ``works(held back)``; None if all are not enough.

    Each is found by halving: the shortest beginning of the others that works besides those which
    are known already ends in one more. It supposes that holding back more never breaks anything.
    """
    held: Units = ()
    while not works(held):
        others = tuple(each for each in units if each not in held)
        if not others or not works((*held, *others)):
            return None
        low, high = 0, len(others)
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if works((*held, *others[:middle])) else (middle, high)
        held = (*held, others[high - 1])
    return held


# ---- doing it


@dataclass(frozen=True)
class Environment:
    """An environment of Python in a folder, which pip fills."""

    folder: Path

    @property
    def python(self) -> str:
        return str(self.folder / "bin" / "python")

    def make(self) -> None:
        """Begin with an empty one."""
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir(parents=True)
        subprocess.run([sys.executable, "-m", "venv", str(self.folder)], check=True)

    def install(self, requirements: Sequence[str], held: Mapping[str, str]) -> float:
        """Install the newest that fits to ``held``; print each download, and return their bytes.

        Raises ``MachineError`` with what pip said last where it fails.
        """
        bounds = self.folder / "held.txt"
        bounds.write_text("".join(f"{name}=={version}\n" for name, version in held.items()))
        words = [self.python, "-m", "pip", "install", "--upgrade", "--progress-bar", "off"]
        words += ["--upgrade-strategy", "eager", "-c", str(bounds), *requirements]
        total, last = 0.0, [""]
        with subprocess.Popen(
            words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        ) as process:
            assert process.stdout is not None
            for line in process.stdout:
                last = [*last, line.strip()][-5:]
                if found := SIZE.search(line):
                    total += float(found[2]) * UNITS[found[3]]
                    name = found[1].rpartition("/")[2]
                    print(f"    downloads {name}, {found[2]} {found[3]}", flush=True)
        if process.returncode:
            raise MachineError("pip cannot install this", got="\n".join(last))
        return total

    def install_course(self) -> None:
        """Install the repository itself, whose metadata a canary reads, without its needs."""
        words = [self.python, "-m", "pip", "install", "--quiet", "--no-deps", "-e", str(ROOT)]
        subprocess.run(words, check=True)

    def installed(self) -> dict[str, str]:
        """Return the version of each package in it, but for the course and pip."""
        words = [self.python, "-m", "pip", "list", "--format", "json"]
        done = subprocess.run(words, check=True, stdout=subprocess.PIPE, text=True)
        found = {canonical(each["name"]): each["version"] for each in json.loads(done.stdout)}
        return {name: found[name] for name in found.keys() - {"pip", "mlc-course"}}

    def run(self, canary: Canary) -> Said:
        """Run a canary in it, in the repository's folder."""
        with contextlib.chdir(ROOT):
            return run_program((self.python, *canary.words), PATIENCE_S)


def verdict_of(said: Said) -> str:
    """Return "passes", or the last line that says what went wrong."""
    if said.status == 0:
        return "passes"
    lines = [line for line in (said.out + "\n" + said.errors).splitlines() if line.strip()]
    end = "took too long" if said.status is None else f"status {said.status}"
    return f"{end}: {lines[-1].strip() if lines else 'it said nothing'}"


def try_newest(
    environment: Environment,
    requirements: Sequence[str],
    constraints: str,
    canaries: Sequence[Canary],
    report: Report,
) -> None:
    """Fill a report: install the newest, run the canaries, and find who is to blame."""
    print("installing the newest of everything; this is what pip has not kept from earlier:")
    downloaded = environment.install(requirements, {})
    environment.install_course()
    pins = read_pins(constraints)
    found = compared(pins, environment.installed(), read_reasons(constraints))
    report.moves, report.added, report.not_tried = found.moves, found.added, found.not_tried
    report.downloaded = downloaded
    print(f"{downloaded / 1e6:.0f} MB downloaded; {len(report.moves)} packages moved", flush=True)
    for each in canaries:
        report.canaries[each.name] = verdict_of(environment.run(each))
        print(f"    {each.name}: {report.canaries[each.name]}", flush=True)
    failing = [each for each in canaries if report.canaries[each.name] != "passes"]
    trial = Trial(environment, requirements, pins, report, failing)
    blamed: dict[str, list[str]] = {}
    for each in failing:
        found_units = culprits(units_of(report.moves), partial(trial.works, each))
        if found_units is None:
            report.not_by_a_move += (each.name,)
        else:
            blamed[each.name] = [name for unit in found_units for name in unit]
    report.judge(blamed)


@dataclass
class Trial:
    """Canaries that fail with the newest of everything, tried with some packages held back."""

    environment: Environment
    requirements: Sequence[str]
    pins: Mapping[str, str]
    report: Report
    failing: Sequence[Canary]
    known: dict[frozenset[str], dict[str, bool]] = field(default_factory=dict)

    def works(self, canary: Canary, held: Units) -> bool:
        """Tell whether a canary passes; each choice of packages is installed once for all."""
        names = frozenset(name for unit in held for name in unit)
        if not names:
            return False
        if names not in self.known:
            self.known[names] = self._tried(names)
        return self.known[names][canary.name]

    def _tried(self, names: Collection[str]) -> dict[str, bool]:
        newest = {each.package: each.newest for each in self.report.moves}
        held = {**newest, **{name: self.pins[name] for name in names}}
        print(f"    with the pins of {', '.join(sorted(names))}:", flush=True)
        try:
            self.report.downloaded += self.environment.install(self.requirements, held)
        except MachineError:  # others need the newest of one that is held back
            print("        cannot be installed", flush=True)
            return {each.name: False for each in self.failing}
        found = {}
        for each in self.failing:
            said = verdict_of(self.environment.run(each))
            found[each.name] = said == "passes"
            print(f"        {each.name}: {said}", flush=True)
        return found


def _verdict(package: str, blamed: Mapping[str, Collection[str]]) -> dict[str, Any]:
    breaks = tuple(name for name, packages in blamed.items() if package in packages)
    return {"verdict": "fails" if breaks else "passes", "breaks": breaks}


def table(report: Report) -> Iterator[str]:
    """Yield the lines of what moved, and of what the canaries said."""
    if report.moves:
        head = ("package", "pinned", "newest", "")
        rows = [head, *((m.package, m.pinned, m.newest, _said(m)) for m in report.moves)]
        widths = [max(len(row[column]) for row in rows) for column in range(3)]
        for row in rows:
            cells = (f"{text:<{width}}" for text, width in zip(row, widths, strict=False))
            yield f"{'  '.join(cells)}  {row[3]}".rstrip()
    else:
        yield "nothing is known" if report.stopped and not report.canaries else "no package moved"
    for name, said in report.canaries.items():
        if said != "passes":
            also = f"; {FAILS_WITH_PINS}" if name in report.not_by_a_move else ""
            yield f"canary, {name}: {said}{also}"
    if report.added:
        yield f"new, without a pin: {', '.join(f'{k} {v}' for k, v in report.added.items())}"
    if report.not_tried:
        yield f"pinned, not tried here: {', '.join(report.not_tried)}"
    if report.stopped:
        yield "stopped"


def _said(move: Move) -> str:
    said = f"fails: {', '.join(move.breaks)}" if move.breaks else move.verdict
    return f"{said}; {move.reason}" if move.reason else said


def check_disk(
    folder: Path, free: Callable[[Path], int] = lambda path: shutil.disk_usage(path).free
) -> None:
    """Raise ``MachineError`` where the environment would not fit."""
    room = free(folder)
    if room < NEEDED_BYTES:
        raise MachineError(
            f"make pins: {folder} is too full",
            expected=f"{NEEDED_BYTES / 1e9:.0f} GB",
            got=f"{room / 1e9:.1f} GB free",
        )


def main(arguments: Sequence[str] | None = None) -> int:
    """Try, print, write; 0 when every canary passes, 1 when not, 130 after Ctrl-C."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--json", type=Path, metavar="FILE", help="write machine, date, what moved")
    parser.add_argument("--keep", action="store_true", help="keep the environment, to look at it")
    options = parser.parse_args(arguments)
    report = Report()
    os.environ["PIP_DISABLE_PIP_VERSION_CHECK"] = "1"
    environment = Environment(FOLDER / "environment")
    try:
        check_file(options.json)
        FOLDER.mkdir(parents=True, exist_ok=True)
        check_disk(FOLDER)
        environment.make()
        requirements = unpinned((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
        constraints = (ROOT / "constraints.txt").read_text(encoding="utf-8")
        try_newest(environment, requirements, constraints, CANARIES, report)
    except CourseError as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        report.stopped = True
    finally:
        if not options.keep:
            shutil.rmtree(FOLDER, ignore_errors=True)
    print("\n".join(("", *table(report))))
    if options.json:
        write_text(options.json, json.dumps(report.plain(), indent=2) + "\n")
    if report.stopped:
        return INTERRUPTED
    return int(any(said != "passes" for said in report.canaries.values()))


if __name__ == "__main__":
    sys.exit(main())
