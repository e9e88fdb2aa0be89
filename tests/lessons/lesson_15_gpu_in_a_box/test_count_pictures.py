"""Bars of transactions, and the sentences that are made of their counts."""

from __future__ import annotations

import numpy as np
import pytest

from mlc_course.lessons.lesson_15_gpu_in_a_box import (
    compared,
    transactions_svg,
    transpose_sentence,
    wavefronts_svg,
)
from mlc_course.mugraph.box import Run, launch


def transpose(t, out, a, pitch):  # type: ignore[no-untyped-def]
    tile = t.shared("tile", (32, pitch))
    x, y = t.thread.x, t.thread.y
    tile[y, x] = a[y, x]
    yield t.barrier()
    out[y, x] = tile[x, y]


def straight(t, out, a):  # type: ignore[no-untyped-def]
    out[t.thread.x, t.thread.y] = a[t.thread.y, t.thread.x]


@pytest.fixture(scope="module")
def runs() -> dict[str, Run]:
    a = np.arange(1024, dtype=np.float32).reshape(32, 32)
    out = np.zeros_like(a)
    return {
        "plain": launch(straight, out, a, threads=(32, 32)),
        "tiled": launch(transpose, out, a, 32, threads=(32, 32)),
        "padded": launch(transpose, out, a, 33, threads=(32, 32)),
    }


def test_bars_tell_counts_and_the_least_in_words_too(runs: dict[str, Run]) -> None:
    shown = transactions_svg(runs, least_bytes=8192)
    assert "plain: 36,864 bytes" in shown
    assert "padded: 8,192 bytes, 64 wavefronts, 1 barrier" in shown
    assert "at least 8,192" in shown
    assert "pitch 33: 32" in wavefronts_svg({"pitch 32": 1024, "pitch 33": 32}, least=32)


def test_the_last_sentence_is_made_of_the_counts(runs: dict[str, Run]) -> None:
    said = " ".join(transpose_sentence(*runs.values()).split())
    assert "moves 8,192 bytes then, and 36,864 otherwise" in said
    assert "takes 64 wavefronts, and with a pitch of 32 it takes 1,056." in said


@pytest.mark.parametrize(
    ("before", "now", "words"),
    [
        (36_864, 8_192, "8,192 instead of 36,864, fewer by a factor of 4.5"),
        (8, 16, "16 instead of 8, more by a factor of 2.0"),
        (8, 8, "8, as before"),
    ],
)
def test_a_change_is_told_in_either_direction(before: int, now: int, words: str) -> None:
    assert compared("bytes", before, now) == f"bytes: {words}"
