from __future__ import annotations

import platform
from dataclasses import replace

import pytest
from schedules import chain, matmul

from mlc_course import machine
from mlc_course.errors import UsageError
from mlc_course.tensor_program.ladders import (
    MATMUL,
    RegisterTile,
    ladder,
    micro_kernel,
    register_tile,
    select,
    tile_for,
)
from mlc_course.tensor_program.processor.assembly_code import (
    ARM,
    X86,
    Assembly,
    arithmetic_loops,
    assembly,
    longest_chain,
    read_assembly,
)
from mlc_course.tensor_program.processor.operations import flops
from mlc_course.tensor_program.schedule import steps
from mlc_course.tensor_program.tir import Schedule, Target, assembly_text, on_one_thread, te

LANES = machine.describe().lanes
ON_X86 = platform.machine() in ("x86_64", "AMD64")
APPLE = Target({"kind": "llvm", "mtriple": "aarch64-linux-gnu", "mcpu": "apple-m1"})


def vectorized(lanes: int) -> Schedule:
    sch = matmul(64, 64, 64).sch
    steps.split(sch, "C", "n", lanes)
    steps.reorder(sch, "C", "k", "n_1")
    steps.vectorize(sch, "C", "n_1")
    return sch


def in_registers(tile: RegisterTile) -> Schedule:
    sch = matmul(64, 128, 256).sch
    micro_kernel(sch, MATMUL, tile, per_panel=True)
    return sch


# --- compiled programs ----------------------------------------------------------------------------


def test_a_naive_matmul_works_on_one_number_at_a_time() -> None:
    found = assembly(matmul(64, 64, 64).sch)
    assert (found.lanes, found.vector_bits) == (1, 32)
    assert found.loads >= found.multiply_adds >= 0
    assert found.spills == 0


def test_a_vectorized_matmul_fills_the_registers() -> None:
    found = assembly(vectorized(LANES))
    assert found.lanes == LANES
    assert found.loads > found.multiply_adds > 0 or machine.describe().isa == "SSE"


def test_a_module_a_function_and_a_schedule_give_the_same_counts() -> None:
    sch = vectorized(LANES)
    assert assembly(sch) == assembly(sch.mod) == assembly(sch.mod["main"])


def test_the_tile_of_this_machine_stays_in_registers() -> None:
    tile = register_tile(machine.describe())
    found = assembly(in_registers(tile))
    sums, vectors = tile.rows * tile.columns // LANES, tile.columns // LANES
    assert found.spills == 0
    assert found.stores == 0
    assert found.multiply_adds % sums == 0
    # As the tile's model says: a step of the sum loads its rows and its vectors.
    assert found.loads == found.multiply_adds // sums * (tile.rows + vectors)


def test_a_tile_with_more_sums_than_registers_spills() -> None:
    found = assembly(in_registers(RegisterTile(16, 4 * LANES)))
    assert found.spills > 16
    assert found.stores > 0  # sums, in every step


@pytest.mark.skipif(not ON_X86, reason="haswell is an x86-64 processor")
def test_another_processor_s_code_is_counted_without_running_it() -> None:
    found = assembly(vectorized(16), cpu="haswell")
    assert (found.cpu, found.vector_bits, found.lanes) == ("haswell", 256, 8)
    assert found.multiply_adds > 0
    assert not any("zmm" in each for each in found.hot_loop)


def test_the_loop_over_k_is_hot_and_the_exp_beside_it_is_not() -> None:
    counts = {}
    for rung in select(ladder("matmul_exp_matmul"), ["pack-per-panel", "polynomial-exp"]):
        program = chain(64, 128, 256, 256)
        rung.apply(program.sch)
        counts[rung.name] = assembly(program.sch)
    with_calls, without = counts["pack-per-panel"], counts["polynomial-exp"]
    assert with_calls.multiply_adds == without.multiply_adds
    assert with_calls.spills > without.spills  # a call of expf may use all registers


