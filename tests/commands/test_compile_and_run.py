"""``mlc-course compile`` and ``mlc-course run``, as a user calls them."""

from __future__ import annotations

import contextlib
import json
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from mlc_course.commands import compile, run, superoptimize
from mlc_course.commands.cli import USAGE_STATUS, main
from mlc_course.errors import MachineError, WrongResult
from mlc_course.mugraph.cuda import driver_version, generations
from mlc_course.mugraph.ir import parse
from mlc_course.mugraph.programs import PROGRAM_OF, in_numpy, published, workload
from mlc_course.mugraph.runtime import BLOCK_BY_BLOCK, check, random_inputs
from mlc_course.parallel import INTERRUPTED

needs_nvrtc = pytest.mark.skipif(not generations(), reason="NVRTC is not installed")
without_gpu = pytest.mark.skipif(bool(driver_version()), reason="there is a GPU")
GRAPH = """\
small(X[b=8, d=64], W[d, n=96]):
  squares = square(X)
  total = sum(squares, axis=1)
  rms = sqrt(total)
  normed = div(X, rms)
  Y = matmul(normed, W)
  return Y
"""


@pytest.fixture
def source(tmp_path: Path) -> str:
    path = tmp_path / "small.txt"
    path.write_text(GRAPH)
    return str(path)


def test_kernels_are_printed(source: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compile", source, "--threads", "1"]) == 0
    printed = capsys.readouterr().out
    assert printed.count("\nkernel ") == 5
    assert "kernel Y(normed[8, 64], W[64, 96]) -> Y[8, 96]" in printed
    assert "between kernels: squares[8, 64]" in printed


@pytest.mark.parametrize(
    ("suffix", "said"), [(".txt", "kernel squares("), (".ll", "define "), (".s", "ret")]
)
def test_a_text_is_written(source: str, tmp_path: Path, suffix: str, said: str) -> None:
    out = tmp_path / f"kernels{suffix}"
    assert main(["compile", source, "--out", str(out), "--threads", "1"]) == 0
    assert said in out.read_text()


def test_a_graph_is_run_and_checked(
    source: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "found.json"
    arguments = ["run", source, "--check", "--time", "--threads", "1", "--json", str(file)]
    assert main(arguments) == 0
    printed = capsys.readouterr().out
    assert "agrees with the interpreter in float64" in printed
    assert "NumPy" in printed
    record = json.loads(file.read_text())
    assert record["kernels"] == 5
    assert record["errors"][0] < 1e-5
    assert record["times"][0]["ratio"] > 0


def test_opencl_runs_a_graph_and_writes_its_text(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source, text, found = tmp_path / "f.txt", tmp_path / "f.cl", tmp_path / "found.json"
    source.write_text("f(X[a=4, b=8], W[b, c=8]):\n  Y = matmul(X, W)\n  return Y\n")
    assert main(["compile", str(source), "--target", "opencl", "--out", str(text)]) == 0
    assert "OpenCL C of f, 1 kernel" in capsys.readouterr().out
    assert "__kernel" in text.read_text()
    arguments = ["run", str(source), "--target", "opencl", "--check", "--time"]
    assert main([*arguments, "--json", str(found)]) == 0
    assert "agrees with the interpreter in float64" in capsys.readouterr().out
    (times,) = json.loads(found.read_text())["times"]
    assert times["median_s"] > 0 and times["baseline"] == "NumPy"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["compile", "no_such_graph"], "no such file, and no graph of the course"),
        (["compile", "lora", "--target", "tpu"], "no target"),
        (["compile", "lora", "--storage", "int4"], "no storage"),
        (["compile", "lora", "--threads", "4000"], "threads"),
        (["compile", "lora", "--out", "kernels.docx"], "cannot write"),
        (["compile", "lora", "--target", "opencl", "--out", "kernels.s"], "cannot write"),
        (["compile", "lora", "--out", "/proc/no/kernels.txt"], "cannot write"),
        (["run", "lora", "--json", "/proc/no/found.json"], "cannot write"),
        (["compile", "lora", "--arch", "sm_90"], "no architectures to choose from"),
        (["run", "lora", "--arch", "sm_90"], "no architectures to choose from"),
        (["compile", "lora", "--target", "cuda", "--arch", "sm_75"], "too old"),
        (["compile", "lora", "--target", "cuda", "--arch", "../x"], "no GPU architecture"),
        (["compile", "lora", "--target", "cuda", "--storage", "float64"], "no storage"),
        (["compile", "lora", "--target", "cuda", "--out", "kernels.ll"], "cannot write"),
        (["compile", "lora", "--target", "cuda", "--out", "/proc/no/kernels.cu"], "cannot write"),
        (["compile", "lora", "--target", "cuda", "--cubin", "kernels.o"], "cannot write"),
        (["compile", "lora", "--target", "cuda", "--cubin", "/proc/no/k.cubin"], "cannot write"),
        (["compile", "lora", "--cubin", "kernels.cubin"], "--target cuda"),
        (["run", "lora", "--target", "cuda", "--time"], "make gpu"),
        (["superoptimize", "lora", "--run"], "--target cpu"),
        (["superoptimize", "lora", "--target", "tpu"], "no target"),
    ],
)
def test_what_cannot_be_done_is_said(
    arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments) == USAGE_STATUS
    assert said in capsys.readouterr().err


