"""Operators of one's own: how they get to other processes, and into the keys of stored results."""

from __future__ import annotations

import contextlib
import hashlib
import pickle
import sys
from collections.abc import Iterable, Iterator
from functools import lru_cache
from pathlib import Path

import cloudpickle
import numpy as np

from mlc_course.deadline import OutOfTime
from mlc_course.errors import Undecided, UsageError
from mlc_course.mugraph.cost import operations
from mlc_course.mugraph.ir import (
    BlockGraph,
    Equation,
    Input,
    KernelGraph,
    Op,
    ThreadGraph,
    ops,
    resolved,
    run,
)
from mlc_course.mugraph.search.loop_nests import expressions
from mlc_course.mugraph.search.value_facts import Refused
from mlc_course.mugraph.verify import screen

AGAIN = 8  # times a meaning is asked the same


def own(program: KernelGraph, more: Iterable[Op] = ()) -> tuple[Op, ...]:
    """Return the operators of a program that are not predefined, and ``more``.

    Raises ``UsageError`` for what is no operator, and where two have one name.
    """
    found: dict[str, Op] = {}
    written = (equation.op for equation in program.equations)
    for op in (*(op for op in written if not isinstance(op, BlockGraph | ThreadGraph)), *more):
        if not isinstance(op, Op) or not op.name.isidentifier():
            raise UsageError("not an operator", expected="an Op with a NAME", got=repr(op))
        known = ops.BY_NAME.get(op.name, found.get(op.name, op))
        if known is not op:
            raise UsageError(
                f"two operators of the name {op.name!r}",
                expected="a name of its own for each",
                got=op.name,
            )
        if op.name not in ops.BY_NAME:
            found[op.name] = op
    return tuple(found.values())


def packed(operators: Iterable[Op]) -> bytes:
    """Return operators as bytes, by value where their module cannot be imported elsewhere.

    Raises ``UsageError`` for an operator that holds something that cannot be sent.
    """
    each = tuple(operators)
    if not each:
        return b""
    try:
        data = bytes(cloudpickle.dumps(each))
        pickle.loads(data)
        return data
    except Exception as error:  # of whatever the operators hold
        names = ", ".join(op.name for op in each)
        raise UsageError(
            f"operators that cannot be sent to other processes: {names}",
            expected="functions of their operands alone",
            got=error,
        ) from None


def alone(op: Op) -> KernelGraph | None:
    """Return a program of one operator that needs nothing but an axis; None where it needs more."""
    if {*op.attributes} - {"axis"} or op.carried:
        return None
    dims = [("a", "b")] * (op.operands or 2)
    if op.shape is ops.product:
        dims = [("a", "b"), ("b", "a")]
    inputs = tuple(Input(f"X{n}", each) for n, each in enumerate(dims))
    given = (("axis", 1),) if op.attributes else ()
    equation = Equation(op, tuple(range(len(inputs))), given, ("Y",))
    sizes = (("a", 4), ("b", 6))
    with _failing(op, "its shape rule"):
        return KernelGraph("alone", inputs, (equation,), (len(inputs),), sizes)


def check_operator(op: Op, program: KernelGraph) -> None:
    """Try an operator in a program of its own: in floats, in residues, in expressions, and counted.

    Raises ``UsageError`` for a meaning that fails, that gives another shape than the shape rule, or
    that gives something else the second time.
    """
    rng = np.random.default_rng(0)
    inputs = {name: rng.standard_normal(shape) for name, shape in program.input_shapes.items()}
    with _failing(op, "its meaning in floats"):
        first, *others = (run(program, inputs)[0] for _ in range(AGAIN))
    if np.shape(first) != program.output_shapes[0]:
        raise UsageError(
            f"operator {op.name}: its meaning and its shape rule differ",
            expected=program.output_shapes[0],
            got=np.shape(first),
        )
    if not all(np.array_equal(first, other, equal_nan=True) for other in others):
        raise UsageError(
            f"operator {op.name}: no function of its operands",
            expected="the same result for the same operands",
            got="another one another time",
        )
    equation = program.equations[0]
    shapes = [program.shapes[n] for n in equation.operands]
    with _failing(op, "its meaning, counted"):
        operations(op, shapes, resolved(equation, program.size_of))
    with _failing(op, "its meaning in abstract expressions"), contextlib.suppress(Refused):
        expressions(program)
    with _failing(op, "its meaning in residues"), contextlib.suppress(Undecided):
        screen(program, program, error=0.5, seed=0)


@contextlib.contextmanager
def _failing(op: Op, what: str) -> Iterator[None]:
    try:
        yield
    except (Undecided, OutOfTime):
        raise
    except (Exception, SystemExit) as error:
        raise UsageError(
            f"operator {op.name}: {what} fails",
            expected="operations of ``Arithmetic`` alone, on operands of any size",
            got=f"{type(error).__name__}: {error}",
        ) from error


@lru_cache(maxsize=64)
def unpacked(data: bytes) -> tuple[Op, ...]:
    """Return the operators again."""
    found: tuple[Op, ...] = pickle.loads(data) if data else ()
    return found


def digest(data: bytes) -> str:
    """Hash packed operators, and the files of the modules that their functions are from."""
    found = hashlib.sha256(data)
    for op in unpacked(data):
        module = sys.modules.get(op.meaning.__module__)
        path = getattr(module, "__file__", None)
        if path:
            found.update(Path(path).read_bytes())
    return found.hexdigest()
