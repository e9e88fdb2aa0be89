"""What a search refuses before it starts: programs and limits with which nothing can be found."""

from __future__ import annotations

import math

from mlc_course.errors import CourseError, GraphError, UsageError
from mlc_course.mugraph.ir import BlockGraph, ThreadGraph
from mlc_course.mugraph.kernel import KernelGraph
from mlc_course.mugraph.search.nest import Problem, expressions
from mlc_course.mugraph.search.rules import Refused
from mlc_course.mugraph.search.segments import inside
from mlc_course.mugraph.target import Target
from mlc_course.mugraph.verify import verify

MOST_SIZES = 12  # each of which is a prime of its own in the tests of a bank


def admitted(
    program: KernelGraph,
    target: Target,
    *,
    max_ops: int | None = None,
    time_limit: float | None = None,
) -> Problem:
    """The program as a problem to search; raises ``CourseError`` with what is wrong."""
    if max_ops is not None and max_ops < 1:
        raise UsageError("superoptimize: operators", expected="1 or more", got=max_ops)
    if time_limit is not None and not time_limit > 0:
        raise UsageError("superoptimize: seconds", expected="more than 0", got=time_limit)
    for equation in program.equations:
        if isinstance(equation.op, BlockGraph | ThreadGraph):
            raise GraphError(
                f"{program.name}: {equation} is a graph already",
                expected="a program of predefined operators",
                hint="give the program that this graph computes",
            )
    if not program.equations or not any(inside(equation.op) for equation in program.equations):
        raise GraphError(
            f"{program.name}: nothing to fuse",
            expected="an operator on elements, a sum, a maximum or a product",
            got=", ".join(str(equation.op) for equation in program.equations) or "no operator",
        )
    if len(program.sizes) > MOST_SIZES:
        raise UsageError(
            f"{program.name}: too many dimensions", expected=MOST_SIZES, got=len(program.sizes)
        )
    _check_limits(program, target)
    _check_sizes(program)
    _check_meaning(program)
    return Problem(program)


def _check_limits(program: KernelGraph, target: Target) -> None:
    """A block holds at least an element of an input and of an output."""
    if target.shared_bytes < 2 * target.itemsize:
        raise UsageError(
            f"{target.name}: no block fits into {target.shared_bytes} bytes of shared memory",
            expected=f"{2 * target.itemsize} or more: an element that comes in, one that goes out",
            got=target.shared_bytes,
        )


def _check_sizes(program: KernelGraph) -> None:
    sizes = {size for _, size in program.sizes if size > 1}
    if not any(_divides(size) for size in sizes):
        raise UsageError(
            f"{program.name}: no size can be cut into tiles",
            expected="a size with a divisor",
            got=", ".join(f"{name}={size}" for name, size in program.sizes),
            hint="pad one to a multiple of 16",
        )


def _divides(size: int) -> bool:
    return any(size % d == 0 for d in range(2, math.isqrt(size) + 1))


def _check_meaning(program: KernelGraph) -> None:
    """Can it be verified, and has each value an abstract expression?"""
    try:
        expressions(program)
    except Refused as refused:
        raise GraphError(
            f"{program.name}: it has no abstract expression: {refused.reason}",
            expected="no term that is subtracted from itself",
            hint="write the program without what cancels",
        ) from None
    except (AttributeError, TypeError, NotImplementedError) as error:
        raise GraphError(
            f"{program.name}: an operator without an abstract meaning",
            expected="a meaning in the words of arithmetic.py alone",
            got=error,
        ) from None
    try:
        verify(program, program, error=0.5, seed=0)
    except CourseError as error:
        error.add_note(f"so that nothing could be verified against {program.name}")
        raise