def test_code_for_arm_is_counted_by_the_same_rules() -> None:
    fits = read_assembly(assembly_text(in_registers(RegisterTile(4, 16)), APPLE), "apple-m1")
    large = read_assembly(assembly_text(in_registers(RegisterTile(16, 16)), APPLE), "apple-m1")
    assert fits.lanes == large.lanes == 4
    assert fits.loads / fits.multiply_adds == (4 + 4) / (4 * 4)
    assert fits.spills == 0 < large.spills


@pytest.mark.parametrize("cpu", ["generic", "apple-m1", "neoverse-n1", "neoverse-v1", "cortex-a76"])
@pytest.mark.parametrize("columns", [96, 1000])
def test_the_tile_of_an_arm_machine_stays_in_its_registers(cpu: str, columns: int) -> None:
    bits, registers = machine.VECTOR_REGISTERS["NEON"]
    arm = replace(machine.describe(), isa="NEON", vector_bits=bits, vector_registers=registers)
    sch = matmul(168, 64, columns).sch
    tile = tile_for(arm, sch, MATMUL)
    micro_kernel(sch, MATMUL, tile, pack_left=True, per_panel=True, rows_outermost=True)
    target = Target({"kind": "llvm", "mtriple": "aarch64-linux-gnu", "mcpu": cpu})
    text = assembly_text(sch, target)
    found = read_assembly(text, cpu)
    assert found.spills == found.stores == 0
    assert found.multiply_adds % (tile.rows * tile.columns // arm.lanes) == 0
    assert any(each.startswith("fmla") and ".s[" in each for each in found.hot_loop)


def test_a_copy_is_refused() -> None:
    x = te.placeholder((64,), name="X")
    copy = te.create_prim_func([x, te.compute((64,), lambda i: x[i], name="Y")])
    with pytest.raises(UsageError, match="no float32 arithmetic") as caught:
        assembly(copy)
    assert caught.value.expected and caught.value.got == "none: it moves, compares or selects"


@pytest.mark.parametrize(
    ("instructions", "got"),
    [
        ("vmulpd %zmm0, %zmm0, %zmm0", "float64 arithmetic"),
        ("fadd d0, d1, d2", "float64 arithmetic"),
        ("callq expf@PLT", "calls of expf"),
        ("bl expf", "calls of expf"),
        ("callq *(%rax)", "none: it moves"),
        ("callq __tvm_set_raised_3", "none: it moves"),
        ("vandps %xmm0, %xmm1, %xmm2", "none: it moves"),
    ],
)
def test_what_computes_without_float32_arithmetic_is_refused_in_its_words(
    instructions: str, got: str
) -> None:
    with pytest.raises(UsageError, match="no float32 arithmetic") as caught:
        read_assembly(text(f"\t{instructions}\n\tret"), "any")
    assert str(caught.value.got).startswith(got)


@pytest.mark.parametrize(
    ("instruction", "loads", "stores"),
    [
        ("vscatterqps %ymm0, (%rax,%zmm1) {%k1}", 0, 1),
        ("vscatterqps %ymm0, (,%zmm1) {%k1}", 0, 1),
        ("vgatherqps (%rax,%zmm1), %ymm2 {%k1}", 1, 0),
        ("vmovups (%rax), %ymm2", 1, 0),
        ("ld4 { v0.4s, v1.4s, v2.4s, v3.4s }, [x8]", 4, 0),
        ("ld2 { v0.4s, v1.4s }, [x8], #32", 2, 0),
        ("ld1r { v0.4s }, [x8]", 1, 0),
        ("ld1w { z4.s }, p1/z, [x9, x18, lsl #2]", 1, 0),
        ("st2 { v0.4s, v1.4s }, [x8]", 0, 2),
        ("stp q0, q1, [x8]", 0, 2),
        ("ldr s0, [x8, x9]", 1, 0),
    ],
)
def test_each_vector_that_is_moved_counts(instruction: str, loads: int, stores: int) -> None:
    arm = "%" not in instruction
    arithmetic = "fadd v9.4s, v9.4s, v9.4s" if arm else "vaddps %ymm9, %ymm9, %ymm9"
    found = read_assembly(text(f"\t{instruction}\n\t{arithmetic}\n\tret"), "any")
    assert (found.loads, found.stores) == (loads, stores)


def test_a_processor_that_llvm_would_replace_by_a_generic_one_is_refused() -> None:
    with pytest.raises(UsageError, match="LLVM knows no 'abacus'") as caught:
        assembly(matmul().sch, cpu="abacus")
    assert caught.value.expected and caught.value.got == "abacus"


# --- the text -------------------------------------------------------------------------------------


def text(function: str) -> str:
    return f"main:\n\t.cfi_startproc\n{function}\n\t.cfi_endproc\n"


TWO_LOOPS = """
\tvmovaps\t%zmm0, 64(%rsp)
.LBB3_1:
\tvaddss\t(%rdi), %xmm1, %xmm1
.LBB3_2:
\t.loc\t1 0 0
\tvmovaps\t(%rsi,%rax,4), %zmm2
.Ltmp7:
\tvfmadd231ps\t-64(%rdi){1to16}, %zmm2, %zmm3
\tvfmadd231ps\t64(%rsp), %zmm2, %zmm4
\tvmovaps\t%zmm3, (%rdx,%rax,4) {%k1}
\taddq\t$16, %rax
\tjne\t.LBB3_2
\tvmulps\t%zmm0, %zmm0, %zmm0
\tjne\t.LBB3_1
\tretq"""


def test_x86_the_inner_loop_is_counted_and_the_stack_everywhere() -> None:
    found = read_assembly(text(TWO_LOOPS), "znver4")
    assert found == Assembly(
        cpu="znver4",
        hot_loop=(
            "vmovaps (%rsi,%rax,4), %zmm2",
            "vfmadd231ps -64(%rdi){1to16}, %zmm2, %zmm3",
            "vfmadd231ps 64(%rsp), %zmm2, %zmm4",
            "vmovaps %zmm3, (%rdx,%rax,4) {%k1}",
            "addq $16, %rax",
            "jne .LBB3_2",
        ),
        kinds=(
            frozenset({"load"}),
            frozenset({"arithmetic", "load"}),
            frozenset({"arithmetic", "spill"}),
            frozenset({"store"}),
            frozenset(),
            frozenset(),
        ),
        vector_bits=512,
        multiply_adds=2,
        loads=3,
        stores=1,
        spills=2,
        flops=16_384,  # two loops that do not tell how often they run: 16 times each
        vector_share=1.0,
    )
    assert (found.lanes, found.instructions) == (16, 6)
    assert str(found) == (
        "znver4, 16 float32 at a time: 2 multiply-adds, 3 loads, 1 stores, 2 spills"
    )


def test_the_loops_of_a_program_do_its_operations() -> None:
    program = on_one_thread(in_registers(RegisterTile(4, 2 * LANES)).mod["main"])
    hot, *others = arithmetic_loops(program)
    assert hot == assembly(program)
    # LLVM writes four copies of the loop, of a quarter of the work each, or one.
    assert {each.flops for each in others} <= {hot.flops}
    assert sum(each.flops for each in (hot, *others)) == flops(program)


def test_a_histogram_counts_what_does_two_things_twice() -> None:
    found = read_assembly(text(TWO_LOOPS), "znver4")
    # The multiply-add with a spilled operand is arithmetic, and a spill.
    assert found.histogram() == {"arithmetic": 2, "load": 2, "store": 1, "spill": 1, "other": 2}
    assert len(found.kinds) == found.instructions


def test_lanes_are_a_share_of_a_register() -> None:
    found = read_assembly(text("\tvmulps\t%xmm0, %xmm1, %xmm2\n\tretq"), "znver4")
    assert found.lane_utilisation(512) == 0.25
    assert found.lane_utilisation(128) == 1.0
    with pytest.raises(UsageError, match="wider registers") as caught:
        found.lane_utilisation(64)
    assert caught.value.expected == "128 bits or more"


ARM_LOOP = """
\tstp\td9, d8, [sp, #-16]!
LBB1_1:                                 ; =>This Inner Loop Header: Depth=1
\tldp\tq1, q2, [x1], #32
\tldr\ts0, [x0, x8, lsl #2]
\tldr\tq5, [sp, #48]
\tfmla.4s\tv5, v1, v0[0]
\tfmla\tv6.4s, v2.4s, v0.s[0]
\tstp\tq5, q6, [sp, #48]
\tstr\tx9, [sp, #8]
\tsubs\tx8, x8, #1
\tb.ne\tLBB1_1
\tldp\td9, d8, [sp], #16
\tret"""


def test_arm_pairs_count_twice_and_the_caller_s_registers_are_no_spills() -> None:
    found = read_assembly(text(ARM_LOOP), "apple-m1")
    assert (found.vector_bits, found.multiply_adds) == (128, 2)
    assert (found.loads, found.stores, found.spills) == (4, 2, 3)
    assert found.instructions == 9
    assert found.histogram() == {"arithmetic": 2, "load": 2, "store": 0, "spill": 2, "other": 3}


def test_when_no_loop_is_left_the_function_is_the_hot_loop() -> None:
    found = read_assembly(text("\tvmulps\t%ymm0, %ymm1, %ymm2\n\tretq"), "haswell")
    assert found.hot_loop == ("vmulps %ymm0, %ymm1, %ymm2", "retq")
    assert found.lanes == 8


def test_a_deep_loop_is_hotter_than_a_long_one() -> None:
    long = "\tvaddss\t%xmm0, %xmm0, %xmm0\n" * 9
    function = f".LBB0_1:\n{long}\tjne\t.LBB0_1\n.LBB0_2:\n.LBB0_3:\n" + (
        "\tvmulss\t%xmm0, %xmm0, %xmm0\n\tjne\t.LBB0_3\n\tjne\t.LBB0_2\n\tretq"
    )
    assert read_assembly(text(function), "x").hot_loop[0].startswith("vmulss")


def test_of_two_equally_deep_loops_the_one_with_more_arithmetic_is_hot() -> None:
    scalar = ".LBB0_1:\n\tvaddss\t%xmm0, %xmm0, %xmm0\n\tjne\t.LBB0_1\n"
    vector = ".LBB0_2:\n\tvaddps\t%zmm0, %zmm0, %zmm0\n\tjne\t.LBB0_2\n"
    assert read_assembly(text(vector + scalar + "\tretq"), "x").lanes == 16
    assert read_assembly(text(scalar + vector + "\tretq"), "x").lanes == 16


def test_a_loop_of_512_steps_is_hotter_than_one_of_two_inside_another() -> None:
    """A scalar rest is often nested deeper than the vectors before it."""
    vectors = """
\txorl\t%eax, %eax
.LBB0_1:
\tvaddps\t%ymm0, %ymm0, %ymm0
\taddq\t$8, %rax
\tcmpq\t$4096, %rax
\tjne\t.LBB0_1"""
    rest = """
\txorl\t%ecx, %ecx
.LBB0_2:
\txorl\t%edx, %edx
.LBB0_3:
\tvaddss\t%xmm0, %xmm0, %xmm0
\tincq\t%rdx
\tcmpq\t$2, %rdx
\tjne\t.LBB0_3
\tincq\t%rcx
\tcmpq\t$3, %rcx
\tjne\t.LBB0_2
\tretq"""
    assert read_assembly(text(vectors + rest), "x").lanes == 8


@pytest.mark.parametrize(
    ("instruction", "bits"),
    [
        ("vfmadd213ss %xmm0, %xmm1, %xmm2", 32),
        ("mulps %xmm0, %xmm1", 128),
        ("vmaxps (%rdi), %ymm0, %ymm1", 256),
        ("vfnmadd231ps %zmm0, %zmm1, %zmm2", 512),
        ("vsqrtps %ymm0, %ymm1", 256),
        ("vaddsd %xmm0, %xmm1, %xmm2", 0),
        ("vmovaps (%rdi), %zmm0", 0),
        ("vxorps %xmm0, %xmm0, %xmm0", 0),
        ("addq $8, %rax", 0),
    ],
)
def test_the_width_of_x86_arithmetic(instruction: str, bits: int) -> None:
    assert X86.bits(instruction) == bits


@pytest.mark.parametrize(
    ("instruction", "bits"),
    [
        ("fmadd s2, s1, s2, s0", 32),
        ("fmla v0.4s, v1.4s, v2.s[0]", 128),
        ("fadd.2s v0, v1, v2", 64),
        ("fmaxnm v0.4s, v1.4s, v2.4s", 128),
        ("fmad z4.s, p1/m, z3.s, z1.s", 128),
        ("fadd d0, d1, d2", 0),
        ("fmov s0, w8", 0),
        ("add x8, x8, #1", 0),
    ],
)
def test_the_width_of_arm_arithmetic(instruction: str, bits: int) -> None:
    assert ARM.bits(instruction) == bits


def chain_length(*instructions: str) -> int:
    """The longest chain of a function of these instructions, without a loop."""
    body = "\n".join(f"\t{each}" for each in instructions)
    return longest_chain(read_assembly(f"\t.cfi_startproc\n{body}\n\t.cfi_endproc\n", "any"))


@pytest.mark.parametrize(
    ("length", "instructions"),
    [
        (2, ["vaddps (%rdi), %zmm0, %zmm0", "vaddps 64(%rdi), %zmm0, %zmm0"]),
        (1, ["vaddps (%rdi), %zmm0, %zmm0", "vaddps 64(%rdi), %zmm1, %zmm1"]),
        # The same registers under their shorter names.
        (2, ["vaddps %zmm1, %zmm0, %zmm0", "vaddss %xmm1, %xmm0, %xmm0"]),
        # A multiply-add reads its destination, an addition with three operands does not.
        (2, ["vfmadd231ps %zmm1, %zmm2, %zmm0", "vfmadd231ps %zmm3, %zmm4, %zmm0"]),
        (1, ["vaddps %zmm1, %zmm2, %zmm0", "vaddps %zmm3, %zmm4, %zmm0"]),
        (2, ["addps %xmm1, %xmm0", "addps %xmm2, %xmm0"]),  # SSE: two operands
        # A move passes a chain on; a load ends it.
        (2, ["vaddps %zmm1, %zmm2, %zmm0", "vmovaps %zmm0, %zmm5", "vaddps %zmm5, %zmm5, %zmm6"]),
        (1, ["vaddps %zmm1, %zmm2, %zmm0", "vmovaps (%rdi), %zmm0", "vaddps %zmm0, %zmm1, %zmm3"]),
        (1, ["vaddps %zmm1, %zmm2, %zmm0", "vmovaps %zmm0, (%rdi,%rcx,4)"]),
        # A chain may go on in other registers.
        (3, [f"vfmadd132ps (%r9), %zmm{i}, %zmm{i + 1}" for i in range(3)]),
        (2, ["vaddps (%rdi,%rax,4), %zmm0, %zmm1 {%k1}", "vmulps %zmm1, %zmm2, %zmm3"]),
        (2, ["fadd v0.4s, v0.4s, v1.4s", "fadd v0.4s, v0.4s, v2.4s"]),
        (1, ["ldp q3, q4, [x10]", "fadd v1.4s, v1.4s, v4.4s", "fadd v2.4s, v2.4s, v3.4s"]),
        (2, ["fmla v6.4s, v2.4s, v0.s[0]", "fmla v6.4s, v3.4s, v0.s[1]"]),
        (2, ["fmadd s2, s1, s3, s0", "fadd s4, s2, s5"]),
        (1, ["fmadd s2, s1, s3, s0", "fmadd s2, s4, s5, s0"]),
        (1, ["fadd v0.4s, v1.4s, v2.4s", "str q0, [x0, x8, lsl #2]"]),
    ],
)
def test_the_longest_chain(length: int, instructions: list[str]) -> None:
    assert chain_length(*instructions) == length
