"""The picture of a GPU says how many blocks are resident, and why no more."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest

from mlc_course.lessons.lesson_15_gpu_in_a_box.gpu_picture import (
    gpu_svg,
    gpu_words,
    resident_blocks,
)
from mlc_course.mugraph.cost import target

H100 = target("h100")


@pytest.mark.parametrize(
    ("threads", "shared_bytes", "blocks"),
    [
        (256, 4224, 8),  # 2,048 threads
        (1024, 0, 2),
        (32, 0, 32),  # no more blocks than that
        (128, 100 * 1024, 2),  # shared memory
        (128, 227 * 1024, 1),
        (33, 0, 32),
    ],
)
def test_threads_memory_and_blocks_are_limited(
    threads: int, shared_bytes: int, blocks: int
) -> None:
    assert resident_blocks(H100, threads, shared_bytes) == blocks


def test_words_and_picture_agree() -> None:
    said = gpu_words(H100, blocks=5000, threads=256, shared_bytes=4224)
    assert "132 multiprocessors" in said and "at most 1,056 of them at a time" in said
    svg = gpu_svg(H100, blocks=5000, threads=256, shared_bytes=4224)
    assert "and 129 more multiprocessors" in svg and "room for 6 more blocks" in svg
    assert ElementTree.fromstring(svg).get("aria-label") == said
    assert "all at once" in gpu_words(H100, blocks=1, threads=32, shared_bytes=0)
