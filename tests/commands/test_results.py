"""``--json FILE`` means the same for every subcommand."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from mlc_course import __version__
from mlc_course.commands import cli, doctor, tune
from mlc_course.commands.output import NOWHERE, Results
from mlc_course.errors import UsageError
from mlc_course.machine import describe

WITHOUT_RESULTS = {
    "lab": "becomes JupyterLab",
    "completion": "prints a program for a shell",
    "init": "lays out files",
}
# A short run of each subcommand, and a figure that its document has.
RUNS = {
    "doctor": ([], "findings"),
    "ladder": (["softmax", "--sizes", "20,32", "--rungs", "naive"], "rungs"),
    "tune": (["matmul_exp_matmul", "--recorded"], "replayed"),
    "verify": (["lora", "lora_fused"], "equal"),
    "superoptimize": (["lora", "--jobs", "1", "--max-ops", "2"], "found"),
    "select": (["--list"], "specifications"),
    "compile": (["lora_fused"], "program"),
    "run": (["lora_fused", "--check"], "errors"),
    "shapes": (["bias_gelu"], "facts"),
    "fuse": (["bias_gelu"], "kernels"),
    "grade": (["SUBMISSIONS"], "marks"),
    "lecture": (["05", "--html", "PAGE"], "slides"),
    "table": (["class.jsonl"], "rows"),
}
GRADED_ELSEWHERE = {"grade"}  # tests/grading/course/test_batch.py runs it with --json -


def document(text: str) -> dict[str, Any]:
    """Read a document strictly: one value, whose numbers are those of JSON."""

    def refuse(word: str) -> None:
        raise ValueError(f"{word} is no number of JSON")

    found = json.loads(text, parse_constant=refuse)
    assert isinstance(found, dict)
    return found


def test_every_subcommand_has_it_or_a_reason() -> None:
    having = {name for name, parser in cli.subcommands().items() if takes_json(parser)}
    assert having == RUNS.keys()
    assert cli.subcommands().keys() - having <= WITHOUT_RESULTS.keys()


def test_the_page_of_commands_says_what_each_document_holds() -> None:
    page = (Path(cli.__file__).parents[2] / "docs" / "commands.md").read_text(encoding="utf-8")
    for name, (_, figure) in RUNS.items():
        assert re.search(rf"^\| `{name}` \| .*`{figure}`", page, re.M), name


def takes_json(parser: cli.Parser) -> bool:
    return any(
        "--json" in each.option_strings and each.metavar == "FILE" and each.dest == "results"
        for each in parser._actions
    )


def test_a_switch_without_a_file_is_told_apart() -> None:
    parser = cli.Parser()
    parser.add_argument("--json", action="store_true")
    assert not takes_json(parser)


@pytest.mark.slow
@pytest.mark.parametrize("command", sorted(RUNS.keys() - GRADED_ELSEWHERE))
def test_standard_output_is_one_document_alone(
    command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: Any
) -> None:
    quick = partial(doctor.examine, (doctor.python_version,), ())
    monkeypatch.setattr(doctor, "examine", quick)
    monkeypatch.setattr(tune, "compare_best", lambda *_, **__: print("a table") or {"rungs": []})
    words, figure = RUNS[command]
    words = [str(tmp_path / "page.html") if word == "PAGE" else word for word in words]
    status = cli.main([command, *words, "--json", "-"])
    assert status in (0, 1)
    said = document(capsys.readouterr().out)
    assert list(said)[:4] == ["command", "machine", "date", "versions"]
    assert said["command"] == command and said["machine"] == describe().to_dict()
    assert said["versions"]["mlc_course"] == __version__ and figure in said


def test_nothing_else_reaches_standard_output_from_children_either() -> None:
    program = (
        "import os, sys; from pathlib import Path\n"
        "from mlc_course.commands.output import Results\n"
        "results = Results('go', Path('-'))\n"
        "with results.ready():\n"
        "    print('from Python'); os.system('echo from a child'); os.write(1, b'from C')\n"
        "    results.write({'figure': float('inf'), 'rows': [float('nan'), 1.5]})\n"
        "print('after')\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    text, after = done.stdout.rstrip().rsplit("\n", 1)
    said = document(text)
    assert (said["figure"], said["rows"], after) == ("inf", ["nan", 1.5], "after")
    assert all(f"from {each}" in done.stderr for each in ("Python", "a child", "C"))


WAYS = pytest.mark.parametrize(
    ("words", "unbuffered"),
    [
        (("verify", "lora", "lora_fused", "--json", "-"), ""),
        (("completion", "bash"), ""),
        (("completion", "bash"), "1"),
    ],
    ids=["json", "at the end", "at once"],
)


def printing_to(stdout: Any, words: tuple[str, ...], unbuffered: str) -> tuple[int, str]:
    """The status and the errors of a command that prints to a broken place."""
    command = [sys.executable, "-m", "mlc_course.commands", *words]
    given = {**os.environ, "PYTHONUNBUFFERED": unbuffered}
    done = subprocess.run(command, stdout=stdout, stderr=subprocess.PIPE, text=True, env=given)
    return done.returncode, done.stderr


@WAYS
def test_a_reader_that_goes_away_is_no_traceback(words: tuple[str, ...], unbuffered: str) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    status, said = printing_to(writer, words, unbuffered)
    os.close(writer)
    assert status == 1 and "Error" not in said


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="a device of Linux")
def test_a_full_disk_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["shapes", "bias_gelu", "--json", "/dev/full"]) == 2
    assert "cannot write /dev/full" in capsys.readouterr().err


@WAYS
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="a device of Linux")
def test_a_full_standard_output_is_told(words: tuple[str, ...], unbuffered: str) -> None:
    with open("/dev/full", "w") as full:
        status, said = printing_to(full, words, unbuffered)
    assert status == 2 and "cannot write" in said and "No space left" in said
    assert "Traceback" not in said and "Exception ignored" not in said


@pytest.mark.parametrize("place", ["folder", "file/below", "x" * 300])
def test_a_place_that_cannot_be_written_is_told_before_any_work(
    place: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").touch()
    before = sorted(tmp_path.rglob("*"))
    assert cli.main(["shapes", "bias_gelu", "--json", str(tmp_path / place)]) == 2
    told = capsys.readouterr()
    assert "UsageError: cannot write" in told.err and not told.out
    assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_may_not_be_written_is_told(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    with pytest.raises(UsageError, match="cannot write"), Results("go", tmp_path / "x").ready():
        pass
    tmp_path.chmod(0o700)


def test_an_input_is_not_written_over(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = tmp_path / "mine.shapes"
    source.write_text("not read")
    turn = tmp_path / "." / "mine.shapes"
    assert cli.main(["shapes", str(source), "--json", str(turn)]) == 2
    assert "would replace another file" in capsys.readouterr().err
    picture = str(tmp_path / "picture.svg")
    assert cli.main(["fuse", "bias_gelu", "--plot", picture, "--json", picture]) == 2
    assert source.read_text() == "not read" and not Path(picture).exists()


TWICE = {
    "table": ["SAME.html", "--html", "SAME.html"],
    "fuse": ["SAME.txt", "--code", "SAME.txt"],
    "compile": ["SAME.txt", "--out", "SAME.txt"],
    "shapes": ["bias_gelu", "--simplify", "SAME", "--buffers", "SAME"],
    "ladder": ["softmax", "--plot", "SAME.svg", "--roofline", "SAME.svg"],
    "grade": [".", "--out", "SAME.csv", "--fill", "SAME.csv"],
}


@pytest.mark.parametrize("command", TWICE)
def test_no_file_that_a_command_names_twice_is_written(
    command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = [str(tmp_path / word) if "SAME" in word else word for word in TWICE[command]]
    (file,) = {Path(word) for word in words if "SAME" in word}
    if command not in ("shapes", "ladder"):  # there, neither of the two has to exist
        file.write_text("mine")
    assert cli.main([command, *words]) == 2
    assert "would replace another file of this command" in capsys.readouterr().err
    assert not file.exists() or file.read_text() == "mine"


def test_a_name_of_the_course_is_no_file(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.chdir(tmp_path)
    assert cli.main(["shapes", "bias_gelu", "--json", "bias_gelu"]) == 0
    assert document((tmp_path / "bias_gelu").read_text())["command"] == "shapes"


def test_a_letter_that_a_terminal_lacks_is_no_traceback(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "mlc_course.commands", "table", "\u5b66.jsonl"]
    given = {**os.environ, "PYTHONIOENCODING": "ascii"}
    done = subprocess.run(command, cwd=tmp_path, env=given, capture_output=True, text=True)
    assert done.returncode == 0 and "?.jsonl: nobody has handed in" in done.stdout


def test_a_file_of_before_stays_when_the_command_fails(tmp_path: Path) -> None:
    file = tmp_path / "found.json"
    file.write_text("before")
    assert cli.main(["shapes", "no_such", "--json", str(file)]) == 2
    assert file.read_text() == "before"


def test_a_switch_of_before_says_what_to_write(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        cli.main(["doctor", "--json"])
    assert "--json - prints it" in capsys.readouterr().err


def test_a_live_lecture_has_no_results(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["lecture", "05", "--json", "-"]) == 2
    assert "--json FILE with --record or --html FILE" in capsys.readouterr().err


def test_without_a_file_nothing_is_written(capsys: pytest.CaptureFixture[str]) -> None:
    with NOWHERE.ready():
        NOWHERE.write({"figure": 1})
    assert not NOWHERE and capsys.readouterr().out == ""
