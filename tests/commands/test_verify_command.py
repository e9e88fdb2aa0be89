from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from mlc_course.commands import cli, verify
from mlc_course.errors import GraphError
from mlc_course.mugraph.ir import parse, run, to_json

ADD = """f(X[n=8], Y[n]):
  z = add(X, Y)
  return z
"""


@pytest.fixture
def files(tmp_path: Path) -> dict[str, str]:
    texts = {
        "sum": ADD,
        "turned": ADD.replace("X, Y)\n", "Y, X)\n"),
        "product": ADD.replace("add", "mul"),
        "broken": ADD.replace("add", "ad"),
        "root": ADD.replace("add(X, Y)", "sqrt(X)"),
        "other": ADD.replace("Y[n]", "Y[m=4]").replace("add(X, Y)", "exp(X)"),
        "roots": "f(X[n=8], Y[n]):\n  a = sqrt(X)\n  b = sqrt(Y)\n  z = mul(a, b)\n  return z",
        "root_of": "f(X[n=8], Y[n]):\n  a = mul(X, Y)\n  z = sqrt(a)\n  return z",
    }
    for name, text in texts.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    (tmp_path / "sum.json").write_text(json.dumps(to_json(parse(ADD))), encoding="utf-8")
    (tmp_path / "bad.json").write_text("{", encoding="utf-8")
    (tmp_path / "deep.json").write_text("[" * 100_000, encoding="utf-8")
    (tmp_path / "long.json").write_text("9" * 5_000, encoding="utf-8")
    (tmp_path / "bytes").write_bytes(b"\xff\xfe\x00")
    return {path.name: str(path) for path in tmp_path.iterdir()}


@pytest.mark.parametrize(
    ("left", "right", "status", "words"),
    [
        ("sum", "turned", 0, "equal: a difference would be missed with probability at most"),
        ("sum", "sum.json", 0, "equal"),
        ("sum", "product", 1, "different: output 0 at"),
        ("sum", "broken", 2, "no operator 'ad'"),
        ("broken", "sum", 2, "in line 2: z = ad(X, Y)"),
        ("sum", "other", 2, "inputs differ"),
        ("sum", "bad.json", 2, "cannot be read"),
        ("sum", "bytes", 2, "cannot be read"),
        ("sum", "deep.json", 2, "cannot be read"),
        ("sum", "long.json", 2, "cannot be read"),
        ("sum", "nowhere", 2, "no such file, and no graph of the course"),
        ("sum", "far" * 100, 2, "no such file, and no graph of the course"),
        ("roots", "root_of", 2, "sqrt, of which the verifier does not know every law"),
    ],
)
def test_the_exit_status_says_what_was_found(
    files: dict[str, str],
    capsys: pytest.CaptureFixture[str],
    left: str,
    right: str,
    status: int,
    words: str,
) -> None:
    sides = [files.get(name, name) for name in (left, right)]
    assert cli.main(["verify", *sides]) == status
    said = capsys.readouterr()
    assert words in said.out + said.err
    assert bool(said.err) == (status == 2)


def test_graphs_of_the_course_have_names(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["verify", "rms_norm_matmul", "rms_norm_matmul_fused"]) == 0
    assert "at the given sizes; one index of b, n stands for all" in capsys.readouterr().out


def test_outputs_in_another_order_are_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = "f(X[n=8]):\n  a = exp(X)\n  b = square(X)\n  return {}\n"
    sides = [tmp_path / "left", tmp_path / "right"]
    for path, order in zip(sides, ("a, b", "b, a"), strict=True):
        path.write_text(text.format(order), encoding="utf-8")
    assert cli.main(["verify", *map(str, sides)]) == 0
    assert "outputs: 0 = 1, 1 = 0" in capsys.readouterr().out


def test_json_of_equal_graphs(files: dict[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    status = cli.main(["verify", files["sum"], files["turned"], "--json", "-", "--error", "1e-20"])
    said = json.loads(capsys.readouterr().out)
    assert status == 0
    assert said["equal"] is True
    assert 0 < said["error_bound"] <= 1e-20
    assert said["trials"] > 1
    assert said["counterexample"] is None


def test_json_of_different_graphs_has_an_input_that_shows_it(
    files: dict[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["verify", files["sum"], files["product"], "--json", "-"]) == 1
    example = json.loads(capsys.readouterr().out)["counterexample"]
    sizes = {"n": len(example["inputs"]["X"])}
    inputs = {name: np.array(value) for name, value in example["inputs"].items()}
    for side, source in (("left", "sum"), ("right", "product")):
        (value,) = run(verify.graph(files[source]).resized(sizes), inputs)
        assert value[tuple(example["place"])] == pytest.approx(example[side])


def test_json_of_what_cannot_be_told(
    files: dict[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["verify", files["roots"], files["root_of"], "--json", "-"]) == 2
    said = json.loads(capsys.readouterr().out)
    assert said["equal"] is None
    assert "sqrt" in said["reason"]


@pytest.mark.parametrize("options", [["--error", "0"], ["--error", "1"], ["--extent", "1"]])
def test_options_that_make_no_sense_are_refused(files: dict[str, str], options: list[str]) -> None:
    assert cli.main(["verify", files["sum"], files["turned"], *options]) == 2


def test_an_error_names_the_file(files: dict[str, str]) -> None:
    with pytest.raises(GraphError) as error:
        verify.graph(files["broken"])
    assert error.value.__notes__[-1] == f"in {files['broken']}"
