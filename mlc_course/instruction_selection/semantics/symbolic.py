"""A row against Triton's formula of the instruction, for all inputs at once: z3 proves them equal.

Triton is a library for the analysis of binaries. It gives the content of a register after an
instruction as a formula, which somebody else has written from the same manual.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from mlc_course.errors import UsageError
from mlc_course.instruction_selection.integers import Formula, IntType, bits_for, walk
from mlc_course.instruction_selection.isa import Instruction
from mlc_course.instruction_selection.semantics.assembled import architecture_of, one_instruction
from mlc_course.instruction_selection.semantics.lane_order import lane_order
from mlc_course.instruction_selection.semantics.packages import package

WIDTH = 128
MILLISECONDS = 10_000  # for one lane


def proved_by_symbols(row: Instruction) -> Mapping[str, int] | None:
    """Return ``None`` where Triton's formula equals the row's meaning on all inputs.

    Otherwise, return inputs on which they differ: the lanes that one lane of the result reads, and
    what both give. Every lane of a register of 128 bits is looked at.

    Raises:
        MachineError: Triton, Keystone or z3 is not installed.
        UsageError: Triton does not model the instruction, or z3 finds no answer in time.
    """
    z3 = package("z3")
    registers = [z3.BitVec(name, WIDTH) for name in ("x", "y")]
    given = z3.BitVec("given", WIDTH)
    term = _term(row, registers, given)
    lanes = WIDTH // row.result.bits
    order = lane_order(row, WIDTH)
    for lane in range(lanes):
        number = order[lane]
        meaning = row.formula
        if row.kind == "interleave":  # lanes of the two operands in turns
            number, operand = divmod(number, 2)
            meaning = row.variables[operand][0]
        values = _values(row, number, registers)
        wanted = _in_z3(meaning, values, row.result.bits)
        got = z3.Extract((lane + 1) * row.result.bits - 1, lane * row.result.bits, term)
        solver = z3.SolverFor("QF_BV")
        solver.set("timeout", MILLISECONDS)
        solver.add(got != wanted)
        answer = solver.check()
        if answer == z3.unknown:
            raise UsageError("z3 finds no answer", expected=f"one in {MILLISECONDS} ms", got=row)
        if answer == z3.sat:
            model = solver.model()
            return {
                **{str(each): _number(model, x) for each, x in values.items()},
                "Triton": _number(model, got),
                "row": _number(model, wanted),
            }
    return None


def _number(model: Any, term: Any) -> int:
    return int(model.eval(term, model_completion=True).as_signed_long())


def _term(row: Instruction, registers: Sequence[Any], given: Any) -> Any:
    """Return Triton's formula of the register that the instruction writes, as a term of z3."""
    z3, triton = package("z3"), package("triton")
    if architecture_of(row) != "x86-64":
        raise UsageError("not modelled", expected="an instruction of x86", got=row)
    context = triton.TritonContext(triton.ARCH.X86_64)
    context.symbolizeRegister(context.registers.xmm0, "x")
    context.symbolizeRegister(context.registers.xmm1, "y")
    for code in one_instruction(row):
        instruction = triton.Instruction(code)
        instruction.setAddress(0x1000)
        if context.processing(instruction) != triton.EXCEPTION.NO_FAULT:
            raise UsageError("Triton does not model it", got=row)
    text = context.getAstContext().unroll(context.getRegisterAst(context.registers.xmm0))
    names = {"x": registers[0], "y": registers[1], "given": given}
    (assertion,) = z3.parse_smt2_string(f"(assert (= given {text}))", decls=names)
    return assertion.arg(1)


def _values(row: Instruction, lane: int, registers: Sequence[Any]) -> dict[Formula, Any]:
    """Return the bits of the registers that each variable of one lane's meaning stands for."""
    z3 = package("z3")
    found = {}
    for at, (read, part) in enumerate(zip(row.reads, row.variables, strict=True)):
        for i, each in enumerate(part):
            bits = read.type.bits
            register, number = divmod(lane * read.lanes + i, WIDTH // bits)
            register = register if row.kind == "narrow" else at
            low = number * bits
            found[each] = z3.Extract(low + bits - 1, low, registers[register])
    return found


def _in_z3(formula: Formula, values: Mapping[Formula, Any], bits: int) -> Any:
    """Return a formula as a term of so many bits, over terms of its variables."""
    z3 = package("z3")
    nodes = list(walk(formula))
    width = max(bits, *(bits_for(each.lo, each.hi) for each in nodes))
    known: dict[Formula, Any] = {}

    def low(term: Any, count: int, *, signed: bool) -> Any:
        if count >= width:
            return term
        extend = z3.SignExt if signed else z3.ZeroExt
        return extend(width - count, z3.Extract(count - 1, 0, term))

    for each in nodes:
        operands = [known[x] for x in each.operands]
        match each.op:
            case "var":
                part = values[each]
                extend = z3.SignExt if each.lo < 0 else z3.ZeroExt
                term = extend(width - part.size(), part)
            case "const":
                term = z3.BitVecVal(each.lo, width)
            case "add":
                term = operands[0] + operands[1]
            case "sub":
                term = operands[0] - operands[1]
            case "mul":
                term = operands[0] * operands[1]
            case "and":
                term = operands[0] & operands[1]
            case "or":
                term = operands[0] | operands[1]
            case "xor":
                term = operands[0] ^ operands[1]
            case "min":
                term = z3.If(operands[0] < operands[1], operands[0], operands[1])
            case "max":
                term = z3.If(operands[0] > operands[1], operands[0], operands[1])
            case "eq" | "gt":
                holds = operands[0] == operands[1] if each.op == "eq" else operands[0] > operands[1]
                term = z3.If(holds, z3.BitVecVal(1, width), z3.BitVecVal(0, width))
            case "where":
                term = z3.If(operands[0] != 0, operands[1], operands[2])
            case "shr":
                term = operands[0] >> each.params[0]
            case "wrap":
                to = each.params[0]
                assert isinstance(to, IntType)
                term = low(operands[0], to.bits, signed=to.signed)
            case "slice":
                index, count = each.params
                assert isinstance(index, int) and isinstance(count, int)
                term = low(operands[0] >> (index * count), count, signed=False)
            case "concat":
                raise UsageError("no meaning of a row joins lanes", got=each)
        known[each] = term
    return z3.Extract(bits - 1, 0, known[formula])