@pytest.mark.parametrize("seed", ["-1", "1.5", "9" * 20, ""])
def test_a_seed_that_numpy_does_not_take_is_refused_and_is_no_difference(
    seed: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit, match=str(USAGE_STATUS)):
        main(["run", "lora", f"--seed={seed}"])
    assert "argument --seed: expected a whole number of up to 19 digits" in capsys.readouterr().err


@pytest.mark.slow
def test_a_program_becomes_measured_kernels(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "found.json"
    arguments = ["superoptimize", "lora", "--target", "cpu", "--run", "--jobs", "1"]
    assert main([*arguments, "--fresh", "--threads", "1", "--json", str(file)]) == 0
    printed = capsys.readouterr().out
    assert "measured on 1 thread, in turns with NumPy" in printed
    measured = json.loads(file.read_text())["measured"]
    names = [each["name"] for each in measured]
    assert "unfused" in names and len(names) >= 3
    ratios = [each["ratio"] for each in measured]
    assert ratios == sorted(ratios, reverse=True)
    assert all(error <= 1e-5 for each in measured for error in each["errors"])


# ---- for a GPU


@pytest.mark.parametrize("storage", ["float32", "float16", "bfloat16"])
def test_cuda_text_is_written_without_a_gpu(
    storage: str, source: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "kernels.cu"
    arguments = ["compile", source, "--target", "cuda", "--storage", storage, "--out", str(out)]
    assert main([*arguments, "--arch", "sm_90"]) == 0
    assert out.read_text().count('extern "C" __global__') == 5
    assert "CUDA C++ of small, 5 kernels" in capsys.readouterr().out
    assert [each.name for each in tmp_path.iterdir() if "part" in each.name] == []


@needs_nvrtc
def test_machine_code_is_written_and_what_it_needs_printed(
    source: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cubin = tmp_path / "kernels.cubin"
    arguments = ["compile", source, "--target", "cuda", "--arch", "sm_80", "--cubin", str(cubin)]
    assert main(arguments) == 0
    assert cubin.read_bytes().startswith(b"\x7fELF")
    printed = capsys.readouterr().out
    assert "machine code of small for sm_80" in printed
    assert printed.count(" registers each, 0 bytes spilled, ") == 5


@needs_nvrtc
def test_an_architecture_that_the_compiler_lacks_leaves_the_text_and_no_machine_code(
    source: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out, cubin = tmp_path / "kernels.cu", tmp_path / "kernels.cubin"
    arguments = ["compile", source, "--target", "cuda", "--arch", "sm_999", "--out", str(out)]
    assert main([*arguments, "--cubin", str(cubin)]) == USAGE_STATUS
    assert "no code for sm_999" in capsys.readouterr().err
    assert out.exists() and not cubin.exists()


def test_without_a_compiler_the_text_is_there_and_the_extra_is_named(
    source: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def missing(*_: object) -> object:
        raise MachineError("NVRTC is not installed", hint="mlc-course[cuda-text]")

    monkeypatch.setattr(compile, "compile_cubin", missing)
    out, cubin = tmp_path / "kernels.cu", tmp_path / "kernels.cubin"
    arguments = ["compile", source, "--target", "cuda", "--out", str(out), "--cubin", str(cubin)]
    assert main(arguments) == USAGE_STATUS
    assert "mlc-course[cuda-text]" in capsys.readouterr().err
    assert out.exists() and not cubin.exists()


def test_ctrl_c_while_a_compiler_works_leaves_the_file_that_was_there(
    source: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cubin = tmp_path / "kernels.cubin"
    cubin.write_bytes(b"old")
    monkeypatch.setattr(compile, "compile_cubin", ends(KeyboardInterrupt()))
    arguments = ["compile", source, "--target", "cuda", "--cubin", str(cubin)]
    assert main(arguments) == INTERRUPTED
    assert cubin.read_bytes() == b"old"


def test_names_that_c_does_not_have_become_others(tmp_path: Path) -> None:
    graph = tmp_path / "odd.txt"
    graph.write_text("float(int[b=4], __x[b]):\n  half = add(int, __x)\n  return half\n")
    out = tmp_path / "odd.cu"
    assert main(["compile", str(graph), "--target", "cuda", "--out", str(out)]) == 0
    assert "__restrict__ int," not in out.read_text()


@without_gpu
def test_a_graph_is_not_run_without_a_gpu(
    source: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "found.json"
    arguments = ["run", source, "--target", "cuda", "--check", "--json", str(file)]
    assert main(arguments) == USAGE_STATUS
    said = capsys.readouterr().err
    assert said.startswith("MachineError: CuPy")
    assert "--target cpu, opencl and box" in said
    assert not file.exists()


# ---- what is timed beside a graph computes the same


IMPOSTORS = (
    "lora_fused(X[b=16, d=64], W[d, n=64], A[d, r=16], B[r, n]):\n  Y = matmul(X, W)\n  return Y\n",
    "lora_fused(X[b=16, d=64], W[d, n=64]):\n  Y = matmul(X, W)\n  return Y\n",
    "lora(X[b=8, d=64], W[d, n=32], A[n, r=16], B[r, m=64]):\n  H = matmul(X, W)\n"
    "  U = matmul(H, A)\n  Y = matmul(U, B)\n  return Y\n",
    "gqa(Q[h=2, m=8, d=16], K[h, d, n=16], V[h, n, v=16]):\n  S = matmul(Q, K)\n"
    "  O = matmul(S, V)\n  return O\n",
    "router(X[b=16, d=64]):\n  Y = exp(X)\n  return Y\n",
)


@pytest.mark.parametrize("text", IMPOSTORS)
def test_a_graph_that_only_has_a_known_name_is_timed_beside_itself(text: str) -> None:
    graph = parse(text)
    inputs = random_inputs(graph)
    for program in (graph, run.program_of(graph)):
        assert check(graph, inputs, in_numpy(program, inputs)()).passed


@pytest.mark.parametrize("name", ["lora_looped", "n_trans_fused", "gqa_split_kv"])
def test_a_graph_of_any_name_is_timed_beside_the_program_that_it_computes(name: str) -> None:
    graph = parse(str(published(name)).replace(f"{name}(", "mine(", 1))
    assert run.program_of(graph) == workload(PROGRAM_OF[name])
    assert run.program_of(graph.resized({"n": 128})).name == PROGRAM_OF[name]


BLOCKS = """\
mine(X[b=8, d=64]):
  block grid(x=2):
    x = load(X, imap={x: 1})
    y = exp(x)
    Y = store(y, omap={x: 1})
  return Y
"""


def test_a_graph_without_a_known_program_is_run_block_by_block(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "mine.txt").write_text(BLOCKS)
    file = tmp_path / "found.json"
    assert (
        main(["run", str(tmp_path / "mine.txt"), "--time", "--threads", "1", "--json", str(file)])
        == 0
    )
    printed = capsys.readouterr().out
    assert f"in turns with {BLOCK_BY_BLOCK}" in printed
    assert " 0.000 " not in printed
    (found,) = json.loads(file.read_text())["times"]
    assert found["baseline"] == BLOCK_BY_BLOCK
    warning = found["warning"] or ""
    assert "mine" in warning or not warning


def test_a_graph_without_kernels_has_no_times(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "same.txt").write_text("same(X[b=3]):\n  return X\n")
    file = tmp_path / "found.json"
    arguments = ["run", str(tmp_path / "same.txt"), "--check", "--time", "--json", str(file)]
    assert main(arguments) == 0
    assert "..." not in capsys.readouterr().out  # all elements are there
    assert json.loads(file.read_text())["times"] == []


# ---- what was found is kept


def ends(error: BaseException) -> Callable[..., object]:
    def end(*_: object, **__: object) -> object:
        raise error

    return end


@pytest.mark.parametrize(
    ("error", "status"),
    [(KeyboardInterrupt(), INTERRUPTED), (WrongResult("a kernel"), USAGE_STATUS)],
)
def test_a_timing_that_ends_early_leaves_what_was_checked(
    error: BaseException, status: int, source: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "found.json"
    monkeypatch.setattr(run, "race", ends(error))
    assert main(["run", source, "--check", "--time", "--json", str(file)]) == status
    record = json.loads(file.read_text())
    assert record["errors"] and "times" not in record


@pytest.mark.parametrize(
    ("error", "status"),
    [(KeyboardInterrupt(), INTERRUPTED), (WrongResult("a kernel"), USAGE_STATUS)],
)
def test_a_race_that_ends_early_leaves_the_graphs(
    error: BaseException,
    status: int,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    file, out = tmp_path / "found.json", tmp_path / "out"
    (tmp_path / "scaled.txt").write_text(
        "scaled(X[b=16, d=64]):\n  E = exp(X)\n  Y = mul(E, X)\n  return Y\n"
    )
    monkeypatch.setattr(superoptimize, "race", ends(error))
    arguments = ["superoptimize", str(tmp_path / "scaled.txt"), "--target", "cpu", "--run"]
    assert main([*arguments, "--jobs", "1", "--out", str(out), "--json", str(file)]) == status
    assert json.loads(file.read_text())["found"]
    assert (out / "scaled_01.txt").exists()
    if status == INTERRUPTED:
        assert (
            "not measured\nstopped; the same command goes on from here" in capsys.readouterr().out
        )


def test_ctrl_c_that_a_timing_outlives_is_told(
    source: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def timed(*_: object) -> list[object]:
        with contextlib.suppress(KeyboardInterrupt):  # as a comparison does, for its rounds
            signal.raise_signal(signal.SIGINT)
        return ["a time"]

    file = tmp_path / "found.json"
    monkeypatch.setattr(run, "_timed", timed)
    assert main(["run", source, "--time", "--json", str(file)]) == INTERRUPTED
    assert json.loads(file.read_text())["times"] == ["a time"]
