"""The scripts in benchmarks/ run for minutes; here each only has to start."""

from __future__ import annotations

import importlib
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from stand_in_driver import use_stand_in

from mlc_course.errors import WrongResult
from mlc_course.mugraph.cuda import Session, driver_version, generations, gpus
from mlc_course.mugraph.programs import workload
from mlc_course.mugraph.runtime import Check, check, random_inputs
from mlc_course.parallel import INTERRUPTED

pytestmark = pytest.mark.slow

SCRIPTS = sorted((Path(__file__).parent.parent / "benchmarks").glob("*.py"))
LOAD = "import importlib, sys; [importlib.import_module(name) for name in sys.argv[1:]]"


def test_every_script_finds_what_it_imports() -> None:
    command = [sys.executable, "-c", LOAD, *(path.stem for path in SCRIPTS)]
    done = subprocess.run(command, cwd=SCRIPTS[0].parent, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


# ---- the benchmark for a GPU, as far as it goes without one


@pytest.fixture(scope="module")
def on_gpu() -> Iterator[Any]:
    sys.path.insert(0, str(SCRIPTS[0].parent))
    yield importlib.import_module("codegen_gpu")
    sys.path.remove(str(SCRIPTS[0].parent))


ROW = {
    "program": "gqa",
    "us": {"gqa_split_kv": 10.0, "unfused": 40.0, "CuPy": 30.0, "torch fused attention": 12.0},
    "sanitizer": {"memcheck": "", "racecheck": ""},
    "gbytes": 0.01,
}


def test_without_a_gpu_the_benchmark_says_what_works_meanwhile() -> None:
    if driver_version():
        pytest.skip("there is a driver")
    command = [sys.executable, "codegen_gpu.py", "--check"]
    done = subprocess.run(command, cwd=SCRIPTS[0].parent, capture_output=True, text=True)
    assert done.returncode == 1
    assert "no NVIDIA driver" in done.stderr and "--target cuda --arch sm_90" in done.stderr


def test_programs_in_cupy_compute_what_ours_do(on_gpu: Any) -> None:
    for name in on_gpu.SEVEN:
        graph = workload(name)
        inputs = random_inputs(graph)
        found = on_gpu.array_function(np, name)(*(inputs[each.name] for each in graph.inputs))
        assert check(graph, inputs, [found]).passed, name


def test_all_kernels_of_a_program_are_launched_by_the_driver(
    on_gpu: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    library = use_stand_in(tmp_path, monkeypatch, generations()[0])
    (gpu,) = gpus()
    inputs = on_gpu.inputs_of(workload("lora"))
    with Session(gpu) as session:
        sides = [
            on_gpu.ours(session, name, graph, inputs, 1 << 20)
            for name, graph in on_gpu.graphs_of("lora").items()
        ]
        seconds = on_gpu.in_turns(sides)
        assert sides[0].output().shape == (16, 4096)
    assert set(seconds) == {"lora_fused", "lora_looped", "unfused"}
    assert all(len(each) == on_gpu.REPEATS for each in seconds.values())
    assert library.stand_in_living() == 0
    assert on_gpu.once(gpu, "lora") == 0


def test_a_whole_run_is_recorded_and_what_is_missing_with_it(
    on_gpu: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """All but the kernels' values, which the stand-in does not compute."""
    use_stand_in(tmp_path, monkeypatch, generations()[0])
    monkeypatch.setattr(on_gpu, "check", lambda *_: Check((0.0,), 1e-2))
    monkeypatch.setattr(on_gpu, "sanitized", lambda _: {})
    monkeypatch.setattr(on_gpu, "packages", dict)
    file, plot = tmp_path / "gpu.json", tmp_path / "gpu.svg"
    arguments = ["--json", str(file), "--plot", str(plot), "--programs", "lora", "n_trans"]
    monkeypatch.setattr(sys, "argv", ["codegen_gpu.py", "--check", *arguments])
    assert on_gpu.main() == 1  # nothing to compare with
    record = json.loads(file.read_text())
    assert record["gpu"] == "stand-in 7" and len(record["missing"]) >= 2
    assert [row["program"] for row in record["rows"]] == ["lora", "n_trans"]
    assert record["rows"][0]["us"]["lora_fused"] == pytest.approx(1500)
    assert plot.read_text().startswith("<?xml")
    assert "CuPy is missing" in capsys.readouterr().out

    def stops(*_: object) -> object:
        raise KeyboardInterrupt

    monkeypatch.setattr(on_gpu, "in_turns", stops)
    assert on_gpu.main() == INTERRUPTED


def test_a_kernel_that_is_wrong_is_not_timed(
    on_gpu: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    use_stand_in(tmp_path, monkeypatch, generations()[0])
    (gpu,) = gpus()
    with pytest.raises(WrongResult, match="lora_fused is wrong on stand-in 7"):
        on_gpu.measured(gpu, "lora", [])
    monkeypatch.setattr(sys, "argv", ["codegen_gpu.py", "--programs", "lora"])
    assert on_gpu.main() == 1


def test_decode_is_held_against_its_fused_attention(on_gpu: Any) -> None:
    (reached, clean) = on_gpu.targets_of([ROW])
    assert reached.reached and reached.measured == pytest.approx(1.2)
    assert clean.reached
    slower = {**ROW, "us": {**ROW["us"], "torch fused attention": 8.0}}
    faulty = {**ROW, "sanitizer": {"memcheck": "", "racecheck": "a hazard"}}
    assert not on_gpu.targets_of([slower])[0].reached
    assert not on_gpu.targets_of([faulty])[1].reached


def test_what_could_not_be_compared_falls_short(on_gpu: Any) -> None:
    alone = {**ROW, "us": {"gqa_split_kv": 10.0, "unfused": 40.0}, "sanitizer": {}}
    (target,) = on_gpu.targets_of([alone])
    assert not target.reached
    assert "not compared" in on_gpu.line(alone)


def test_times_are_drawn_for_sides_that_only_some_programs_have(
    on_gpu: Any, tmp_path: Path
) -> None:
    other = {**ROW, "program": "lora", "us": {"lora_fused": 5.0, "unfused": 6.0}}
    on_gpu.draw([ROW, other], "a GPU", tmp_path / "drawn.svg")
    assert "torch fused attention" in (tmp_path / "drawn.svg").read_text()
    assert "gqa_split_kv 10.0 us (1.00 TB/s), 1.20x" in on_gpu.line(ROW)


def test_a_gpu_has_a_record_of_its_own(on_gpu: Any) -> None:
    assert on_gpu.file_name("NVIDIA H200") == "gpu_nvidia_h200"
    assert on_gpu.file_name("NVIDIA A100-SXM4-80GB") == "gpu_nvidia_a100_sxm4_80gb"
    assert on_gpu.file_name("../NVIDIA\n") == "gpu_nvidia"


def test_what_is_missing_is_named_with_what_brings_it(on_gpu: Any) -> None:
    said = "\n".join(on_gpu.missing([]))
    assert "mlc-course[gpu13]" in said and "pip install torch" in said
    assert not any("CuPy" in each or "torch" in each for each in on_gpu.missing(["cupy", "torch"]))


def test_a_module_that_is_gone_is_noticed() -> None:
    done = subprocess.run([sys.executable, "-c", LOAD, "mlc_course.gone"], capture_output=True)
    assert done.returncode != 0
