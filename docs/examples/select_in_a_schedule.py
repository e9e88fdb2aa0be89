from mlc_course.instruction_selection.insert import select
from mlc_course.instruction_selection.isa import level_of
from mlc_course.instruction_selection.search import Rules, select_program
from mlc_course.instruction_selection.spec import block_specification
from mlc_course.tensor_program.tir import IRModule, Schedule, tvm

FILTER = """
@T.prim_func(s_tir=True)
def main(A: T.Buffer((480, 642), "uint8"), O: T.Buffer((480, 640), "uint8")):
    for i, j in T.grid(480, 640):
        with T.sblock("filter"):
            vi, vj = T.axis.remap("SS", [i, j])
            O[vi, vj] = T.cast((T.cast(A[vi, vj], "int32") + 2 * T.cast(A[vi, vj + 1], "int32")
                + T.cast(A[vi, vj + 2], "int32") + 2) >> 2, "uint8")
"""
sch = Schedule(IRModule({"main": tvm.read_script(FILTER)}))
cell = block_specification(sch, "filter").cell
found = select_program(cell, level_of("avx2"), rules=Rules())
print(cell.goal)
print(found.program)
print(found.certificate)
registers = select(sch, "filter", level="avx2", program=found.program)
print(registers.outputs, "outputs by", registers.instructions, "instructions")
