from __future__ import annotations

import datetime
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from machines import shaped

from mlc_course import machine
from mlc_course.errors import UsageError
from mlc_course.measure import Comparison, Timing
from mlc_course.tensor_program.ladders.record import (
    RECORDINGS,
    Record,
    headline,
    ladder_record,
    load,
    made_on,
    provenance,
    recorded,
    recording_file,
    recordings,
    row,
    save,
    setback_lines,
    title,
)
from mlc_course.tensor_program.ladders.roofline import is_counted, roofs_of
from mlc_course.tensor_program.ladders.rungs import Climbed, Rung
from mlc_course.tensor_program.memory import Roofs
from mlc_course.tensor_program.problems import make_workload

RUNG_FIELDS = {
    *("name", "why", "median_s", "ratio_to_numpy", "ratio_iqr", "ratio_interval", "warning"),
    *("gflops", "fraction_of_peak", "relative_error"),
}
ROOFS = Roofs(threads=1, gflops=100.0, gbytes_per_s=10.0)


def climbed(name: str, ours: tuple[float, ...], base: tuple[float, ...]) -> Climbed:
    comparison = Comparison(Timing(name, ours), Timing("NumPy", base))
    return Climbed(Rung(name, f"{name} is fast.", lambda sch: None), comparison, 1e-7, "def main")


@pytest.fixture
def record() -> Record:
    rungs = [
        climbed("naive", (4.0,) * 6, (2.0,) * 6),
        climbed("tile", (1.0, 1.0, 3.0), (2.0, 4.0, 3.0)),
    ]
    return ladder_record(make_workload("matmul", (10, 20, 30)), rungs, ROOFS, threads=1)


def test_a_record_has_the_fields_that_readers_rely_on(record: Record) -> None:
    assert {"machine", "workload", "baseline", "rungs", "date", "versions"} <= record.keys()
    assert {"name", "median_s"} <= record["baseline"].keys()
    assert [rung["name"] for rung in record["rungs"]] == ["naive", "tile"]
    for rung in record["rungs"]:
        assert rung.keys() >= RUNG_FIELDS


def test_a_record_s_figures_follow_from_its_readings(record: Record) -> None:
    tile = record["rungs"][1]
    assert tile["median_s"] == 1.0
    assert tile["iqr_s"] == [1.0, 2.0]
    assert tile["readings"] == 3
    assert tile["ratio_to_numpy"] == 2.0  # of 2, 4 and 1
    assert tile["ratio_iqr"] == [1.5, 3.0]
    assert tile["ratio_interval"] == [1.0, 4.0]
    assert tile["numpy_median_s"] == 3.0
    assert tile["gflops"] == pytest.approx(2 * 10 * 20 * 30 / 1e9)
    assert tile["fraction_of_peak"] == pytest.approx(tile["gflops"] / 100)
    assert "noisy" in tile["warning"]
    assert record["rungs"][0]["warning"] is None


def test_a_row_has_its_interval_and_its_warning_in_a_word(record: Record) -> None:
    quiet, noisy = record["rungs"]
    assert row(quiet).endswith("1.0e-07")
    assert "2.000 [1.000 4.000]" in row(noisy)
    assert row(noisy).endswith("1.0e-07 (noisy)")


def test_a_setback_is_marked_in_its_row_and_explained_below(record: Record) -> None:
    assert setback_lines(record) == []
    first, second = record["rungs"]
    assert first["setback"] == ""
    marked = {**record, "rungs": [{**first, "setback": "It waits for tile."}, second]}
    assert row(marked["rungs"][0]).endswith("1.0e-07 (setback)")
    assert setback_lines(marked) == ["setback: naive: It waits for tile."]
    older = [{k: v for k, v in rung.items() if k != "setback"} for rung in record["rungs"]]
    assert setback_lines({**record, "rungs": older}) == []
    assert "setback" not in row(older[0])


def test_a_row_of_an_older_record_has_its_middle_half(record: Record) -> None:
    older = {k: v for k, v in record["rungs"][1].items() if k != "ratio_interval"}
    assert "2.000 [1.500 3.000]" in row(older)


def test_noisy_roofs_are_called_so(record: Record) -> None:
    noisy = Roofs(1, 100.0, 10.0, (50.0,), spreads=(0.01, 0.3, 0.02), taken="2026-11-24T12:00")
    taken = ladder_record(make_workload("matmul", (10, 20, 30)), [], noisy, threads=1)
    assert "10.0 GB/s (noisy);" in title(taken)
    assert "readings of memory spans 30%" in taken["roofs"]["warning"]
    assert "noisy" not in title(record)
    assert roofs_of(taken) == noisy
    older = {"gflops": 1.0, "gbytes_per_s": 2.0, "caches": [3.0]}
    assert roofs_of({"threads": 1, "roofs": older}) == Roofs(1, 1.0, 2.0, (3.0,))


def test_the_baseline_is_the_median_of_all_its_readings(record: Record) -> None:
    assert record["baseline"] == {"name": "NumPy", "median_s": 2.0}


def test_a_climb_without_rungs_has_no_baseline() -> None:
    record = ladder_record(make_workload("matmul", (1, 1, 1)), [], ROOFS, threads=1)
    assert record["baseline"]["median_s"] is None
    assert record["rungs"] == []


