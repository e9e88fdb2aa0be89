# mypy: ignore-errors
from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mlc_course.errors import UsageError
from mlc_course.tensor_program.ladders import ladder, scheduled, select
from mlc_course.tensor_program.memory import reuse_distance as module
from mlc_course.tensor_program.memory.address_traces import address_trace
from mlc_course.tensor_program.memory.cache import Cache, count
from mlc_course.tensor_program.memory.reuse_distance import NEVER, Reuse, reuse
from mlc_course.tensor_program.problems import make_workload, matmul

pytestmark = pytest.mark.slow


def slow_distances(lines: list[int]) -> Counter[int]:
    """The oracle, by the definition; -1 stands for a first use."""
    found: Counter[int] = Counter()
    stack: list[int] = []  # most recently used first
    for line in lines:
        found[stack.index(line) if line in stack else NEVER] += 1
        if line in stack:
            stack.remove(line)
        stack.insert(0, line)
    return found


def fast_distances(lines: list[int], chunk: int) -> Counter[int]:
    table = module._Table(1, max(lines) + 1)
    for start in range(0, len(lines), chunk):
        used = np.array(lines[start : start + chunk])
        table.use(used, np.zeros_like(used))
    (row,) = table.counts
    return Counter({place - 1: int(n) for place, n in enumerate(row) if n})


@settings(max_examples=60, deadline=None)
@given(lines=st.lists(st.integers(0, 90), min_size=1, max_size=400), chunk=st.integers(1, 500))
def test_the_compiled_distances_agree_with_the_slow_ones(lines: list[int], chunk: int) -> None:
    assert fast_distances(lines, chunk) == slow_distances(lines)


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 99), spread=st.sampled_from((3, 40, 200)))
def test_they_agree_when_the_numbers_are_used_up_many_times(seed: int, spread: int) -> None:
    rng = np.random.default_rng(seed)
    lines = (rng.integers(0, spread, 3000) * rng.integers(0, 2, 3000)).tolist()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "FEWEST_NUMBERS", 64)
        assert fast_distances(lines, 700) == slow_distances(lines)


@pytest.mark.parametrize("name", ["naive", "reorder", "tile", "micro-kernel"])
def test_a_cache_of_n_lines_misses_at_a_distance_of_n_or_more(name: str) -> None:
    (rung,) = select(ladder("matmul"), [name])
    program = scheduled(make_workload("matmul", (48, 40, 64)), rung)
    found = reuse(program)
    for lines in (1, 2, 3, 7, 16, 100, 512):
        (counts,) = count(program, Cache(64 * lines, lines))
        assert found.misses(lines) == counts.misses
        assert found.uses == counts.accesses


@settings(max_examples=15, deadline=None)
@given(
    sizes=st.tuples(*(st.integers(1, 12),) * 3),
    line=st.sampled_from((4, 16, 64)),
    ways=st.integers(1, 40),
)
def test_it_does_so_for_any_sizes_and_lines(
    sizes: tuple[int, int, int], line: int, ways: int
) -> None:
    program = matmul(*sizes).program()
    (counts,) = count(program, Cache(line * ways, ways, line))
    assert reuse(program, line=line).misses(ways) == counts.misses


def test_the_histogram_is_by_buffer() -> None:
    size = 64
    found = reuse(matmul(size, size, size).program())
    lines = size * size // 16
    assert found.first == {"A": lines, "B": lines, "C": lines}
    assert found.lines == 3 * lines
    # In the naive order B goes down a column: back at a line after 64 of B, 4 of A and C's own.
    (far,) = (int(d) for d in found.again["B"].nonzero()[0] if d < 2 * size)
    assert far == size + 4
    assert found.misses(far, "B") > 10 * found.misses(far + 1, "B")
    assert sum(found.misses(8, name) for name in "ABC") == found.misses(8)


def test_the_distances_are_those_of_the_address_stream() -> None:
    program = matmul(6, 7, 5).program()
    lines = (address_trace(program).addresses // 16).tolist()
    found = reuse(program, line=16)
    both = sum(found.again.values())
    counted = {NEVER: found.lines, **{int(d): int(both[d]) for d in both.nonzero()[0]}}
    assert counted == dict(slow_distances(lines))


@pytest.mark.parametrize("line", [0, 48, 8192, -64])
def test_lines_that_cannot_be_are_refused(line: int) -> None:
    with pytest.raises(UsageError, match="not a line"):
        reuse(matmul(2, 2, 2).program(), line=line)


def test_misses_of_what_is_not_there_are_refused() -> None:
    found = Reuse(64, {"A": 3}, {"A": np.array([5, 0, 1])})
    assert (found.uses, found.lines) == (9, 3)
    assert [found.misses(n) for n in (1, 2, 3)] == [4, 4, 3]
    for lines, buffer in ((0, None), (1, "B")):
        with pytest.raises(UsageError, match="no such misses"):
            found.misses(lines, buffer)
