"""Races of compiled graphs against NumPy: each is checked, then all are timed in turn."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from mlc_course.errors import UsageError
from mlc_course.measure import FEWEST, Comparison, compare
from mlc_course.tensor_program.problems import Array, relative_error
from mlc_course.tensor_program.tir import MAIN, IRModule, compile_graph, shared_tensor

MOST_ROUNDS = 2000  # a call may take microseconds


def compiled(
    module: IRModule, inputs: Mapping[str, Array], *, threads: int = 1
) -> Callable[[], Any]:
    """Compile a graph, and return it as a call on those of the inputs that are its parameters.

    The call returns TVM's tensor. Raises ``UsageError`` when a parameter has no input.
    """
    wanted = [str(each.name) for each in module[MAIN].params]
    missing = [name for name in wanted if name not in inputs]
    if missing:
        raise UsageError("a parameter without an input", expected=", ".join(wanted), got=missing)
    run = compile_graph(module, threads=threads)
    tensors = [shared_tensor(inputs[name]) for name in wanted]
    return lambda: run(*tensors)


def race_graphs(
    graphs: Mapping[str, IRModule],
    inputs: Mapping[str, Array],
    numpy: Callable[[], Array],
    *,
    threads: int = 1,
    budget_s: float = 1.5,
) -> dict[str, Comparison]:
    """Compile and check each graph, then time all of them and NumPy in turn.

    ``inputs`` are arrays as ``problems.aligned`` makes them, by the names of the parameters.
    Raises ``WrongResult`` when a graph and NumPy disagree.
    """
    calls = {name: compiled(each, inputs, threads=threads) for name, each in graphs.items()}
    expected = numpy()
    for name, call in calls.items():
        relative_error(name, call().numpy(), expected, source="NumPy")
    rounds = (FEWEST, MOST_ROUNDS)
    return compare(calls, ("NumPy", numpy), threads=threads, budget_s=budget_s, rounds=rounds)
