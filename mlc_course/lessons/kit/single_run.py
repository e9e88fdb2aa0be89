"""Run a program once, on given inputs: for looking at a result, not for timing."""

from __future__ import annotations

import numpy as np

from mlc_course.errors import SizeError
from mlc_course.tensor_program.problems import Array, aligned
from mlc_course.tensor_program.tir import (
    IRModule,
    PrimFunc,
    Schedule,
    compile_program,
    main_function,
    shared_tensor,
    tvm,
)


def run_once(
    program: IRModule | PrimFunc | Schedule,
    *inputs: Array,
    fill: float = np.nan,
    checked: bool = True,
) -> Array:
    """The last buffer after the program has run on one thread; before, it is full of ``fill``.

    With ``checked=False`` it runs as TVM compiles it, even where TVM changes an index: such a
    program may leave its buffers. Raises ``SizeError`` for other inputs than the program's
    buffers, in number or shape.
    """
    function = main_function(program)
    buffers = [each.ty for each in function.params]
    shapes = [tuple(int(extent) for extent in each.shape) for each in buffers]
    given = [np.shape(each) for each in inputs]
    if given != shapes[:-1]:
        raise SizeError(
            "run_once: other inputs than the program has", expected=shapes[:-1], got=given
        )
    arrays = [*map(aligned, map(np.asarray, inputs)), aligned(np.full(shapes[-1], fill))]
    if checked:
        run = compile_program(program)
    else:
        named = function.with_attr("global_symbol", "main")
        run = tvm.compile_module(named, tvm.cpu_target())["main"]
    run(*map(shared_tensor, arrays))
    return arrays[-1]
