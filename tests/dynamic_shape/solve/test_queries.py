"""Queries of shapes are proved, refuted and left open, and their answers hold of real arrays."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, product
from math import prod

import numpy as np
import pytest
from cases import Tried
from shape_claims import drawn_constraint, drawn_dims, free, models_up_to

from mlc_course.dynamic_shape.ir import (
    Constraint,
    Dim,
    MulEq,
    SymbolicDim,
    holds,
    parse_constraint,
    said,
)
from mlc_course.dynamic_shape.solve import (
    AllProved,
    Claims,
    Facts,
    Refuted,
    Reshape,
    Solver,
    Unknown,
    ask_all,
    broadcast_is_redundant,
    check_certificate,
    equal_prefixes,
    equal_products,
    fits,
    is_divisible,
    reshape_kind,
    same_count,
    same_shape,
)
from mlc_course.errors import Contradiction, ShapeError, UsageError

Shape = Sequence[Dim]


@dataclass(frozen=True)
class Program:
    """Facts on sizes, and a solver that has read them."""

    dims: Mapping[str, SymbolicDim]
    stated: Sequence[Constraint]
    solver: Solver

    @staticmethod
    def of(
        names: str, formulas: str = "", ranges: Mapping[str, tuple[int, int]] | None = None
    ) -> Program:
        dims = free(list(names))
        for name, bounds in (ranges or {}).items():
            dims[name] = SymbolicDim(name, (bounds,))
        stated = [parse_constraint(each) for each in formulas.split(";") if each]
        return Program(dims, stated, Solver(Facts(dims, stated)))

    def decide(self, claims: Claims) -> AllProved | Refuted | Unknown:
        """Ask, and check what the answer carries."""
        answer = ask_all(self.solver, claims)
        match answer:
            case AllProved(certificates):
                for certificate, claim in zip(certificates, claims, strict=True):
                    check_certificate(certificate, claim, self.dims, self.stated)
            case Refuted(model):
                self.check(model)
                assert not all(holds(claim, model) for claim in claims)
        return answer

    def check(self, model: Mapping[str, int]) -> None:
        """Check that sizes keep all facts."""
        assert all(holds(each, model) for each in self.stated)
        assert all(dim.may_be(model[name]) for name, dim in self.dims.items())

    def reshape(self, operand: Shape, result: Shape) -> Reshape | Refuted | Unknown:
        """Ask for the kind, and check that groups are proved and leave no axis out."""
        answer = reshape_kind(self.solver, operand, result)
        if isinstance(answer, Reshape):
            for dims, sides in (
                (operand, [group.operand for group in answer.groups]),
                (result, [group.result for group in answer.groups]),
            ):
                assert [axis for side in sides for axis in side] == list(range(len(dims)))
            for group in answer.groups:
                ours, others = operand[group.operand.start : group.operand.stop], group.result
                claim = equal_products(ours, result[others.start : others.stop])
                assert group.claim == claim
                check_certificate(group.certificate, claim, self.dims, self.stated)
        if isinstance(answer, Refuted):
            self.check(answer.model)
            ours, others = (concrete(dims, answer.model) for dims in (operand, result))
            assert prod(ours) != prod(others)
        return answer


def concrete(dims: Shape, model: Mapping[str, int]) -> tuple[int, ...]:
    return tuple(dim if isinstance(dim, int) else model[dim] for dim in dims)


# T is B*S by a reshape. A and C can only be 2, but no procedure finds that of a product and a sum.
ROWS = Program.of(
    "BSTHKACE",
    "T*H == B*S*H;K == H;H % 64 == 0;E == A*C;E == A + C",
    {"B": (1, 8), "S": (1, 512)},
)
EXAMPLES: dict[str, tuple[list[Claims], list[Claims], list[Claims]]] = {
    "same_shape": (
        [same_shape("TH", "TK"), same_shape("BSH", "BSH"), same_shape("", "")],
        [same_shape("TH", "SH"), same_shape("TH", "BSH"), same_shape("AT", "CS")],
        [same_shape("AH", "CK")],
    ),
    "same_count": (
        [same_count("TH", "KBS"), same_count([2, "T", 3], ["B", 6, "S"])],
        [same_count("TH", "BH"), same_count("T", "TH"), same_count("", "T")],
        [same_count("AH", "CH")],
    ),
    "equal_prefixes": (
        [equal_prefixes("TH", 1, "BSH", 2), equal_prefixes("TH", 0, "BSH", 0)],
        [equal_prefixes("TH", 1, "BSH", 1), equal_prefixes("TH", 2, "BSH", 2)],
        [equal_prefixes("AT", 1, "CS", 1)],
    ),
    "is_divisible": (
        [is_divisible("K", 16), is_divisible("TK", 64), is_divisible("", 1)],
        [is_divisible("H", 128), is_divisible("T", 2), is_divisible("", 2)],
        [is_divisible("A", 2), is_divisible("AA", 4)],
    ),
    "broadcast_is_redundant": (
        [
            broadcast_is_redundant("TH", "TK", (0, 1)),
            broadcast_is_redundant("H", [1, "H", 1], (1,)),
            broadcast_is_redundant("", [1, 1], ()),
        ],
        [
            broadcast_is_redundant("H", "TH", (1,)),
            broadcast_is_redundant(["T", 1], "TH", (0, 1)),
            broadcast_is_redundant("", "H", ()),
        ],
        [broadcast_is_redundant("A", "C", (0,))],
    ),
    "fits": (
        [
            fits("B", 4, 32),
            fits("BS", 4, 16384),
            fits("T", 4, 16384),
            fits(["T", 3], 2, 24576),
            fits([3, 5], 2, 30),
        ],
        [
            fits("B", 4, 31),
            fits("BS", 4, 16383),
            fits("H", 1, 2**20),
            fits("TH", 4, 2**20),
            fits([3, 5], 2, 29),
        ],
        [fits("A", 4, 8), fits("A", 4, 100)],
    ),
}


@pytest.mark.parametrize("query", EXAMPLES)
def test_what_follows_is_proved_and_what_does_not_is_refuted(query: str) -> None:
    for claims, kind in zip(EXAMPLES[query], (AllProved, Refuted, Unknown), strict=True):
        for each in claims:
            assert isinstance(ROWS.decide(each), kind), list(map(said, each))


@pytest.mark.parametrize(
    ("operand", "result", "kind", "groups"),
    [
        ("TH", "TK", "identity", "0:0 1:1"),
        ("", "", "identity", ""),
        ("TH", "BSH", "expand", "0:01 1:2"),
        ("BSH", "TK", "collapse", "01:0 2:1"),
        ("BSTH", "TBSK", "general", "01:0 2:12 3:3"),
        ("HB", "BK", "general", "01:01"),
        (["H", 6], ["H", 2, 3], "expand", "0:0 1:12"),
        # A size of 1 goes with one that comes next, or else with the axis after it, or the last.
        (["T", 1, "H"], ["T", 1, "K"], "identity", "0:0 1:1 2:2"),
        ("TH", ["T", 1, "H"], "expand", "0:0 1:12"),
        (["T", "H", 1, 1], "TH", "collapse", "0:0 123:1"),
        ("T", [1, "B", "S", 1], "expand", "0:0123"),
        (["T", 1], [1, "T"], "general", "01:01"),
        ([1], "", "collapse", "0:"),
        ("", [1, 1], "expand", ":01"),
    ],
)
def test_a_reshape_groups_axes(operand: Shape, result: Shape, kind: str, groups: str) -> None:
    found = ROWS.reshape(operand, result)
    assert isinstance(found, Reshape) and found.kind == kind
    sides = [
        ":".join("".join(map(str, side)) for side in (group.operand, group.result))
        for group in found.groups
    ]
    assert " ".join(sides) == groups


def test_a_reshape_of_other_counts_is_refuted_or_unknown() -> None:
    assert isinstance(ROWS.reshape("TH", "BH"), Refuted)
    assert isinstance(ROWS.reshape("AH", "CH"), Unknown)


def test_a_group_ends_only_where_the_rest_is_proved_to_agree() -> None:
    """B == A is proved by bounds, which do not reach products; so C*D == E stays unknown."""
    bounds = "X == A + 1;B < X;Y == B + 1;A < Y"
    found = Program.of("ABCDEXY", f"{bounds};A*C*D == B*E").reshape("ACD", "BE")
    assert isinstance(found, Reshape) and found.kind == "general" and len(found.groups) == 1


def test_a_conjunction_is_refuted_by_any_claim_and_else_unknown_by_any() -> None:
    proved, refuted, unknown = (parse_constraint(each) for each in ("T == B*S", "T == B", "A == C"))
    assert isinstance(ROWS.decide((proved,)), AllProved)
    assert isinstance(ROWS.decide(()), AllProved)
    assert isinstance(ROWS.decide((unknown, proved)), Unknown)
    for claims in ((proved, refuted), (refuted, unknown), (unknown, refuted)):
        assert isinstance(ROWS.decide(claims), Refuted)


def test_likely_sizes_do_not_make_a_tensor_fit_and_ranges_do() -> None:
    claims = fits(["N", 64], 4, 2**14)
    for dim, kind in (
        (SymbolicDim("N", likely=(8, 16)), Refuted),
        (SymbolicDim("N", ((1, 64),), likely=(8, 16)), AllProved),
        (SymbolicDim("N", ((1, 65),), likely=(8, 16)), Refuted),
    ):
        dims = {"N": dim}
        assert isinstance(Program(dims, (), Solver(Facts(dims))).decide(claims), kind)


def test_numbers_and_axes_that_no_query_can_have_are_refused() -> None:
    with pytest.raises(ShapeError, match="a number of first axes"):
        equal_prefixes("TH", 3, "TH", 1)
    with pytest.raises(ShapeError, match="a number of first axes"):
        equal_prefixes("TH", 1, "TH", -1)
    for axes in ((), (2,), (-1,), (0, 1)):
        with pytest.raises(ShapeError, match="a broadcast's axes"):
            broadcast_is_redundant("T", "TH", axes)
    for axes in ((1, 0), (1, 1)):
        with pytest.raises(ShapeError, match="a broadcast's axes"):
            broadcast_is_redundant("TH", "TH", axes)
    for size, limit in ((0, 5), (-4, 5), (4, -1), (4, 2**41)):
        with pytest.raises(UsageError, match="bytes"):
            fits("T", size, limit)
    with pytest.raises(UsageError, match="a size"):
        ROWS.decide(is_divisible("T", 0))
    with pytest.raises(UsageError, match="no dimension 'Z'"):
        ROWS.decide(same_count("T", "Z"))
    with pytest.raises(UsageError, match="no dimension 'Z'"):
        ROWS.reshape("T", "Z")


# Against real arrays of all small sizes.


def repeats_nothing(operand: Sequence[int], result: Sequence[int], dims: Sequence[int]) -> bool:
    """Whether NumPy makes the same elements of a broadcast, in the same order."""
    x = np.arange(prod(operand)).reshape(operand)
    spread = [1] * len(result)
    for axis, size in zip(dims, operand, strict=True):
        spread[axis] = size
    try:
        y = np.broadcast_to(x.reshape(spread), result)
    except ValueError:
        return False
    return y.size == x.size and bool((y.ravel() == x.ravel()).all())


Truth = Callable[[Mapping[str, int]], bool]


def drawn_query(rng: random.Random, names: Sequence[str]) -> tuple[str, Claims, Truth]:
    """A query, and its truth for sizes, by NumPy's arrays."""

    def shape(low: int, high: int) -> list[Dim]:
        return [
            rng.choice(names) if rng.random() < 0.8 else rng.randint(1, 4)
            for _ in range(rng.randint(low, high))
        ]

    def empty(dims: Shape, model: Mapping[str, int]) -> np.ndarray:
        return np.broadcast_to(np.zeros((), "f4"), concrete(dims, model))

    a, b = shape(0, 3), shape(0, 3)
    if rng.random() < 0.5:
        b = [dim if rng.random() < 0.8 else rng.choice(names) for dim in a]
    kind = rng.choice(list(EXAMPLES))
    if kind == "same_shape":
        return kind, same_shape(a, b), lambda of: empty(a, of).shape == empty(b, of).shape
    if kind == "same_count":
        return kind, same_count(a, b), lambda of: empty(a, of).size == empty(b, of).size
    if kind == "equal_prefixes":
        i, j = rng.randint(0, len(a)), rng.randint(0, len(b))
        return (
            kind,
            equal_prefixes(a, i, b, j),
            lambda of: empty(a[:i], of).size == empty(b[:j], of).size,
        )
    if kind == "is_divisible":
        by = rng.randint(1, 4)
        return kind, is_divisible(a, by), lambda of: empty(a, of).size % by == 0
    if kind == "fits":
        limit = rng.choice([0, 20, 100, 400, 1600])
        return kind, fits(a, 4, limit), lambda of: empty(a, of).nbytes <= limit
    axes = sorted(rng.sample(range(len(a) + 1), len(a)))
    wide = shape(1, 1) * (len(a) + 1)
    if rng.random() < 0.5:
        wide = [1] * (len(a) + 1)
    for axis, dim in zip(axes, a, strict=True):
        wide[axis] = dim if rng.random() < 0.9 else rng.choice(names)
    return (
        kind,
        broadcast_is_redundant(a, wide, axes),
        lambda of: repeats_nothing(concrete(a, of), concrete(wide, of), axes),
    )


