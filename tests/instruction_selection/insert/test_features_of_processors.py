from __future__ import annotations

import pytest

from mlc_course import machine
from mlc_course.errors import MachineError, UsageError
from mlc_course.instruction_selection.insert import (
    check_level,
    check_target,
    processor_has,
    target_of,
)
from mlc_course.instruction_selection.isa import LEVELS, level_of

AVX2_ONLY = {"avx", "avx2", "fma", "sse4_1"}
EVERYTHING = AVX2_ONLY | {"avx512f", "avx512bw", "avx512dq", "avx512vl", "avx512cd", "avx512_vnni"}


@pytest.mark.parametrize(
    ("flags", "levels"),
    [
        (AVX2_ONLY, {"avx2"}),
        (EVERYTHING - {"avx512_vnni"}, {"avx2", "avx512"}),
        (EVERYTHING, {"avx2", "avx512", "vnni"}),
        ({"asimd", "asimddp", "i8mm"}, {"neon"}),
        ({"asimd"}, set()),
        (set(), set()),
    ],
)
def test_a_processor_has_levels(
    flags: set[str], levels: set[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(machine, "_cpu_flags", lambda: set(flags))
    monkeypatch.delenv(machine.STAND_IN, raising=False)
    assert {name for name in LEVELS if processor_has(name)} == levels
    for name in set(LEVELS) - levels:
        with pytest.raises(MachineError, match="has not the instructions"):
            check_level(name)
    for name in levels:
        assert check_level(name) is level_of(name)


def test_a_stand_in_has_no_more_than_what_it_stands_in_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(machine, "_cpu_flags", lambda: set(EVERYTHING))
    monkeypatch.setenv(machine.STAND_IN, "AVX2")
    assert [name for name in LEVELS if processor_has(name)] == ["avx2"]
    with pytest.raises(MachineError) as caught:
        check_level("vnni")
    assert caught.value.hint == "it has avx2"
    monkeypatch.setenv(machine.STAND_IN, "SSE")
    assert not any(map(processor_has, LEVELS))


def test_an_unknown_level_is_refused() -> None:
    with pytest.raises(UsageError, match="did you mean"):
        processor_has("avx51")


@pytest.mark.parametrize("name", LEVELS)
def test_the_target_of_a_level_has_its_features(name: str) -> None:
    level = level_of(name)
    check_target([each for each in level.features if each != "fma"], target_of(level))
    assert all(row.feature in level.features for row in level.rows)


def test_a_target_without_a_feature_is_refused() -> None:
    with pytest.raises(MachineError) as caught:
        check_target(("avx2", "avx512vnni"), target_of(level_of("avx2")))
    assert caught.value.got == "haswell"
    with pytest.raises(MachineError):
        check_target(("avx2",), target_of(level_of("neon")))
