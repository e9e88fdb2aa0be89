"""Traffic by buffer: the misses of ``cache.count``, and what goes back, against a plain model."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mlc_course.errors import SizeError, UsageError
from mlc_course.lessons.lesson_08_fusion import scale_shift_clip
from mlc_course.tensor_program.memory.cache import Cache, count
from mlc_course.tensor_program.memory.traffic_by_buffer import Traffic, traffic
from mlc_course.tensor_program.problems import WORKLOADS, make_workload, matmul
from mlc_course.tensor_program.schedule import steps
from mlc_course.tensor_program.tir import PAGE, IRModule, Schedule, T

pytestmark = pytest.mark.slow

SMALL = (Cache(1024, 2), Cache(4096, 4), Cache(16384, 8))
SIZES = {
    "matmul_exp_matmul": (9, 7, 11, 5),
    "matmul": (17, 19, 23),
    "linear_relu": (6, 9, 7),
    "two_layer_network": (5, 9, 7, 3),
    "softmax": (6, 50),
    "rms_norm": (7, 40),
    "conv2d": (2, 9, 8, 3, 3, 3),
}


class Level:
    """One cache of a plain model: a list per set, most recently used first."""

    def __init__(self, cache: Cache) -> None:
        self.cache = cache
        self.sets: list[list[int]] = [[] for _ in range(cache.sets)]
        self.changed: set[int] = set()
        self.fetched: dict[str, int] = {}
        self.returned: dict[str, int] = {}


def visit(levels: list[Level], place: int, address: int, owners: dict[int, str]) -> None:
    if place == len(levels):
        return
    level = levels[place]
    line = address // level.cache.line
    held = level.sets[line % level.cache.sets]
    if line in held:
        held.remove(line)
    else:
        name = owners[address // PAGE]
        level.fetched[name] = level.fetched.get(name, 0) + level.cache.line
        if len(held) == level.cache.ways:
            give_back(levels, place, held.pop(), owners)
        visit(levels, place + 1, line * level.cache.line, owners)
    held.insert(0, line)


def give_back(levels: list[Level], place: int, line: int, owners: dict[int, str]) -> None:
    level = levels[place]
    if line not in level.changed:
        return
    level.changed.discard(line)
    address = line * level.cache.line
    name = owners[address // PAGE]
    level.returned[name] = level.returned.get(name, 0) + level.cache.line
    if place + 1 < len(levels):
        below = levels[place + 1]
        line = address // below.cache.line
        below.changed.add(line)
        if line not in below.sets[line % below.cache.sets]:
            give_back(levels, place + 1, line, owners)


def product(m: int, k: int, n: int) -> Iterator[tuple[str, int, bool]]:
    """The accesses of a naive product: (buffer, element, written)."""
    for i in range(m):
        for j in range(n):
            for r in range(k):
                if r == 0:
                    yield "C", i * n + j, True
                yield "C", i * n + j, False
                yield "A", i * k + r, False
                yield "B", r * n + j, False
                yield "C", i * n + j, True


@settings(max_examples=8, deadline=None)
@given(
    sizes=st.tuples(*[st.integers(1, 24)] * 3),
    caches=st.sampled_from(
        [SMALL[:1], SMALL[:2], SMALL, (Cache(512, 1), Cache(2048, 2, 128)), (Cache(256, 4),)]
    ),
)
def test_a_product_moves_what_a_plain_model_says(
    sizes: tuple[int, int, int], caches: tuple[Cache, ...]
) -> None:
    m, k, n = sizes
    base, start, owners = {}, 0, {}
    for name, elements in (("A", m * k), ("B", k * n), ("C", m * n)):
        base[name] = start
        for page in range(-(-4 * elements // PAGE)):
            owners[start // PAGE + page] = name
        start += -(-4 * elements // PAGE) * PAGE
    levels = [Level(cache) for cache in caches]
    for name, element, writes in product(m, k, n):
        address = base[name] + 4 * element
        visit(levels, 0, address, owners)
        if writes:
            levels[0].changed.add(address // levels[0].cache.line)
    for place, level in enumerate(levels):
        for line in sorted(level.changed):
            give_back(levels, place, line, owners)
            held = level.sets[line % level.cache.sets]
            if line in held:
                held.remove(line)
    found = traffic(matmul(m, k, n).program(), *caches)
    for place, level in enumerate(levels):
        for each in found.buffers:
            assert each.fetched[place] == level.fetched.get(each.buffer, 0)
            assert each.returned[place] == level.returned.get(each.buffer, 0)


@pytest.mark.parametrize("name", WORKLOADS)
def test_its_misses_are_those_of_count(name: str) -> None:
    program = make_workload(name, SIZES[name]).program()
    found = traffic(program, *SMALL)
    counts = count(program, *SMALL)
    for level, counted in enumerate(counts):
        assert sum(each.fetched[level] for each in found.buffers) == counted.bytes_moved
    assert sum(each.loads + each.stores for each in found.buffers) == counts[0].accesses


def chain(*inlined: str) -> Traffic:
    sch = Schedule(scale_shift_clip(64, 128).program())
    for block in inlined:
        steps.inline(sch, block)
    return traffic(sch, Cache(4096))


def test_a_pass_moves_what_the_lesson_counts_on_paper() -> None:
    array = 4 * 64 * 128
    assert chain().bytes() == 8 * array
    assert chain("Y").bytes() == 6 * array
    assert chain("Y", "Z").bytes() == 3 * array
    y, z = (chain().of(name) for name in "YZ")
    assert (y.fetched, y.returned) == ((2 * array,), (array,))
    assert (z.fetched, z.returned) == ((array,), (array,))  # written over Y, line by line
    assert (y.loads, y.stores) == (64 * 128, 64 * 128)


def test_in_place_is_fetched_once() -> None:
    @T.prim_func(s_tir=True)  # type: ignore[untyped-decorator]
    def twice(X: T.Buffer((4096,), "float32")):  # type: ignore[no-untyped-def, valid-type]
        for i in range(4096):
            with T.sblock("X"):
                v = T.axis.spatial(4096, i)
                X[v] = X[v] * T.float32(2)

    found = traffic(twice, Cache(1024)).of("X")
    assert (found.fetched, found.returned) == ((16384,), (16384,))


def test_what_stays_in_the_cache_goes_back_once_at_the_end() -> None:
    """Y's lines are Z's when they go, and are charged to the buffer that changed them last."""
    found = traffic(scale_shift_clip(8, 16).program(), Cache(), Cache(64 * 1024))
    assert [each.returned for each in found.buffers] == [(0, 0), (512, 512), (0, 0), (512, 512)]


def test_lines_go_back_at_the_end_as_they_do_when_they_fall_out() -> None:
    """Two lines of the first cache are one of the second, which does not hold it any more."""

    @T.prim_func(s_tir=True)  # type: ignore[untyped-decorator]
    def two(X: T.Buffer((32,), "float32"), Y: T.Buffer((1,), "float32")):  # type: ignore[no-untyped-def, valid-type]
        for i in range(32):
            with T.sblock("X"):
                v = T.axis.spatial(32, i)
                X[v] = T.float32(1)
        with T.sblock("Y"):
            Y[0] = Y[0] + T.float32(1)

    found = traffic(two, Cache(4096, 8), Cache(1024, 1, 128))
    assert found.of("X").returned == (2 * 64, 2 * 128)
    assert found.of("Y").returned == (64, 128)


def test_registers_are_no_memory_and_a_program_may_touch_none() -> None:
    @T.prim_func(s_tir=True)  # type: ignore[untyped-decorator]
    def nothing(X: T.Buffer((16,), "float32")):  # type: ignore[no-untyped-def, valid-type]
        with T.sblock("root"):
            held = T.sblock_alloc_buffer((16,), "float32", scope="local")
            for i in range(16):
                with T.sblock("held"):
                    v = T.axis.spatial(16, i)
                    held[v] = T.float32(1)

    assert traffic(nothing, Cache()).bytes() == 0


def test_the_table_has_a_line_a_buffer() -> None:
    lines = str(traffic(scale_shift_clip(8, 16).program(), Cache(), Cache(64 * 1024))).splitlines()
    assert lines[0].split() == ["bytes", "cache", "of", "32", "KiB", "cache", "of", "64", "KiB"]
    assert [line.split()[0] for line in lines[2:]] == ["X", "W", "Y", "Z", "all"]
    assert lines[-1].split()[1:] == ["1,536", "1,024", "1,536", "1,024"]


def test_what_it_refuses() -> None:
    with pytest.raises(SizeError, match="shorter lines"):
        traffic(matmul(4, 4, 4).program(), Cache(line=128), Cache(65536, line=64))
    with pytest.raises(UsageError, match="no such buffer") as caught:
        traffic(matmul(4, 4, 4).program()).of("Z")
    assert "A, B, C" in str(caught.value)
    with pytest.raises(UsageError, match="no TensorIR function main"):
        traffic(IRModule({}))
