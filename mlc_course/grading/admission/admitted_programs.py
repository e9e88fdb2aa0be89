"""The programs that a grader may run: a closed list, because students send them as data.

A program that is admitted reads and writes its own buffers, inside their bounds, and does nothing
else: it calls no function but mathematics, and holds no name of a file, a library or a pointer.
It is small enough to be compiled in seconds, and no loop of it goes on for hours, because in a
notebook nothing can interrupt either. How long it runs is for the sandbox to limit.
"""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from math import prod
from typing import Any

from mlc_course.errors import UnsafeProgram, UsageError
from mlc_course.grading.admission.bounds import check_bounds
from mlc_course.grading.admission.regions import check_regions
from mlc_course.grading.admission.scalar_types import BITS, FLOATS, Types, shown
from mlc_course.tensor_program.tir import (
    KINDS,
    LIMITS,
    REDUCTION,
    BufferType,
    Guard,
    IRModule,
    PrimFunc,
    PrimType,
    Repeat,
    SBlock,
    SBlockRealize,
    Step,
    Var,
    check_flattening,
    same_structure,
    tirx,
    walk,
)

ROOM = 256 << 20  # bytes of all buffers that a program allocates
RUNS = 10**11  # accesses to memory: the largest problem of the course takes a fifth of that
LANES = 4096  # of one vectorized loop
FACTS = {"global_symbol": "main", "tirx.noalias": True, "s_tir": True}  # what te makes
SCOPES = ("global", "local")
SPATIAL = 0  # IterVar.iter_type


def admit(module: IRModule, like: PrimFunc, *, room: int = ROOM) -> None:
    """Raises ``UnsafeProgram`` unless the program is safe to run in place of ``like``.

    Safe is one function ``main`` with the parameters of ``like``, made of loops of known length,
    blocks, stores, conditions and scalar arithmetic, that allocates at most ``room`` bytes, whose
    indices are proved to be in bounds. Annotations, thread bindings, aliases and calls are refused;
    so is what only a ``Select`` keeps in bounds, because it evaluates both of its sides.
    """
    function = _only_function(module)
    _check_signature(function, like)
    _Program(function, like, room)
    check_regions(function)
    steps = walk(function)
    if (runs := _executions(steps)) > RUNS:
        raise UnsafeProgram(
            "the program runs too long",
            expected=f"at most {RUNS:,} accesses to memory",
            got=f"some 10**{len(str(runs)) - 1}",
            hint="a loop that repeats what is done already, or one that is far too long",
        )
    check_bounds(steps)
    try:
        check_flattening(function)
    except UsageError as error:
        raise UnsafeProgram(
            error.what, expected=error.expected, got=shown(error.got), hint=error.hint
        ) from None


def dtypes(module: IRModule) -> set[str]:
    """All floating types that a program has in buffers, casts, constants and expressions.

    Raises ``UnsafeProgram`` for a program that would not be admitted for its form.
    """
    function = _only_function(module)
    return _Program(function, function, ROOM).types.seen & set(FLOATS)


def _only_function(module: IRModule) -> PrimFunc:
    functions = {str(name.name_hint): function for name, function in module.functions.items()}
    if list(functions) != ["main"] or type(functions["main"]) is not PrimFunc:
        raise UnsafeProgram(
            "not one TensorIR function main", expected="main", got=", ".join(functions) or "none"
        )
    if len(module.attrs or {}) or len(module.global_infos or {}):
        raise UnsafeProgram(
            "the module has attributes",
            expected="none",
            got=", ".join([*(module.attrs or {}), *(module.global_infos or {})]),
        )
    return functions["main"]


def _executions(steps: Sequence[Step]) -> int:
    """Number of accesses, variables and beginnings of blocks, both sides of a condition counted."""
    total = 0
    for step in steps:
        match step:
            case Repeat():
                total += step.extent * max(1, _executions(step.body))
            case Guard():
                total += _executions((*step.then, *step.otherwise))
            case _:
                total += 1
    return total


def _check_signature(function: PrimFunc, like: PrimFunc) -> None:
    got, wanted = ([_signature(each) for each in f.params] for f in (function, like))
    same = [same_structure(getattr(function.ty, x), getattr(like.ty, x)) for x in ("params", "ret")]
    if got != wanted or not all(same):
        raise UnsafeProgram(
            "the function has other parameters than the problem",
            expected=", ".join(wanted),
            got=", ".join(got),
            hint="keep number, shapes and types of the buffers, inputs first",
        )


