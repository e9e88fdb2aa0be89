"""The search finds what is known and more, proves it, and tells the same whoever does the work."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Sequence
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import replace
from functools import lru_cache
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import pytest
from small_graphs import SOFT_CAP, normal_inputs, relative_error

from mlc_course.errors import CourseError, GraphError, UsageError
from mlc_course.mugraph.cost import A100, cost
from mlc_course.mugraph.ir import (
    BlockGraph,
    Equation,
    KernelGraph,
    Op,
    ThreadGraph,
    ops,
    parse,
    run,
)
from mlc_course.mugraph.programs import NAMES, published, workload
from mlc_course.mugraph.search import superoptimizer as module
from mlc_course.mugraph.search.own_operators import packed
from mlc_course.mugraph.search.result_store import Store, key
from mlc_course.mugraph.search.superoptimizer import (
    Ended,
    Event,
    Found,
    Pruned,
    Started,
    Tried,
    superoptimize,
)
from mlc_course.mugraph.search.task import REFUTED, Outcome, Task, explore

pytestmark = pytest.mark.slow

SEVEN = [name for name in NAMES if name != "attention"]
SMALL = "lora"  # a search of less than a second


@lru_cache
def events(name: str) -> list[Event]:
    return list(superoptimize(workload(name)))


def found(name: str) -> list[Found]:
    return [each for each in events(name) if isinstance(each, Found)]


def operators(equations: Sequence[Equation]) -> list[Op]:
    """All of them, those inside block and thread graphs too."""
    every: list[Op] = []
    for equation in equations:
        if isinstance(equation.op, BlockGraph | ThreadGraph):
            every += operators(equation.op.equations)
        else:
            every.append(equation.op)
    return every


@pytest.mark.parametrize("name", SEVEN)
def test_graphs_are_found_verified_and_cheaper_than_the_program(name: str) -> None:
    graphs = found(name)
    assert all(each.verdict.equal and each.verdict.error_bound <= 1e-9 for each in graphs)
    assert all(cost(each.graph, A100).total == pytest.approx(each.cost.total) for each in graphs)
    assert min(each.cost.total for each in graphs) < cost(workload(name), A100).total
    assert len({str(each.graph) for each in graphs}) == len(graphs)
    for each in graphs:
        for place, _ in each.graph.blocks:
            assert each.graph.tiles(place).shared_bytes(A100.itemsize) <= A100.shared_bytes


@pytest.mark.parametrize("name", SEVEN)
def test_every_graph_computes_the_program_at_full_shape(name: str) -> None:
    program = workload(name)
    inputs = normal_inputs(program)
    expected = run(program, inputs)
    for each in found(name):
        for got, wanted in zip(run(each.graph, inputs), expected, strict=True):
            assert relative_error(got, wanted) < 1e-12, str(each.graph)


def test_stable_attention_becomes_online_softmax() -> None:
    """One kernel, one loop over keys, sums that are rescaled to the largest score so far."""
    known = {op.name for op in operators(published("online_softmax_attention").equations)}
    loops = [each for each in found("stable_attention") if each.how == "loop over n"]
    assert any({op.name for op in operators(each.graph.equations)} == known for each in loops)


def test_stable_attention_becomes_flash_decoding() -> None:
    """Two kernels: the parts of the keys have largest scores of their own."""
    graphs = [each for each in found("stable_attention") if each.how == "loop over n, n in parts"]
    for each in graphs:
        assert len(list(each.graph.blocks)) == 2
        second = each.graph.equations[1].op
        assert isinstance(second, BlockGraph)
        assert {"running_max", "accumulate_rescaled"} <= {
            op.name for op in operators(second.equations)
        }
    assert graphs


def test_gqa_is_split_over_two_kernels() -> None:
    split = [each.graph for each in found("gqa") if "n in parts" in each.how]
    names = {"matmul", "exp", "sum", "accumulate", "div"}
    assert any({op.name for op in operators(graph.equations)} == names for graph in split)


def test_lora_in_one_product_of_tiles_beside_each_other() -> None:
    wanted = sorted(op.name for op in operators(published("lora_fused").equations))
    assert any(
        sorted(op.name for op in operators(e.graph.equations)) == wanted for e in found("lora")
    )


def test_the_stream_starts_with_the_work_and_ends_with_the_sum() -> None:
    *middle, last = events(SMALL)
    tried = [each for each in middle if isinstance(each, Tried)]
    *_, started = (each for each in middle if isinstance(each, Started))
    assert isinstance(middle[0], Started)
    assert started == Started(len(tried))
    assert last == Ended(len(found(SMALL)))
    for each in tried:
        pruned = sum(
            p.count
            for p in middle
            if isinstance(p, Pruned) and (p.part, p.nests) == (each.part, each.nests)
        )
        assert pruned + each.values >= each.candidates >= each.values > 0


def test_a_graph_comes_early_and_a_better_one_later() -> None:
    """Segments first: there is an answer before any bank of the whole program is grown."""
    stream = events("stable_attention")
    whole = next(
        n for n, e in enumerate(stream) if isinstance(e, Tried) and e.part == "stable_attention"
    )
    costs = [float(e.cost.total) for e in stream[:whole] if isinstance(e, Found)]
    assert costs == sorted(costs, reverse=True)
    assert len(costs) > 1
    assert min(e.cost.total for e in found("stable_attention")) < costs[-1]


@pytest.mark.parametrize("name", SEVEN)
def test_a_graph_uses_each_name_once(name: str) -> None:
    for each in found(name):
        used = list(each.graph.names)
        for _, block in each.graph.blocks:
            used += block.names
            threads = (e.op for e in block.equations if isinstance(e.op, ThreadGraph))
            used += [name for op in threads for e in op.equations[:-1] for name in e.names]
        assert len(used) == len(set(used)), str(each.graph)
        assert parse(str(each.graph)) == each.graph


def test_a_seed_repeats_a_search() -> None:
    assert list(superoptimize(workload(SMALL))) == events(SMALL)
    other = list(superoptimize(workload(SMALL), seed=1))
    assert {str(e.graph) for e in other if isinstance(e, Found)} == {
        str(e.graph) for e in found(SMALL)
    }


@pytest.mark.parametrize(
    "executor",
    [
        lambda: ThreadPoolExecutor(2),
        lambda: ProcessPoolExecutor(2, get_context("spawn")),
    ],
)
def test_any_executor_tells_the_same(executor: Any) -> None:
    with executor() as pool:
        assert list(superoptimize(workload(SMALL), executor=pool)) == events(SMALL)


def test_a_cluster_tells_the_same() -> None:
    distributed = pytest.importorskip("distributed")
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        found = list(superoptimize(workload(SMALL), executor=client.get_executor()))
    assert found == events(SMALL)


class Late(Executor):
    """Work that is never done."""

    def __init__(self) -> None:
        self.futures: list[Future[Any]] = []

    def submit(self, *_: Any, **__: Any) -> Future[Any]:
        self.futures.append(Future())
        return self.futures[-1]


def test_a_time_limit_ends_the_search_and_says_so() -> None:
    pool = Late()
    first, last = superoptimize(workload(SMALL), time_limit=3, executor=pool)
    assert isinstance(first, Started)
    assert isinstance(last, Ended)
    assert last.cut == ("out of time after 0 tasks",)
    assert last.closest == "out of time"
    assert all(each.cancelled() for each in pool.futures)


def test_without_time_a_bank_stops_where_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    task = Task(str(workload("gated_mlp")), (("d",),), A100, deadline=0.0)
    outcome = explore(task)
    assert outcome.cut[0].startswith("out of time")
    assert not outcome.found


class Counted(Store):
    """A store that says what it was asked for in vain."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.missing: list[Task] = []

    def load(self, task: Task) -> Outcome | None:
        known = super().load(task)
        if known is None:
            self.missing.append(task)
        return known


