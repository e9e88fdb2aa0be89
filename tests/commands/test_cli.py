from __future__ import annotations

import importlib
import inspect
import subprocess
import sys
from pathlib import Path

import pytest

from mlc_course import __version__
from mlc_course.commands import cli, lab
from mlc_course.course_files import START_PAGE
from mlc_course.errors import MissingPackage, SizeError


def raising(error: BaseException) -> cli.AddCommand:
    """A subcommand ``go`` that raises ``error``."""

    def run() -> int:
        raise error

    return lambda subparsers: subparsers.add_parser("go").set_defaults(run=run)


def test_a_course_error_is_printed_without_a_traceback(capsys: pytest.CaptureFixture[str]) -> None:
    error = SizeError("split(k, 8)", expected="8 divides |k|", got="|k| = 1999", hint="pad first")
    error.add_note("in rung tile")
    assert cli.main(["go"], [raising(error)]) == 2
    assert capsys.readouterr().err.splitlines() == [
        "SizeError: split(k, 8)",
        "  expected  8 divides |k|",
        "  got       |k| = 1999",
        "  hint      pad first",
        "in rung tile",
    ]


def test_an_error_of_ours_is_not_hidden() -> None:
    with pytest.raises(ZeroDivisionError):
        cli.main(["go"], [raising(ZeroDivisionError())])


def test_ctrl_c_ends_with_the_status_of_an_interrupt(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["go"], [raising(KeyboardInterrupt())]) == 130
    assert capsys.readouterr().err == "stopped\n"


def test_too_little_memory_is_no_traceback(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["go"], [raising(MemoryError("Unable to allocate 3.64 TiB"))]) == 2
    assert capsys.readouterr().err == "not enough memory: Unable to allocate 3.64 TiB\n"


SHORTEST = {
    "doctor": [],
    "init": ["folder"],
    "table": ["class.jsonl"],
    "lab": [],
    "ladder": ["matmul"],
    "tune": ["matmul"],
    "verify": ["one", "other"],
    "superoptimize": ["lora"],
    "select": ["sat_add_u8"],
    "compile": ["lora"],
    "run": ["lora"],
    "shapes": ["bias_gelu"],
    "fuse": ["bias_gelu"],
    "grade": ["submissions"],
    "lecture": ["05"],
    "completion": ["bash"],
}


@pytest.mark.parametrize("command", SHORTEST)
def test_a_subcommand_takes_the_options_of_its_parser(command: str) -> None:
    options = vars(cli.build_parser().parse_args([command, *SHORTEST[command]]))
    run = importlib.import_module(f"mlc_course.commands.{command}").run
    for name in ("run", "parser"):
        del options[name]
    inspect.signature(run).bind(**options)


def test_every_subcommand_is_tested() -> None:
    assert SHORTEST.keys() == cli.subcommands().keys()


def test_the_version_is_the_package_s(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="0"):
        cli.main(["--version"])
    assert capsys.readouterr().out == f"mlc-course {__version__}\n"


def test_no_command_is_a_usage_error() -> None:
    with pytest.raises(SystemExit, match="2"):
        cli.main([])


