"""The forms of a kernel are launched on a GPU; here on the stand-in, which computes no values."""

from __future__ import annotations

from pathlib import Path

import pytest
from stand_in_driver import use_stand_in

from mlc_course.errors import MachineError, WrongResult
from mlc_course.lessons.lesson_19_from_graph_to_code import KNOBS, gpu_times, knobs_on_gpu
from mlc_course.mugraph.cuda import generations
from mlc_course.mugraph.programs import published
from mlc_course.mugraph.runtime.checking import Check

GRAPH = published("rms_norm_matmul_fused").resized({"d": 1024})


def test_every_form_is_launched_and_timed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    library = use_stand_in(tmp_path, monkeypatch, generations()[0])
    monkeypatch.setattr(knobs_on_gpu, "check", lambda *_: Check((0.0,), 1e-2))
    head, *lines = gpu_times(GRAPH)
    assert head == "on stand-in 7:"
    assert [line.split("  ")[0] for line in lines] == list(KNOBS)
    assert all(line.endswith(" µs") for line in lines)
    assert library.stand_in_living() == 0


def test_wrong_values_are_not_timed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    library = use_stand_in(tmp_path, monkeypatch, generations()[0])
    with pytest.raises(WrongResult, match="as lowered, on stand-in 7"):
        list(gpu_times(GRAPH))
    assert library.stand_in_living() == 0


def test_without_a_driver_nothing_is_timed(monkeypatch: pytest.MonkeyPatch) -> None:
    def none() -> list[object]:
        raise MachineError("no NVIDIA driver on this machine")

    monkeypatch.setattr(knobs_on_gpu, "gpus", none)
    with pytest.raises(MachineError, match="no NVIDIA driver"):
        list(gpu_times(GRAPH))
    monkeypatch.setattr(knobs_on_gpu, "gpus", list)
    with pytest.raises(MachineError, match="no NVIDIA GPU"):
        list(gpu_times(GRAPH))
