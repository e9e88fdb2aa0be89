from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path

import pytest

from mlc_course import __version__, cli, lab
from mlc_course.errors import CourseError, SizeError, UsageError


def raising(error: BaseException) -> cli.AddCommand:
    """A subcommand ``go`` that raises ``error``."""

    def run(_arguments: argparse.Namespace) -> int:
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


def test_ctrl_c_ends_with_the_status_of_an_interrupt() -> None:
    assert cli.main(["go"], [raising(KeyboardInterrupt())]) == 130


def test_the_version_is_the_package_s(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="0"):
        cli.main(["--version"])
    assert capsys.readouterr().out == f"mlc-course {__version__}\n"


def test_no_command_is_a_usage_error() -> None:
    with pytest.raises(SystemExit, match="2"):
        cli.main([])


def test_help_waits_for_neither_numpy_nor_tvm() -> None:
    program = (
        "import sys; from mlc_course import cli; cli.build_parser().format_help();"
        "print(sorted({'tvm', 'numpy', 'matplotlib'} & sys.modules.keys()))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout.strip() == "[]", done.stderr


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    page = tmp_path / lab.START_PAGE
    page.parent.mkdir()
    page.touch()
    return tmp_path


def test_the_lab_opens_on_the_start_page(checkout: Path) -> None:
    words = lab.command(checkout, browser=True, port=None)
    assert f"--ServerApp.root_dir={checkout}" in words
    assert "--LabApp.default_url=/lab/tree/notebooks/index.ipynb" in words
    assert not any("browser" in word or "port" in word for word in words[1:])


def test_the_lab_without_a_browser_only_prints_the_address(checkout: Path) -> None:
    words = lab.command(checkout, browser=False, port=9000)
    assert {"--no-browser", "--port=9000"} <= set(words)


def test_the_lab_without_lessons_says_how_to_get_them(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="checkout"):
        lab.command(tmp_path, browser=False, port=None)
    assert issubclass(UsageError, CourseError)


def test_the_lab_finds_the_programs_of_its_own_python_first() -> None:
    folder = str(Path(sys.executable).parent)
    assert lab.environment({"PATH": "/bin", "HOME": "/h"})["PATH"].split(":") == [folder, "/bin"]


def test_a_machine_without_a_screen_has_no_browser() -> None:
    assert not lab.has_browser({}, "linux")
