"""The counts of the cost model are what the interpreter does, block by block."""

from __future__ import annotations

import random
from dataclasses import replace

import numpy as np
import pytest
from small_graphs import copied_elements, every_graph, small

from mlc_course.errors import UsageError
from mlc_course.mugraph.cost.graph_cost import Cost, cost, counts, fits, seconds, why
from mlc_course.mugraph.cost.targets import A100, H100, target
from mlc_course.mugraph.ir import BlockGraph
from mlc_course.mugraph.programs import PROGRAM_OF, published, workload
from mlc_course.mugraph.search import (
    Choice,
    Limits,
    Names,
    Nest,
    Problem,
    Structure,
    choices,
    derivations,
    graph,
    grow,
    read_off,
    stage_counts,
    start,
    weigher,
)

GRAPHS = {f"{n}_{each.name}": small(each) for n, each in enumerate(every_graph())}
NESTS = [
    ("rms_norm_matmul", Nest(("d",))),
    ("gqa", Nest(("n",), ("n",))),
    ("lora", Nest()),
    ("stable_attention", Nest((), ("n",))),
]


@pytest.mark.parametrize("name", GRAPHS)
def test_bytes_are_those_that_the_interpreter_loads_and_stores(name: str) -> None:
    program = GRAPHS[name]
    loaded, stored = copied_elements(program)
    for place, of in enumerate(counts(program, A100)):
        if isinstance(program.equations[place].op, BlockGraph):
            assert of.blocks * of.loaded == loaded[place] * A100.itemsize
            assert of.stored == stored[place] * A100.itemsize
            assert of.held == program.tiles(place).shared_bytes(A100.itemsize)


def structure_of(name: str, nest: Nest) -> tuple[Structure, Problem]:
    problem = Problem(workload(name))
    begun = start(problem, nest, seed="0")
    assert not grow(begun.bank, begun.offer, Limits())
    (found,) = begun.found()
    assert found is not None
    extents = {dim: max(1, size // 16) for dim, size in problem.program.sizes}
    weigh = weigher(extents, [16] * len(nest.loops), begun.bank)
    best, *_ = derivations(begun.bank, [found], weigh)
    names = Names(begun.known, problem.program.names)
    output = problem.program.names[problem.program.outputs[0]]
    structure = read_off(begun.bank, nest, best, {output: found}, names)
    assert structure is not None
    return structure, problem


@pytest.mark.parametrize(("name", "nest"), NESTS)
def test_the_counts_of_all_choices_at_once_are_those_of_each(name: str, nest: Nest) -> None:
    structure, problem = structure_of(name, nest)
    program = problem.program
    dims = [problem.dims(n) for n in range(len(program.inputs))]
    sizes = {
        d: n for each in zip(dims, program.shapes, strict=False) for d, n in zip(*each, strict=True)
    }
    every = choices(structure, sizes)
    tried = len(next(iter({**every.grid, **every.loop, **every.parts}.values())))
    example = graph(structure, every.at(0), program, dims, "example")
    together = stage_counts(structure, every, example, sizes, A100)
    for number in random.Random(1).sample(range(tried), 12):
        one = graph(structure, every.at(number), program, dims, "one")
        for of, alone in zip(together, counts(one, A100), strict=True):
            for count, figure in vars(of).items():
                found = np.broadcast_to(figure, tried)[number]
                assert found == getattr(alone, count), (count, str(one))


def test_every_choice_fits_three_axes_and_divides() -> None:
    structure, problem = structure_of("gqa", Nest(("n",), ("n",)))
    sizes = problem.program.size_of
    every = choices(structure, sizes)
    used = sum((steps > 1).astype(int) for steps in every.grid.values())
    assert int(used.max()) == 2  # the third axis is for the parts
    assert not (sizes["n"] % (every.loop["n"] * every.parts["n"])).any()
    seen = {tuple(sorted(every.at(n).grid.items())) for n in range(len(used))}
    assert (("h", 2), ("m", 16), ("v", 1)) in seen


def test_the_papers_fused_graph_is_one_of_the_choices() -> None:
    structure, problem = structure_of("rms_norm_matmul", Nest(("d",)))
    dims = [problem.dims(n) for n in range(3)]
    choice = Choice({"b": 1, "n": 256}, {"d": 32}, {})
    every = choices(structure, problem.program.size_of)
    rows = [every.at(n) for n in range(len(every.grid["n"]))]
    assert choice in rows
    assert graph(structure, choice, problem.program, dims, "x") == published(
        "rms_norm_matmul_fused"
    )


@pytest.mark.parametrize("name", PROGRAM_OF)
def test_a_fused_graph_is_held_against_its_program_term_by_term(name: str) -> None:
    fused, program = published(name), workload(PROGRAM_OF[name])
    ours, theirs = cost(fused, A100), cost(program, A100)
    assert ours.total == pytest.approx(sum(ours.terms.values()))
    assert ours.launches < theirs.launches
    said = why(fused, program, A100)
    assert "launches saves" in said
    saved = theirs.total - ours.total
    assert said.startswith(f"{1e6 * abs(saved):.2f} us {'less' if saved > 0 else 'more'}: ")


def test_a_machine_that_is_twice_as_fast_at_one_thing_halves_that_term() -> None:
    graph_ = published("gated_mlp_fused")
    faster = replace(A100, memory_bytes_per_s=2 * A100.memory_bytes_per_s)
    before, after = cost(graph_, A100), cost(graph_, faster)
    assert after.memory == before.memory / 2
    assert [after.terms[n] for n in ("near", "matrix")] == [
        before.terms[n] for n in ("near", "matrix")
    ]


def test_few_blocks_leave_most_of_a_machine_idle() -> None:
    """One block takes as long for its own work as 108 of them do."""
    (of,) = counts(published("gated_mlp_fused"), A100)
    alone, full = (seconds(replace(of, blocks=n), A100) for n in (1, A100.multiprocessors))
    assert alone.matrix == full.matrix
    twice = seconds(replace(of, blocks=A100.multiprocessors + 1), A100)
    assert twice.matrix == 2 * full.matrix


def test_what_does_not_fit_is_said_so() -> None:
    (of,) = counts(published("gated_mlp_fused"), A100)
    assert fits(of, A100)
    assert not fits(replace(of, held=A100.shared_bytes + 1), A100)
    assert not fits(of, replace(A100, most_blocks=of.blocks - 1))


def test_targets_are_named_and_their_figures_checked() -> None:
    assert target("h100") == H100
    assert target("a100", shared_bytes=1000).shared_bytes == 1000
    with pytest.raises(UsageError, match="h100"):
        target("a1000")
    with pytest.raises(UsageError, match="shared_bytes"):
        target("a100", memory=3)
    with pytest.raises(UsageError, match="above 0"):
        target("a100", shared_bytes=0)


def test_terms_are_named_in_the_order_of_their_size() -> None:
    terms = Cost(1, 2, 3, 4, 5, 6, 7, 8).terms
    assert list(terms) == list(reversed(list(vars(Cost(0, 0, 0, 0, 0, 0, 0, 0)))))
