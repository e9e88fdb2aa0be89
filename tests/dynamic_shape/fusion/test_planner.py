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


ALIGNED = {  # inputs, lines, results, what is stated; sizes
    "a row's sum at another rank, and back over what was summed": (
        "x [T, H]",
        """
        %0 = reduce_sum(%x) {axes = [1]} : [T]
        %1 = reshape(%0) : [B, S]
        %2 = broadcast(%1) {dims = [0, 1]} : [B, S, H]
        """,
        "%2",
        "",
        {"T": 6, "H": 5, "B": 2, "S": 3},
    ),
    "a second sum, at another rank": (
        "x [T, H]; y [B, S, H]",
        """
        %0 = reduce_sum(%x) {axes = [1]} : [T]
        %1 = reshape(%0) : [B, S]
        %2 = broadcast(%1) {dims = [0, 1]} : [B, S, H]
        %3 = add(%2, %y) : [B, S, H]
        %4 = reduce_max(%3) {axes = [2]} : [B, S]
        %5 = broadcast(%4) {dims = [0, 1]} : [B, S, H]
        %6 = sub(%3, %5) : [B, S, H]
        """,
        "%6",
        "",
        {"T": 6, "H": 5, "B": 2, "S": 3},
    ),
    "a batch of size 1": (
        "x [1, S, H]",
        """
        %0 = reduce_sum(%x) {axes = [2]} : [1, S]
        %1 = broadcast(%0) {dims = [0, 1]} : [1, S, H]
        %2 = sub(%x, %1) : [1, S, H]
        """,
        "%2",
        "",
        {"S": 3, "H": 5},
    ),
    "a batch of size 1 that is left out and comes back": (
        "x [1, S, H]",
        """
        %0 = reduce_sum(%x) {axes = [2]} : [1, S]
        %1 = reshape(%0) : [S]
        %2 = broadcast(%1) {dims = [1]} : [1, S, H]
        %3 = reshape(%x) : [S, 1, H]
        %4 = reduce_max(%3) {axes = [2]} : [S, 1]
        %5 = broadcast(%4) {dims = [0, 1]} : [S, 1, H]
        %6 = transpose(%5) {perm = [1, 0, 2]} : [1, S, H]
        %7 = add(%2, %6) : [1, S, H]
        """,
        "%7",
        "",
        {"S": 3, "H": 5},
    ),
    "axes of rows that are cut and joined, by nothing": (
        "x [T, S, H]",
        """
        %0 = reduce_sum(%x) {axes = [2]} : [T, S]
        %1 = slice(%0) {axis = 0, start = 0, drop = 0} : [T, S]
        %2 = concat(%1) {axis = 1} : [T, S]
        %3 = pad(%2) {axis = 1, low = 0, high = 0, value = 7} : [T, S]
        %4 = broadcast(%3) {dims = [0, 1]} : [T, S, H]
        %5 = concat(%x, %4) {axis = 2} : [T, S, D]
        """,
        "%5",
        "",
        {"T": 2, "S": 3, "H": 5, "D": 10},
    ),
    "a batch that is known to have size 1": (
        "x [B, S, H]",
        """
        %0 = reduce_sum(%x) {axes = [2]} : [B, S]
        %1 = reshape(%0) : [S]
        %2 = broadcast(%1) {dims = [1]} : [B, S, H]
        """,
        "%2",
        "tie_predicate_eq(B, 1)",
        {"B": 1, "S": 3, "H": 5},
    ),
}


@pytest.mark.parametrize("name", ALIGNED)
def test_rows_are_followed_through_other_ranks_and_axes_of_size_1(name: str) -> None:
    *given, sizes = ALIGNED[name]
    found = plan(program_of(*given))  # type: ignore[arg-type]
    check_plan(found, sizes)  # type: ignore[arg-type]
    assert [kernel.form for kernel in found.kernels] == ["stitch"]


@pytest.mark.parametrize(
    "line",
    [
        "broadcast(%0) {dims = [0, 1]} : [N, N, N]",  # an axis of size 1 is repeated
        "broadcast(%0) {dims = [0, 2]} : [1, N, N]",  # a row's sum for each column
        "broadcast(%0) {dims = [0, 2]} : [N, 1, N]",  # and both
    ],
)
def test_an_axis_of_size_1_that_is_repeated_counts_no_rows(line: str) -> None:
    lines = f"%0 = reduce_sum(%x) {{axes = [2]}} : [1, N]\n%1 = {line}"
    found = plan(program_of("x [1, N, N]", lines, "%1"))
    check_plan(found, {"N": 3})
    assert len(found.kernels) == 2


