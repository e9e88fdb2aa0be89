"""What is said about GPUs: what a record has, and that there is none where there is none."""

from __future__ import annotations

import json
from pathlib import Path

from mlc_course.lessons.lesson_19_from_graph_to_code import recorded_times
from mlc_course.lessons.lesson_19_from_graph_to_code.recorded_gpus import NOT_MEASURED

ROW = {"program": "lora", "us": {"lora_fused": 4.0, "CuPy": 10.0, "PyTorch": 8.0}}


def recorded(folder: Path, name: str, **figures: object) -> None:
    (folder / name).write_text(json.dumps(figures), encoding="utf-8")


def test_a_record_is_told_with_what_ran_beside(tmp_path: Path) -> None:
    recorded(tmp_path, "gpu_b.json", gpu="B", rows=[ROW])
    recorded(tmp_path, "gpu_a.json", gpu="A", rows=[{"program": "lora", "us": {"lora_fused": 6}}])
    assert recorded_times("lora_fused", tmp_path) == (
        "Recorded on A: 6.0 µs. Recorded on B: 4.0 µs; CuPy takes 2.50 times as long, PyTorch "
        "takes 2.00 times as long."
    )


def test_where_nothing_was_measured_it_says_so(tmp_path: Path) -> None:
    assert recorded_times("lora_fused", tmp_path) == NOT_MEASURED
    recorded(tmp_path, "gpu_text.json", rows=[{"graph": "lora_fused", "registers": 40}])
    recorded(tmp_path, "gpu_b.json", gpu="B", rows=[ROW])
    assert recorded_times("gqa_split", tmp_path) == NOT_MEASURED


def test_the_records_of_the_course_are_read() -> None:
    assert recorded_times("rms_norm_matmul_fused").startswith(("Recorded on", NOT_MEASURED))
