"""The same constraints serve tensors and buffers, and nothing is lost between the two."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from cases import Tried
from drawn_modules import drawn_module
from shape_claims import drawn_constraint
from shape_programs import SMALL

from mlc_course.dynamic_shape.fusion import LEVELS, plan, simplified
from mlc_course.dynamic_shape.ir import (
    Module,
    SymbolicDim,
    bind,
    memory_of,
    parse,
    run,
    text,
    to_buffers,
    to_tensors,
)
from mlc_course.dynamic_shape.programs import NAMES, program
from mlc_course.dynamic_shape.solve import Facts, Solver
from mlc_course.errors import ShapeError, UsageError


def said_of(module: Module) -> dict[str, Any]:
    """All that a module says, but for tensor or buffer."""
    function = module.function
    return {
        "dimensions": [dim.name for dim in module.dims],
        "ranges": {dim.name: dim.ranges for dim in module.dims},
        "likely sizes": {dim.name: dim.likely for dim in module.dims},
        "constraints": list(module.constraints),
        "facts": list(module.origins().items()),
        "names": [function.name, *(each.name for each in function.inputs)],
        "operators": [
            (each.op.name, each.operands, each.attributes) for each in function.equations
        ],
        "sizes": [(each.dtype, each.dims) for each in function.types],
        "results": function.results,
    }


def lost(before: Module, after: Module) -> set[str]:
    """Name what two modules do not say alike; and whether their texts differ in more than kinds."""
    ours, theirs = said_of(before), said_of(after)
    found = {name for name in ours if ours[name] != theirs[name]}
    texts = [text(each).replace(": memref<", ": tensor<") for each in (before, after)]
    return found | ({"text"} if texts[0] != texts[1] else set())


def with_ranges(rng: random.Random, module: Module, sizes: dict[str, int]) -> Module:
    """Give some dimensions ranges and likely sizes, which keep what is known."""
    dims = []
    for dim in module.dims:
        ranges: tuple[tuple[int, int | None], ...] = ((1, None),)
        if rng.random() < 0.4:
            ranges = ((1, sizes[dim.name]), (2 * sizes[dim.name], rng.choice([None, 99_999])))
        likely = (sizes[dim.name], *([1] if rng.random() < 0.5 else []))
        dims.append(SymbolicDim(dim.name, ranges, likely if rng.random() < 0.4 else ()))
    return replace(module, dims=tuple(dims))


def check_levels(module: Module) -> Module:
    """Check that a program on tensors says as much on buffers; return it on buffers."""
    lowered = to_buffers(module)
    assert lost(module, lowered) == set()
    assert all(type_.is_buffer for type_ in lowered.function.types)
    assert not any(type_.is_buffer for type_ in module.function.types)
    assert to_tensors(lowered) == module == to_tensors(module)
    assert to_buffers(lowered) == lowered != module
    assert parse(text(lowered)) == lowered
    assert "tensor<" not in text(lowered)
    return lowered


def check_uses(rng: random.Random, module: Module, sizes: dict[str, int]) -> None:
    """Check that sizes, results, proofs and plans are the same on tensors and on buffers."""
    lowered = to_buffers(module)
    shapes = {
        each.name: tuple(sizes[dim] if isinstance(dim, str) else dim for dim in each.type.dims)
        for each in module.function.inputs
    }
    wrong = {name: tuple(size + (rng.random() < 0.3) for size in s) for name, s in shapes.items()}
    for given in (shapes, wrong):
        found: list[object] = []
        for each in (module, lowered):
            try:
                found.append(bind(each, given))
            except ShapeError as error:
                found.append((error.what, str(error.expected)))
        assert found[0] == found[1]
    solvers = [
        Solver(Facts({dim.name: dim for dim in each.dims}, each.facts()))
        for each in (module, lowered)
    ]
    names = [dim.name for dim in module.dims]
    for _ in range(4 if names else 0):
        claim = drawn_constraint(rng, names, asked=True)
        answers = []
        for solver in solvers:
            try:
                answers.append(solver.ask(claim))
            except UsageError as error:
                answers.append(str(error))  # type: ignore[arg-type]
        assert answers[0] == answers[1]
    for level in LEVELS:
        plans = [plan(each, level) for each in (module, lowered)]
        assert replace(plans[1], module=module) == plans[0]
    assert simplified(lowered) == to_buffers(simplified(module))


@pytest.mark.parametrize("name", NAMES)
def test_a_program_of_the_course_loses_nothing(name: str) -> None:
    module = program(name)
    lowered = check_levels(module)
    check_uses(random.Random(0), module, SMALL[name])
    rng = np.random.default_rng(0)
    given = {}
    for each in module.function.inputs:
        shape = [dim if isinstance(dim, int) else SMALL[name][dim] for dim in each.type.dims]
        is_index = each.type.dtype == "i64"
        given[each.name] = rng.integers(0, 7, shape) if is_index else rng.random(shape, "f4")
    for ours, theirs in zip(run(module, given), run(lowered, given), strict=True):
        np.testing.assert_array_equal(ours, theirs)


@pytest.mark.fuzz
def test_drawn_programs_lose_nothing(full: bool, seed: int, tried: Tried) -> None:
    rng = random.Random(seed)
    count = 400 if full else 40
    for _ in range(count):
        drawn, sizes = drawn_module(rng)
        module = with_ranges(rng, drawn, sizes)
        check_levels(module)
        check_uses(rng, module, sizes)
    tried("programs lowered", count)


def changes(module: Module) -> Iterator[tuple[str, Module]]:
    """The program with one thing less, of each kind that it has."""

    def with_dim(at: int, **changed: Any) -> Module:
        dims = list(module.dims)
        dims[at] = replace(dims[at], **changed)
        return replace(module, dims=tuple(dims))

    for at in range(len(module.constraints)):
        rest = (*module.constraints[:at], *module.constraints[at + 1 :])
        yield "constraints", replace(module, constraints=rest)
    for at, dim in enumerate(module.dims):
        for size in dim.likely:
            yield (
                "likely sizes",
                with_dim(at, likely=tuple(each for each in dim.likely if each != size)),
            )
        if dim.ranges != ((1, None),):
            yield "ranges", with_dim(at, ranges=((1, None),))
    function = module.function
    if len(function.results) > 1:
        fewer = replace(function, results=function.results[1:])
        yield "results", replace(module, function=fewer)
    other = replace(function, name=function.name + "_")
    yield "names", replace(module, function=other)
    for at, equation in enumerate(function.equations):
        if equation.op.name in ("exp", "neg") and at:
            swapped = replace(equation, operands=(0,))
            if equation.operands != (0,) and function.types[0] == equation.type:
                equations = (*function.equations[:at], swapped, *function.equations[at + 1 :])
                changed = replace(function, equations=equations)
                yield "operators", replace(module, function=changed)


@pytest.mark.parametrize("level", [to_buffers, to_tensors])
def test_a_loss_is_noticed(level: Callable[[Module], Module]) -> None:
    """The check fails if one constraint, likely size, range, result, name or operand is gone."""
    rng = random.Random(0)
    noticed: set[str] = set()
    modules = [program(name) for name in NAMES]
    modules += [with_ranges(rng, *drawn_module(rng)) for _ in range(60)]
    for module in modules:
        for kind, changed in changes(module):
            found = lost(module, level(changed))
            assert {kind, "text"} <= found
            noticed |= found
    assert {"constraints", "facts", "likely sizes", "ranges", "results", "names"} <= noticed
    assert "operators" in noticed


def test_a_reshape_is_a_view_of_the_same_memory() -> None:
    module = program("gated_quantize")
    found = memory_of(module.function)
    memory = {module.function.name_of(value): where for value, where in enumerate(found)}
    assert memory["%2"] == memory["%up"] == 1
    assert memory["%14"] == memory["%6"] and memory["%13"] == memory["%12"]
    assert memory["%12"] != memory["%11"]
    reshapes = sum(each.op.kind == "reshape" for each in module.function.equations)
    assert len(set(memory.values())) == len(module.function.types) - reshapes
    assert memory_of(to_buffers(module).function) == memory_of(module.function)
