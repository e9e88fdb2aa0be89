"""Lower a program from tensors to buffers, and lift it again: sizes and constraints stay the same.

A tensor is a value, a buffer is the memory that one is written to. BladeDISC lowers constraints
with the types that name the dimensions, and so it is here: a module says nothing of its sizes
anywhere but in types and beside the function, so that a change of each type's kind is all there is
to do. No operator is added or removed. Each writes its result to a buffer of its own, except a
reshape: the same memory is read with other sizes, which the fact that it asserts allows.
"""

from __future__ import annotations

from dataclasses import replace

from mlc_course.dynamic_shape.ir.module import Function, Module
from mlc_course.dynamic_shape.ir.operators import Type


def to_buffers(module: Module) -> Module:
    """Return the program on buffers; one that is on buffers already is returned as it is."""
    return _with_types(module, is_buffer=True)


def to_tensors(module: Module) -> Module:
    """Return the program on tensors; it is what ``to_buffers`` was given, if that had no buffer."""
    return _with_types(module, is_buffer=False)


def memory_of(function: Function) -> tuple[int, ...]:
    """Return, for each value, the value whose memory it lies in: its own, or what it reshapes."""
    found = list(range(len(function.inputs)))
    for equation in function.equations:
        is_view = equation.op.kind == "reshape"
        found.append(found[equation.operands[0]] if is_view else len(found))
    return tuple(found)


def _with_types(module: Module, *, is_buffer: bool) -> Module:
    def of(type_: Type) -> Type:
        return replace(type_, is_buffer=is_buffer)

    function = module.function
    inputs = tuple(replace(each, type=of(each.type)) for each in function.inputs)
    equations = tuple(replace(each, type=of(each.type)) for each in function.equations)
    return replace(module, function=replace(function, inputs=inputs, equations=equations))