def test_a_search_that_was_stopped_goes_on(tmp_path: Path) -> None:
    stopped = superoptimize(workload(SMALL), store=Store(tmp_path))
    seen = 0
    for event in stopped:
        seen += isinstance(event, Tried)
        if seen == 3:
            break
    stopped.close()  # type: ignore[attr-defined]
    store = Counted(tmp_path)
    assert list(superoptimize(workload(SMALL), store=store)) == events(SMALL)
    tasks = sum(isinstance(each, Tried) for each in events(SMALL))
    assert len(store.missing) <= tasks - 3
    again = Counted(tmp_path)
    assert list(superoptimize(workload(SMALL), store=again)) == events(SMALL)
    assert not again.missing


def test_results_of_another_task_are_not_used(tmp_path: Path) -> None:
    task = Task(str(workload(SMALL)), (), A100)
    store = Store(tmp_path)
    store.save(task, Outcome(values=7))
    assert store.load(replace(task, deadline=3.0)) == Outcome(values=7)
    for other in (
        replace(task, seed=1),
        replace(task, max_ops=5),
        replace(task, target=replace(A100, shared_bytes=4096)),
        replace(task, program=str(workload("gqa"))),
        replace(task, operators=packed([SOFT_CAP])),
    ):
        assert key(other) != key(task)
        assert store.load(other) is None


