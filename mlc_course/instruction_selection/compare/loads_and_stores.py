"""The loads and stores of a loop alone: how fast could any program of this specification be?

Whatever instructions a program has, it reads the operands and writes the result. This loop does
that with whole registers and one exclusive or for each register but the first, so that a program
that takes as long is bound by its loads and stores, and no better instructions would help it.
"""

from __future__ import annotations

from math import prod

from mlc_course.errors import SizeError, UsageError
from mlc_course.instruction_selection.spec import Place, Specification
from mlc_course.tensor_program.tir import PrimFunc, read_script


def data_movement(spec: Specification, outputs: int, width: int) -> PrimFunc:
    """Return a loop that loads each operand and stores a result as large as the specification's.

    Its buffers are those of the specification, each as one flat array; ``width`` is that of a
    register in bits. What all outputs share costs nothing, and is left out.

    Raises:
        SizeError: the outputs do not fill whole registers of every operand.
        UsageError: the lanes of neighbouring outputs do not lie side by side, or all outputs share
            all that is read.
    """
    return read_script(data_movement_text(spec, outputs, width))


def data_movement_text(spec: Specification, outputs: int, width: int) -> str:
    """Return the text of ``data_movement``, in TVMScript."""
    register = width // 8
    cell = spec.cell
    read = [each for each in cell.operands if not each.shared]
    if not read:
        raise UsageError(
            f"{spec.name}: nothing is loaded in the loop",
            expected="an operand of which each output reads its own lanes",
            got=", ".join(each.name for each in cell.operands) + " of all outputs",
        )
    written = cell.result.bytes
    step = register // min(written, *(each.bytes for each in read))  # outputs of a pass
    if outputs % step:
        raise SizeError(
            "the outputs do not fill whole registers",
            expected=f"a multiple of {step} outputs",
            got=outputs,
        )
    buffers = [
        f'{each.name}: T.Buffer(({prod(each.shape(outputs))},), "{each.type.dtype}")'
        for each in spec.tile.buffers
    ]
    loads = []
    for each in read:
        place, lanes = spec.places[each.name], register // each.type.bytes
        first = _first(spec, place, each.lanes, outputs)
        for number in range(step * each.bytes // register):
            at = f"{first + number * lanes} + i * {step * each.lanes}"
            vector = f"{place.buffer}[T.ramp({at}, 1, {lanes})]"
            loads.append(f'T.reinterpret({vector}, dtype="int32x{register // 4}")')
    together = loads[0]
    for text in loads[1:]:
        together = f"T.bitwise_xor({together}, {text})"
    lanes, out = register // written, spec.result.buffer
    first = _first(spec, spec.result, 1, outputs)
    stores = "\n".join(
        f"        {out}[T.ramp({first + number * lanes} + i * {step}, 1, {lanes})] = "
        f'T.reinterpret(v, dtype="{cell.result.dtype}x{lanes}")'
        for number in range(step * written // register)
    )
    return f"""@T.prim_func(s_tir=True)
def main({", ".join(buffers)}):
    for i in range({outputs // step}):
        v: T.let = {together}
{stores}
"""


def _first(spec: Specification, place: Place, lanes: int, outputs: int) -> int:
    """Return where the lanes of an operand begin in its flat buffer, if they lie side by side."""
    shape = spec.tile.buffer(place.buffer).shape(outputs)
    strides = [prod(shape[d + 1 :]) for d in range(len(shape))]

    def flat(indices: tuple[int, ...]) -> int:
        return sum(i * stride for i, stride in zip(indices, strides, strict=True))

    if flat(place.per_output) != lanes or (lanes > 1 and flat(place.per_lane) != 1):
        raise UsageError(
            f"{spec.name}: lanes of {place.buffer} do not lie side by side",
            expected=f"{lanes} elements from one output to the next",
            got=flat(place.per_output),
        )
    return flat(place.indices)