def test_help_waits_for_neither_numpy_nor_tvm() -> None:
    program = (
        "import sys; from mlc_course.commands import cli; cli.build_parser().format_help();"
        "print(sorted({'tvm', 'numpy', 'matplotlib'} & sys.modules.keys()))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout.strip() == "[]", done.stderr


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["ladder", "sort"], "no ladder for 'sort'"),
        (["ladder", "softmax", "--rungs", "naive,elevator"], "no such rung"),
        (["ladder", "softmax", "--sizes", "3"], "wrong number of sizes"),
        (["ladder", "softmax", "--sizes", "3,0"], "below one"),
        (["ladder", "softmax", "--threads", "0"], "threads"),
        (["ladder", "softmax", "--threads", "100000"], "threads"),
        (["ladder", "softmax", "--plot", "picture.doc"], "cannot write"),
        (["ladder", "softmax", "--roofline", "picture.doc"], "cannot write"),
        (["ladder", "softmax", "--json", "/proc/nowhere/ladder.json"], "cannot write"),
        (["tune", "matmul", "--rpc", "somewhere"], "a fleet is an address and a key"),
        (["tune", "matmul", "--strategy", "luck"], "no strategy 'luck'"),
        (["tune", "matmul", "--trials", "0"], "too few trials"),
        (["tune", "matmul", "--json", "/proc/nowhere/tune.json"], "cannot write"),
        (["tune", "matmul", "--out", "/proc/nowhere"], "cannot write /proc/nowhere"),
        (["tune", "matmul", "--out", f"{__file__}/below"], "cannot write"),
        (["tune", "sort", "--recorded"], "no search is recorded of 'sort'"),
        (["lab", "--port", "99999999"], "no such port"),
        (["lab", "--port", "-1"], "no such port"),
        (["superoptimize", "lora", "--jobs", "0"], "too few processes"),
        (["superoptimize", "lora", "--json", "/proc/nowhere/found.json"], "cannot write"),
    ],
)
def test_bad_input_is_refused_before_anything_is_measured(
    words: list[str], complaint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(words) == 2
    captured = capsys.readouterr()
    assert complaint in captured.err and "expected" in captured.err
    assert "naive" not in captured.out


@pytest.mark.parametrize("words", [["--sizes", "a,b"], ["--threads", "two"]])
def test_what_is_no_number_is_a_usage_error(words: list[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        cli.main(["ladder", "softmax", *words])


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    page = tmp_path / START_PAGE
    page.parent.mkdir()
    page.touch()
    return tmp_path


def test_the_lab_opens_on_the_start_page(checkout: Path) -> None:
    words = lab.command(checkout, browser=True, port=None)
    assert f"--ServerApp.root_dir={checkout}" in words
    assert set(lab.START) <= set(words) and not any("default_url" in word for word in words)
    assert not any("browser" in word or "port" in word for word in words[1:])


def test_only_an_instructor_s_lab_has_the_tools_of_nbgrader(checkout: Path) -> None:
    student, instructor = (
        lab.command(checkout, browser=False, port=None, instructor=each) for each in (False, True)
    )
    assert set(student) - set(instructor) == set(lab.FOR_STUDENTS)
    assert set(instructor) <= set(student)


def test_the_lab_without_a_browser_only_prints_the_address(checkout: Path) -> None:
    words = lab.command(checkout, browser=False, port=9000)
    assert {"--no-browser", "--port=9000"} <= set(words)


def test_the_lab_without_jupyterlab_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lab, "find_spec", lambda _: None)
    with pytest.raises(MissingPackage, match=r"mlc-course\[lab\]"):
        lab.run(browser=False, port=None)


def test_the_lab_finds_the_programs_of_its_own_python_first() -> None:
    folder = str(Path(sys.executable).parent)
    assert lab.environment({"PATH": "/bin", "HOME": "/h"})["PATH"].split(":") == [folder, "/bin"]


def test_a_machine_without_a_screen_has_no_browser() -> None:
    assert not lab.has_browser({}, "linux")


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (["lader", "matmul"], "did you mean ladder?"),
        (["help"], "did you mean --help?"),
        (["--verison"], "did you mean --version?"),
        (["--json", "x", "doctor"], "options stand behind the subcommand"),
        (["ladder", "--quik"], "did you mean --quick?"),
        (["ladder", "matmul", "--quik", "--threds=2"], "did you mean --quick?; did you mean --thr"),
        (["fuse", "bias_gelu", "--facts", "al"], "did you mean all?"),
        (["grade", "x", "--sandbox", "bubble"], "did you mean bubblewrap?"),
    ],
)
def test_a_wrong_word_is_answered_with_the_nearest(
    words: list[str], hint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit, match="2"):
        cli.main(words)
    assert hint in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "meant"),
    [
        (["ladder", "matmull"], "matmul"),
        (["ladder", "softmax", "--rungs", "naiv"], "naive"),
        (["tune", "two_layer"], "two_layer_network"),
        (["tune", "matmul", "--strategy", "pakcing"], "packing"),
        (["tune", "matmul_exp_matmull", "--recorded"], "matmul_exp_matmul"),
        (["verify", "lora", "Lora-fused"], "lora_fused"),
        (["superoptimize", "loraa"], "lora"),
        (["superoptimize", "lora", "--target", "h10"], "h100"),
        (["select", "gauss"], "gauss3x3_u8"),
        (["select", "sad8_u8", "--level", "avx5"], "avx512"),
        (["compile", "lora", "--storage", "float61"], "float16"),
        (["run", "lora", "--target", "opncl"], "opencl"),
        (["shapes", "bias-gelu"], "bias_gelu"),
        (["fuse", "gelu"], "bias_gelu"),
        (["lecture", "reorder"], "05_loop_reorder"),
    ],
)
def test_a_wrong_name_is_answered_with_the_nearest(
    words: list[str], meant: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(words) == 2
    assert f"hint      did you mean {meant}?" in capsys.readouterr().err
