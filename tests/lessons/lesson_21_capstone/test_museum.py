"""The museum: every graph computes its program, its counts are counted, and its times recorded."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest
from traitlets import TraitError

from mlc_course.errors import UsageError
from mlc_course.lessons.lesson_21_capstone import Museum, exhibits, measured
from mlc_course.lessons.lesson_21_capstone.museum import Exhibit, recorded
from mlc_course.mugraph.programs import FOUND, PROGRAM_OF
from mlc_course.mugraph.verify import verify

RECORD = Path(__file__).parents[3] / "benchmarks" / "results" / "codegen_cpu.json"
ANSWER_S = 0.15


@pytest.mark.parametrize("each", exhibits(), ids=lambda each: each.name)
def test_a_graph_computes_its_program_in_fewer_kernels(each: Exhibit) -> None:
    assert verify(each.program, each.graph).equal
    before, after = each.moved
    assert after.launches < before.launches
    assert f"{before.launches} kernels became {after.launches}" in each.label
    assert f"{after.bytes / before.bytes:.2f} times as many bytes" in each.label


def test_all_published_and_found_graphs_are_shown() -> None:
    assert {each.name for each in exhibits()} == {*PROGRAM_OF, *FOUND}
    assert len({each.title for each in exhibits()}) == len(exhibits())


def test_some_fused_graphs_move_more_bytes_as_the_lesson_says() -> None:
    ratios = [each.moved[1].bytes / each.moved[0].bytes for each in exhibits()]
    assert max(ratios) > 1.5 and min(ratios) < 0.3


def test_recorded_times_are_those_of_the_benchmark() -> None:
    record = json.loads(RECORD.read_text(encoding="utf-8"))
    known = {row["program"]: row["on_1"] for row in record["rows"]}
    assert recorded()["fastest"] == {
        program: {
            "graph": best["graph"],
            "ratio": round(best["ratio"], 2),
            "warning": best["warning"],
        }
        for program, best in known.items()
    }
    assert (recorded()["machine"], recorded()["isa"], recorded()["date"]) == (
        record["machine"]["cpu"],
        record["machine"]["isa"],
        record["date"],
    )
    timed = [each for each in exhibits() if each.program.name in known]
    assert timed and all(record["date"] in each.label for each in timed)


def test_a_label_gives_the_speed_to_the_graph_that_had_it_and_says_what_noise_there_was() -> None:
    labels = {each.name: each.label for each in exhibits()}
    unfused = "a kernel for each operator, 2.32 (noisy) times NumPy's speed"
    assert unfused in labels["rms_norm_matmul_fused"]
    assert "this graph, 6.35 times NumPy's speed" in labels["n_trans_fused"]
    assert "the graph lora_fused, 2.57" in labels["lora_looped"]
    assert "a graph that the search found, 1.41" in labels["gqa_split_kv"]


def test_every_answer_is_there_at_once_and_says_what_it_shows() -> None:
    museum = Museum()
    for place, each in enumerate(exhibits()):
        began = time.thread_time()
        museum.selected = place
        assert time.thread_time() - began < ANSWER_S
        assert (museum.label, museum.said) == (each.label, each.said)
        assert museum.svg.startswith("<svg") and each.name in museum.texts
        assert museum.status == f"Exhibit {place + 1} of 12: {each.title}"


def test_there_is_no_thirteenth_exhibit() -> None:
    museum = Museum()
    with pytest.raises((UsageError, TraitError)):
        museum.selected = 12
    assert museum.selected == 0


def test_the_static_form_shows_all_of_them() -> None:
    static = Museum().static_html()
    assert static.count("<details") == 12 and static.count("<details open") == 1
    assert static.count("<svg") == 12 and static.count('role="img" aria-label="The graph') >= 12
    assert measured(str(exhibits()[0].graph)).launches == 1