@pytest.mark.fuzz
def test_answers_hold_of_arrays_of_all_small_sizes(full: bool, seed: int, tried: Tried) -> None:
    rng = random.Random(seed)
    seen: Counter[tuple[str, str]] = Counter()
    for _ in range(2000 if full else 250):
        names = list("abc"[: rng.randint(1, 3)])
        dims = free(names) if rng.random() < 0.4 else drawn_dims(rng, names)
        stated = [drawn_constraint(rng, names) for _ in range(rng.randint(0, 2))]
        try:
            drawn = Program(dims, stated, Solver(Facts(dims, stated)))
        except Contradiction:
            continue
        models = models_up_to(9, dims, stated)
        for _ in range(10):
            kind, claims, is_true = drawn_query(rng, names)
            answer = drawn.decide(claims)
            seen[kind, type(answer).__name__] += 1
            if isinstance(answer, AllProved):
                assert all(map(is_true, models)), (stated, list(map(said, claims)))
            if isinstance(answer, Refuted) and prod(answer.model.values()) < 10**6:
                assert not is_true(answer.model), (stated, list(map(said, claims)))
    tried("queries of shapes", seen.total())
    assert all(seen[kind, answer] for kind in EXAMPLES for answer in ("AllProved", "Refuted"))


def parts(count: int) -> Iterator[list[range]]:
    """All ways to divide some axes into neighbouring groups."""
    for inner in range(count):
        for ends in combinations(range(1, count), inner):
            places = [0, *ends, count]
            yield [range(*pair) for pair in zip(places, places[1:], strict=False)]


