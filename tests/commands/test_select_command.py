"""``mlc-course select``, as a user calls it."""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from helpers.own_guide import guide_text

from mlc_course.commands import select, selection_report
from mlc_course.commands.cli import USAGE_STATUS, main
from mlc_course.errors import MachineError
from mlc_course.instruction_selection.insert import processor_has
from mlc_course.instruction_selection.isa import LEVELS, level_of
from mlc_course.instruction_selection.prove import Proved, prove_cell
from mlc_course.instruction_selection.search import (
    RULES_FILE,
    Refuted,
    Rules,
    Selecting,
    decoded,
)
from mlc_course.instruction_selection.semantics import Finding, RowCheck
from mlc_course.instruction_selection.spec import CATALOGUE, specification
from mlc_course.parallel import INTERRUPTED

SUM = "u8 A, u8 B -> u8 O: min(A + B, 255)"
HERE = [level for level in ("avx2", "avx512", "vnni", "neon") if processor_has(level)]


@pytest.fixture(autouse=True)
def own_rules(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "rules" / "own.json"
    monkeypatch.setenv(RULES_FILE, str(path))
    monkeypatch.setattr(Rules, "find", own_only(Rules.find))
    return path


def own_only(find: object) -> object:
    """Look for no rule that the course ships: these tests are of searches."""

    def found(self: Rules, *arguments: object) -> object:
        self._shipped = {}
        return find(self, *arguments)  # type: ignore[operator]

    return found


def sections(printed: str) -> list[str]:
    return printed.strip().split("\n\n")


def test_a_program_is_printed_with_its_proof_and_what_was_covered(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["select", "sat_add_u8", "--level", "avx2"]) == select.FOUND
    head, program, lines, proof, covered = sections(capsys.readouterr().out)
    assert head.splitlines()[:2] == [f"sat_add_u8: {SUM}", "The sum of two bytes, at most 255."]
    assert "level avx2, registers of 256 bits" in head
    assert re.match(r"found in \d+\.\d s, [\d,]+ programs tried; in one line:", program)
    assert "  paddusb(A, B)" in program
    assert "  3  v2 = paddusb v0, v1  u8 x 32  32 times min((a + b), 255)." in lines
    assert "1 instruction for 32 outputs, 1 for 32 bytes of the result" in lines
    assert "wrap" not in lines and "a0" not in lines
    assert proof.startswith("proved for all inputs: both sides are the same formula (one lane")
    assert "layout: each of the 32 outputs is this program" in proof
    assert covered.startswith("covered: every lighter program was tried over ")
    assert "next come" not in covered  # none of more instructions is lighter


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("name", ["requant_u8", "absdiff_u8", "dot4_u7s8", "rshift_s16"])
def test_what_is_written_can_be_read_and_proved_again(
    level: str, name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "found.json"
    words = ["select", name, "--level", level, "--json", str(file)]
    assert main(words) == select.FOUND
    printed, record = capsys.readouterr().out, json.loads(file.read_text())
    program = decoded(record["equations"], level_of(level).rows)
    assert str(program) == record["program"]
    assert f"  {record['program']}\n" in printed
    cell = specification(name).cell
    verdict = prove_cell(cell, program)
    assert isinstance(verdict, Proved)
    assert verdict.certificate.method == record["certificate"]["method"]
    assert f"proved for all inputs{' with A in 0..127' if name == 'dot4_u7s8' else ''}: " in printed
    steps = record["registers"]["steps"]
    assert all(f"{step['register']} = {step['operation']}" in printed for step in steps)
    assert all(step["sentence"] in printed for step in steps)
    assert record["width"] == level_of(level).width
    assert record["covered"]["rows"] and record["tried"] > 50
    assert ("not run here" in printed) == (not processor_has(level)) == (not record["runs_here"])


def test_promises_are_printed_with_the_result(capsys: pytest.CaptureFixture[str]) -> None:
    line = "u8 A in 0..100, u8 B in 0..100 -> u8 O: A + B"
    assert main(["select", line, "--level", "avx2"]) == select.FOUND
    printed = capsys.readouterr().out
    assert "promised: A in 0..100, B in 0..100; nothing is said of other inputs" in printed
    assert "proved for all inputs with A in 0..100, B in 0..100: " in printed


def test_the_second_time_nothing_is_searched(
    own_rules: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["select", "absdiff_u8", "--level", "avx2"]
    assert main(words) == select.FOUND
    first = capsys.readouterr().out
    assert f"recorded in {own_rules}" in first
    monkeypatch.setattr("mlc_course.instruction_selection.search.selection.Solver", None)
    assert main(words) == select.FOUND
    second = capsys.readouterr().out
    assert "recorded, and proved again; in one line:" in second
    assert sections(first)[2:4] == sections(second)[2:4]
    assert "programs were tried when it was found" in second
    assert "--fresh searches anew" in second
    with pytest.raises(TypeError):  # there is no search
        main([*words, "--fresh"])


def test_a_fresh_search_records_nothing(
    own_rules: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["select", SUM, "--level", "avx2", "--fresh"]) == select.FOUND
    assert "not recorded: --fresh records nothing" in capsys.readouterr().out
    assert not own_rules.exists()


def test_rules_go_to_the_file_that_is_named(tmp_path: Path, own_rules: Path) -> None:
    path = tmp_path / "others.json"
    assert main(["select", SUM, "--level", "avx2", "--rules", str(path)]) == select.FOUND
    assert len(json.loads(path.read_text())) == 1
    assert not own_rules.exists()


def test_rules_go_to_the_user_s_data_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv(RULES_FILE)
    monkeypatch.setattr(select, "user_data_path", lambda name: tmp_path / name)
    assert main(["select", SUM, "--level", "avx2"]) == select.FOUND
    assert len(json.loads((tmp_path / "mlc-course" / "instruction_rules.json").read_text())) == 1
    (tmp_path / "file").write_text("")
    monkeypatch.setattr(select, "user_data_path", lambda name: tmp_path / "file" / name)
    assert main(["select", SUM, "--level", "avx2"]) == select.FOUND
    assert "not recorded: cannot write" in capsys.readouterr().out


def test_a_file_of_rules_that_cannot_be_written_after_all_loses_nothing(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def full(*arguments: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Rules, "add", full)
    assert main(["select", SUM, "--level", "avx2"]) == select.FOUND
    printed = capsys.readouterr().out
    assert "paddusb(A, B)" in printed
    assert "not recorded: [Errno 28] No space left on device" in printed


def test_steps_that_are_several_instructions_are_counted_so(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["select", "narrow_s32", "--level", "neon"]) == select.FOUND
    printed = capsys.readouterr().out
    lines = re.findall(r"v(\d+) = sqxtu?n", printed)
    assert len(lines) == 3
    said = " ".join(printed.split())
    assert (
        f"6 instructions for 16 outputs, 12 for 32 bytes of the result; counting v{lines[0]} as 2"
        in said
    )


def test_refuted_candidates_are_shown_with_their_inputs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "found.json"
    words = ["select", "gauss_121_u8", "--level", "neon", "--seed", "1", "--json", str(file)]
    assert main([*words, "--explain"]) == select.FOUND
    printed, record = capsys.readouterr().out, json.loads(file.read_text())
    cell = specification("gauss_121_u8").cell
    for each in (x for x in record["refuted"] if x["whole"]):
        assert not re.search(r"\bx\d\b", each["program"])
        assert set(each["inputs"]) <= {str(x) for of in cell.inputs.values() for x in of}
        assert each["wanted"] != each["found"]
        assert f"gives {each['found']}, not {each['wanted']}" in printed


def test_a_refutation_names_each_lane_of_several() -> None:
    one = Refuted("goal", "pavgb(A, B)", {"A[0]": 1, "B[0]": 2}, 3, 4)
    assert selection_report.refutation(one) == "pavgb(A, B) at A = 1, B = 2 gives 4, not 3"
    two = replace(one, model={"A[0]": 1, "A[1]": 5})
    assert selection_report.refutation(two) == "pavgb(A, B) at A[0] = 1, A[1] = 5 gives 4, not 3"


def test_explanations_name_rows_constants_and_events(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["select", "dot4_u7s8", "--level", "avx2", "--explain"]) == select.FOUND
    *_, over, events = sections(capsys.readouterr().out)
    assert over.startswith("rows: ") and "pmaddubsw u8*2, s8*2 -> s16" in " ".join(over.split())
    assert "constants: {-128} of 8 bits" in over
    assert "a value that is used twice counts twice" in over
    assert "lighter: fewer than 3 instructions" in over
    assert events.startswith("events:\n  dot4_u7s8: 1 instruction, ")
    assert events.endswith("found paddd(C, pmaddwd({1}, pmaddubsw(A, B))), weight 3")


@pytest.mark.parametrize("level", ["avx2", "avx512", "vnni"])
def test_what_was_covered_of_a_sum_is_what_is_added(
    level: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["select", "dot2_s16", "--level", level]) == select.FOUND
    assert "whose result is added to C" in " ".join(capsys.readouterr().out.split())


@pytest.mark.parametrize("level", ["avx2", "neon"])
def test_an_accumulator_that_is_not_added_to_is_an_operand(
    level: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["select", "u8 A, u8 C -> u8 C: max(C, A)", "--level", level]) == select.FOUND
    printed = capsys.readouterr().out
    assert "1 instruction for" in printed and "added to" not in printed


@pytest.mark.parametrize(
    ("suffix", "text"),
    [
        (".txt", f"# The sum.\n{SUM}\n"),
        (".py", specification("sat_add_u8").prim_func(64).script()),
    ],
)
def test_a_file_is_a_specification(
    suffix: str, text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / f"own{suffix}"
    path.write_text(text)
    assert main(["select", str(path), "--level", "avx2"]) == select.FOUND
    printed = capsys.readouterr().out
    assert printed.startswith("own")
    assert "  paddusb(A, B)\n" in printed
    if suffix == ".py":
        assert "own, in TensorIR: u8 O = min((A[0] + B[0]), 255)" in printed


@pytest.mark.parametrize("width", [128, 256, 512])
def test_registers_may_be_narrower_than_the_level_s(
    width: int, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["select", "sat_add_u8", "--level", "avx512", "--width", str(width)]
    assert main(words) == select.FOUND
    printed = capsys.readouterr().out
    assert f"registers of {width} bits" in printed
    assert f"store v2: {width // 8} outputs of u8" in printed


def test_a_program_without_a_form_of_the_width_is_shown_with_the_reason(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "found.json"
    monkeypatch.setattr(select, "check_width", lambda width, level: None)
    words = ["select", "sat_add_u8", "--level", "neon", "--width", "256", "--json", str(file)]
    assert main(words) == USAGE_STATUS
    captured = capsys.readouterr()
    assert "  uqadd.8(A, B)" in captured.out and "layout" not in captured.out
    assert "uqadd.8 has no form of 256 bits" in captured.err
    assert json.loads(file.read_text())["registers"] is None


def test_a_time_that_is_too_short_says_what_was_covered_and_what_comes_next(
    tmp_path: Path, own_rules: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "found.json"
    words = ["select", "gauss3x3_u8", "--level", "avx2", "--seconds", "0.001", "--json", str(file)]
    assert main(words) == select.NOTHING
    printed = " ".join(capsys.readouterr().out.split())
    assert "no program was found and proved in" in printed
    assert "the time limit of 0.001 s ended the search: --seconds 1 may find one" in printed
    assert json.loads(file.read_text())["program"] is None
    assert not own_rules.exists()
    words[1] = "mul_q15_sat"
    assert main(words) == select.NOTHING
    assert "next come those of" in " ".join(capsys.readouterr().out.split())


def test_a_cell_that_is_too_large_as_a_whole_was_searched_in_parts(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["select", "sobel_x_u8", "--level", "avx2", "--seconds", "100"]) == select.FOUND
    printed = " ".join(capsys.readouterr().out.split())
    assert "programs were tried; it was searched in parts, not as a whole" in printed


def test_a_search_that_ends_by_itself_says_so(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(select, "level_of", lambda name: replace(level_of(name), rows=()))
    assert main(["select", "sat_add_u8", "--level", "avx2"]) == select.NOTHING
    printed = capsys.readouterr().out
    assert "the search ended before its time limit: more time changes nothing" in printed


def test_a_program_found_when_the_time_ends_is_not_recorded(
    own_rules: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    class Late(Selecting):
        @property
        def result(self):  # type: ignore[no-untyped-def]
            return replace(super().result, out_of_time=True)

    monkeypatch.setattr(select, "Selecting", Late)
    assert main(["select", "sat_add_u8", "--level", "avx2", "--seconds", "50"]) == select.FOUND
    printed = capsys.readouterr().out
    assert "the time limit of 50 s ended the search: --seconds 100 may find a better one" in printed
    assert "not recorded: the time limit ended the search" in printed


INTERRUPTED_CHILD = """
import sys, time
from mlc_course.commands import main, select
from mlc_course.instruction_selection.search import Rules
Rules.find = lambda *arguments: None
line_of = select.event_line

def told(event):
    print("EVENT", type(event).__name__, flush=True)
    if type(event).__name__ == {wait!r}:
        time.sleep(60)
    return line_of(event)

select.event_line = told
sys.exit(main(sys.argv[1:]))
"""


@pytest.mark.parametrize(("wait", "found"), [("Found", True), ("Tried", False)])
def test_ctrl_c_leaves_what_was_found_so_far(
    wait: str, found: bool, tmp_path: Path, own_rules: Path
) -> None:
    file = tmp_path / "found.json"
    program = INTERRUPTED_CHILD.format(wait=wait)
    words = ["select", "mul_q15_sat", "--level", "avx2", "--seconds", "100", "--json", str(file)]
    with subprocess.Popen(
        [sys.executable, "-c", program, *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # a shell's & ignores it
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
    ) as process:
        assert process.stdout is not None and process.stderr is not None
        next(line for line in process.stdout if line == f"EVENT {wait}\n")
        process.send_signal(signal.SIGINT)
        printed, said = process.stdout.read(), process.stderr.read()
        assert process.wait() == INTERRUPTED
    assert "Traceback" not in said
    assert "stopped by Ctrl-C: this is what was found until then" in printed
    assert printed.endswith("stopped\n")
    record = json.loads(file.read_text())
    assert record["stopped"] and record["seconds"] > 0 and record["tried"] > 0
    assert (record["program"] is not None) == found == ("proved for all inputs" in printed)
    assert not own_rules.exists()


FLOATS = """
@T.prim_func(s_tir=True)
def main(A: T.Buffer((64,), "float32"), O: T.Buffer((64,), "float32")):
    for i in range(64):
        with T.sblock("cell"):
            vi = T.axis.spatial(64, i)
            O[vi] = A[vi]
"""
GATHER = """
@T.prim_func(s_tir=True)
def main(A: T.Buffer((64,), "uint8"), B: T.Buffer((64,), "uint8"), O: T.Buffer((64,), "uint8")):
    for i in range(64):
        with T.sblock("cell"):
            vi = T.axis.spatial(64, i)
            O[vi] = A[B[vi]]
"""
TWO_OUTPUTS = """
@T.prim_func(s_tir=True)
def main(A: T.Buffer((64,), "uint8"), O: T.Buffer((64,), "uint8"), P: T.Buffer((64,), "uint8")):
    for i in range(64):
        with T.sblock("cell"):
            vi = T.axis.spatial(64, i)
            O[vi] = A[vi]
            P[vi] = A[vi]
"""


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["sat_ad_u8"], "did you mean sat_add_u8?"),
        (["sat-add-u8"], "did you mean sat_add_u8?"),
        (["SAT_ADD_U8"], "did you mean sat_add_u8?"),
        (["nowhere/sat"], "no specification of the catalogue"),
        (["."], "not a file of a specification"),
        (["sat_add_u8", "--rules", "/dev/full"], "no file of rules"),
        (["f32 A -> f32 O: A + 1"], "no type of an integer lane"),
        (["u8 A, u8 B -> u8 O: A / B"], "no vector unit divides integers"),
        (["u8 A, u8 B -> u8 O: A[B]"], "got       A[B]"),
        (["u8 A, u8 B -> u8 O, u8 P: A + B"], "got       u8 O, u8 P"),
        (["u8 A -> u8 O: A + 99999999999"], "the constant is outside its type"),
        (["u8 A in 0..300 -> u8 O: A"], "the range is outside the type u8"),
        (["u8 A in 9..3 -> u8 O: A"], "the range is empty"),
        (["u8 A: A"], "-> TYPE NAME: EXPRESSION"),
        (["sat_add_u8", "--level", "avx3"], "no level of instructions 'avx3'"),
        (["sat_add_u8", "--level", "avx2", "--width", "512"], "avx2 has no registers of 512 bits"),
        (["sat_add_u8", "--level", "neon", "--width", "256"], "neon has no registers of 256 bits"),
        (["nowhere.txt"], "nowhere.txt cannot be read"),
        (["picture.png"], "not a file of a specification"),
        (["sat_add_u8", "--json", "/proc/nowhere/x.json"], "cannot write"),
        (["sat_add_u8", "--rules", "/proc/nowhere/x.json"], "cannot write"),
        (["sat_add_u8", "--rules", __file__], "the recorded rules cannot be read"),
        ([], "select takes a specification, or one of --list"),
        (["sat_add_u8", "--list"], "a switch that takes none"),
        (["--check-isa", "--level", "avx3"], "no level of instructions"),
        (["--check-isa", "--intel", __file__], "is not Intel's Intrinsics Guide"),
        (["--list", "--intel", "guide.xml"], "--intel belongs to --check-isa"),
        (["--list", "--level", "avx2"], "only a search reads --level"),
        (["--check-tvm", "--run", "--fresh"], "only a search reads --run, --fresh"),
    ],
)
def test_bad_input_is_refused(
    words: Sequence[str], complaint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["select", *words]) == USAGE_STATUS
    captured = capsys.readouterr()
    assert complaint in captured.err and "expected" in captured.err and "got" in captured.err
    assert not captured.out


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        (FLOATS, "float32"),
        (GATHER, "an index of A depends on data"),
        (TWO_OUTPUTS, "a specification has one output"),
        ("import os\n", "a program is one function"),
    ],
)
def test_a_bad_file_is_refused_with_its_name(
    text: str, complaint: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "bad.py"
    path.write_text(text)
    assert main(["select", str(path)]) == USAGE_STATUS
    said = capsys.readouterr().err
    assert complaint in said and "expected" in said and f"in {path}" in said


def test_nothing_is_written_over_the_specification_or_the_rules(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    spec, rules = tmp_path / "own.txt", tmp_path / "rules.json"
    spec.write_text(SUM)
    rules.write_text("{}")
    for words in (
        [str(spec), "--json", str(tmp_path / "sub" / ".." / "own.txt")],
        [SUM, "--rules", str(rules), "--json", str(rules)],
    ):
        assert main(["select", *words]) == USAGE_STATUS
        assert "would replace another file" in capsys.readouterr().err
    assert (spec.read_text(), rules.read_text()) == (SUM, "{}")


def test_a_pipe_is_no_file_of_rules(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    os.mkfifo(tmp_path / "pipe")
    assert main(["select", SUM, "--rules", str(tmp_path / "pipe")]) == USAGE_STATUS
    assert "a device or a pipe" in capsys.readouterr().err


def test_a_file_may_begin_with_a_byte_order_mark(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "own.txt"
    path.write_text(SUM, encoding="utf-8-sig")
    assert main(["select", str(path), "--level", "avx2"]) == select.FOUND
    assert "  paddusb(A, B)\n" in capsys.readouterr().out


@pytest.mark.parametrize("words", [["--seconds", "0"], ["--seconds", "soon"], ["--seed", "-1"]])
def test_numbers_that_are_none_are_usage_errors(
    words: Sequence[str], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit, match="2"):
        main(["select", "sat_add_u8", *words])
    assert "expected" in capsys.readouterr().err


def test_the_level_is_the_best_of_this_processor(monkeypatch: pytest.MonkeyPatch) -> None:
    for has in ({"avx2", "avx512", "vnni"}, {"avx2", "avx512"}, {"avx2"}, {"neon"}):
        monkeypatch.setattr(select, "processor_has", has.__contains__)
        assert select.default_level().name == next(x for x in select.BEST_FIRST if x in has)
    monkeypatch.setattr(select, "processor_has", lambda name: False)
    monkeypatch.setattr("platform.machine", lambda: "aarch64")
    assert select.default_level().name == "neon"
    monkeypatch.setattr("platform.machine", lambda: "x86_64")
    assert select.default_level().name == "avx2"


@pytest.mark.skipif("avx512" not in HERE, reason="a processor with AVX-512")
def test_a_processor_that_stands_in_for_another_has_its_level(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("MLC_COURSE_ISA", "AVX2")
    assert select.default_level().name == "avx2"
    assert main(["select", "sat_add_u8", "--level", "avx512"]) == select.FOUND
    assert "not run here: this processor lacks" in capsys.readouterr().out
    assert main(["select", "sat_add_u8", "--level", "avx512", "--run"]) == USAGE_STATUS
    assert "no avx512f" in capsys.readouterr().err


def test_what_cannot_run_here_is_refused_before_the_search(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    level = next(name for name in LEVELS if name not in HERE)  # none has NEON and AVX2
    monkeypatch.setattr(select, "Selecting", None)
    assert main(["select", "sat_add_u8", "--level", level, "--run"]) == USAGE_STATUS
    said = capsys.readouterr().err
    assert said.startswith(f"{MachineError.__name__}: ")
    assert level in said and "got       no " in said


@pytest.mark.measures
@pytest.mark.skipif(not HERE, reason="a processor with the instructions of a level")
def test_a_program_is_timed_beside_llvm_and_numpy(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "found.json"
    words = ["select", "requant_u8", "--level", HERE[0], "--run", "--json", str(file)]
    assert main(words) == select.FOUND
    table = capsys.readouterr().out.partition(f"requant_u8, {HERE[0]}, ")[2]
    assert "quartiles" in table and "instructions / 32 bytes" in table
    assert "NumPy" in table and "best of LLVM" in table and "bound by" in table
    measured = json.loads(file.read_text())["measured"]
    low, middle, high = measured["over_best_llvm"]
    assert 0 < low <= middle <= high


@pytest.mark.skipif(not HERE, reason="a processor with the instructions of a level")
def test_ctrl_c_while_timing_keeps_the_program(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted(*arguments: object, **options: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(select, "compare", interrupted)
    file = tmp_path / "found.json"
    words = ["select", "sat_add_u8", "--level", HERE[0], "--run", "--json", str(file)]
    assert main(words) == INTERRUPTED
    assert capsys.readouterr().out.endswith("\nnot measured\nstopped\n")
    record = json.loads(file.read_text())
    assert record["program"] and record["measured"] is None


@pytest.mark.skipif(not HERE, reason="a processor with the instructions of a level")
def test_ctrl_c_that_ends_the_timing_early_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    real = select.compare

    def interrupted(*arguments: Any) -> object:
        with contextlib.suppress(KeyboardInterrupt):  # as a race does after its first round
            signal.raise_signal(signal.SIGINT)
        return real(*arguments)

    monkeypatch.setattr(select, "compare", interrupted)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        file = tmp_path / "found.json"
        words = ["select", "sat_add_u8", "--level", HERE[0], "--run", "--json", str(file)]
        assert main(words) == INTERRUPTED
    finally:
        signal.signal(signal.SIGINT, before)
    assert capsys.readouterr().out.endswith("\nstopped\n")
    assert json.loads(file.read_text())["measured"]


def test_the_catalogue_is_listed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "list.json"
    assert main(["select", "--list", "--json", str(file)]) == select.FOUND
    printed = capsys.readouterr().out
    listed = json.loads(file.read_text())["specifications"]
    assert list(listed) == list(CATALOGUE)
    for name, each in CATALOGUE.items():
        assert f"{name}: {each.sentence}\n    {each.line}\n" in printed


def test_rows_are_checked_and_one_that_differs_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = level_of("avx2").rows[:3]
    monkeypatch.setattr(select, "EVERY_ROW", rows)
    file = tmp_path / "rows.json"
    assert main(["select", "--check-isa", "--json", str(file)]) == select.FOUND
    printed = capsys.readouterr().out
    record = json.loads(file.read_text())
    assert [each["row"] for each in record["rows"]] == [row.name for row in rows]
    agreeing = sum(each["verdict"] == "agrees" for each in record["rows"])
    assert f"3 rows: {agreeing} agree, 0 differ" in printed
    wrong = RowCheck(rows[0], (Finding("processor", 256, "differs", note="a = 1 gives 2"),))
    monkeypatch.setattr(select, "check_rows", lambda rows, guide: [wrong])
    assert main(["select", "--check-isa"]) == select.NOTHING
    printed = capsys.readouterr().out
    assert "a = 1 gives 2" in printed and "1 row: 0 agree, 1 differ" in printed


def test_rows_are_held_against_a_guide_that_the_user_brings(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    row = next(each for each in level_of("avx2").rows if each.name == "pcmpgtb")
    monkeypatch.setattr(select, "EVERY_ROW", (row,))
    guide = tmp_path / "guide.xml"
    guide.write_text(guide_text())
    words = ["select", "--check-isa", "--intel", str(guide)]
    assert main(words) == select.FOUND
    printed = capsys.readouterr().out
    assert "intel 128 256\n" in printed
    assert "  intel, 512 bits: not read: pcmpgtb of 512 bits gives a mask\n" in printed
    guide.write_text(guide_text({"pcmpgtb": ("0xff", "0x7f")}))
    assert main(words) == select.NOTHING
    assert "  intel, 256 bits: pcmpgtb, lane 0 of _mm256_pcmpgtb: a0 = " in capsys.readouterr().out


def test_the_intrinsics_of_tvm_are_checked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "tvm.json"
    assert main(["select", "--check-tvm", "--json", str(file)]) == select.NOTHING
    printed = capsys.readouterr().out
    record = {each["name"]: each for each in json.loads(file.read_text())["intrinsics"]}
    assert not record["dot_16x4_avx512"]["right"]
    assert record["dot_16x4_avx512"]["verdict"].startswith("Different at ")
    assert "not compile" in printed and record["dot_16x4_vnni"]["fault"]
    right = sum(each["right"] for each in record.values())
    assert printed.endswith(
        f"{right} of {len(record)} tensor intrinsics compile and are proved right\n"
    )
    monkeypatch.setattr(select, "TVM_INTRINSICS", ["dot_4x4_i8i8s32_sdot"])
    assert main(["select", "--check-tvm"]) == select.FOUND
    assert "1 of 1 tensor intrinsic" in capsys.readouterr().out
