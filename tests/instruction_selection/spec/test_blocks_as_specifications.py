from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from tvm import s_tir

from mlc_course.errors import AxisError, BlockError, CourseError, UsageError
from mlc_course.instruction_selection.integers import S8, S32, U8, substituted
from mlc_course.instruction_selection.spec import (
    Place,
    Specification,
    block_specification,
    check_inputs,
    specification,
)
from mlc_course.tensor_program.tir import (
    IRModule,
    PrimFunc,
    Schedule,
    tvm,
)

MATMUL = """
def main(A: T.Buffer((32, 64), "uint8"), B: T.Buffer((4, 16, 16, 4), "int8"),
         C: T.Buffer((32, 64), "int32")):
    for m, n, k in T.grid(32, 64, 64):
        with T.sblock("cell"):
            vm, vn, vk = T.axis.remap("SSR", [m, n, k])
            with T.init():
                C[vm, vn] = T.int32(0)
            C[vm, vn] = C[vm, vn] + T.cast(A[vm, vk], "int32") * T.cast(
                B[vn // 16, vk // 4, vn % 16, vk % 4], "int32")
"""
STENCIL = """
def main(A: T.Buffer((34, 66), "uint8"), O: T.Buffer((32, 64), "uint8")):
    for i, j in T.grid(32, 64):
        with T.sblock("blur"):
            vi, vj = T.axis.remap("SS", [i, j])
            O[vi, vj] = T.cast((T.cast(A[vi, vj], "int32") + T.cast(A[vi, vj + 1], "int32") * 2
                + T.cast(A[vi + 2, vj + 2], "int32") + 2) >> 2, "uint8")
"""
ONE = """
def main(A: T.Buffer((64, 64), "{of}"), B: T.Buffer((64, 64), "{of}"),
         O: T.Buffer((64, 64), "{of}")):
    for i, j in T.grid(64, 64):
        with T.sblock("cell"):
            vi, vj = T.axis.remap("SS", [i, j])
            {body}
"""
SUM = """
def main(A: T.Buffer((64, 64), "uint8"), C: T.Buffer((64,), "int32")):
    for i, k in T.grid(61, {lanes}):
        with T.sblock("cell"):
            vi, vk = T.axis.remap("SR", [i, k])
            C[vi] = C[vi] + T.cast(A[{index}], "int32")
"""


def function(text: str) -> PrimFunc:
    return tvm.read_script(f"@T.prim_func(s_tir=True)\n{text.strip()}")


def one(body: str, of: str = "uint8") -> PrimFunc:
    return function(ONE.format(body=body, of=of))


def tiled_matmul() -> Schedule:
    sch = Schedule(IRModule({"main": function(MATMUL)}))
    block = sch.get_sblock("cell")
    m, n, k = sch.get_loops(block)
    outer, inner = sch.split(n, [None, 16])
    above, lanes = sch.split(k, [None, 4])
    sch.reorder(m, outer, above, inner, lanes)
    sch.decompose_reduction(block, above)
    return sch


def tiled_stencil() -> Schedule:
    sch = Schedule(IRModule({"main": function(STENCIL)}))
    sch.split(sch.get_loops(sch.get_sblock("blur"))[1], [None, 32])
    return sch


def tensorized(sch: Schedule, block: str, spec: Specification, outputs: int, loop: int) -> Schedule:
    """The schedule with the specification's own loop as the intrinsic of its block."""
    described = spec.prim_func(outputs, offset_factor=1)
    name = f"test_of_{spec.name}_{outputs}"
    s_tir.TensorIntrin.register(name, described, described, override=True)
    sch.tensorize(sch.get_loops(sch.get_sblock(block))[loop], name)
    return sch


def test_the_cell_of_a_matmul_shares_a_row_and_adds_to_its_output() -> None:
    spec = block_specification(tiled_matmul(), "cell_update", name="mm")
    assert [(x.name, x.type, x.lanes, x.shared) for x in spec.cell.operands] == [
        ("C", S32, 1, False),
        ("A", U8, 4, True),
        ("B", S8, 4, False),
    ]
    assert spec.cell.accumulator == "C"
    line = specification("s32 C, u8*4 A!, s8*4 B -> s32 C: C + A * B")
    assert spec.cell.goal is line.cell.goal
    assert spec.places["B"] == Place("B", (0, 0), (1, 0), (0, 1))
    assert spec.tile.reads == ("C", "A", "B")


