"""The lesson's problems: right, and of sizes that lie between this or another machine's caches."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from mlc_course.errors import SizeError
from mlc_course.lessons.lesson_04_reuse_distance_and_roofline import problems, race, streams
from mlc_course.lessons.lesson_04_reuse_distance_and_roofline.limits import (
    bytes_into,
    least_seconds,
)
from mlc_course.lessons.lesson_04_reuse_distance_and_roofline.programs import (
    PROGRAMS,
    family,
    ordered,
)
from mlc_course.machine import describe
from mlc_course.tensor_program.ladders import Rung, contest
from mlc_course.tensor_program.memory import Cache, Roofs, count, reuse
from mlc_course.tensor_program.problems import Workload
from mlc_course.tensor_program.processor import flops
from mlc_course.tensor_program.tir import Schedule

Apply = Callable[[Schedule], None]
SMALL: dict[str, tuple[Workload, Apply]] = {
    "relu": (streams.relu(1 << 12), streams.in_vectors),
    "exp": (streams.exp(1 << 12), streams.in_vectors),
    "vector by vector": (problems.products(1 << 18), problems.vector_by_vector),
    "row by row": (problems.products(1 << 18), problems.row_by_row),
    "transpose": (problems.transpose(48), problems.by_rows),
    "transpose, tiled": (problems.transpose(48), problems.in_tiles),
}
CACHES = [(32, 256, 1), (48, 2, 64), (32, 512, 32), (64, 1024, 0), (128, 4096, 0)]


def machine(l1: int, l2: int, l3: int) -> object:
    second = l2 << 20 if l2 < 16 else l2 << 10
    return replace(describe(), l1d_bytes=l1 << 10, l2_bytes=second, l3_bytes=l3 << 20)


@pytest.mark.parametrize("name", SMALL)
def test_ours_and_numpy_compute_the_same(name: str) -> None:
    work, apply = SMALL[name]
    contest(work, rung=Rung(name, "", apply))  # checks ours
    inputs, out = work.inputs(), work.output()
    work.numpy(*inputs, out)
    work.check(out, work.reference(inputs))


@pytest.mark.parametrize("caches", CACHES)
def test_sizes_lie_between_the_caches(caches: tuple[int, int, int]) -> None:
    here = machine(*caches)
    first, second, last = here.l1d_bytes, here.l2_bytes, max(here.l2_bytes, here.l3_bytes)  # type: ignore[attr-defined]
    near, far = problems.near_products(here), problems.far_products(here)  # type: ignore[arg-type]
    a = 4 * near.sizes["rows"] * near.sizes["depth"]
    assert a > second or a == problems.MOST_NEAR
    assert 4 * near.sizes["depth"] * (problems.VECTORS + 1) < first // 2
    assert 4 * far.sizes["rows"] * far.sizes["depth"] > min(last, problems.MOST_FAR - 1)
    side = problems.transpose_side(here)  # type: ignore[arg-type]
    assert first // 64 < side and side % 32 == 16
    b = 4 * problems.matmul_side(here) ** 2  # type: ignore[arg-type]
    assert first < b < 2 * first


def test_exp_does_far_more_with_an_element_than_relu() -> None:
    each = {name: race.operations(*SMALL[name]) / (1 << 12) for name in ("relu", "exp")}
    assert each["relu"] == 1
    assert 10 < each["exp"] < 40


def test_a_length_that_cannot_be_is_refused() -> None:
    for make in (streams.relu, streams.exp):
        with pytest.raises(SizeError):
            make(0)


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_of_a_family_compute_the_same_problem(name: str) -> None:
    titles = {PROGRAMS[each].work().title for each in family(name)}
    assert name in family(name) and len(titles) == 1
    assert ordered(name).mod["main"]


def test_row_by_row_comes_back_sooner() -> None:
    work = problems.products(1 << 18)
    before, after = Schedule(work.program()), Schedule(work.program())
    problems.steps.reorder(after, "Y", "i", "t")
    small = Cache(1 << 16, 1024)  # one set
    (apart,), (together,) = count(before, small), count(after, small)
    assert apart.accesses == together.accesses
    assert apart.misses > 3 * together.misses
    assert reuse(before).lines == reuse(after).lines


def test_what_fits_stays_from_call_to_call() -> None:
    found = reuse(problems.again(1 << 10, 2))  # 65 lines
    small, large = Cache(1 << 10, 16), Cache(1 << 13, 128)
    assert bytes_into(found, [small, large]) == [found.misses(16) * 64, 0]
    least = least_seconds(6e6, [3000, 0], Roofs(1, 60.0, 20.0, (30.0, 25.0)))
    assert least == {"L2": pytest.approx(1e-7), "L3": 0, "arithmetic": pytest.approx(1e-4)}


def test_bytes_of_the_contenders_are_counted() -> None:
    work, apply = SMALL["vector by vector"]
    one = race.Contender("vector by vector", work, apply)
    other = race.Contender("row by row", work, problems.row_by_row)
    small = Cache(1 << 16, 1024)
    assert race.memory_bytes(one, [small]) > 3 * race.memory_bytes(other, [small])
    relu = race.Contender("relu", SMALL["relu"][0], streams.in_vectors)
    assert race.memory_bytes(relu, [small]) == 2 * 4 << 12
    (into,) = race.bytes_by_level(relu, [small])
    assert into == 2 * 4 << 12
    assert flops(Schedule(work.program())) == race.operations(work, problems.unchanged)


def test_contenders_of_one_problem_race_together() -> None:
    work, apply = SMALL["vector by vector"]
    both = [
        race.Contender("vector by vector", work, apply),
        race.Contender("row by row", work, problems.row_by_row),
    ]
    points, races = race.measure_all(both, [Cache(1 << 16, 1024)], budget_s=0.02)
    assert list(points) == list(races) == ["vector by vector", "row by row"]
    assert races["row by row"].baseline == races["vector by vector"].baseline
    assert points["row by row"].intensity > 3 * points["vector by vector"].intensity
