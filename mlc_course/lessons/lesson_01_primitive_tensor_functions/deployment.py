"""From development form to deployment form: a folder that runs where nothing is installed.

Both forms answer in a fresh process that is asked afterwards what it has loaded, so what a form
needs is seen and not claimed. On a machine without a C compiler nothing can be linked; there the
figures are recorded ones, and say so.
"""

from __future__ import annotations

import importlib.metadata
import json
import pickle
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import tvm_ffi
import typing_extensions

from mlc_course.errors import MachineError, SizeError, UsageError
from mlc_course.tensor_program.ladders import load, made_on, provenance
from mlc_course.tensor_program.networks import (
    CLASSES,
    HIDDEN,
    PIXELS,
    Network,
    classifier,
    linear,
    linear_relu,
)
from mlc_course.tensor_program.problems import FLOAT_BYTES, Array
from mlc_course.tensor_program.tir import PrimFunc, Schedule, export_library, tvm

ALONE = Path(__file__).parent / "alone"
FRAMEWORK, COMPILER = "scikit-learn", "apache-tvm"
RECORDING = Path(__file__).parent / "recordings" / "digits.json"
PATIENCE_S = 120
# What tvm_ffi needs to be imported. The rest of its package is for building extensions, in C++.
NOT_NEEDED = ("__pycache__", "include", "src", "3rdparty", "cython", "stub", "share", "testing")


@dataclass(frozen=True)
class Plan:
    """The plan of a deployed program: its tensors with their shapes, and its calls in order.

    ``weights`` are in the order in which the file of weights has them.
    """

    tensors: Mapping[str, tuple[int, ...]]
    weights: tuple[str, ...]
    calls: tuple[tuple[str, tuple[str, ...]], ...]
    input: str = "X"
    output: str = "Y"

    @property
    def bytes(self) -> int:
        """Memory of all tensors, weights among them."""
        return sum(FLOAT_BYTES * int(np.prod(shape)) for shape in self.tensors.values())


@dataclass(frozen=True)
class Answer:
    """The answer of one form of the network in a process of its own, and the time it took.

    ``origin`` is "measured here", or the machine and the date of the recording. ``seconds`` are
    from the start of the process to its end. ``disk`` has the bytes of each part that must be
    there besides Python; ``libraries`` is empty where the system does not tell.
    """

    origin: str
    label: int
    scores: tuple[float, ...]
    seconds: float
    peak_bytes: int
    modules: tuple[str, ...]
    libraries: tuple[str, ...]
    disk: Mapping[str, int]

    @property
    def disk_bytes(self) -> int:
        return sum(self.disk.values())


def plan(batch: int = 1) -> Plan:
    """The network as two calls; H, between them, is the only memory that is not in or out."""
    return Plan(
        tensors={
            "X": (batch, PIXELS),
            "W1": (PIXELS, HIDDEN),
            "b1": (HIDDEN,),
            "H": (batch, HIDDEN),
            "W2": (HIDDEN, CLASSES),
            "b2": (CLASSES,),
            "Y": (batch, CLASSES),
        },
        weights=("W1", "b1", "W2", "b2"),
        calls=(("linear_relu", ("X", "W1", "b1", "H")), ("linear", ("H", "W2", "b2", "Y"))),
    )


def functions(batch: int = 1) -> dict[str, PrimFunc]:
    """The functions that ``plan(batch)`` calls, as TensorIR that nobody has optimized."""
    return {
        "linear_relu": linear_relu(batch, PIXELS, HIDDEN),
        "linear": linear(batch, HIDDEN, CLASSES),
    }


def deploy(
    network: Network, folder: Path, programs: Mapping[str, PrimFunc | Schedule] | None = None
) -> dict[str, int]:
    """Fill a folder with the deployment form for one image at a time; bytes of each part.

    ``programs`` takes the place of ``functions()``. Raises ``UsageError`` when it lacks one of
    them, ``MachineError`` when this machine has no C compiler that links.
    """
    wanted = functions()
    programs = wanted if programs is None else programs
    if set(programs) != set(wanted):
        raise UsageError(
            "deploy: not the functions of this network",
            expected=", ".join(wanted),
            got=", ".join(programs) or "none",
        )
    folder.mkdir(parents=True, exist_ok=True)
    library = folder / "network.so"
    try:
        export_library(programs, library)
    except RuntimeError as error:
        raise MachineError(
            "a library can be linked only where a C compiler is installed",
            got=str(error).splitlines()[0],
            hint="Debian: apt-get install gcc; macOS: xcode-select --install",
        ) from error
    (folder / "weights.bin").write_bytes(b"".join(w.tobytes() for w in network.weights))
    (folder / "plan.json").write_text(json.dumps(asdict(plan())))
    shutil.copy(ALONE / "deployed.py", folder)
    _copy_runtime(folder)
    return dict(_parts(folder))


def _copy_runtime(folder: Path) -> None:
    """TVM's runtime and its Python binding, with the one module that the binding imports."""
    shutil.copy(tvm.runtime_library(), folder)
    binding = Path(tvm_ffi.__file__).parent
    ignored = shutil.ignore_patterns(*NOT_NEEDED)
    shutil.copytree(binding, folder / binding.name, ignore=ignored, dirs_exist_ok=True)
    shutil.copy(typing_extensions.__file__, folder)


