from __future__ import annotations

from mlc_course.instruction_selection.insert import vector_instructions


def listing(body: str) -> str:
    lines = "\n".join(line if line.startswith(".") else f"\t{line}" for line in body.splitlines())
    return f"\t.cfi_startproc\n{lines}\n\t.cfi_endproc\n"


def test_loads_stores_and_moves_do_not_count() -> None:
    found = vector_instructions(
        listing(""".LBB0_1:
vmovdqu (%rax), %ymm0
vpaddusb 32(%rax), %ymm1, %ymm1
vpackuswb %ymm1, %ymm0, %ymm0
vpermq $216, %ymm0, %ymm0
vmovdqu %ymm0, (%rcx,%rdx)
addq $32, %rdx
jne .LBB0_1
retq""")
    )
    assert found.instructions == {"vpaddusb": 1, "vpackuswb": 1, "vpermq": 1}
    assert found.stored_bytes == 32
    assert found.per_32_bytes == 3.0
    assert str(found).startswith("3.0 vector instructions for 32 bytes of output: 1 ")


def test_stores_of_a_part_of_a_register_count_what_they_store() -> None:
    for store, size, counts in (
        ("vextracti128 $1, %ymm0, 16(%rcx)", 16, 1),
        ("vpmovusdb %zmm0, (%rcx)", 16, 2),
        ("vpmovwb %ymm0, (%rcx)", 16, 2),
        ("vmovq %xmm0, (%rcx)", 8, 1),
        ("vmovdqu64 %zmm0, out(%rip)", 64, 1),
    ):
        text = f".LBB0_1:\nvpaddb %ymm1, %ymm0, %ymm0\n{store}\njne .LBB0_1\nretq"
        found = vector_instructions(listing(text))
        assert found.stored_bytes == size
        assert sum(found.instructions.values()) == counts


def test_a_register_that_is_kept_on_the_stack_is_no_result() -> None:
    for place, stored in (("(%rcx)", 32), ("64(%rsp)", 0), ("(%rbp,%rax)", 32)):
        text = f".LBB0_1:\nvpaddb %ymm1, %ymm0, %ymm0\nvmovdqa %ymm0, {place}\njne .LBB0_1\nretq"
        assert vector_instructions(listing(text)).stored_bytes == stored


def test_a_zeroed_register_is_no_work() -> None:
    text = ".LBB0_1:\nvpxor %xmm0, %xmm0, %xmm0\nvmovdqu %ymm0, (%rcx)\njne .LBB0_1\nretq"
    found = vector_instructions(listing(text))
    assert not found.instructions
    assert str(found) == "no vector instructions"


def test_the_loop_that_runs_more_is_the_hot_one() -> None:
    found = vector_instructions(
        listing("""vpxor %xmm1, %xmm0, %xmm0
vptest %xmm0, %xmm0
vmovdqu %xmm0, (%rsp)
.LBB0_1:
vpavgb (%rax), %ymm0, %ymm0
vmovdqu %ymm0, (%rcx)
jne .LBB0_1
retq""")
    )
    assert found.instructions == {"vpavgb": 1}


def test_a_loop_that_adds_up_stores_nothing() -> None:
    found = vector_instructions(
        listing(".LBB0_1:\nvpdpbusd (%rax), %zmm1, %zmm0\njne .LBB0_1\nvmovdqu %zmm0, (%rcx)\nretq")
    )
    assert found.per_32_bytes is None
    assert str(found) == "vector instructions in a loop that stores nothing: 1 vpdpbusd"


def test_code_for_arm_is_counted_alike() -> None:
    found = vector_instructions(
        listing(""".LBB0_1:
ldp q0, q1, [x1], #32
sqrshrun v0.8b, v0.8h, #6
sqrshrun2 v0.16b, v1.8h, #6
str q0, [x0], #16
b.ne .LBB0_1
ret""")
    )
    assert found.instructions == {"sqrshrun": 1, "sqrshrun2": 1}
    assert found.per_32_bytes == 4.0
    pair = vector_instructions(
        listing(".LBB0_1:\nstp q0, q1, [x0]\nuabd v0.16b, v1.16b, v2.16b\nret")
    )
    assert pair.stored_bytes == 32
