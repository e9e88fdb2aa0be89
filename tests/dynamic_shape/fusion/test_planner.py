"""Kernels are planned as far as facts allow, and each refusal says what would allow more."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence

import pytest
from cases import Tried
from drawn_modules import drawn_module
from kernel_rows import check_plan
from shape_programs import SMALL, layers, program_of

from mlc_course.dynamic_shape.fusion import (
    LEVELS,
    Kernel,
    Knowledge,
    form,
    levels_picture,
    plan,
)
from mlc_course.dynamic_shape.fusion.flow import Flow
from mlc_course.dynamic_shape.ir import Module, said
from mlc_course.dynamic_shape.programs import NAMES, program
from mlc_course.dynamic_shape.solve import Facts, Solver
from mlc_course.errors import UsageError

EXPECTED = {  # loop and input kernels; with stitch: none, eq, product, frontend, all
    "append_to_cache": ((2, 2, 2, 2, 1), (2, 2, 2, 2, 1)),
    "bias_gelu": ((2, 1, 1, 1, 1), (2, 1, 1, 1, 1)),
    "embedding_layer_norm": ((5, 4, 3, 4, 3), (5, 1, 1, 1, 1)),
    "gated_quantize": ((3, 3, 2, 3, 2), (3, 1, 1, 1, 1)),
    "masked_softmax": ((4, 4, 3, 4, 3), (4, 1, 1, 1, 1)),
    "residual_layer_norm": ((5, 4, 3, 4, 3), (5, 2, 1, 2, 1)),
    "residual_rms_norm": ((3, 3, 2, 3, 2), (3, 2, 1, 2, 1)),
    "rotary_embedding": ((2, 1, 1, 1, 1), (2, 1, 1, 1, 1)),
    "shifted_loss": ((6, 5, 4, 5, 4), (6, 1, 1, 1, 1)),
    "split_heads": ((4, 1, 1, 1, 1), (4, 1, 1, 1, 1)),
}


@pytest.mark.parametrize("name", NAMES)
def test_the_ten_programs_need_ten_kernels_with_all_facts(name: str) -> None:
    plans = [[plan(program(name), level, stitch=on) for level in LEVELS] for on in (False, True)]
    assert tuple(tuple(len(each.kernels) for each in row) for row in plans) == EXPECTED[name]
    for each in (*plans[0], *plans[1]):
        check_plan(each, SMALL[name])


def refusals(name: str, level: str) -> list[str]:
    found = plan(program(name), level)  # type: ignore[arg-type]
    return [said(claim) for refusal in found.refusals for claim in refusal.missing]


def test_a_refusal_names_the_fact_that_is_missing() -> None:
    assert refusals("residual_layer_norm", "eq") == ["B*S == T"]
    assert refusals("residual_rms_norm", "eq") == ["B*S == T"]
    assert refusals("append_to_cache", "product") == ["K == V"]
    assert refusals("append_to_cache", "all") == []


def test_a_merge_names_the_fact_that_allowed_it() -> None:
    found = plan(program("residual_layer_norm"))
    assert [said(fact) for merge in found.merges for fact in merge.facts] == ["B*S == T"]
    assert [said(fact) for kernel in found.kernels for fact in kernel.facts] == ["B*S == T"]


def test_a_fact_that_cannot_be_is_said_to_be_ruled_out() -> None:
    module = program_of(
        "x [N]; y [M]",
        """
        %0 = exp(%x) : [N]
        %1 = exp(%y) : [M]
        """,
        "%0, %1",
        "tie_predicate_lt(N, M)",
    )
    (refusal,) = plan(module).refusals
    assert [said(claim) for claim in refusal.missing] == ["M == N"]
    assert not Knowledge(module).is_possible(refusal.missing)
    assert refusal.side == "beside"


def test_no_kernel_waits_for_a_call_that_waits_for_it() -> None:
    module = program_of(
        "x [N, N]",
        """
        %0 = exp(%x) : [N, N]
        %1 = matmul(%0, %0) : [N, N]
        %2 = add(%0, %1) : [N, N]
        """,
        "%2",
    )
    found = plan(module)
    assert len(found.kernels) == 2 and found.calls == 1
    (refusal,) = found.refusals
    assert refusal.reason == "another kernel or call runs between them"


def test_another_row_of_what_is_reduced_cannot_be_read() -> None:
    module = program_of(
        "x [N, N]",
        """
        %0 = reduce_sum(%x) {axes = [1]} : [N]
        %1 = broadcast(%0) {dims = [1]} : [N, N]
        %2 = add(%x, %1) : [N, N]
        """,
        "%2",
    )
    found = plan(module)
    assert len(found.kernels) == 2
    assert found.refusals[0].reason == "%1 reads other rows of what is reduced"


@pytest.mark.parametrize(
    ("lines", "results", "kernels"),
    [
        ("", "%x", 0),
        ("%0 = constant() {value = 2.0} : [N]", "%0", 1),
        ("%0 = iota() {axis = 0} : [N]\n%1 = exp(%0) : [N]", "%0, %1", 1),
        ("%0 = constant() {value = 2.0} : []\n%1 = mul(%x, %0) : [N, N]", "%1, %1", 1),
        (
            "%0 = constant() {value = 2.0} : [A]\n%1 = reshape(%0) : [N, N]\n"
            "%2 = matmul(%x, %1) : [N, N]",
            "%2",
            1,
        ),
        ("%0 = shape_of(%x) : [2]i64", "%0", 0),
        ("%0 = reshape(%x) : [A]", "%0, %x", 0),
        ("%0 = exp(%x) : [N, N]\n%1 = reshape(%0) : [A]", "%0, %1", 1),
        ("%0 = reduce_sum(%x) {axes = [0, 1]} : []\n%1 = exp(%0) : []", "%1", 1),
        ("%0 = concat(%x, %x) {axis = 0} : [A, N]", "%0", 1),
    ],
)
def test_small_programs_store_what_they_return(lines: str, results: str, kernels: int) -> None:
    module = program_of("x [N, N]", lines, results)
    sizes = {"N": 3, "A": 6 if "concat" in lines else 9}
    for level in LEVELS:
        found = plan(module, level)
        check_plan(found, sizes)
    assert len(found.kernels) == kernels
    levels_picture([found])


def test_levels_are_checked() -> None:
    with pytest.raises(UsageError, match="no level of facts"):
        plan(program("bias_gelu"), "many")  # type: ignore[arg-type]


def with_facts(knowledge: Knowledge, refused: Sequence[object]) -> Knowledge:
    """The same knowledge, and what was missing."""
    more = object.__new__(Knowledge)
    more.__dict__.update(knowledge.__dict__)
    stated = (*knowledge.stated, *refused)
    more.stated = stated  # type: ignore[assignment]
    more.solver = Solver(Facts(knowledge.dims, stated))  # type: ignore[arg-type]
    more._keys, more._holds = {}, {}
    return more


@pytest.mark.fuzz
def test_drawn_programs_are_planned_soundly(full: bool, seed: int, tried: Tried) -> None:
    """Rows are apart at sizes that keep the facts; a missing fact is all that was missing."""
    rng = random.Random(seed)
    forms: Counter[str] = Counter()
    sufficed = 0
    for _ in range(1500 if full else 150):
        module, sizes = drawn_module(rng)
        level = rng.choice(LEVELS)
        stitch = rng.random() < 0.8
        found = plan(module, level, stitch=stitch)
        check_plan(found, sizes)
        forms.update(kernel.form for kernel in found.kernels)
        for refusal in found.refusals:
            knowledge = Knowledge(module, level)
            if refusal.missing and knowledge.is_possible(refusal.missing):
                known = with_facts(knowledge, refusal.missing)
                both = (found.kernels[at].values for at in (refusal.first, refusal.second))
                joined = form(Flow(module.function), sum(both, ()), known, stitch=stitch)
                assert isinstance(joined, Kernel), (refusal, joined)
                sufficed += 1
    tried("programs planned", sum(forms.values()))
    assert min(forms[name] for name in ("loop", "input", "stitch")) > 0 < sufficed


def test_kernels_grow_no_faster_than_operators() -> None:
    """A layer needs its two kernels, however many there are."""
    for count in (1, 7, 60):
        found = plan(layers(count))
        assert len(found.kernels) == count + 1 and found.calls == count
        check_plan(found, {"T": 3, "H": 2})


def reasons(module: Module) -> list[tuple[str, tuple[object, ...]]]:
    return [(refusal.reason, refusal.missing) for refusal in plan(module).refusals]


@pytest.mark.parametrize("stated", ["", "tie_predicate_eq(H, F)", "tie_predicate_lt(H, F)"])
def test_what_runs_between_is_the_reason_whatever_is_known_of_sizes(stated: str) -> None:
    module = program_of(
        "x [T, H]; w [H, F]",
        """
        %0 = exp(%x) : [T, H]
        %1 = matmul(%0, %w) : [T, F]
        %2 = exp(%1) : [T, F]
        """,
        "%2",
        stated,
    )
    assert reasons(module) == [("another kernel or call runs between them", ())]


def test_rows_of_different_widths_are_reduced_beside_each_other() -> None:
    module = program_of(
        "x [R, C]; y [R, D]",
        """
        %0 = reduce_max(%x) {axes = [1]} : [R]
        %1 = reduce_max(%y) {axes = [1]} : [R]
        """,
        "%0, %1",
    )
    found = plan(module)
    assert [kernel.form for kernel in found.kernels] == ["stitch"]
    check_plan(found, {"R": 3, "C": 4, "D": 5})


def test_sums_over_no_axis_are_planned() -> None:
    module = program_of(
        "x [T, H]",
        """
        %0 = reduce_max(%x) {axes = [1]} : [T]
        %1 = reduce_sum(%0) {axes = []} : [T]
        """,
        "%1",
    )
    for level in LEVELS:
        check_plan(plan(module, level), {"T": 3, "H": 4})


def test_an_input_and_a_result_of_one_name_have_sizes_of_their_own() -> None:
    module = program_of(
        "0 [N, K]; y [M, L]",
        """
        %a = exp(%y) : [M, L]
        %b = reduce_sum(%0) {axes = [1]} : [N]
        %c = reduce_sum(%a) {axes = [1]} : [M]
        """,
        "%b, %c",
    )
    found = plan(module, "none")
    assert len(found.kernels) == 2
    check_plan(found, {"N": 2, "K": 3, "M": 4, "L": 5})
