"""Operators of one's own: how they get to other processes, and into the keys of stored results."""

from __future__ import annotations

import hashlib
import pickle
import sys
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path

import cloudpickle

from mlc_course.errors import UsageError
from mlc_course.mugraph.ir import BlockGraph, KernelGraph, Op, ThreadGraph, ops


def own(program: KernelGraph, more: Iterable[Op] = ()) -> tuple[Op, ...]:
    """Return the operators of a program that are not predefined, and ``more``.

    Raises ``UsageError`` where two have one name.
    """
    found: dict[str, Op] = {}
    written = (equation.op for equation in program.equations)
    for op in (*(op for op in written if not isinstance(op, BlockGraph | ThreadGraph)), *more):
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
        return bytes(cloudpickle.dumps(each))
    except (pickle.PicklingError, TypeError) as error:
        names = ", ".join(op.name for op in each)
        raise UsageError(
            f"operators that cannot be sent to other processes: {names}",
            expected="functions of their operands alone",
            got=error,
        ) from None


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