def _signature(var: Var) -> str:
    if not isinstance(var.ty, BufferType):
        return f"no buffer: {shown(var)}"
    return f"{var.ty.dtype} [{', '.join(map(shown, var.ty.shape))}]"


class _Program:
    """A pass over everything that a function holds; what it finds is kept in ``types``."""

    def __init__(self, function: PrimFunc, like: PrimFunc, room: int) -> None:
        self.types, self.room = Types(), room
        self.require = self.types.require
        self.allocated: set[Var] = set()
        facts = dict(function.attrs or {})
        self.require(
            all(FACTS.get(str(key)) == value for key, value in facts.items())
            and same_structure(function.ret_type, like.ret_type),
            "main has attributes",
            expected=f"{FACTS} or fewer, and no result",
            got=[*facts, function.ret_type],
        )
        for each in function.params:
            self.declare(each)
            self.require(
                each.ty.storage_scope == "global", "a parameter", expected="global", got=each.ty
            )
        self.statement(function.body)

    def declare(self, var: Var) -> int:
        """A new buffer: compact, of constant size. Its size in bytes."""
        self.require(
            isinstance(var, tirx.Var) and isinstance(var.ty, BufferType),
            "not a buffer",
            expected="a buffer",
            got=var,
        )
        ty = var.ty
        dtype = str(ty.dtype.dtype) if isinstance(ty.dtype, PrimType) else str(ty.dtype)
        sizes = [int(size.value) if isinstance(size, tirx.IntImm) else 0 for size in ty.shape]
        compact = (
            len(ty.strides) == 0
            and isinstance(ty.elem_offset, tirx.IntImm)
            and int(ty.elem_offset.value) == 0
            and ty.layout is None
            and not len(ty.allocated_addr)
            and ty.data_alignment == 64
            and ty.offset_factor in (0, 1)
        )
        self.require(
            compact and dtype in BITS and min(sizes, default=1) > 0 and ty.storage_scope in SCOPES,
            f"buffer {var.name} is not a plain array",
            expected=f"constant sizes, no strides or offset, scope {' or '.join(SCOPES)}",
            got=[dtype, *ty.shape, *ty.strides, ty.elem_offset, ty.storage_scope],
        )
        self.require(
            var not in self.allocated,
            f"buffer {var.name} is declared twice",
            expected="once",
            got=var.name,
        )
        self.allocated.add(var)
        self.types.buffers[var] = (dtype, len(sizes))
        self.types.seen.add(dtype)
        return prod(sizes) * BITS[dtype] // 8

    def statement(self, stmt: Any) -> None:
        """Raises ``UnsafeProgram`` for a statement that is not on the list."""
        with self.types.inside(stmt):
            match stmt:
                case tirx.For():
                    self.loop(stmt)
                case SBlockRealize():
                    self.block(stmt)
                case tirx.SeqStmt():
                    self.sequence(list(stmt.seq))
                case tirx.BufferStore():
                    dtype, stored = (
                        self.types.element(stmt.buffer, stmt.indices),
                        self.types.of(stmt.value),
                    )
                    self.require(dtype == stored, "a store", expected=dtype, got=stored)
                case tirx.IfThenElse():
                    self.types.boolean(stmt.condition)
                    for side in (stmt.then_case, stmt.else_case):
                        if side is not None:
                            self.statement(side)
                case tirx.Bind():
                    self.sequence([stmt])
                case tirx.Evaluate() if isinstance(stmt.value, tirx.IntImm):
                    self.types.of(stmt.value)
                case _:
                    shown = stmt.value if isinstance(stmt, tirx.Evaluate) else type(stmt).__name__
                    self.types.refuse(
                        "a statement that is not allowed",
                        expected="loops, blocks, stores, if, bind",
                        got=shown,
                        hint="spell the computation out in TensorIR",
                    )

    def sequence(self, stmts: Sequence[Any]) -> None:
        """A variable that is bound is known to the statements that follow."""
        with contextlib.ExitStack() as scope:
            for stmt in stmts:
                if isinstance(stmt, tirx.Bind):
                    new = self.types.bound(stmt.var, stmt.value)
                    scope.enter_context(self.types.defined(new))
                else:
                    self.statement(stmt)

    def loop(self, stmt: tirx.For) -> None:
        """Constant length, at least one; no thread, no annotation."""
        constant = isinstance(stmt.min, tirx.IntImm) and isinstance(stmt.extent, tirx.IntImm)
        extent = int(stmt.extent.value) if constant else 0
        plain = stmt.thread_binding is None and stmt.step is None and not len(stmt.annotations)
        kind = KINDS.get(stmt.kind)
        self.require(
            extent > 0 and plain and kind and (kind != "vectorized" or extent <= LANES),
            "a loop that is not allowed",
            expected=f"{' | '.join(KINDS.values())}, of constant length (at most {LANES:,} when "
            "vectorized), without thread or annotation",
            got=[stmt.loop_var, stmt.extent, tirx.ForKind(stmt.kind).name, *stmt.annotations],
        )
        self.types.integer(stmt.min)
        self.types.integer(stmt.extent)
        dtype = str(stmt.extent.ty.dtype)
        room = LIMITS[dtype][1] // 2  # what counts tasks or vectors adds to the variable
        self.require(
            max(abs(int(stmt.min)), abs(int(stmt.min) + extent)) <= room,
            "a loop whose variable may overflow",
            expected=f"from -{room:,} to {room:,} in {dtype}",
            got=[stmt.loop_var, stmt.min, stmt.extent],
        )
        outside = self.types.copies, self.types.lanes
        self.types.copies *= extent if kind == "unrolled" else 1
        self.types.lanes *= extent if kind == "vectorized" else 1
        with self.types.defined({stmt.loop_var: dtype}):
            self.statement(stmt.body)
        self.types.copies, self.types.lanes = outside

    def block(self, stmt: Any) -> None:
        """Iterators from 0 to a constant, plain buffers, no annotation, no matched buffers."""
        types, block, around = self.types, stmt.block, self.types.block
        self.require(type(block) is SBlock, "not a block", expected="SBlock", got=type(block))
        types.boolean(stmt.predicate)
        types.block = str(block.name_hint)
        self.require(
            not len(block.annotations) and not len(block.match_buffers),
            "annotations or matched buffers",
            expected="none of them",
            got=[*block.annotations, *(each.buffer for each in block.match_buffers)],
        )
        self.require(
            len(stmt.iter_values) == len(block.iter_vars),
            "block iterators",
            expected=len(stmt.iter_values),
            got=len(block.iter_vars),
        )
        variables: dict[Var, str] = {}
        for each, value in zip(block.iter_vars, stmt.iter_values, strict=True):
            self.iterator(each)
            variables |= types.bound(each.var, value)
        self.require(
            len(variables) == len(block.iter_vars),
            "an iterator is used twice",
            expected="each once",
            got=block.iter_vars,
        )
        for buffer in block.alloc_buffers:
            self.room -= self.declare(buffer)
            self.require(
                self.room >= 0,
                "the program allocates too much",
                expected="fewer bytes",
                got=[buffer, *buffer.shape],
            )
        with types.defined(variables):
            for region in (*block.reads, *block.writes):
                self.region(region)
            if block.init is not None:
                self.statement(block.init)
            self.statement(block.body)
        for buffer in block.alloc_buffers:
            del types.buffers[buffer]
        types.block = around

    def iterator(self, each: Any) -> None:
        """A spatial or reduction iterator over 0, ..., extent - 1."""
        ends = (each.dom.min, each.dom.extent)
        self.require(
            all(isinstance(end, tirx.IntImm) for end in ends)
            and int(each.dom.min.value) == 0
            and int(each.dom.extent.value) > 0
            and each.iter_type in (SPATIAL, REDUCTION)
            and not each.thread_tag,
            "a block iterator that is not allowed",
            expected="spatial or reduction, from 0 to a constant",
            got=[each.var, each.dom.min, each.dom.extent, each.iter_type, each.thread_tag],
        )
        for end in ends:
            self.types.integer(end)

    def region(self, region: Any) -> None:
        """A declared read or write: of a buffer in scope, over integer ranges."""
        buffer, ranges = region.source, region.region
        self.types.element(buffer, [each.min for each in ranges])
        for each in ranges:
            self.types.integer(each.extent)