def test_the_workload_and_the_roofs_are_kept(record: Record) -> None:
    floats = 10 * 20 + 20 * 30 + 10 * 30
    assert record["workload"] == {
        "name": "matmul",
        "sizes": {"M": 10, "K": 20, "N": 30},
        "flops": 12000,
        "bytes": 4 * floats,
    }
    assert record["roofs"]["seconds"] == pytest.approx(4 * floats / 10e9)


def test_a_record_says_where_when_and_with_what() -> None:
    head = provenance()
    assert head["machine"] == machine.describe().to_dict()
    assert datetime.date.fromisoformat(head["date"]) <= datetime.date.today()
    assert {"python", "numpy", "tvm"} <= head["versions"].keys()
    said = made_on(head)
    assert head["machine"]["cpu"] in said
    assert head["date"] in said


def test_a_record_survives_its_file(record: Record, tmp_path: Path) -> None:
    path = tmp_path / "new" / "folder" / "ladder.json"
    save(record, path)
    assert load(path) == record
    assert [p.name for p in path.parent.iterdir()] == ["ladder.json"]


def test_a_record_that_cannot_be_written_leaves_the_old_one(record: Record, tmp_path: Path) -> None:
    path = tmp_path / "ladder.json"
    save(record, path)
    with pytest.raises(TypeError, match="not JSON serializable"):
        save(record | {"machine": object()}, path)
    assert load(path) == record


def test_a_writer_that_dies_leaves_the_old_record(
    record: Record, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "ladder.json"
    save(record, path)
    whole: Callable[..., int] = Path.write_text

    def dies(self: Path, text: str, **choices: Any) -> int:
        whole(self, text[:20], **choices)
        raise OSError("no space left on device")

    with monkeypatch.context() as patched, pytest.raises(OSError, match="no space"):
        patched.setattr(Path, "write_text", dies)
        save(record | {"threads": 2}, path)
    assert load(path) == record


HEAD = {"machine": {"cpu": "X"}, "date": "2026-01-02"}


@pytest.mark.parametrize(
    "text",
    [
        "",
        "not JSON",
        "[1, 2]",
        "3",
        "null",
        json.dumps({"date": "2026-01-02"}),
        json.dumps({"machine": {"cpu": "X"}}),
        json.dumps(HEAD | {"machine": "X"}),
        json.dumps(HEAD)[:-5],
    ],
)
def test_a_file_that_is_no_record_is_refused(text: str, tmp_path: Path) -> None:
    path = tmp_path / "ladder.json"
    path.write_text(text)
    with pytest.raises(UsageError, match="ladder.json") as caught:
        load(path)
    assert "with its machine and date" in str(caught.value)


def test_a_file_of_bytes_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "ladder.json"
    path.write_bytes(b"\xff\xfe\x00\x89PNG")
    with pytest.raises(UsageError):
        load(path)


def test_a_missing_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="nowhere.json"):
        load(tmp_path / "nowhere.json")
    with pytest.raises(UsageError):
        load(tmp_path)  # a folder


FILES = {
    f"{file.parent.name}/{file.stem}": file
    for file in sorted(Path(str(RECORDINGS)).glob("*/*.json"))
}
CLIMB = "matmul_exp_matmul_1_thread"


@pytest.mark.parametrize("file", FILES)
def test_every_recording_of_the_course_can_be_read(file: str) -> None:
    record = load(FILES[file])
    assert record["rungs"]
    for rung in record["rungs"]:
        assert rung.keys() >= RUNG_FIELDS - {"ratio_interval"}
        assert rung["name"] in row(rung)
    assert "measured roofs" in title(record)
    assert made_on(record)
    assert is_counted(record)
    assert FILES[file] == RECORDINGS / recording_file(FILES[file].stem, record)


def test_each_climb_of_the_course_is_recorded_on_both_kinds_of_machine() -> None:
    for name in {file.stem for file in FILES.values()}:
        climbs = recordings(name)
        assert {each["machine"]["isa"] for each in climbs} == {"AVX-512", "AVX2"}
        assert len({headline(each) for each in climbs}) == 1
        rungs = [[rung["name"] for rung in each["rungs"]] for each in climbs]
        assert rungs[0] == rungs[1]


@pytest.mark.parametrize(
    ("isa", "likest"), [("AVX-512", "AVX-512"), ("AVX2", "AVX2"), ("NEON", "AVX2"), ("SSE", "AVX2")]
)
def test_the_recording_of_the_machine_most_like_this_one_comes_first(
    isa: str, likest: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(machine, "describe", lambda: shaped(isa))
    assert recorded(CLIMB) == recordings(CLIMB)[0]
    assert recorded(CLIMB)["machine"]["isa"] == likest


@pytest.mark.parametrize("isa", ["AVX-512", "AVX2"])
def test_a_recording_can_be_asked_for_by_its_instruction_set(isa: str) -> None:
    assert recorded(CLIMB, isa)["machine"]["isa"] == isa


def test_a_recording_that_the_course_lacks_is_refused_with_those_it_has() -> None:
    assert FILES
    with pytest.raises(UsageError) as caught:
        recorded("quicksort")
    assert all(file.stem in str(caught.value) for file in FILES.values())
    with pytest.raises(UsageError, match="NEON") as caught:
        recorded(CLIMB, "NEON")
    assert "AVX2" in str(caught.value)
