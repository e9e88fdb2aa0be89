from __future__ import annotations

from collections.abc import Mapping
from functools import cache

import numpy as np
import pytest

from mlc_course.errors import UsageError
from mlc_course.instruction_selection.integers import substituted
from mlc_course.instruction_selection.spec import (
    CATALOGUE,
    Entry,
    Specification,
    entry,
    specification,
)
from mlc_course.tensor_program.tir import tvm

OUTPUTS = 999  # no power of two: vectors and a tail
ENTRIES = pytest.mark.parametrize("entry", CATALOGUE.values(), ids=lambda each: each.name)
WORDINGS = pytest.mark.parametrize(
    ("entry", "number"),
    [(each, i) for each in CATALOGUE.values() for i in range(len(each.narrow))],
    ids=lambda x: x.name if isinstance(x, Entry) else str(x),
)


@cache
def compiled(spec: Specification, outputs: int) -> object:
    return tvm.compile_module(spec.prim_func(outputs), tvm.cpu_target())


def run_by_tvm(spec: Specification, arrays: Mapping[str, np.ndarray], outputs: int) -> np.ndarray:
    given = {
        each.name: tvm.tvm.runtime.tensor(
            arrays.get(each.name, np.zeros(each.shape(outputs), each.type.numpy))
        )
        for each in spec.tile.buffers
    }
    compiled(spec, outputs)["main"](*given.values())  # type: ignore[index]
    return given[spec.result.buffer].numpy()


def test_the_catalogue_has_the_loops_of_the_note_and_more() -> None:
    assert len(CATALOGUE) >= 28
    assert all(each.sentence.endswith(".") for each in CATALOGUE.values())
    assert not [each.name for each in CATALOGUE.values() if len(each.sentence) > 160]


@ENTRIES
def test_numpy_tvm_and_the_formula_agree_on_random_and_extreme_inputs(entry: Entry) -> None:
    spec = entry.specification
    for seed, extremes in ((0, 0.0), (1, 0.3), (2, 1.0)):
        arrays = spec.sample(OUTPUTS, seed, extremes=extremes)
        by_formula = spec.evaluate(arrays)
        by_numpy = entry.numpy(arrays)
        by_tvm = run_by_tvm(spec, arrays, OUTPUTS)
        assert by_formula.dtype == by_numpy.dtype == by_tvm.dtype == spec.cell.result.numpy
        assert np.array_equal(by_numpy, by_formula)
        assert np.array_equal(by_tvm, by_formula)


@pytest.mark.parametrize(
    "entry",
    [
        each
        for each in CATALOGUE.values()
        if sum(x.bytes for x in each.specification.cell.operands) <= 2
    ],
    ids=lambda each: each.name,
)
def test_numpy_and_the_formula_agree_on_all_inputs_of_two_bytes(entry: Entry) -> None:
    operands = entry.specification.cell.operands
    grids = np.meshgrid(*(np.arange(x.type.lo, x.type.hi + 1) for x in operands))
    arrays = {
        x.name: np.ascontiguousarray(grid.reshape(-1).astype(x.type.numpy))
        for x, grid in zip(operands, grids, strict=True)
    }
    assert np.array_equal(entry.numpy(arrays), entry.specification.evaluate(arrays))


@WORDINGS
def test_a_wording_computes_the_same(entry: Entry, number: int) -> None:
    spec, other = entry.specification, entry.wordings[number].specification
    for seed, extremes in ((3, 0.0), (4, 1.0)):
        arrays = spec.sample(OUTPUTS, seed, extremes=extremes)
        assert np.array_equal(other.evaluate(arrays), spec.evaluate(arrays))
        assert np.array_equal(run_by_tvm(other, arrays, OUTPUTS), spec.evaluate(arrays))


@WORDINGS
def test_a_wording_is_in_narrower_types(entry: Entry, number: int) -> None:
    texts = [entry.specification.prim_func(8).script()]
    texts.append(entry.wordings[number].prim_func(8).script())
    assert ["int32" in text for text in texts] == [True, False]


@ENTRIES
def test_each_output_of_a_tile_is_the_cell_on_lanes_of_its_own(entry: Entry) -> None:
    spec = entry.specification
    cell, lanes = spec.cell, spec.lanes(3)
    for output, goal in enumerate(spec.goals(3)):
        own = {
            variable: lanes[each.name][i if each.shared else output * each.lanes + i]
            for each in cell.operands
            for i, variable in enumerate(cell.inputs[each.name])
        }
        assert substituted([cell.goal], own)[0] is goal


def test_accumulators_and_ranges_are_recognised() -> None:
    spec = entry("dot4_u7s8").specification
    assert spec.cell.accumulator == "C"
    assert spec.promise == "A in 0..127"
    assert entry("sat_add_u8").specification.cell.accumulator is None


def test_a_name_that_the_catalogue_lacks_is_refused_with_the_nearest() -> None:
    with pytest.raises(UsageError, match=r"did you mean sobel_u8\?"):
        specification("sobel_u")


def test_a_line_of_the_catalogue_has_its_name() -> None:
    assert specification("u8 A, u8 B -> u8 O:   min(A + B, 255)").name == "sat_add_u8"
    other = specification("u8 A, u8 B -> u8 O: min(A + B, 254)")
    assert other.name.startswith("line_") and other.name.isidentifier()
    assert specification("sat_add_u8", name="mine").name == "mine"


def test_ranges_can_be_promised_beside_a_line() -> None:
    spec = specification("dot4_u8s8", ranges={"A": (0, 127)})
    assert spec.cell.goal is entry("dot4_u7s8").specification.cell.goal


def test_a_sample_is_the_same_for_the_same_seed() -> None:
    spec = entry("dot4_u7s8").specification
    first, second = spec.sample(64, 5), spec.sample(64, 5)
    assert all(np.array_equal(first[name], second[name]) for name in first)
    assert first["A"].max() == 127 and first["A"].min() == 0