def test_what_a_reshape_of_sums_lacks_is_that_it_counts_rows() -> None:
    module = program_of(
        "x [T, H]; y [B, S, H]",
        """
        %0 = reduce_sum(%x) {axes = [1]} : [T]
        %1 = reshape(%0) : [B, S]
        %2 = broadcast(%1) {dims = [0, 1]} : [B, S, H]
        %3 = add(%2, %y) : [B, S, H]
        """,
        "%3",
    )
    missing = [list(map(said, refusal.missing)) for refusal in plan(module, "eq").refusals]
    assert missing == [["B*S == T"]]


def test_two_equal_chains_share_their_kernels_however_they_are_written() -> None:
    """Neither chain's first kernel is merged with its second one, but with the other's first."""
    chain = """
        %{0}0 = exp(%{0}) : [T, {1}]
        %{0}1 = matmul(%{0}0, %{0}w) : [T, {1}]
        %{0}2 = neg(%{0}1) : [T, {1}]
        %{0}3 = matmul(%{0}2, %{0}w) : [T, {1}]
        %{0}4 = abs(%{0}3) : [T, {1}]
    """
    summed = """
        %{0}s = reduce_sum(%{0}) {{axes = [1]}} : [T]
        %{0}b = broadcast(%{0}s) {{dims = [0]}} : [T, {1}]
        %{0}0 = add(%{0}, %{0}b) : [T, {1}]
    """
    sums = chain.replace("%{0}0 = exp(%{0}) : [T, {1}]", summed)
    for lines in (chain, sums):
        counts = []
        for stated in ("", "tie_predicate_eq(H, F)"):
            module = program_of(
                "a [T, H]; aw [H, H]; b [T, F]; bw [F, F]",
                lines.format("a", "H") + lines.format("b", "F"),
                "%a4, %b4",
                stated,
            )
            found = plan(module)
            check_plan(found, {"T": 2, "H": 3, "F": 3})
            counts.append(len(found.kernels))
        assert counts[1] == 3 <= counts[0]


def test_sums_of_rows_and_of_columns_wait_for_those_of_their_kind() -> None:
    """Sums of rows and of columns are of equal sizes here, and take turns."""
    names = "abcdef"
    module = program_of(
        "; ".join(f"{name} [N, N]" for name in names),
        "\n".join(
            f"%{name}0 = reduce_sum(%{name}) {{axes = [{at % 2}]}} : [N]"
            for at, name in enumerate(names)
        ),
        ", ".join(f"%{name}0" for name in names),
    )
    found = plan(module)
    check_plan(found, {"N": 3})
    assert [kernel.form for kernel in found.kernels] == ["input", "input"]


@pytest.mark.parametrize("stated", ["", "tie_predicate_product_eq([T, H], [B, S, H])"])
def test_a_fact_that_is_stated_too_is_still_asserted(stated: str) -> None:
    lines = "%0 = reshape(%x) : [B, S, H]\n%1 = exp(%0) : [B, S, H]\n%2 = exp(%x) : [T, H]"
    module = program_of("x [T, H]", lines, "%1, %2", stated)
    assert len(plan(module, "product").kernels) == 1
    equal = program_of(
        "x [N]; y [M]",
        "%0 = add(%x, %y) : [N]\n%1 = exp(%x) : [N]\n%2 = exp(%y) : [M]",
        "%0, %1, %2",
        stated and "tie_predicate_eq(M, N)",
    )
    assert [len(plan(equal, level).kernels) for level in LEVELS] == [3, 1, 1, 1, 1]


def test_a_kernel_needs_no_fact_that_says_nothing() -> None:
    module = program_of(
        "x [1, T, H, 6]",
        """
        %0 = exp(%x) : [1, T, H, 6]
        %1 = reduce_sum(%0) {axes = [3]} : [1, T, H]
        %2 = reshape(%0) : [T, H, 2, 3]
        %3 = neg(%2) : [T, H, 2, 3]
        %4 = reduce_sum(%3) {axes = [2, 3]} : [T, H]
        """,
        "%0, %1, %3, %4",
    )
    found = plan(module)
    check_plan(found, {"T": 2, "H": 3})
    assert [kernel.facts for kernel in found.kernels] == [()]


def test_a_kernel_names_that_its_sums_are_its_rows() -> None:
    module = program_of(
        "x [S, H]",
        """
        %0 = reduce_sum(%x) {axes = [1]} : [T]
        %1 = broadcast(%0) {dims = [0]} : [T, H]
        """,
        "%1",
    )
    (kernel,) = plan(module).kernels
    assert (kernel.rows, list(map(said, kernel.facts))) == (("S",), ["S == T"])
