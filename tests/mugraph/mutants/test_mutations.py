"""A verifier is judged by what it refuses: mutants, with float64 and 60 digits as oracles."""

from __future__ import annotations

import random
from collections import Counter

import numpy as np
import pytest
from cases import Tried
from small_graphs import FILES, saved_graphs, saved_program

from mlc_course.mugraph.ir import parse, run
from mlc_course.mugraph.mutants.mutations import KINDS, mutants
from mlc_course.mugraph.mutants.refusals import (
    ACCEPTED,
    REFUSED,
    UNDECIDED,
    Base,
    Judged,
    base,
    differ,
    drawn,
    given,
    judged,
    table,
    tally,
)
from mlc_course.mugraph.programs import NAMES, PROGRAM_OF, published, workload
from mlc_course.mugraph.verify import verify

SLOW = "attention_split_kv"  # half a second each: it has some, on its own
EPS = parse("""with_eps(X[b=6, d=8], G[1, d]):
  squares = square(X)
  mean = mean(squares, axis=1)
  more = shift(mean, by=1/1000)
  rms = sqrt(more)
  scaled = mul(X, G)
  other = rms_norm(scaled, axis=1, eps=1/100)
  Y = div(scaled, rms)
  turned = transpose(other, axes=[1, 0])
  half = split(turned, axis=0, parts=2, part=1)
  return Y, half
""")


@pytest.fixture(scope="module")
def bases() -> list[Base]:
    """Published graphs and programs, and of each file of Mirage's every third graph."""
    found = [base(published(f), workload(p)) for f, p in PROGRAM_OF.items() if f != SLOW]
    found += [base(each, each) for each in (*map(workload, NAMES), EPS)]
    for file in FILES:
        for each in list(dict.fromkeys(saved_graphs(file)))[::3]:
            found.append(base(each, saved_program(file)))
    return found


def counted(found: list[Judged]) -> Counter[str]:
    return sum(tally(found).values(), Counter[str]())


def assert_none_wrong(found: list[Judged]) -> None:
    wrong = [each for each in found if each.wrong]
    assert not wrong, "\n\n".join(map(str, wrong))


def assert_refused_differ(found: list[Judged]) -> None:
    """Check that each mutant that the verifier calls different differs in numbers."""
    alike = [each for each in found if each.said == REFUSED and not each.differs]
    assert not alike, "\n\n".join(map(str, alike))


@pytest.mark.slow
@pytest.mark.fuzz
def test_of_3500_mutants_none_that_differs_is_accepted(
    bases: list[Base], full: bool, seed: int, tried: Tried
) -> None:
    """Of the first 200 of them, but with ``--full``."""
    count = 3500 if full else 200
    found = [judged(mutant, each) for each, mutant in drawn(bases, count, random.Random(seed))]
    tried("mutants", len(found))
    print(f"\n{table(tally(found))}")
    assert_none_wrong(found)
    assert len({(each.base.program, each.mutant.graph) for each in found}) == len(found) == count
    total = counted(found)
    assert total[REFUSED] > 0.7 * count  # shown to differ, that is
    assert total[ACCEPTED] > 0.02 * count  # equal: other tiles, other orders, ..
    assert_refused_differ(found)
    # Where a difference shows, it is decided, but for outputs alike in shape on some sizes only.
    assert total[UNDECIDED] < max(20, 60 * count // 2000)
    assert sum(each.said == UNDECIDED and each.differs for each in found) < 6


# RMSNorm in eight steps, each of which adds a part of eps.
IN_STEPS = parse("""in_steps(X[b=16, d=1024]):
  block grid(x=16) loop(k=8):
    x = load(X, imap={x: 0}, fmap={k: 1})
    squares = square(x)
    sums = sum(squares, axis=1)
    mean = scale(sums, by=1/d)
    more = shift(mean, by=1/8000000)
    total = accumulate(more)
    Total = store(total, omap={x: 0})
  rms = sqrt(Total)
  Y = div(X, rms)
  return Y""")
AT_ONCE = parse("""at_once(X[b=16, d=1024]):
  squares = square(X)
  mean = mean(squares, axis=1)
  more = shift(mean, by=1/1000000)
  rms = sqrt(more)
  Y = div(X, rms)
  return Y""")


@pytest.fixture(scope="module")
def given_bases() -> list[Base]:
    """The published graphs on the sizes that they have, and numbers that are added in loops."""
    pairs = [(published(f), workload(p)) for f, p in PROGRAM_OF.items()]
    return [given(*each) for each in (*pairs, (IN_STEPS, AT_ONCE), (AT_ONCE, IN_STEPS))]


@pytest.mark.slow
@pytest.mark.fuzz
@pytest.mark.timeout(1800)  # all of them take 10 minutes on an AVX2 machine
def test_of_1500_mutants_at_the_given_sizes_none_that_differs_is_accepted(
    given_bases: list[Base], full: bool, seed: int, tried: Tried
) -> None:
    """Loops have up to 64 steps, and rows 4096 entries. 60 mutants, or all with ``--full``."""
    count = 1500 if full else 60
    found = [
        judged(mutant, each) for each, mutant in drawn(given_bases, count, random.Random(seed))
    ]
    tried("mutants at the given sizes", len(found))
    print(f"\n{table(tally(found))}")
    assert_none_wrong(found)
    total = counted(found)
    assert total[REFUSED] > 0.5 * len(found)
    assert_refused_differ(found)


@pytest.mark.slow
@pytest.mark.fuzz
def test_nor_any_of_attention_over_split_keys(full: bool, seed: int, tried: Tried) -> None:
    whole = base(published(SLOW), workload(PROGRAM_OF[SLOW]))
    count = 24 if full else 6
    found = [judged(mutant, whole) for _, mutant in drawn([whole], count, random.Random(seed))]
    tried("mutants", len(found))
    assert_none_wrong(found)
    assert counted(found)[REFUSED] >= count // 6  # 3 of 4 are; this many, all but surely


# The generator.


def test_a_seed_draws_the_same_mutants_and_no_two_are_equal() -> None:
    graph = published("rms_norm_matmul_fused")
    one, same, other = (list(mutants(graph, random.Random(seed))) for seed in (1, 1, 2))
    assert one == same != other
    assert {each.graph for each in one} == {each.graph for each in other}
    assert len({each.graph for each in one}) == len(one) > 60
    assert graph not in {each.graph for each in one}


def test_every_kind_of_mutant_is_among_those_that_are_drawn_from(bases: list[Base]) -> None:
    rng = random.Random(0)
    assert {mutant.kind for each in bases for mutant in mutants(each.graph, rng)} == set(KINDS)


def test_a_mutant_says_what_was_changed() -> None:
    found = {
        (each.kind, each.where): each.graph
        for each in mutants(published("rms_norm_matmul_fused"), random.Random(0))
    }
    assert "rms = scale(mean, by=1)" in str(found["operator dropped", "rms = sqrt"])
    kinds = Counter(kind for kind, _ in found)
    assert {"another operator", "another imap", "another constant", "other tiles"} <= set(kinds)


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("rms_norm_matmul_fused", "P: accumulate"),
        ("online_softmax_attention", "total = accumulate(sums)"),
        ("online_softmax_attention", "out = accumulate(product)"),
        ("gated_mlp_fused", "gate_part = matmul(x, w2)"),
        ("gqa_split_kv", "weights = square(scores)"),
    ],
)
def test_well_known_mistakes_are_among_them(name: str, line: str) -> None:
    texts = [str(each.graph) for each in mutants(published(name), random.Random(0))]
    if line.startswith("P"):
        line = "product = accumulate_max(part)"
    (found, *_) = [text for text in texts if line in text]
    verdict = verify(parse(found), workload(PROGRAM_OF[name]), seed=1)
    assert not verdict.equal and verdict.counterexample is not None