def _parts(folder: Path) -> Iterator[tuple[str, int]]:
    """The parts of a deployed folder, smallest first."""
    yield "program and plan", _size(folder / "deployed.py", folder / "plan.json")
    yield "compiled functions", _size(folder / "network.so")
    yield "weights", _size(folder / "weights.bin")
    yield "TVM's runtime", _size(folder / tvm.runtime_library().name)
    yield "its Python binding", _size(folder / "tvm_ffi", folder / "typing_extensions.py")


def _size(*paths: Path) -> int:
    files = (file for path in paths for file in (path, *path.rglob("*")) if file.is_file())
    return sum(file.stat().st_size for file in files)


def installed(*packages: str) -> dict[str, int]:
    """Bytes on disk of installed packages and of all that they require, largest first.

    Raises ``UsageError`` for a package that is not installed.
    """
    found: dict[str, int] = {}
    waiting = list(packages)
    while waiting:
        name = waiting.pop()
        try:
            package = importlib.metadata.distribution(name)
        except importlib.metadata.PackageNotFoundError:
            if name in packages:
                raise UsageError(f"no package {name!r} is installed", got=name) from None
            continue  # required on another system, or by another Python
        title = package.metadata["Name"]
        if title not in found:
            found[title] = _size(*(Path(str(package.locate_file(f))) for f in package.files or ()))
            waiting += [
                re.match(r"[\w.-]+", each)[0]  # type: ignore[index]
                for each in package.requires or ()
                if "extra ==" not in each
            ]
    return dict(sorted(found.items(), key=lambda item: -item[1]))


def development_form(image: Array, seed: int = 0) -> Answer:
    """Ask scikit-learn about an image (64,), in a fresh process that loads the trained model."""
    with tempfile.TemporaryDirectory() as place:
        model = Path(place) / "model.pickle"
        model.write_bytes(pickle.dumps(classifier(seed)))
        disk = {**installed(FRAMEWORK), "the model": _size(model)}
        return _ask([], ALONE / "developed.py", [model], image, disk)


def deployment_form(
    network: Network,
    image: Array,
    programs: Mapping[str, PrimFunc | Schedule] | None = None,
) -> Answer:
    """Ask the deployed folder about an image (64,), in a fresh process without any package.

    Where nothing can be linked, this is the recorded answer to another image. Raises what
    ``deploy`` raises otherwise.
    """
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        try:
            disk = deploy(network, folder, programs)
        except MachineError:
            return recorded_answer()
        # -S: no site-packages. -E, -s: no other places that this user has told Python of.
        return _ask(["-E", "-s", "-S"], folder / "deployed.py", [], image, disk)


def _ask(
    options: Sequence[str],
    script: Path,
    arguments: Sequence[Path],
    image: Array,
    disk: Mapping[str, int],
) -> Answer:
    if image.size != PIXELS:
        raise SizeError("one image at a time", expected=f"{PIXELS} pixels", got=image.shape)
    with tempfile.TemporaryDirectory() as place:
        pixels = Path(place) / "image"
        pixels.write_bytes(image.astype(np.float32).tobytes())
        words = [sys.executable, *options, ALONE / "loaded_modules.py", script, *arguments, pixels]
        start = time.perf_counter()
        done = subprocess.run(
            list(map(str, words)), capture_output=True, text=True, timeout=PATIENCE_S, cwd=place
        )
        seconds = time.perf_counter() - start
    if done.returncode:
        raise MachineError(f"{script.name} did not answer", got=done.stderr.strip()[-1000:])
    said, loaded = done.stdout.splitlines()[-2:]
    label, *scores = said.split()
    seen = json.loads(loaded)
    return Answer(
        origin="measured here",
        label=int(label),
        scores=tuple(map(float, scores)),
        seconds=seconds,
        peak_bytes=seen["peak_bytes"],
        modules=tuple(seen["modules"]),
        libraries=tuple(seen["libraries"]),
        disk=dict(disk),
    )


def evidence(form: str, said: Answer) -> str:
    """Return what a form's process needed and loaded, as lines of text."""
    known = [file for file in said.libraries if "tvm" in file or "network" in file]
    lines = [
        f"{form} form, {said.origin}: the answer is {said.label}",
        f"  {said.disk_bytes / 1e6:.1f} MB on disk, {said.peak_bytes / 1e6:.0f} MB in memory",
        f"  packages loaded: {', '.join(said.modules) or 'none'}",
        f"  {len(said.libraries)} shared libraries, most of them Python's and the system's",
        f"  of TVM's and ours: {', '.join(known) or 'none'}",
    ]
    if any("testing" in file for file in known):
        lines.append(
            "  (the binding is linked to a library for TVM's own tests, so it comes along)"
        )
    return "\n".join(lines) + "\n"


def answer_record(answer: Answer) -> dict[str, Any]:
    """JSON-ready, with machine and date: for machines that cannot link."""
    return {**provenance(), "answer": asdict(answer)}


def recorded_answer() -> Answer:
    """The deployment form's answer on the machine where the course was written."""
    record = load(RECORDING)
    fields = dict(record["answer"])
    for name in ("scores", "modules", "libraries"):
        fields[name] = tuple(fields[name])
    fields["origin"] = f"recorded on {made_on(record)}"
    return Answer(**fields)
