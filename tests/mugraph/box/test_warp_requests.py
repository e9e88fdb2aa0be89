"""Transactions, counted by hand, and by a second count that is slow and simple."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mlc_course.mugraph.box import Request, Run, lane_addresses, launch

FLOAT, WIDE = 4, 16


def request(first: int, stride: int, size: int = FLOAT, scope: Any = "shared") -> Request:
    return Request(lane_addresses(first, stride, size), size, scope)


# ---- banks


@pytest.mark.parametrize(
    ("stride", "wavefronts"),
    [(1, 1), (2, 2), (3, 1), (4, 4), (8, 8), (16, 16), (32, 32), (33, 1), (0, 1), (64, 32)],
)
def test_lanes_that_are_a_stride_apart_meet_in_banks(stride: int, wavefronts: int) -> None:
    assert request(0, stride * FLOAT).wavefronts == wavefronts
    assert request(4 * 77, stride * FLOAT).wavefronts == wavefronts  # wherever they begin


@pytest.mark.parametrize(
    ("stride", "size", "wavefronts", "least"),
    [
        (4, 16, 4, 4),  # a float4 each, side by side: four quarters
        (8, 16, 8, 4),
        (32, 16, 32, 4),
        (36, 16, 4, 4),
        (0, 16, 4, 4),  # everyone wants the same: each quarter by itself
        (2, 8, 2, 2),
        (32, 8, 32, 2),
        (33 * 2, 8, 2, 2),
    ],
)
def test_wide_accesses_are_served_in_parts_of_a_warp(
    stride: int, size: int, wavefronts: int, least: int
) -> None:
    found = request(0, stride * FLOAT, size)
    assert (found.wavefronts, found.least_wavefronts) == (wavefronts, least)


def test_two_lanes_share_a_word_of_two_halves() -> None:
    assert request(0, 2, 2).wavefronts == 1


def test_lanes_that_are_left_out_are_not_served() -> None:
    addresses = tuple(128 * lane if lane < 5 else -1 for lane in range(32))
    assert Request(addresses, FLOAT, "shared").wavefronts == 5


# ---- sectors


@pytest.mark.parametrize(
    ("first", "stride", "size", "sectors", "lines"),
    [
        (0, 4, 4, 4, 1),  # neighbours
        (4, 4, 4, 5, 2),  # not at a sector's beginning
        (32, 4, 4, 4, 2),  # at a sector's, not at a line's
        (0, 8, 4, 8, 2),  # every other element
        (0, 128, 4, 32, 32),  # every 32nd
        (0, 132, 4, 32, 32),  # every 33rd: no better, there are no banks here
        (0, 0, 4, 1, 1),  # the same for all
        (0, 16, 16, 16, 4),  # a float4 each
        (0, -4, 4, 5, 2),
        (64, 2, 2, 2, 1),
    ],
)
def test_sectors_and_lines_of_device_memory(
    first: int, stride: int, size: int, sectors: int, lines: int
) -> None:
    found = request(first + (4096 if stride < 0 else 0), stride, size, "global")
    assert (len(found.sectors), len(found.cache_lines)) == (sectors, lines)


# ---- of whole kernels


def row_to_column(t, out, a):
    x, y = t.thread.x, t.thread.y
    for row in range(0, 32, 8):
        out[x, y + row] = a[y + row, x]


def by_a_tile(t, out, a, pitch):
    tile = t.shared("tile", (32, pitch))
    x, y = t.thread.x, t.thread.y
    for row in range(0, 32, 8):
        tile[y + row, x] = a[y + row, x]
    yield t.barrier()
    for row in range(0, 32, 8):
        out[y + row, x] = tile[x, y + row]


def transposed(kernel: Any, *more: Any) -> Run:
    a = np.arange(1024, dtype=np.float32).reshape(32, 32)
    out = np.zeros_like(a)
    run = launch(kernel, out, a, *more, threads=(32, 8)).checked()
    assert np.array_equal(out, a.T)
    return run


def test_a_transpose_writes_columns_a_sector_for_each_element() -> None:
    run = transposed(row_to_column)
    assert run.traffic("a").sectors == 128 and run.traffic("out").sectors == 1024
    assert run.traffic("a").bytes_moved == run.traffic("a").bytes_wanted == 4096
    assert run.device.sectors == 1152 and run.shared.requests == 0


def test_a_column_of_a_tile_is_in_one_bank_unless_the_rows_are_padded() -> None:
    plain, padded = transposed(by_a_tile, 32), transposed(by_a_tile, 33)
    assert plain.traffic("tile").wavefronts == 32 + 32 * 32
    assert padded.traffic("tile").wavefronts == 32 + 32
    assert padded.shared.conflicts == 0 and plain.shared.conflicts == 31 * 32
    for run in (plain, padded):
        assert run.traffic("out").sectors == run.traffic("a").sectors == 128


def halves(t, out, a):
    i = t.thread.x
    if i % 2:
        out[i] = a[i] + 1
    else:
        out[i] = a[i] + 2


def test_branches_of_a_warp_are_requests_of_their_own() -> None:
    run = launch(halves, np.zeros(32, np.float32), np.zeros(32, np.float32))
    reads = run.requests("a")
    assert [len(each.lanes) for each in reads] == [16, 16]
    assert run.traffic("a").sectors == 8


def loops_of_different_lengths(t, out, a):
    total = 0.0
    for k in range(1 + t.thread.x % 4):
        total += a[k, t.thread.x]
    out[t.thread.x] = total


def test_iterations_of_a_warp_belong_together() -> None:
    a = np.ones((4, 32), np.float32)
    run = launch(loops_of_different_lengths, np.zeros(32, np.float32), a)
    assert [len(each.lanes) for each in run.requests("a")] == [32, 24, 16, 8]


def in_place(t, a):
    a[t.thread.x] += 1


def helped(a, i):
    return a[i]


def calls(t, out, a):
    out[t.thread.x] = helped(a, t.thread.x) + helped(a, 31 - t.thread.x)


def test_reads_and_writes_of_one_expression_are_two_requests() -> None:
    run = launch(in_place, np.zeros(64, np.float32), threads=64)
    assert [each.writes for each in run.requests()] == [False, True, False, True]


def test_a_function_that_is_called_in_two_places_is_two_places() -> None:
    run = launch(calls, np.zeros(32, np.float32), np.zeros(32, np.float32))
    assert [(each.traffic.requests) for each in run.counts] == [1, 1, 1]
    assert len(run.requests("a")) == 2


def test_every_block_and_warp_counts() -> None:
    def copy(t, out, a):
        i = t.block.x * t.threads.x + t.thread.x
        out[i] = a[i]

    run = launch(copy, np.zeros(384, np.float32), np.zeros(384, np.float32), blocks=4, threads=96)
    assert run.traffic("a").requests == 12 and run.traffic("a").sectors == 48
    assert len(run.requests("a")) == 3 and len(run.requests("a", block=None)) == 12


# ---- a second count


def slow_wavefronts(addresses: tuple[int, ...], size: int) -> int:
    lanes_at_once = {4: 32, 8: 16, 16: 8}[size]
    total = 0
    for start in range(0, 32, lanes_at_once):
        wanted: dict[int, set[int]] = {}
        for address in addresses[start : start + lanes_at_once]:
            if address >= 0:
                for byte in range(address, address + size):
                    wanted.setdefault(byte // 4 % 32, set()).add(byte // 4)
        total += max((len(words) for words in wanted.values()), default=0)
    return total


@st.composite
def any_request(draw: st.DrawFn) -> Request:
    size = draw(st.sampled_from([4, 8, 16]))
    places = st.one_of(st.just(-1), st.integers(0, 150))
    at = draw(st.lists(places, min_size=32, max_size=32))
    return Request(tuple(-1 if n < 0 else n * size for n in at), size)


@settings(max_examples=200, deadline=None)
@given(any_request())
def test_both_counts_agree(request: Request) -> None:
    assert request.wavefronts == slow_wavefronts(request.addresses, request.size)
    assert len(request.served()) == request.wavefronts
    touched = {byte for at in request.addresses if at >= 0 for byte in range(at, at + request.size)}
    assert set(request.sectors) == {byte // 32 for byte in touched}
    assert set(request.cache_lines) == {byte // 128 for byte in touched}
    assert request.bytes_wanted == len(touched)


@settings(max_examples=40, deadline=None)
@given(st.lists(st.integers(0, 99), min_size=64, max_size=64), st.booleans())
def test_a_run_counts_what_its_requests_do(places: list[int], shared: bool) -> None:
    def gather(t, out, a):
        source = t.shared("tile", 100) if shared else a
        if shared:
            for i in range(t.thread.x, 100, 64):
                source[i] = a[i]
            yield t.barrier()
        out[t.thread.x] = source[places[t.thread.x]]

    run = launch(gather, np.zeros(64, np.float32), np.zeros(100, np.float32), threads=64)
    for array in ("tile", "a") if shared else ("a",):
        one_by_one = run.requests(array)
        if array == "tile":
            assert run.traffic(array).wavefronts == sum(r.wavefronts for r in one_by_one)
        else:
            assert run.traffic(array).sectors == sum(len(r.sectors) for r in one_by_one)
        assert run.traffic(array).requests == len(one_by_one)
        assert run.traffic(array).bytes_wanted == sum(r.bytes_wanted for r in one_by_one)
