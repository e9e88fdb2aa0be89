"""No graph that is known to be right has a value that the search prunes."""

from __future__ import annotations

import pytest
from small_graphs import FILES, saved_graphs, saved_program

from mlc_course.mugraph.enumeration.pruning_audit import audit
from mlc_course.mugraph.expressions import Expressions, Goal
from mlc_course.mugraph.ir import KernelGraph, parse
from mlc_course.mugraph.programs import NAMES, PROGRAM_OF, published, workload
from mlc_course.mugraph.search import NO_PART, NOT_RESCALED
from mlc_course.mugraph.verify import verify


def refused(graph: KernelGraph, program: KernelGraph, *, whole_sums: bool = False) -> list[str]:
    return [each.reason for each in audit(graph, program, whole_sums=whole_sums) if each.reason]


@pytest.mark.parametrize("name", PROGRAM_OF)
def test_no_value_of_a_published_graph_is_pruned(name: str) -> None:
    values = audit(published(name), workload(PROGRAM_OF[name]))
    assert not [each for each in values if each.reason]
    assert len(values) > 5


@pytest.mark.parametrize("name", NAMES)
def test_no_value_of_a_program_itself_is_pruned(name: str) -> None:
    assert not refused(workload(name), workload(name))
    assert not refused(workload(name), workload(name), whole_sums=True)


@pytest.mark.parametrize("file", FILES)
def test_no_value_of_a_graph_that_mirage_saved_is_pruned(file: str) -> None:
    for graph in dict.fromkeys(saved_graphs(file)):
        assert not refused(graph, saved_program(file))


FACTORED = """
lora_factored(X[b=16, d=256], W[d, n=4096], A[d, r=16], B[r, n]):
  low = matmul(A, B)
  both = add(W, low)
  Y = matmul(X, both)
  return Y
"""
SHIFTED = """
shifted(X[b=16, d=256], Y[b, d]):
  both = add(X, Y)
  E = exp(both)
  return E
"""
SHIFTED_APART = """
shifted_apart(X[b=16, d=256], Y[b, d]):
  block grid(x=16):
    x = load(X, imap={x: 0})
    y = load(Y, imap={x: 0})
    p = exp(x)
    q = exp(y)
    e = mul(p, q)
    E = store(e, omap={x: 0})
  return E
"""
SQUARED = """
squared(X[b=16, d=256]):
  e = exp(X)
  E = square(e)
  return E
"""
DIVIDED = """
divided(X[b=16, d=256], Y[b, d], Z[b, d]):
  p = div(X, Y)
  E = div(p, Z)
  return E
"""
DIVIDED_ONCE = DIVIDED.replace("divided", "divided_once").replace(
    "p = div(X, Y)\n  E = div(p, Z)", "p = mul(Y, Z)\n  E = div(X, p)"
)


def test_an_exponential_that_is_squared_is_a_part() -> None:
    assert not refused(parse(SQUARED), parse(SQUARED))


def test_without_the_law_of_distribution_a_graph_is_lost() -> None:
    graph = parse(FACTORED)
    assert verify(workload("lora"), graph, seed=0).equal
    assert not refused(graph, workload("lora"))
    assert refused(graph, workload("lora"), whole_sums=True)


@pytest.mark.parametrize(
    ("left_out", "program", "graph"),
    [("exp", SHIFTED, SHIFTED_APART), ("inverse", DIVIDED, DIVIDED_ONCE)],
)
def test_without_an_axiom_a_graph_is_lost(
    left_out: str, program: str, graph: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert verify(parse(program), parse(graph), seed=0).equal
    assert not refused(parse(graph), parse(program))
    merge = Expressions._merge

    def without(self: Expressions, powers: dict[int, int], name: str, *rest: object) -> None:
        if name != left_out:
            merge(self, powers, name, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(Expressions, "_merge", without)
    monkeypatch.setattr(Goal, "_rest", lambda self, whole, part: None)
    assert refused(parse(graph), parse(program))


@pytest.mark.parametrize(
    ("name", "old", "new", "reason"),
    [
        ("rms_norm_matmul_fused", "squares = square(x)", "squares = square(xg)", NO_PART),
        ("gated_mlp_fused", "opened = silu(gate)", "opened = silu(up)", NO_PART),
        (
            "online_softmax_attention",
            "total = accumulate_rescaled(sums, so_far)",
            "total = accumulate(sums)",
            NOT_RESCALED,
        ),
        (
            "attention_split_kv",
            "weighed_out = mul(out, weight)",
            "weighed_out = mul(out, out)",
            NO_PART,
        ),
    ],
)
def test_a_value_of_a_wrong_graph_is_pruned(name: str, old: str, new: str, reason: str) -> None:
    text = str(published(name))
    assert old in text
    (why,) = refused(parse(text.replace(old, new, 1)), workload(PROGRAM_OF[name]))
    assert why.startswith(reason)
