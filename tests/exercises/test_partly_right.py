"""No mark for a program that does what is asked in a part of its work only.

The part may be the hottest loop, or a loop that seems to run often, or one task of four.
"""

from __future__ import annotations

from collections.abc import Callable
from textwrap import indent

import pytest
from conftest import Notebook
from dodges import program_of

from mlc_course.grading.checks import RATIO, Examined, examine
from mlc_course.grading.process import Bench, Scheduled, Verdict
from mlc_course.machine import describe
from mlc_course.tensor_program.problems import Workload
from mlc_course.tensor_program.tir import dump_program

LANES = describe().lanes
Make = Callable[[Workload], str]  # the body of a program for a problem


def text(problem: Workload, body: str) -> str:
    buffers = [
        f'{each.name}: T.Buffer({each.shape}, "float32")'
        for each in (*problem.operands, problem.result)
    ]
    head = f"@T.prim_func(s_tir=True)\ndef main({', '.join(buffers)}):\n"
    return head + indent(body, "    ")


# --- 09: S[j] += w[k] * X[k, j] -------------------------------------------------------------------


def in_lanes(rows: int, columns: int) -> str:
    """The sums of the first columns of X, which stay in registers."""
    return f"""
for j in T.vectorized({columns}):
    t[j] = T.float32(0)
for k in range({rows}):
    for j in T.vectorized({columns}):
        t[j] = t[j] + w[k] * X[k, j]
for j in T.vectorized({columns}):
    S[j] = t[j]
"""


def one_by_one(rows: int, first: int, last: int) -> str:
    return f"""
for j in range({first}, {last}):
    S[j] = T.float32(0)
    for k in range({rows}):
        S[j] = S[j] + w[k] * X[k, j]
"""


ROOM = 't = T.sblock_alloc_buffer((32,), scope="local")\n'


def the_hottest_of_several(problem: Workload) -> str:
    """Each of the other loops has half the columns of the one that is right."""
    rows, columns = problem.operands[-1].shape
    others = (one_by_one(rows, first, first + 16) for first in range(32, columns, 16))
    return ROOM + in_lanes(rows, 32) + "".join(others)


