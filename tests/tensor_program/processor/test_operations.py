"""How often blocks run, and the arithmetic that they do."""

from __future__ import annotations

import pytest
from tvm.script import from_source

from mlc_course.errors import UsageError
from mlc_course.tensor_program.ladders import ladder
from mlc_course.tensor_program.problems import (
    linear_relu,
    matmul_exp_matmul,
    rms_norm,
    softmax,
    two_layer_network,
)
from mlc_course.tensor_program.processor.operations import (
    exps,
    flops,
    flops_by_worker,
    most_flops,
    runs,
    stages,
)
from mlc_course.tensor_program.schedule import polynomial_exp, steps
from mlc_course.tensor_program.tir import PrimFunc, Schedule, T, te


@pytest.mark.parametrize(
    "work",
    [softmax(5, 7), matmul_exp_matmul(), linear_relu(4, 5, 6), two_layer_network(4, 5, 6, 7)],
    ids=lambda work: work.name,
)
def test_a_naive_program_does_the_operations_of_its_problem(work: object) -> None:
    assert flops(work.program()) == work.flops  # type: ignore[attr-defined]


def test_full_sizes_take_no_longer() -> None:
    assert runs(matmul_exp_matmul().program())["F"] == 1024 * 1024 * 3072


def test_inits_are_runs_of_their_own() -> None:
    assert runs(rms_norm(3, 5).program()) == {"Sum_init": 3, "Sum": 15, "Scale": 3, "Y": 15}


def test_exp_inside_the_second_product_is_taken_for_every_column() -> None:
    sch = Schedule(matmul_exp_matmul(6, 5, 4, 7).program())
    assert exps(sch) == 6 * 4
    steps.inline(sch, "D")
    assert exps(sch) == 6 * 4 * 7


def blur() -> PrimFunc:
    x = te.placeholder((9,), name="X")
    y = te.compute((9,), lambda i: x[i] * 2.0, name="Y", varargs_names=["i"])
    z = te.compute((8,), lambda i: y[i] + y[i + 1], name="Z", varargs_names=["i"])
    return te.create_prim_func([x, z])


def test_what_two_turns_need_is_computed_twice() -> None:
    sch = Schedule(blur())
    steps.compute_per_iteration(sch, "Y", of="Z", at="i")
    y, z = stages(sch)
    assert (y.block, y.runs, y.elements, y.flops) == ("Y", 16, 9, 16)
    assert y.times == pytest.approx(16 / 9)
    assert z.times == 1


def test_no_rung_of_the_article_computes_anything_twice() -> None:
    for rung in ladder("matmul_exp_matmul")[:8]:
        sch = Schedule(matmul_exp_matmul(32, 32, 32, 32).program())
        rung.apply(sch)
        assert all(stage.times == 1 for stage in stages(sch)), rung.name
        assert exps(sch) == 32 * 32


def test_a_polynomial_is_operations_and_no_exp() -> None:
    sch = Schedule(softmax(3, 5).program())
    polynomial_exp(sch, "Exp")
    assert exps(sch) == 0
    assert flops(sch) > softmax(3, 5).flops + 15 * 10


def test_a_condition_is_counted_as_often_as_it_holds() -> None:
    @T.prim_func(s_tir=True)  # type: ignore[untyped-decorator]
    def odd(X: T.Buffer((10,), "float32")):  # type: ignore[no-untyped-def, valid-type]
        for i in range(10):
            with T.sblock("X"):
                v = T.axis.spatial(10, i)
                T.where(i % 2 == 1)
                X[v] = X[v] + T.float32(1)

    (stage,) = stages(odd)
    assert (stage.runs, stage.elements, stage.times) == (5, 10, 0.5)


def block(statements: str, size: int = 100) -> PrimFunc:
    """A block over ``size`` elements, with these statements as its body."""
    lines = "\n".join(f"            {line}" for line in statements.splitlines())
    source = f"""
@T.prim_func(s_tir=True)
def main(X: T.Buffer(({size},), "float32"), Y: T.Buffer(({size},), "float32")):
    for i in range({size}):
        with T.sblock("Y"):
            v = T.axis.spatial({size}, i)
{lines}
"""
    made: PrimFunc = from_source(source)
    return made


