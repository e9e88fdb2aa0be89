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
VERIFY = ("verify", "lora", "lora_fused")
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


def test_a_reader_that_goes_away_is_no_traceback() -> None:
    command = [sys.executable, "-m", "mlc_course.commands", *VERIFY, "--json", "-"]
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run(command, stdout=writer, stderr=subprocess.PIPE, text=True)
    os.close(writer)
    assert done.returncode == 1 and "Traceback" not in done.stderr


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="a device of Linux")
def test_a_full_disk_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["shapes", "bias_gelu", "--json", "/dev/full"]) == 2
    assert "cannot write /dev/full" in capsys.readouterr().err
    with open("/dev/full", "w") as full:
        command = [sys.executable, "-m", "mlc_course.commands", *VERIFY, "--json", "-"]
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True)
    assert done.returncode == 2
    assert "cannot write to standard output" in done.stderr and "Traceback" not in done.stderr


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
