"""No room takes it for granted that it runs on x86-64 Linux.

Nobody has an Arm machine or a Mac here. A child process pretends to be one: it has the names that
Python gives it, an Arm processor's features, and no /proc and no /sys where there are none.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PRETENDS = """\
import importlib, os, pathlib, platform, sys
root = pathlib.Path("mlc_course")
rooms = [".".join(path.parent.parts) for path in sorted(root.rglob("__init__.py"))]
rooms += [f"mlc_course.{path.stem}" for path in sorted(root.glob("[a-z]*.py"))]
read = pathlib.Path.read_text
CPUINFO = "processor : 0\\nFeatures : fp asimd asimddp i8mm\\n"

def read_text(path, *args, **kwargs):
    if platform.system() == "Darwin" and str(path).startswith(("/proc/", "/sys/")):
        raise FileNotFoundError(2, "No such file or directory", str(path))
    return CPUINFO if str(path) == "/proc/cpuinfo" else read(path, *args, **kwargs)

def import_all():
    for name in [name for name in sys.modules if name.partition(".")[0] == "mlc_course"]:
        del sys.modules[name]
    for room in rooms:
        importlib.import_module(room)

import_all()  # other packages stay those of this machine
system, processor = "Darwin", "arm64"
platform.machine, platform.system = (lambda: processor), (lambda: system)
platform.processor, pathlib.Path.read_text = (lambda: "arm"), read_text
really, sys.platform = sys.platform, "darwin"
affinity = os.sched_getaffinity
del os.sched_getaffinity
import_all()
from mlc_course import machine
from mlc_course.commands import doctor, main
for system, processor in (("Darwin", "arm64"), ("Linux", "aarch64")):
    if system == "Linux":
        sys.platform, os.sched_getaffinity = really, affinity
    here = machine.describe()
    print(system, here.isa, here.vector_bits)
    for check in (
        *(doctor.python_version, doctor.c_library, doctor.tvm_pair, doctor.cores_and_caches),
        *(doctor.vector_width, doctor.cpu_quota, doctor.free_memory, doctor.cache_folder),
        *(doctor.folder_of_the_course, doctor.gpu, doctor.nvrtc, doctor.blas),
    ):
        finding = check()
        assert finding.status is not doctor.Status.BROKEN, finding
    assert main(["verify", "rms_norm_matmul", "rms_norm_matmul_fused"]) == 0
    assert main(["select", "--list"]) == 0
    assert main(["compile", "lora", "--target", "cuda"]) == 0
"""


@pytest.mark.slow
def test_every_room_and_the_doctor_run_on_an_arm_machine_and_on_a_mac() -> None:
    words = [sys.executable, "-c", PRETENDS]
    done = subprocess.run(words, capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    assert "Linux NEON 128" in done.stdout and "Darwin NEON 128" in done.stdout