def test_a_stencil_has_an_operand_for_each_place_of_one_image() -> None:
    spec = block_specification(tiled_stencil(), "blur")
    assert [each.name for each in spec.cell.operands] == ["A_0_0", "A_0_1", "A_2_2"]
    assert spec.places["A_2_2"] == Place("A", (2, 2), (0, 1), (0, 0))
    assert spec.places["A_2_2"].at(5) == (2, 7)
    assert spec.tile.buffer("A").shape(16) == (3, 18)
    assert spec.tile.buffer("A").strided and not spec.tile.buffer("O").strided
    assert spec.name == "blur"


def test_goals_of_a_tile_are_the_cell_on_elements_that_outputs_share() -> None:
    spec = block_specification(tiled_stencil(), "blur")
    lanes = spec.lanes(4)
    assert lanes["A_0_0"][1] is lanes["A_0_1"][0]
    for output, goal in enumerate(spec.goals(4)):
        own = {spec.cell.inputs[name][0]: held[output] for name, held in lanes.items()}
        assert substituted([spec.cell.goal], own)[0] is goal


@pytest.mark.parametrize(
    ("make", "block", "outputs", "loop"),
    [
        (tiled_matmul, "cell_update", 16, -2),
        (tiled_stencil, "blur", 32, -1),
    ],
    ids=["matmul", "stencil"],
)
def test_tensorize_accepts_the_loop_as_the_description_of_its_block(
    make: Callable[[], Schedule], block: str, outputs: int, loop: int
) -> None:
    plain = make()
    spec = block_specification(plain, block)
    changed = tensorized(make(), block, spec, outputs, loop)
    results = []
    for sch in (plain, changed):
        function = sch.mod["main"]
        rng = np.random.default_rng(0)
        arrays = []
        for each in function.params:
            shape, of = [int(x) for x in each.shape], np.dtype(str(each.dtype))
            info = np.iinfo(of)
            arrays.append(rng.integers(info.min, info.max, shape, of, endpoint=True))
        arrays[-1][...] = 0
        given = [tvm.tvm.runtime.tensor(each) for each in arrays]
        tvm.compile_module(sch.mod, tvm.cpu_target())["main"](*given)
        results.append(given[-1].numpy())
    assert np.array_equal(*results)


def test_a_tile_of_a_stencil_computes_what_its_formula_says() -> None:
    spec = block_specification(tiled_stencil(), "blur")
    arrays = spec.sample(50, 3)
    a = arrays["A"].astype(int)
    assert a.shape == (3, 52)
    want = (a[0, :50] + 2 * a[0, 1:51] + a[2, 2:] + 2) >> 2
    assert np.array_equal(spec.evaluate(arrays), want)
    with pytest.raises(CourseError, match="shape of A"):
        check_inputs(spec, {"A": arrays["A"][:2]})


def test_outer_loops_do_not_matter_and_one_function_is_enough() -> None:
    whole = specification(function(STENCIL), name="blur")
    assert whole.cell == block_specification(tiled_stencil(), "blur").cell


def test_a_range_is_promised_of_a_buffer() -> None:
    spec = block_specification(tiled_stencil(), "blur", ranges={"A": (0, 100)})
    assert {each.range for each in spec.cell.operands} == {(0, 100)}
    assert spec.promise == "A in 0..100"
    assert "# A in 0..100" in spec.text
    with pytest.raises(UsageError, match="does not read"):
        block_specification(tiled_stencil(), "blur", ranges={"Q": (0, 100)})
    with pytest.raises(UsageError, match="outside the type u8"):
        block_specification(tiled_stencil(), "blur", ranges={"A": (0, 256)})


ADD = 'O[vi, vj] = T.cast(T.cast(A[vi, vj], "int32") {op} T.cast(B[vi, vj], "int32"), "uint8")'


