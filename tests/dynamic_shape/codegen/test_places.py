"""Index maps: what is cut and what is not, and that they lead to the same element."""

from __future__ import annotations

import itertools
import random
from math import prod

import numpy as np
import pytest
from shape_programs import program_of

from mlc_course.dynamic_shape.codegen.places import Atom, Place, Places, divisions
from mlc_course.dynamic_shape.fusion import Knowledge, Level
from mlc_course.mugraph.kernels import evaluate, var

NORM = program_of(  # T == B*S is known, and no more
    "x [T, H]; y [B, S, H]",
    """
    %0 = reshape(%y) : [T, H]
    %1 = add(%x, %0) : [T, H]
    """,
    "%1",
)


def places(level: Level = "all", *, folds: bool = True) -> Places:
    return Places(Knowledge(NORM, level), folds=folds)


def test_an_axis_that_begins_with_an_atom_is_not_cut() -> None:
    place = Place(("B", "S", "H"), (Atom(var("r"), ("T",)), Atom(var("c"), ("H",))))
    (column,) = places().part(place, 2, 3)
    assert column.index == var("c")
    rows = places().part(place, 0, 2)
    assert [atom.index for atom in rows] == [var("r")]


def test_an_axis_that_begins_with_an_atom_is_found_without_a_proof() -> None:
    """Forty nested pads asked the solver whether each of their sizes is 1, for half a minute."""
    found = places()
    found.knowledge.solver.ask = lambda claim: pytest.fail(f"asked {claim}")  # type: ignore
    place = Place(("B", "S"), (Atom(var("b"), ("B",)), Atom(var("s") + 1, ("S",), is_part=True)))
    assert [str(atom.index) for atom in found.part(place, 0, 1)] == ["b"]
    assert [str(atom.index) for atom in found.part(place, 1, 2)] == ["s + 1"]


def test_without_the_fact_it_is_cut() -> None:
    place = Place(("B", "S", "H"), (Atom(var("r"), ("T",)), Atom(var("c"), ("H",))))
    known = places("eq")
    index = known.linear(known.part(place, 2, 3))
    assert str(index) == "(r*H + c) % H"
    assert divisions(index) == 1
    assert divisions(index, frozenset("c")) == 1
    assert divisions(index, frozenset("x")) == 0


def test_one_axis_of_several_is_a_quotient_and_a_remainder() -> None:
    place = Place(("B", "S", "H"), (Atom(var("r"), ("T",)), Atom(var("c"), ("H",))))
    known = places()
    assert str(known.linear(known.part(place, 0, 1))) == "r // S"
    assert str(known.linear(known.part(place, 1, 2))) == "r % S"
    flat = Place(("B", "S", "H"), (Atom(var("i"), ("B", "S", "H")),))
    assert str(known.linear(known.part(flat, 1, 2))) == "i % (H*S) // H"


@pytest.mark.parametrize("seed", range(40))
def test_parts_together_are_the_element(seed: int) -> None:
    """Whatever is cut, and in which order, the parts lead to the same element."""
    rng = random.Random(seed)
    sizes = {"B": rng.randint(1, 4), "S": rng.randint(1, 4), "H": rng.randint(1, 5)}
    sizes["T"] = sizes["B"] * sizes["S"]
    dims = rng.choice([("B", "S", "H"), ("T", "H"), ("B", "S", 1, "H"), (1, "T", "H")])
    known = places(rng.choice(["all", "eq"]), folds=rng.random() < 0.7)
    atoms = rng.choice(
        [
            (Atom(var("r"), ("T",)), Atom(var("c"), ("H",))),
            (Atom(var("b"), ("B",)), Atom(var("s"), ("S",)), Atom(var("c"), ("H",))),
            (Atom(var("i"), ("B", "S", "H")),),
        ]
    )
    place = Place(dims, atoms)
    shape = [sizes.get(str(dim), 1) for dim in dims]
    cuts = sorted(rng.sample(range(len(dims) + 1), rng.randint(0, len(dims))))
    ends = [*dict.fromkeys([0, *cuts, len(dims)])]
    parts = [(i, j, known.linear(known.part(place, i, j))) for i, j in itertools.pairwise(ends)]
    counts = [prod(sizes.get(str(dim), 1) for dim in atom.sizes) for atom in atoms]
    names = [str(atom.index) for atom in atoms]
    for numbers in itertools.product(*map(range, counts)):
        given = {**sizes, **dict(zip(names, numbers, strict=True))}
        element = int(np.ravel_multi_index(numbers, counts))
        axes = np.unravel_index(element, shape)
        for start, stop, index in parts:
            expected = np.ravel_multi_index(axes[start:stop], shape[start:stop])
            assert evaluate(index, given) == expected


def test_a_place_is_renamed_axis_by_axis_and_only_then() -> None:
    known = places("none")  # which knows of no two of these that they are equal
    by_axis = Place(("A", "C"), (Atom(var("r"), ("A",)), Atom(var("c"), ("C",))))
    assert [atom.sizes for atom in known.renamed(by_axis, ("D", "E")).atoms] == [("D",), ("E",)]
    flat = Place(("A", "C"), (Atom(var("i"), ("F",)),))
    assert known.renamed(flat, ("D", "E")).atoms == flat.atoms