def stored(folder: Path) -> list[Path]:
    """The results of a search, one file each."""
    list(superoptimize(workload(SMALL), store=Store(folder)))
    return sorted(folder.rglob("*.json"))


def torn(text: str) -> str:
    return text[:-9]


def emptied(_: str) -> str:
    return "{}"


def nested(_: str) -> str:
    return "[" * 100_000


def of_wrong_types(text: str) -> str:
    return text.replace('"values": ', '"values": "many", "more": ', 1)


def with_a_graph_of_another_grid(text: str) -> str:
    return text.replace("grid(", "grid(w=3, ")


def with_a_size_too_long(text: str) -> str:
    return text.replace("[b=", "[b=" + "7" * 5000)


def with_two_lines_for_a_nest(text: str) -> str:
    return re.sub(r'"nest": "', r'"nest": "a\\n', text)


def of_another_program(text: str) -> str:
    return text.replace("X[b=16", "Z[b=16").replace("(X", "(Z")


def with_inputs_in_another_order(text: str) -> str:
    return text.replace(
        "lora_fused(X[b=16, d=256], W[d, n=4096]", "lora_fused(W[d, n=4096], X[b=16, d=256]"
    )


@pytest.mark.parametrize(
    "change",
    [
        torn,
        emptied,
        nested,
        of_wrong_types,
        with_a_graph_of_another_grid,
        with_a_size_too_long,
        with_two_lines_for_a_nest,
        with_inputs_in_another_order,
    ],
)
def test_a_file_that_is_no_result_is_refused_before_the_search(
    change: Callable[[str], str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for path in stored(tmp_path):
        path.write_text(change(path.read_text()))
    monkeypatch.setattr(module, "explore", None)
    with pytest.raises(UsageError, match="not a result of a search"):
        next(superoptimize(workload(SMALL), store=Store(tmp_path)))


def test_a_store_that_is_no_folder_is_refused_before_the_search(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for path in (tmp_path / "file", tmp_path / "file" / "below"):
        with pytest.raises(UsageError, match="store"):
            next(superoptimize(workload(SMALL), store=Store(path)))


def test_a_stored_graph_is_verified_again(tmp_path: Path) -> None:
    for path in stored(tmp_path):
        plain = json.loads(path.read_text())
        for each in plain["found"]:
            each["text"] = each["text"].replace("= add(", "= mul(")
        path.write_text(json.dumps(plain))
    again = list(superoptimize(workload(SMALL), store=Store(tmp_path)))
    assert not any("= mul(" in str(each.graph) for each in again if isinstance(each, Found))
    assert any(each.reason == REFUTED for each in again if isinstance(each, Pruned))


def test_a_stored_graph_with_another_grid_has_its_own_cost(tmp_path: Path) -> None:
    for path in stored(tmp_path):
        path.write_text(re.sub(r"grid\(x=\d+", "grid(x=1", path.read_text()))
    before = cost(workload(SMALL), A100).total
    for each in superoptimize(workload(SMALL), store=Store(tmp_path)):
        if isinstance(each, Found):
            assert each.cost.total == pytest.approx(cost(each.graph, A100).total)
            assert each.cost.total < before


def test_a_stored_graph_of_another_program_is_refused(tmp_path: Path) -> None:
    for path in stored(tmp_path):
        path.write_text(of_another_program(path.read_text()))
    with pytest.raises(UsageError, match="the result of another program"):
        list(superoptimize(workload(SMALL), store=Store(tmp_path)))


def test_fewer_operators_than_a_graph_needs_find_nothing_and_say_what_came_closest() -> None:
    *_, last = superoptimize(workload("gated_mlp"), max_ops=3)
    assert isinstance(last, Ended)
    assert last.found == 0
    assert last.closest == "no loop: it has gate, opened, up; not Y"
    reasons = {
        e.reason for e in superoptimize(workload("gated_mlp"), max_ops=3) if isinstance(e, Pruned)
    }
    assert "more operators than the limit" in reasons


def test_less_shared_memory_than_a_graph_needs_is_said_so() -> None:
    tiny = replace(A100, name="tiny", shared_bytes=6)
    *_, last = superoptimize(workload("gated_mlp"), tiny)
    assert isinstance(last, Ended)
    assert last.found == 0
    assert "bytes of shared memory, tiny has 6" in last.closest


@pytest.mark.parametrize("most", [6, 7])
def test_no_graph_has_more_operators_than_the_limit(most: int) -> None:
    graphs = [e for e in superoptimize(workload("gated_mlp"), max_ops=most) if isinstance(e, Found)]
    assert graphs
    assert all(len(operators(each.graph.equations)) <= most for each in graphs)


def broken(m: Any, x: Any) -> Any:
    return m.cosine(x)


SMALL_PROGRAM = "p(X[b=4, d=8]):\n  Y = exp(X)\n  return Y"


def program_of(op: Op) -> KernelGraph:
    known = parse(SMALL_PROGRAM)
    return replace(known, equations=(replace(known.equations[0], op=op),))


@pytest.mark.parametrize(
    ("program", "options", "error", "words"),
    [
        (published("lora_fused"), {}, GraphError, "a graph already"),
        (parse("p(X[b=7, d=13]):\n  Y = exp(X)\n  return Y"), {}, UsageError, "cut into tiles"),
        (parse("p(X[b=4, d=8]):\n  return X"), {}, GraphError, "nothing to fuse"),
        (
            parse("p(X[b=4, d=8]):\n  Y = reshape(X, shape=[d, b])\n  return Y"),
            {},
            GraphError,
            "nothing to fuse",
        ),
        (parse("p(X[b=4, d=8]):\n  Y = sub(X, X)\n  return Y"), {}, GraphError, "cancels"),
        (
            program_of(replace(ops.exp, name="cosine", meaning=broken)),
            {},
            UsageError,
            "its meaning in floats fails",
        ),
        (workload(SMALL), {"max_ops": 0}, UsageError, "max_ops"),
        (workload(SMALL), {"time_limit": 0}, UsageError, "time_limit"),
        (workload(SMALL), {"time_limit": math.inf}, UsageError, "time_limit"),
        (workload(SMALL), {"memory": 7}, UsageError, "memory"),
        (workload(SMALL), {"error": 2.0}, UsageError, "error"),
        (workload(SMALL), {"max_ops": math.nan}, UsageError, "max_ops"),
        (workload(SMALL), {"operators": ["exp"]}, UsageError, "not an operator"),
        (workload("gated_mlp").resized({"b": 2**30}), {}, UsageError, "too large to plan for"),
        (
            workload(SMALL),
            {"target": replace(A100, shared_bytes=2)},
            UsageError,
            "no block fits into 2 bytes",
        ),
    ],
)
def test_bad_input_is_refused_before_the_search(
    program: KernelGraph,
    options: dict[str, Any],
    error: type[CourseError],
    words: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "explore", None)
    with pytest.raises(error, match=words):
        next(superoptimize(program, **options))


OTHERS = {
    "exp_of_exp(X[b=16, d=64]):": ["E = exp(X)", "F = exp(E)", "return F"],
    "one_dimension_twice(X[n=16, n]):": ["E = exp(X)", "F = mul(E, X)", "return F"],
    "two_results(X[b=16, d=64], W[d, n=32]):": [
        "P = matmul(X, W)",
        "S = sum(X, axis=1)",
        "E = exp(P)",
        "return E, S",
    ],
    "centered(X[b=16, d=256], W[d, n=512]):": [
        "s = sum(X, axis=1)",
        "m = scale(s, by=1/d)",
        "c = sub(X, m)",
        "Y = matmul(c, W)",
        "return Y",
    ],
    "linear_attention(Q[m=4096, d=16], K[d, n=4096], V[n, v=16]):": [
        "S = matmul(Q, K)",
        "O = matmul(S, V)",
        "return O",
    ],
    "mean_of_logs(X[b=16, d=256]):": [
        "e = exp(X)",
        "t = sum(e, axis=1)",
        "l = log(t)",
        "c = sub(X, l)",
        "Y = silu(c)",
        "return Y",
    ],
}


@pytest.mark.parametrize("head", OTHERS)
def test_other_programs_become_one_kernel(head: str) -> None:
    program = parse("\n  ".join([head, *OTHERS[head]]))
    graphs = [each for each in superoptimize(program) if isinstance(each, Found)]
    assert any(len(each.graph.equations) == 1 for each in graphs)
    inputs = normal_inputs(program)
    for each in graphs:
        results = run(each.graph, inputs)
        for place, wanted in enumerate(run(program, inputs)):
            assert relative_error(results[each.verdict.outputs[place]], wanted) < 1e-12


SQUARE = """
gated(X[8, 64], W1[64, 64], W2[64, 64]):
  gate = matmul(X, W1)
  opened = silu(gate)
  up = matmul(X, W2)
  Y = mul(opened, up)
  return Y
"""


def test_dimensions_of_one_name_that_do_not_meet_are_cut_apart() -> None:
    """The rows of a square matrix go through the loop, its columns over the grid."""
    ways = {each.how for each in superoptimize(parse(SQUARE)) if isinstance(each, Found)}
    assert "loop over 64" in ways


RESHAPED = """
heads(X[b=16, d=64], W[d, n=128]):
  S = square(X)
  Z = mul(X, S)
  P = matmul(Z, W)
  R = reshape(P, shape=[2*b, n/2])
  E = exp(R)
  F = mul(E, R)
  return F
"""


BESIDE = """
beside(X[b=16, d=64], Y[b, r=32], W[k=96, n=128]):
  S = square(X)
  Z = mul(X, S)
  R = concat(Z, Y, axis=1)
  E = exp(R)
  P = matmul(E, W)
  return P
"""


@pytest.mark.parametrize(("text", "op"), [(RESHAPED, ops.reshape), (BESIDE, ops.concat)])
def test_what_a_block_cannot_hold_stays_a_kernel_between_fused_ones(text: str, op: Op) -> None:
    program = parse(text)
    graphs = [each for each in superoptimize(program) if isinstance(each, Found)]
    assert graphs
    for each in graphs:
        before, between, after = (equation.op for equation in each.graph.equations)
        assert isinstance(before, BlockGraph)
        assert between is op
        assert isinstance(after, BlockGraph)
