"""Traces as genomes, by hand-made searches: no MetaSchedule, so quick."""

from __future__ import annotations

import math
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mlc_course.errors import UsageError
from mlc_course.machine import describe
from mlc_course.tensor_program.problems import Workload, make_workload
from mlc_course.tensor_program.schedule import replayed
from mlc_course.tensor_program.search import evolution
from mlc_course.tensor_program.search.evolution import Gene, genes, mutated, neighbours
from mlc_course.tensor_program.search.spaces import micro_kernel_questions, sample_micro_kernels
from mlc_course.tensor_program.tir import Schedule


@pytest.fixture(scope="module")
def small() -> Workload:
    return make_workload("matmul_exp_matmul", (16, 24, 32, 40))


def test_genes_have_the_names_of_blocks_and_loops(small: Workload) -> None:
    found = genes(small, evolution.drawn(small, evolution.space("tiles", small), 3))
    assert [gene.name for gene in found] == ["C: m", "C: l", "C: k", "F: m", "F: n", "F: l"]
    assert [math.prod(gene.value) for gene in found] == [16, 32, 24, 16, 40, 32]
    assert str(Gene("C: m", (4, 8))) == "C: m = 4 x 8"


def test_choices_have_the_names_that_are_given(small: Workload) -> None:
    trace = evolution.drawn(small, evolution.space("packing", small), 0)
    found = genes(small, trace, micro_kernel_questions(small))
    assert [gene.name for gene in found][:3] == ["C: vectors", "C: rows", "C: pack left"]
    assert len(found) == 12 and all(len(gene.value) == 1 for gene in found)


def test_a_mutation_changes_one_tile_and_replays(small: Workload) -> None:
    parent = evolution.drawn(small, evolution.space("tiles", small), 5)
    child = mutated(parent, random.Random(0))
    before, after = genes(small, parent), genes(small, child)
    assert sum(a != b for a, b in zip(before, after, strict=True)) == 1
    assert [math.prod(g.value) for g in before] == [math.prod(g.value) for g in after]
    program = small.program()
    assert replayed(program, parent).mod.script() != replayed(program, child).mod.script()


def test_a_trace_without_tiles_is_not_mutated(small: Workload) -> None:
    trace = evolution.drawn(small, evolution.space("packing", small), 0)
    with pytest.raises(UsageError, match="no tile that could change"):
        mutated(trace, random.Random(0))


def test_a_decision_that_python_read_out_is_a_dead_gene(small: Workload) -> None:
    trace = evolution.drawn(small, evolution.space("packing", small), 0)
    program = small.program()
    instruction, made = next(iter(trace.decisions.items()))
    other = (int(made) + 1) % len(instruction.attrs[0])
    changed = trace.with_decision(instruction, other, remove_postproc=False)
    scripts = {replayed(program, each).mod.script() for each in (trace, changed)}
    assert len(scripts) == 1


def test_decided_numbers_make_the_same_program_as_drawn_ones(small: Workload) -> None:
    drawn = Schedule(small.program(), seed=9)
    sample_micro_kernels(drawn, small, describe())
    decided = Schedule(small.program())
    found = genes(small, drawn.trace, micro_kernel_questions(small))
    sample_micro_kernels(
        decided, small, describe(), [value for (value,) in (g.value for g in found)]
    )
    assert decided.mod.script() == drawn.mod.script()


@given(st.lists(st.integers(1, 64), min_size=2, max_size=4), st.integers(1, 64))
def test_neighbours_keep_the_product_and_the_limit(tile: list[int], most: int) -> None:
    found = neighbours(tuple(tile), most)
    assert all(math.prod(each) == math.prod(tile) and each[-1] <= most for each in found)
    assert tuple(tile) not in found and len(set(found)) == len(found)


def test_neighbours_of_a_tile() -> None:
    assert neighbours((8, 6), 64) == [(4, 12), (16, 3), (24, 2)]
    assert neighbours((8, 6), 8) == [(16, 3), (24, 2)]


def test_the_same_seed_draws_the_same(small: Workload) -> None:
    tiles = evolution.space("tiles", small)
    a, b, c = (genes(small, evolution.drawn(small, tiles, seed)) for seed in (3, 3, 4))
    assert a == b != c


@pytest.mark.parametrize("space", ["tiles", "packing"])
def test_every_candidate_of_a_space_is_right(small: Workload, space: str) -> None:
    found = list(evolution.random_search(small, evolution.space(space, small), 4))
    assert len(found) == 4
    for each in found:
        assert each.ratio > 0 and each.comparison.baseline.name == "NumPy"
        assert "def main" in each.program


def test_evolution_tries_nothing_twice(small: Workload) -> None:
    found = list(evolution.evolve(small, evolution.space("tiles", small), evolution.FIRST + 4))
    children = [each.genes for each in found[evolution.FIRST :]]
    assert len(children) == 4
    assert not set(children) & {each.genes for each in found[: evolution.FIRST]}
    assert len(set(children)) == 4


def test_what_does_not_exist_is_refused(small: Workload) -> None:
    with pytest.raises(UsageError, match="no space 'luck'"):
        evolution.space("luck", small)
    for search in (evolution.random_search, evolution.evolve):
        with pytest.raises(UsageError, match="too few trials"):
            list(search(small, evolution.space("tiles", small), 0))
