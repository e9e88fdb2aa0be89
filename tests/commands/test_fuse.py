"""``mlc-course fuse`` says which kernels a program needs, what they rest on, and what they lack."""

from __future__ import annotations

import json
from pathlib import Path

import onnx
import onnx.parser
import pytest

from mlc_course.commands import cli
from mlc_course.commands.fuse import run
from mlc_course.commands.output import Results
from mlc_course.errors import Contradiction, UsageError

Captured = pytest.CaptureFixture[str]


def test_a_kernel_names_what_it_needs_and_how_that_is_proved(capsys: Captured) -> None:
    assert cli.main(["fuse", "residual_layer_norm", "--explain"]) == 0
    out = capsys.readouterr().out
    assert "@residual_layer_norm, facts: all; 1 kernel (18 op by op)" in out
    assert "  needs B*S == T\n    B*S == T: from T*H == B*S*H\n" in out
    assert "merged: %3 with %5, by B*S == T\n" in out


def test_kernels_that_are_not_merged_name_the_missing_fact(capsys: Captured) -> None:
    assert cli.main(["fuse", "append_to_cache", "--facts", "product", "--explain"]) == 0
    out = capsys.readouterr().out
    assert "not merged: kernels 1 and 2; they would be if K == V were known" in out


def test_without_stitching_there_are_loop_and_input_kernels(capsys: Captured) -> None:
    assert cli.main(["fuse", "masked_softmax", "--no-stitch"]) == 0
    out = capsys.readouterr().out
    assert "; 3 kernels" in out and "stitch" not in out


def test_the_plan_and_the_picture_are_written_whole(tmp_path: Path) -> None:
    plan, picture = tmp_path / "plan.json", tmp_path / "kernels.svg"
    given = ["fuse", "residual_rms_norm", "--facts", "eq"]
    assert cli.main([*given, "--json", str(plan), "--plot", str(picture)]) == 0
    data = json.loads(plan.read_text(encoding="utf-8"))
    assert [kernel["form"] for kernel in data["kernels"]] == ["loop", "stitch"]
    assert data["kernels"][1]["rows"] == ["T"] and data["kernels"][1]["columns"] == ["H"]
    assert data["refusals"][0]["missing"] == ["B*S == T"]
    drawn = picture.read_text(encoding="utf-8")
    assert all(level in drawn for level in ("none", "eq", "product", "frontend", "all"))


def test_a_model_of_onnx_is_planned(tmp_path: Path, capsys: Captured) -> None:
    model = onnx.parser.parse_model(
        """<ir_version: 10, opset_import: ["" : 20]>
        g (float[b,s,8] x) => (float[?,?] y) <int64[2] rows = {-1, 8}> {
          r = Reshape(x, rows)
          y = Softmax(r)
        }"""
    )
    path = tmp_path / "model.onnx"
    onnx.save(model, path)
    assert cli.main(["fuse", str(path)]) == 0
    out = capsys.readouterr().out
    assert "@g, facts: all; 1 kernel (" in out and "stitch, rows [S2], columns [8]" in out


def test_what_cannot_be_planned_is_named(tmp_path: Path, capsys: Captured) -> None:
    with pytest.raises(UsageError, match=r"ends in \.png or \.svg|cannot write"):
        run(
            source="bias_gelu",
            facts="all",
            stitch=True,
            explain=False,
            plot_path=tmp_path / "kernels.txt",
        )
    with pytest.raises(SystemExit, match="2"):
        cli.main(["fuse", "bias_gelu", "--facts", "prodct"])
    assert "did you mean product?" in capsys.readouterr().err
    path = tmp_path / "mine.shapes"
    path.write_text(
        "func @main(%x: tensor<?xf32, [@N]>) {\n  return %x\n}\n"
        "SymbolicDim @N {\n  symbolic_shape_graph: @shape_constraint_graph\n}\n"
        "func @shape_constraint_graph() {\n  %0 = bind_dim(%x, 0) {ref: @N} : index\n"
        "  tie_predicate_lt(%0, %0)\n}\n",
        encoding="utf-8",
    )
    plan, picture = tmp_path / "plan.json", tmp_path / "kernels.svg"
    for level in ("none", "eq"):  # plans, but the picture needs all levels
        with pytest.raises(Contradiction, match="no sizes keep all"):
            run(
                source=str(path),
                facts=level,  # type: ignore[arg-type]
                stitch=True,
                explain=False,
                results=Results("fuse", plan),
                plot_path=picture,
            )
        assert not plan.exists() and not picture.exists()
    assert "@main" not in capsys.readouterr().out
    given = {"stitch": True, "explain": False, "plot_path": None}
    with pytest.raises(Contradiction, match="no sizes keep all"):
        run(source=str(path), facts="all", **given)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("suffix", "found"),
    [
        (".txt", "# for H % "),
        (".ll", "; kernel0, for any sizes"),
        (".s", "; kernel0_variant1, for H == 768"),
        (".cu", "// kernel0_variant3_kernel: H % 4 == 0"),
    ],
)
def test_code_for_all_sizes_is_written(suffix: str, found: str, tmp_path: Path) -> None:
    path = tmp_path / f"code{suffix}"
    assert cli.main(["fuse", "residual_layer_norm", "--code", str(path)]) == 0
    text = path.read_text(encoding="utf-8")
    assert found in text
    assert text.endswith("\n") and not text.endswith("\n\n")


def test_code_that_cannot_be_is_not_begun(tmp_path: Path) -> None:
    assert cli.main(["fuse", "bias_gelu", "--code", str(tmp_path / "code.py")]) != 0
    program = tmp_path / "wide.shapes"
    program.write_text(
        "func @f(%x: tensor<?xf64, [@N]>) {\n  %0 = exp(%x) : tensor<?xf64, [@N]>\n"
        "  return %0\n}\nSymbolicDim @N {\n  symbolic_shape_graph: @shape_constraint_graph\n}\n"
        "func @shape_constraint_graph() {\n  %0 = dim() {ref: @N} : index\n}\n"
    )
    assert cli.main(["fuse", str(program), "--code", str(tmp_path / "code.txt")]) != 0
    assert not (tmp_path / "code.txt").exists()