def groupings(operand: Sequence[int], result: Sequence[int]) -> Iterator[list[tuple[int, int]]]:
    """All ways to divide the axes of known sizes into groups: how many axes each has."""
    if not operand or not result:
        yield [(len(operand), len(result))] if operand or result else []
        return
    for ours, others in product(parts(len(operand)), parts(len(result))):
        if len(ours) == len(others) and all(
            prod(operand[at] for at in one) == prod(result[at] for at in other)
            for one, other in zip(ours, others, strict=True)
        ):
            yield [(len(one), len(other)) for one, other in zip(ours, others, strict=True)]


def test_no_grouping_of_known_sizes_has_more_groups_or_is_simpler() -> None:
    """All shapes of up to three axes of size 1, 2 and 4, where 1 fits anywhere."""
    program = Program.of("")
    shapes = [dims for rank in range(4) for dims in product((1, 2, 4), repeat=rank)]
    kinds: Counter[str] = Counter()
    for operand, result in product(shapes, repeat=2):
        found = program.reshape(operand, result)
        if prod(operand) != prod(result):
            assert isinstance(found, Refuted)
            continue
        assert isinstance(found, Reshape)
        ways = list(groupings(operand, result))
        assert len(found.groups) == max(map(len, ways))
        can_be = {
            "identity": any(all(pair == (1, 1) for pair in way) for way in ways),
            "expand": any(all(one <= min(1, two) for one, two in way) for way in ways),
            "collapse": any(all(two <= min(1, one) for one, two in way) for way in ways),
            "general": True,
        }
        assert found.kind == next(kind for kind, can in can_be.items() if can)
        kinds[found.kind] += 1
    assert len(kinds) == 4


