"""One decision otherwise: every form is right, and each moves the count that it is about."""

from __future__ import annotations

from dataclasses import replace

import pytest

from mlc_course.errors import UsageError
from mlc_course.lessons.lesson_19_from_graph_to_code import KNOBS, form, without_barriers
from mlc_course.lessons.lesson_19_from_graph_to_code.knobs import (
    LOWERED,
    NO_SWIZZLE,
    NOT_AHEAD,
    ONE_MORE,
    OTHER_GRID,
)
from mlc_course.mugraph.kernel_checks import first_fault
from mlc_course.mugraph.programs import published, workload

RMS = published("rms_norm_matmul_fused")
ITERATIONS, BLOCKS = 32, 256
COUNTS = {knob: form(RMS, knob).counts for knob in KNOBS}


@pytest.mark.parametrize("knob", KNOBS)
def test_every_form_is_right(knob: str) -> None:
    verdict = form(RMS, knob).verified()
    assert verdict.equal and not verdict.other_lines


def test_a_block_waits_twice_an_iteration_and_once_at_the_end() -> None:
    assert COUNTS[LOWERED].barriers == 3
    assert COUNTS[LOWERED].waits == 2 * ITERATIONS + 1


def test_a_barrier_more_changes_how_often_a_block_waits_and_nothing_else() -> None:
    more = replace(COUNTS[LOWERED], barriers=4, waits=3 * ITERATIONS + 1)
    assert COUNTS[ONE_MORE] == more


def test_without_swizzle_only_wavefronts_grow() -> None:
    plain, lowered = COUNTS[NO_SWIZZLE], COUNTS[LOWERED]
    assert plain.wavefronts > 2 * lowered.wavefronts
    assert lowered.wavefronts < 1.01 * lowered.least
    assert replace(plain, wavefronts=lowered.wavefronts) == lowered


def test_without_copies_ahead_memory_shrinks_and_a_barrier_is_needed_more() -> None:
    assert COUNTS[NOT_AHEAD].shared_bytes < COUNTS[LOWERED].shared_bytes / 2
    assert COUNTS[NOT_AHEAD].waits == 3 * ITERATIONS + 1


def test_half_as_many_blocks_load_x_and_g_half_as_often() -> None:
    x_and_g, w = 2 * (16 * 4096 + 4096), 2 * 4096 * 6144
    assert COUNTS[LOWERED].loaded_bytes == BLOCKS * x_and_g + w
    assert COUNTS[OTHER_GRID].loaded_bytes == BLOCKS // 2 * x_and_g + w
    assert COUNTS[OTHER_GRID].blocks == BLOCKS // 2


def test_every_barrier_of_the_lowered_kernel_is_needed() -> None:
    kernel = form(RMS).small().kernel
    assert first_fault(kernel) is None
    for number in range(3):
        fault = first_fault(without_barriers(kernel, {number}))
        assert fault is not None and fault.kind == "race"


def test_what_is_not_there_is_refused() -> None:
    with pytest.raises(UsageError, match="no such knob"):
        form(RMS, "no such knob")
    with pytest.raises(UsageError, match="kernels"):
        form(workload("rms_norm_matmul"))
    with pytest.raises(UsageError, match="no such barrier"):
        without_barriers(form(RMS).kernel, {3})