@pytest.mark.parametrize(
    ("body", "of", "error", "said"),
    [
        ("O[vi, vj] = A[vi, vj] + B[vi, vj]", "float32", UsageError, "integers"),
        ("O[vi, vj] = T.cast(T.cast(A[vi, vj], 'float32'), 'uint8')", "uint8", UsageError, "inte"),
        (ADD.format(op="//"), "uint8", UsageError, "division"),
        (ADD.format(op="%"), "uint8", UsageError, "division"),
        ("O[vi, vj] = A[vi, T.cast(B[vi, vj], 'int32')]", "uint8", UsageError, "on data"),
        ("O[vi, vj] = A[vj, vi]", "uint8", UsageError, "64 apart"),
        ("O[vi, vj] = A[vi, vj * 2 % 64]", "uint8", UsageError, "equal steps"),
        ("O[vi, vj] = A[vi, 63 - vj]", "uint8", UsageError, "backwards"),
        ("O[vj, vi] = A[vi, vj]", "uint8", UsageError, "no neighbours"),
        ("O[vi, vj] = A[vi, vj] + A[vj, vj]", "uint8", UsageError, "move apart"),
        ("O[vi, vj] = A[vi, vj] + T.cast(vj, 'uint8')", "uint8", UsageError, "where it is"),
        ("O[vi, vj] = A[vi, vj] << B[vi, vj]", "uint8", UsageError, "shift"),
        ("O[vi, vj] = A[vi, vj] * B[vi, vj]", "int32", UsageError, "overflow"),
        ("O[vi, vj] = A[vi, vj] - B[vi, vj]", "uint64", UsageError, "overflow"),
        ("O[vi, vj] = A[vi, vj]; B[vi, vj] = A[vi, vj]", "uint8", BlockError, "one output"),
    ],
)
def test_what_no_specification_is_is_refused(
    body: str, of: str, error: type[CourseError], said: str
) -> None:
    with pytest.raises(error, match=said) as caught:
        specification(one(body, of))
    assert caught.value.expected and caught.value.got


def test_a_loop_over_outputs_computed_from_their_neighbours_is_refused() -> None:
    with pytest.raises(UsageError, match="from other outputs"):
        specification(one("O[vi, vj] = A[vi, vj] + O[vi - 1, vj]"))


@pytest.mark.parametrize(
    ("lanes", "index", "said"),
    [
        (4, "vi + vk, 0", "64 apart|lanes"),
        (4, "0, vi + vk", "overlap"),
        (4, "vi, vk", "pack"),
        (4, "vk, vi", "lanes are 64 apart"),
    ],
)
def test_lanes_that_no_vector_load_reads_are_refused_with_the_reason(
    lanes: int, index: str, said: str
) -> None:
    with pytest.raises(UsageError, match=said):
        specification(function(SUM.format(lanes=lanes, index=index)))


def test_loops_that_do_not_fit_are_refused() -> None:
    with pytest.raises(AxisError, match="too many lanes"):
        specification(function(SUM.format(lanes=64, index="0, vk")))
    text = SUM.format(lanes=4, index="0, vk").replace("in T.grid(61, 4)", "in T.grid(4, 61)")
    with pytest.raises(AxisError, match="do not fit a cell") as caught:
        two = text.replace('"SR"', '"RR"').replace("C[vi]", "C[0]")
        specification(function(two))
    assert "reduction" in str(caught.value.got)
    with pytest.raises(BlockError, match="init"):
        specification(function(MATMUL))
    with pytest.raises(BlockError, match="no block 'blurr'"):
        block_specification(tiled_stencil(), "blurr")


def test_a_condition_around_a_block_is_refused() -> None:
    sch = Schedule(IRModule({"main": function(STENCIL)}))
    sch.split(sch.get_loops(sch.get_sblock("blur"))[1], [None, 24])
    with pytest.raises(BlockError, match="only some") as caught:
        block_specification(sch, "blur")
    assert "divisor" in str(caught.value.hint)


def test_sums_of_eight_and_sixteen_bits_wrap_as_compiled_code_does() -> None:
    spec = specification(one("O[vi, vj] = A[vi, vj] * B[vi, vj] + A[vi, vj]"))
    arrays = spec.sample(64, 1)
    want = arrays["A"] * arrays["B"] + arrays["A"]
    assert np.array_equal(spec.evaluate(arrays), want)


def test_tvm_tells_llvm_that_wide_sums_do_not_overflow() -> None:
    """Why they are refused: were this to change, they could wrap here, too."""
    texts = {}
    for of in ("uint8", "int16", "int32", "uint32"):
        function = one("O[vi, vj] = A[vi, vj] * B[vi, vj]", of)
        module = tvm.compile_module(function, tvm.cpu_target())
        texts[of] = module.mod.inspect_source("ll")
    assert "mul nsw i32" in texts["int32"] or "mul nsw <" in texts["int32"]
    assert "mul nuw i32" in texts["uint32"] or "mul nuw <" in texts["uint32"]
    assert "mul i8" in texts["uint8"] or "mul <" in texts["uint8"]


def test_an_accumulator_may_wrap() -> None:
    line = "s32 C, s32 A -> s32 C: C + A"
    assert specification(line).cell.accumulator == "C"
    with pytest.raises(UsageError, match="overflow"):
        specification("s32 C, s32 A -> s32 C: min(C + A, 7)")
    with pytest.raises(UsageError, match="overflow"):
        specification("s32 D, s32 A -> s32 C: D + A")
    assert specification("s32 D in 0..5, s32 A in 0..5 -> s32 C: D + A").promise
