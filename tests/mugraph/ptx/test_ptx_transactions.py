"""Wavefronts of shared memory and sectors of global memory, of accesses known from the books."""

from __future__ import annotations

import sys

import numpy as np
import pytest
from cuda_kernels import matrix_text
from ptx_texts import HEAD

from mlc_course.mugraph.cuda import compile_ptx
from mlc_course.mugraph.ptx import Counts, load
from mlc_course.mugraph.ptx.transactions import NOT_HERE, sectors, wavefronts
from mlc_course.mugraph.thread_kernels import wavefronts as counted_by_layouts

LANES = np.arange(32)


def line(*addresses: int) -> np.ndarray:
    return np.array([addresses], np.int64)


@pytest.mark.parametrize(
    ("places", "size", "waves"),
    [
        (4 * LANES, 4, 1),
        (0 * LANES, 4, 1),  # one word for all
        (128 * LANES, 4, 32),  # all in one bank
        (8 * LANES, 4, 2),
        (132 * LANES, 4, 1),  # a pitch of 33 words
        (2 * LANES, 2, 1),  # two lanes to a word
        (LANES, 1, 1),
        (8 * LANES, 8, 2),  # a half of the warp after the other
        (16 * LANES, 16, 4),  # a quarter after the other
        (32 * LANES, 16, 8),
        (144 * (LANES % 8) + 16 * (LANES // 8), 16, 4),  # rows with a gap of 16 bytes
        (128 * LANES, 16, 32),
        (64 * LANES, 2, 16),
    ],
)
def test_wavefronts(places: np.ndarray, size: int, waves: int) -> None:
    assert wavefronts(line(*places), size)[0] == waves


def test_the_fewest_wavefronts_hold_the_different_words() -> None:
    assert wavefronts(line(*(128 * LANES)), 4) == (32, 1)
    assert wavefronts(line(*(16 * LANES)), 16) == (4, 4)
    assert wavefronts(line(*(0 * LANES)), 16) == (4, 1)


def test_lanes_that_take_no_part_ask_for_nothing() -> None:
    some = np.where(LANES < 3, 128 * LANES, NOT_HERE)
    assert wavefronts(line(*some), 4) == (3, 1)
    assert sectors(line(*some), 4) == (3, 1)
    assert wavefronts(line(*some), 16) == (3, 1)


@pytest.mark.parametrize(
    ("places", "size", "moved"),
    [(4 * LANES, 4, 4), (16 * LANES, 16, 16), (8 * LANES, 4, 8), (128 * LANES, 4, 32),
     (4 * LANES + 16, 4, 5), (0 * LANES, 4, 1), (2 * LANES, 2, 2)],
)  # fmt: skip
def test_sectors(places: np.ndarray, size: int, moved: int) -> None:
    assert sectors(line(*places), size)[0] == moved


@pytest.mark.parametrize("size", [2, 4, 8, 16])
def test_wavefronts_are_those_that_layouts_are_chosen_by(size: int) -> None:
    random = np.random.default_rng(size)
    for _ in range(50):
        places = size * random.integers(0, 1 << random.integers(1, 10), (1, 32))
        here = random.random((1, 32)) < random.choice([0.3, 1])
        waves, least = counted_by_layouts(places.T, here.T, size)
        found = wavefronts(np.where(here, places, NOT_HERE), size)
        assert found[0] == int(waves.sum())
        assert found[1] <= int(least.sum())


def counts(body: str, *, threads: int = 64) -> Counts:
    """What a body in PTX issues, with a place in %s of shared memory for each thread."""
    text = f"""{HEAD}.visible .entry k(.param .u64 x)
    {{
    .shared .align 16 .b8 held[16384];
    .reg .b32 %t, %s, %r<8>;
    .reg .b64 %p, %w;
    .reg .pred %q;
    mov.u32 %t, %tid.x;
    ld.param.u64 %p, [x];
    mov.u32 %s, held;
    {body}
    ret;
    }}"""
    module = load(text)
    return module.launch("k", 1, threads, 0, [np.zeros(1 << 14, "u1")]).counts


def test_requests_are_counted_by_warp_and_instruction() -> None:
    found = counts("mad.lo.u32 %s, %t, 8, %s;\nst.shared.u32 [%s], %t;\nld.shared.u32 %r1, [%s];")
    assert found.shared.requests == 4 and found.shared.transactions == 8
    assert found.shared.excess == 4
    assert found.instructions["st.shared.u32"] == 2 and found.total == 2 * 7


def test_guarded_instructions_are_issued_and_access_for_some() -> None:
    found = counts("setp.lt.u32 %q, %t, 2;\nmul.wide.u32 %w, %t, 64;\nadd.s64 %p, %p, %w;\n"
                   "@%q st.global.u32 [%p], %t;")  # fmt: skip
    assert found.instructions["st.global.u32"] == 2
    assert (found.stored.requests, found.stored.transactions) == (1, 2)


def test_copies_count_on_both_sides() -> None:
    found = counts("mul.wide.u32 %w, %t, 16;\nadd.s64 %p, %p, %w;\nmad.lo.u32 %s, %t, 16, %s;\n"
                   "cp.async.cg.shared.global [%s], [%p], 16;\ncp.async.wait_all;")  # fmt: skip
    assert (found.loaded.requests, found.loaded.transactions) == (2, 32)
    assert (found.shared.requests, found.shared.transactions) == (2, 8)


@pytest.mark.parametrize(("pitch", "waves"), [(16, 8), (24, 4), (32, 16), (64, 32), (72, 4)])
def test_matrices_are_loaded_one_after_the_other(pitch: int, waves: int) -> None:
    """Four matrices of 8 rows, which are so many elements apart."""
    body = f"""and.b32 %r5, %t, 15;
    shr.u32 %r6, %t, 4;
    mad.lo.u32 %s, %r5, {2 * pitch}, %s;
    mad.lo.u32 %s, %r6, 16, %s;
    ldmatrix.sync.aligned.m8n8.x4.shared.b16 {{%r1, %r2, %r3, %r4}}, [%s];"""
    found = counts(body, threads=32).shared
    assert (found.requests, found.transactions, found.least) == (1, waves, 4)


@pytest.mark.skipif(sys.platform == "darwin", reason="NVIDIA has no compiler for macOS")
def test_traffic_is_known_by_the_line_of_the_source() -> None:
    text = matrix_text("f16", True)
    a, b, c = (np.zeros(n, kind) for n, kind in ((256, "f2"), (128, "f2"), (128, "f4")))
    report = load(compile_ptx(text, "sm_80")).launch("matrix", 1, 32, 0, [a, b, c])
    stores = text[: text.index("c[(t / 4")].count("\n") + 1
    assert report.counts.traffic_of_lines["stored", stores].transactions == 4 * 8
    assert report.counts.traffic_of_lines["stored", stores] == report.counts.stored