@pytest.mark.parametrize(
    ("body", "flops", "exps"),
    [
        ("Y[v] = X[v] + T.float32(1)", 100, 0),
        ("Y[v] = X[v] + T.float32(1)\nX[v] = Y[v] * T.float32(2)", 200, 0),
        ("for k in range(5):\n    Y[v] = Y[v] + T.exp(X[v])", 1000, 500),
        (
            "if v < 50:\n    Y[v] = X[v] + T.float32(1)\nelse:\n    Y[v] = T.exp(X[v]) * X[v]",
            150,
            50,
        ),
        ("if v < 50:\n    Y[v] = X[v] + T.float32(1)", 50, 0),
        ("x = T.bind(X[v] + T.float32(1))\nY[v] = x * x", 200, 0),
        ("Y[v] = T.if_then_else(v < 10, T.exp(X[v]), X[v])", 10, 10),
        ("Y[v] = T.if_then_else(v < 10, T.exp(X[v]), X[v]) + T.float32(1)", 110, 10),
        (
            "Y[v] = T.if_then_else(v < 10, T.if_then_else(v < 5, T.exp(X[v]), X[v] + X[v]), X[v])",
            10,
            5,
        ),
        ("Y[v] = T.Select(v < 10, T.exp(X[v]), X[v])", 100, 100),  # evaluates both
        ("Y[v] = T.fma(X[v], X[v], X[v])", 200, 0),
        ("Y[v] = T.sqrt(T.max(X[v], T.float32(0)))", 200, 0),
        ("Y[v] = T.Cast('float32', v + 1)", 0, 0),
    ],
)
def test_operations_are_counted_where_they_are_done(body: str, flops: int, exps: int) -> None:
    (stage,) = stages(block(body))
    assert (stage.runs, stage.elements, stage.flops, stage.exps) == (100, 100, flops, exps)


@pytest.mark.parametrize(
    ("body", "most"),
    [
        ("Y[v] = X[v] + T.float32(1)", 100),
        ("if v < 50:\n    Y[v] = X[v] + T.float32(1)", 100),
        (
            "if v < 50:\n    Y[v] = X[v] + T.float32(1)\nelse:\n    Y[v] = T.exp(X[v]) * X[v]",
            300,
        ),
        ("for r in range(7):\n    if r == 3:\n        Y[v] = X[v] + T.float32(1)", 700),
        ("Y[v] = T.if_then_else(v < 10, T.exp(X[v]), X[v]) + T.float32(1)", 200),
    ],
)
def test_every_condition_taken_both_ways(body: str, most: int) -> None:
    assert most_flops(block(body)) == most


@pytest.mark.parametrize(
    ("loop", "condition", "found"),
    [
        ("T.parallel(8)", "i >= 0", (20, 20, 20, 20)),
        ("T.parallel(5)", "i >= 0", (20, 20, 10, 0)),  # 5 tasks on 4 workers are 2, 2, 1, 0
        ("T.parallel(8)", "i == 0", (10, 0, 0, 0)),
        ("range(8)", "i >= 0", (0, 0, 0, 0)),
    ],
)
def test_operations_of_each_worker(loop: str, condition: str, found: tuple[int, ...]) -> None:
    program: PrimFunc = from_source(
        f"""
@T.prim_func(s_tir=True)
def main(X: T.Buffer((8, 10), "float32"), Y: T.Buffer((8, 10), "float32")):
    for i in {loop}:
        for k in range(10):
            if {condition}:
                Y[i, k] = X[i, k] + T.float32(1)
    for k in range(10):
        Y[0, k] = Y[0, k] * T.float32(2)
"""
    )
    assert flops_by_worker(program, 4) == found


ACCESSES = "T.reads(X[v])\nT.writes(Y[v])\n"


@pytest.mark.parametrize(
    ("body", "what"),
    [
        (f"{ACCESSES}T.evaluate(T.call_extern('int32', 'puts', X.data))", "a call whose accesses"),
        (f"{ACCESSES}Y[v] = T.call_extern('float32', 'expf', X[v])", "a call whose accesses"),
        ("Y[v] = T.if_then_else(X[v] < T.float32(0), T.exp(X[v]), X[v])", "depend on its data"),
    ],
)
def test_what_cannot_be_counted_is_refused(body: str, what: str) -> None:
    with pytest.raises(UsageError, match=what):
        stages(block(body))
