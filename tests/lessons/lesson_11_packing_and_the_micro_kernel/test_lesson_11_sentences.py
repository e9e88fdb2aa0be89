"""What lesson 11 says about each outcome that can occur."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

from mlc_course.lessons.lesson_11_packing_and_the_micro_kernel import (
    Layout,
    kernels,
    order_sentence,
    sentences,
    sets_svg,
    story,
)
from mlc_course.machine import describe
from mlc_course.tensor_program.ladders import recorded, recordings
from mlc_course.tensor_program.memory import Cache


@dataclass(frozen=True)
class Ratio:
    ratio: float


def raced(**ratios: float) -> Any:
    return {name.replace("_", " "): Ratio(ratio) for name, ratio in ratios.items()}


@pytest.mark.parametrize(
    ("ratio", "words"),
    [(2.0, "pays for itself"), (0.5, "costs more than it saves"), (1.01, "no clear difference")],
)
def test_the_copy_pays_costs_or_makes_no_difference(ratio: float, words: str) -> None:
    found = raced(in_place=1.0, copy_first=ratio)
    assert words in sentences.copy_sentence(found, copied=8_000_000)


@pytest.mark.parametrize(
    ("ratios", "words"),
    [
        ({4: 0.3, 16: 0.9, 64: 1.4}, "loses up to 16 rows, and pays from 64"),
        ({4: 1.2, 16: 1.3}, "pays from 4 rows on, and loses at none"),
        ({4: 0.2, 16: 0.4}, "loses up to 16 rows, and pays at none"),
        ({4: 1.0, 16: 1.01}, "no clear difference"),
        ({4: 1.3, 16: 0.5}, "alternate"),
    ],
)
def test_every_outcome_of_few_rows_has_a_sentence(ratios: dict[int, float], words: str) -> None:
    assert words in sentences.rows_sentence(ratios)


def test_the_naive_answers_come_first() -> None:
    assert sentences.tiled_answer(0.76) == sentences.TILED[0]
    assert [sentences.tiled_answer(r) for r in (0.6, 0.3, 0.1)] == list(sentences.TILED[1:])
    assert sentences.loads_answer(0.3125, 0.9) == "more"
    assert sentences.loads_answer(0.3125, 0.3125) == sentences.LOADS[0]
    assert sentences.wider_answer(100, 102) == sentences.WIDER[0]
    assert sentences.wider_answer(100, 30) == sentences.WIDER[2]


@pytest.mark.parametrize(
    ("last", "words"), [(1.3, "ahead of"), (0.7, "behind"), (0.97, "level with")]
)
def test_the_end_follows_from_the_race(last: float, words: str) -> None:
    assert words in sentences.end_sentence(0.2, last)


def test_the_order_of_tiles_is_called_explained_only_where_it_is() -> None:
    machine, tiles = describe(), ((1, 1), (4, 2))
    right = {"1 x 1": Ratio(0.2), "4 x 2": Ratio(0.9)}
    wrong = {"1 x 1": Ratio(0.9), "4 x 2": Ratio(0.2)}
    equal = {"1 x 1": Ratio(0.9), "4 x 2": Ratio(0.9)}
    assert "1 are ordered as expected" in order_sentence(right, tiles, machine)  # type: ignore[arg-type]
    assert "something else counts too" in order_sentence(wrong, tiles, machine)  # type: ignore[arg-type]
    assert "run the cell again" in order_sentence(equal, tiles, machine)  # type: ignore[arg-type]


def test_a_panel_in_few_sets_is_drawn_amber_and_said_in_words() -> None:
    cache = Cache(1 << 20, 16)
    svg = sets_svg({"apart": Layout(2048, 64, 4096), "packed": Layout(2048, 64, 64)}, cache)
    assert 'role="img"' in svg and "apart: 16 of 1,024 sets, at most 128 lines" in svg
    assert svg.count('fill="#e69f00"') == 16
    assert len(svg) < 20_000


def test_what_a_record_tells_names_its_machine() -> None:
    for record in recordings("matmul_exp_matmul_1_thread"):
        assert record["date"] in story.steps_html(record)
        assert record["date"] in story.answers_html(record)
    assert "hoist-init gains most" in next(
        story.answers(recorded("matmul_exp_matmul_1_thread", "AVX-512"))
    )


def test_a_sum_is_as_long_as_half_of_the_second_cache_allows() -> None:
    machine = describe()
    tile = kernels.lesson_tile(machine)
    depth, cache = kernels.sum_length(machine, tile), kernels.second_cache(machine)
    assert kernels.panel_bytes(tile, depth) <= cache.bytes // 2
    assert depth & (depth - 1) == 0 and kernels.wider(tile) % tile.columns == 0