@pytest.mark.fuzz
def test_a_drawn_reshape_is_cut_where_it_was_put_together(
    full: bool, seed: int, tried: Tried
) -> None:
    """Factors of unknown size, put together in two ways: groups end where both put an end."""
    rng = random.Random(seed)
    kinds: Counter[str] = Counter()
    for _ in range(1000 if full else 150):
        names = list("abcdef"[: rng.randint(1, 6)])
        factors: list[Dim] = [rng.choice([name, name, 2, 6]) for name in names]
        stated: list[Constraint] = []
        shapes, ends = [], []
        for side in "xy":
            shape: list[Dim] = []
            way = rng.choice(list(parts(len(factors))))
            for at, part in enumerate(way):
                if len(part) == 1:
                    shape.append(factors[part[0]])
                else:
                    stated.append(MulEq(f"{side}{at}", tuple(factors[each] for each in part)))
                    shape.append(f"{side}{at}")
            shapes.append(shape)
            ends.append({part.stop for part in way})
        rng.shuffle(stated)
        dims = free(list(dict.fromkeys([*names, *(str(each.size) for each in stated)])))
        program = Program(dims, stated, Solver(Facts(dims, stated)))
        found = program.reshape(*shapes)
        assert isinstance(found, Reshape)
        assert len(found.groups) == len(ends[0] & ends[1])
        kinds[found.kind] += 1
    tried("reshapes", kinds.total())
    assert len(kinds) == 4
