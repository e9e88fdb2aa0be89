"""The schedule step that puts the instructions of a program into a block."""

from __future__ import annotations

from mlc_course.errors import AxisError, CourseError, SizeError, StepError
from mlc_course.instruction_selection.insert.features import check_target, target_of
from mlc_course.instruction_selection.insert.rest import divide
from mlc_course.instruction_selection.insert.tensor_intrinsic import intrinsic
from mlc_course.instruction_selection.isa import CellProgram, level_of
from mlc_course.instruction_selection.lower import RegisterProgram, check_layout, lower
from mlc_course.instruction_selection.prove import Proved, prove_cell
from mlc_course.instruction_selection.spec import Specification, block_specification
from mlc_course.tensor_program.legality import Illegal, sound
from mlc_course.tensor_program.schedule import lookup
from mlc_course.tensor_program.tir import Schedule, ScheduleError, refusal_reason


def select(
    sch: Schedule,
    block: str,
    *,
    level: str,
    program: CellProgram,
    width: int | None = None,
    spec: Specification | None = None,
) -> RegisterProgram:
    """Compute a tile of outputs at a time with the instructions of a program on one cell.

    before  for i in range(100):   O[i] = cast(min(A[i] + B[i], 255), "uint8")
    after   for i_0 in range(3):   O[32 * i_0 : 32 * i_0 + 32] = vpaddusb(A[...], B[...])
            for i_rest in range(4): O[i_rest + 96] = cast(min(...), "uint8")
    needs   ``program`` computes the block's cell for all inputs; the innermost spatial loop has as
            many iterations as a tile; the target has the instructions of ``level``
    why     the program was searched and proved; LLVM's patterns do not know it
    tvm     Schedule.split, Schedule.tensorize; the rest by ScheduleState.replace, which the trace
            does not record

    Returns the program on whole registers of ``width`` bits, which are the level's unless given.
    On an error the schedule is unchanged. That the program computes the cell is proved here, and
    that every lane of the registers is the program on its cell is checked. Steps that come later
    cannot be checked (``schedule.unchecked``), so this one comes last.

    Raises:
        BlockError: the block is no such loop.
        AxisError, SizeError: its loops do not fit the cell.
        UsageError: a program that has no form of this width, or another reason of the block's.
        MachineError: the level's target, or LLVM, lacks an instruction of the program.
        StepError: the program is not proved, TVM refuses the step, or the program of the schedule
            is wrong before it.
    """
    of = level_of(level)
    spec = block_specification(sch, block) if spec is None else spec
    registers = lower(spec.cell, program, of.width if width is None else width)
    check_layout(spec.cell, program, registers)
    check_target(registers.features, target_of(of))
    _check_proved(spec, program, f"select({block!r})")
    name = intrinsic(spec, registers, level)
    before = sound(sch)
    if isinstance(before, Illegal):
        raise StepError(
            f"select({block!r}): the program is wrong before the step",
            expected="blocks that write each element once, and read what is complete",
            got=before.sentence,
        )
    trial = Schedule(sch.mod)  # Schedule.copy fails once a block was tensorized
    _apply(trial, block, spec, registers.outputs, name)
    _apply(sch, block, spec, registers.outputs, name)
    return registers


def _check_proved(spec: Specification, program: CellProgram, call: str) -> None:
    verdict = prove_cell(spec.cell, program)
    if not isinstance(verdict, Proved):
        raise StepError(
            f"{call}: the program is not proved to compute the block's cell",
            expected=f"the outputs of {spec.name} for all inputs",
            got=str(verdict),
            hint="mlc-course select finds a program, and proves it",
        )


def _apply(sch: Schedule, block: str, spec: Specification, outputs: int, name: str) -> None:
    call = f"select({block!r})"
    try:
        target = _outputs_loop(sch, block, spec)
        divide(sch, block, target, outputs)
        if lookup.length(sch, block, target) > outputs:
            sch.split(lookup.loop(sch, block, target), [None, outputs])
            target = f"{target}_1"
        sch.tensorize(lookup.loop(sch, block, target), name)
    except CourseError as error:
        error.add_note(f"in step {call}")
        raise
    except (ScheduleError, RuntimeError, ValueError) as error:  # all of them TVM's
        raise StepError(
            f"{call}: TVM does not find the specification's loop in the block",
            expected=f"{outputs} outputs of {spec.name}, as its TensorIR has them",
            got=refusal_reason(error),
            hint="print(sch.mod.script()) shows the present program",
        ) from None


def _outputs_loop(sch: Schedule, block: str, spec: Specification) -> str:
    """Return the name of the loop over outputs: the innermost one but for that over lanes."""
    loops = lookup.loops(sch, block)
    inside = 1 if spec.tile.lanes > 1 else 0
    if len(loops) <= inside:
        raise AxisError(
            f"block {block} has too few loops for the cell",
            expected="a loop over outputs" + (" and one over the lanes of each" * inside),
            got=", ".join(loops) or "none",
        )
    if inside and lookup.length(sch, block, loops[-1]) != spec.tile.lanes:
        raise SizeError(
            f"block {block}: the innermost loop is not the lanes of one output",
            expected=f"{spec.tile.lanes} iterations of {loops[-1]}",
            got=lookup.length(sch, block, loops[-1]),
            hint=f"split {loops[-1]} by {spec.tile.lanes} first",
        )
    return loops[-1 - inside]
