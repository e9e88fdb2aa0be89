from __future__ import annotations

from dataclasses import replace

import pytest

from mlc_course.errors import UsageError
from mlc_course.lessons.lesson_03_memory_hierarchy.hierarchy_picture import hierarchy_svg, size_text
from mlc_course.machine import describe
from mlc_course.tensor_program.memory import Probe

PROBES = tuple(
    Probe(4096 << power, (1.0 + power, 1.2 + power, 3.0 + power), (90.0, 100.0, 110.0))
    for power in range(12)
)
HERE = replace(describe(), l1d_bytes=48 << 10, l2_bytes=3 << 19, l3_bytes=0)


def test_the_caches_of_the_machine_are_marked() -> None:
    svg = hierarchy_svg(PROBES, HERE)
    assert "L1 48 KiB" in svg
    assert "L2 1.5 MiB" in svg
    assert "L3" not in svg
    assert "ns for each load" in svg
    assert "GB/s" in svg


def test_a_single_probe_can_be_drawn() -> None:
    svg = hierarchy_svg([Probe(65536, (2.0,), (50.0,))], HERE)
    assert "64 KiB" in svg
    assert "L2 1.5" not in svg  # it stands to the right of what was probed


def test_no_probes_are_refused() -> None:
    with pytest.raises(UsageError, match="no probes"):
        hierarchy_svg([])


@pytest.mark.parametrize(
    ("size", "text"),
    [
        (512, "512 bytes"),
        (1024, "1 KiB"),
        (6144, "6 KiB"),
        (3 << 19, "1.5 MiB"),
        (1 << 30, "1 GiB"),
    ],
)
def test_sizes_are_said_in_the_largest_unit(size: int, text: str) -> None:
    assert size_text(size) == text