def behind_a_condition(problem: Workload) -> str:
    """What is in vectors runs once, in a loop of many turns."""
    rows, columns = problem.operands[-1].shape
    once = in_lanes(rows // 64, 16).replace("S[j] = t[j]", "S[j] = S[j] + t[j] - t[j]")
    turns = f"for r in range({40 * columns}):\n    if r * r % 7919 == 4:\n"
    return ROOM + one_by_one(rows, 0, columns) + turns + indent(once, "        ")


def beside_loops_of_unknown_length(problem: Workload) -> str:
    """The other loops end where the number of the column says."""
    rows, columns = problem.operands[-1].shape
    return (
        ROOM
        + in_lanes(rows, 16)
        + f"""
for j in range(16, {columns}):
    S[j] = T.float32(0)
    for k in range({rows}):
        if k < {rows // 2} + j * j % 7:
            S[j] = S[j] + w[k] * X[k, j]
    for k in range({rows}):
        if k < {rows - rows // 2} - j * j % 7:
            S[j] = S[j] + w[{rows - 1} - k] * X[{rows - 1} - k, j]
"""
    )


def scalars_beside_vectors(problem: Workload) -> str:
    """Behind each 16 columns in lanes, up to 13 more are summed one by one in the same loop."""
    rows, columns = problem.operands[-1].shape
    made = [ROOM, 'u = T.sblock_alloc_buffer((13,), scope="local")\n']
    first = 0
    while first < columns:
        rest = min(13, columns - first - 16)
        made.append(f"""
for j in T.vectorized(16):
    t[j] = T.float32(0)
for j in T.unroll({rest}):
    u[j] = T.float32(0)
for k in range({rows}):
    for j in T.vectorized(16):
        t[j] = t[j] + w[k] * X[k, {first} + j]
    for j in T.unroll({rest}):
        u[j * 7 % {rest}] = u[j * 7 % {rest}] + w[k] * X[k, {first + 16} + j * 5 % {rest}]
for j in T.vectorized(16):
    S[{first} + j] = t[j]
for j in T.unroll({rest}):
    S[{first + 16} + j * 5 % {rest}] = u[j * 7 % {rest}]
""")
        first += 16 + rest
    return "".join(made)


# --- 09: S[m] += X[m, k] * w[k] -------------------------------------------------------------------


def sums_of_rows(first: int, last: int, columns: int, registers: int) -> str:
    """Rows of which each has this many registers of sums."""
    wide = registers * LANES
    adds = "".join(
        f"""
        for n in T.vectorized({LANES}):
            t[{at} + n] = t[{at} + n] + X[m, k * {wide} + {at} + n] * w[k * {wide} + {at} + n]"""
        for at in range(0, wide, LANES)
    )
    return f"""
for m in range({first}, {last}):
    for n in T.vectorized({wide}):
        t[n] = T.float32(0)
    for k in range({columns // wide}):{adds}
    S[m] = T.float32(0)
    for n in range({wide}):
        S[m] = S[m] + t[n]
"""


def chains_of_some_rows(problem: Workload) -> str:
    """Two rows have four registers of sums each; every other row has one."""
    rows, columns = problem.operands[0].shape
    room = f't = T.sblock_alloc_buffer(({4 * LANES},), scope="local")\n'
    others = (sums_of_rows(row, row + 1, columns, 1) for row in range(2, rows))
    return room + sums_of_rows(0, 2, columns, 4) + "".join(others)


# --- 07: C[m, n] += A[m, k] * B[k, n] -------------------------------------------------------------


def tiles_of_some_rows(problem: Workload) -> str:
    """A quarter of the rows is in register tiles, the others in loops with sums in memory."""
    (rows, depth), (_, columns) = (each.shape for each in problem.operands)
    tiles = f"""
t = T.sblock_alloc_buffer((4, 32), scope="local")
for m, v in T.grid({rows // 16}, {columns // 32}):
    for r in T.unroll(4):
        for n in T.vectorized(32):
            t[r, n] = T.float32(0)
    for k in range({depth}):
        for r, u in T.grid(4, 2):
            for n in T.vectorized(16):
                t[r, u * 16 + n] = t[r, u * 16 + n] + A[m * 4 + r, k] * B[k, v * 32 + u * 16 + n]
    for r in T.unroll(4):
        for n in T.vectorized(32):
            C[m * 4 + r, v * 32 + n] = t[r, n]
"""
    group = rows // 8
    others = (
        f"""
for m in range({first}, {first + group}):
    for n in range({columns}):
        C[m, n] = T.float32(0)
    for k in range({depth}):
        for v in range({columns // 16}):
            for n in T.vectorized(16):
                C[m, v * 16 + n] = C[m, v * 16 + n] + A[m, k] * B[k, v * 16 + n]
"""
        for first in range(rows // 4, rows, group)
    )
    return tiles + "".join(others)


# --- 10: S[j] += X[k, j] --------------------------------------------------------------------------


def one_busy_worker(problem: Workload) -> str:
    """Of four tasks, the first sums all rows."""
    rows, columns = problem.operands[0].shape
    return f"""
t = T.sblock_alloc_buffer((4, {columns}))
for task in T.parallel(4):
    for j in range({columns}):
        t[task, j] = T.float32(0)
    for k in range({rows}):
        for j in range({columns}):
            if task == 0:
                t[task, j] = t[task, j] + X[(k + task) % {rows}, j]
for j in range({columns}):
    S[j] = t[0, j] + t[1, j] + t[2, j] + t[3, j]
"""


def one_busy_worker_among_idle_ones(problem: Workload) -> str:
    """The first of four tasks sums all rows; the others add numbers that nobody needs."""
    part = """
        for j in range({columns}):
            if task > 0:
                u[task, j] = u[task, j] + X[(k + task) % {rows}, j]
for j in range"""
    rows, columns = problem.operands[0].shape
    added = part.format(rows=rows, columns=columns)
    room = f"u = T.sblock_alloc_buffer((4, {columns}))\n"
    zero = "        t[task, j] = T.float32(0)\n"
    body = one_busy_worker(problem).replace(zero, zero + zero.replace("t[task, j]", "u[task, j]"))
    return room + body.replace("\nfor j in range", added, 1)


ASSIGNMENTS = {
    "07": "07_two_levels",
    "09": "09_vectorization",
    "10": "10_parallelism",
}


@pytest.mark.parametrize(
    ("lesson", "test", "body", "told"),
    [
        ("09", "columns-test", the_hottest_of_several, "a loop with much work is not vector code"),
        ("09", "columns-test", behind_a_condition, "conditions that seldom hold"),
        ("09", "columns-test", beside_loops_of_unknown_length, "not vector code"),
        ("09", "columns-test", scalars_beside_vectors, "much of the work in a loop is not in"),
        ("09", "dots-test", chains_of_some_rows, "one chain"),
        ("07", "in-registers-test", tiles_of_some_rows, "sums leave their registers"),
        ("10", "race-test", one_busy_worker, "one worker does most of the work"),
        ("10", "race-test", one_busy_worker_among_idle_ones, "computes more than its problem"),
    ],
)
def test_a_part_is_not_enough(
    notebook: Callable[[str], Notebook], lesson: str, test: str, body: Make, told: str
) -> None:
    (asked,) = (each for each in notebook(ASSIGNMENTS[lesson]).exam.tests if each.grade_id == test)
    said = []
    for demand in asked.visible:
        subject = demand.subject
        assert isinstance(subject, Scheduled)
        bench = Bench()
        program = program_of(text(subject.problem, body(subject.problem)))
        bench.load_program(dump_program(program), subject.problem)
        answer = Examined(bench, problem=subject.problem)
        said += [examine(each, answer) for each in demand.checks if each.kind != RATIO]
    assert said[0].verdict is Verdict.MET, said[0]
    assert told in "\n".join(str(each) for each in said if each.verdict is Verdict.UNMET)