def test_eps_goes_out_of_the_root() -> None:
    texts = [str(each.graph) for each in mutants(EPS, random.Random(0))]
    moved = [text for text in texts if "more = sqrt(mean)" in text and "rms = shift" in text]
    assert len(moved) == 1
    assert not verify(parse(moved[0]), EPS, seed=1).equal


def test_permuted_outputs_are_equal_mutants() -> None:
    graph = parse("f(X[a=4, b=4]):\n  Y = exp(X)\n  Z = square(X)\n  return Y, Z")
    (found,) = [
        each for each in mutants(graph, random.Random(0)) if each.kind == "outputs permuted"
    ]
    verdict = verify(found.graph, graph, seed=1)
    assert verdict.equal and verdict.outputs == (1, 0)


# The oracle.


def test_float64_tells_graphs_apart() -> None:
    add, sub, other = (
        parse(f"f(X[a=3, b=4], Y[a, b]):\n  Z = {body}\n  return Z")
        for body in ("add(X, Y)", "sub(X, Y)", "add(Y, X)")
    )
    assert differ(add, sub) and not differ(add, other)


def test_the_oracle_minds_the_order_that_it_is_given() -> None:
    text = "f(X[a=3, b=4]):\n  Y = exp(X)\n  Z = square(X)\n  return {}"
    one, other = parse(text.format("Y, Z")), parse(text.format("Z, Y"))
    assert not differ(one, other) and not differ(one, other, (1, 0))
    assert differ(one, other, (0, 1))


def test_bases_are_right_and_no_two_of_their_sizes_are_equal(bases: list[Base]) -> None:
    for each in bases:
        assert not differ(each.graph, each.program)
        sizes = [size for _, size in each.program.sizes if size > 1]
        assert len(set(sizes)) == len(sizes) and max(sizes) < 200
        inputs = {
            value.name: np.ones(shape)
            for value, shape in zip(each.program.inputs, each.program.shapes, strict=False)
        }
        assert all(np.isfinite(output).all() for output in run(each.graph, inputs))


def test_what_is_wrong_is_called_wrong(bases: list[Base]) -> None:
    mutant = next(mutants(bases[0].graph, random.Random(0)))
    assert Judged(mutant, bases[0], ACCEPTED, differs=True).wrong
    assert not Judged(mutant, bases[0], ACCEPTED, differs=False).wrong
    assert not Judged(mutant, bases[0], REFUSED, differs=True).wrong
    with pytest.raises(AssertionError, match="accepted, differs"):
        assert_none_wrong([Judged(mutant, bases[0], ACCEPTED, differs=True)])


def test_the_table_adds_up(bases: list[Base]) -> None:
    (mutant, *_) = mutants(bases[0].graph, random.Random(0))
    rows = [
        Judged(mutant, bases[0], REFUSED, differs=True),
        Judged(mutant, bases[0], UNDECIDED, differs=False),
    ]
    counts = tally(rows)[mutant.kind]
    assert (counts[REFUSED], counts[UNDECIDED], counts["alike"]) == (1, 1, 1)
    assert table(tally(rows)).splitlines()[-1].split() == ["all", "1", "0", "1", "1"]
