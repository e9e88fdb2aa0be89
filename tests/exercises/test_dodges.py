"""No dodge earns a mark: wrong programs that a script makes look right. See ``helpers/dodges.py``.

A sample is tried in every run; all of them with ``--full``, others with ``--minutes``.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from conftest import Notebook
from dodges import DODGES, HARMLESS, Change, dodged

from mlc_course.grading.checks import RATIO, Demand, Examined, examine
from mlc_course.grading.process import Bench, Finding, Scheduled, Verdict, produce
from mlc_course.tensor_program.tir import dump_program, load_program


@dataclass(frozen=True)
class Exercise:
    """A graded cell that asks for a structure, with wrong answers that compute the right thing."""

    assignment: str
    test: str
    solution: str  # the id of its cell
    wrong: tuple[str, ...]


def schedule(name: str, *lines: str) -> str:
    return f"def {name}(sch):\n" + "".join(f"    {line}\n" for line in lines or ("pass",))


def written(head: str, *lines: str) -> str:
    return f"@T.prim_func(s_tir=True)\ndef {head}:\n" + "".join(f"    {each}\n" for each in lines)


LOOPS = 'm, n, k = sch.get_loops(sch.get_sblock("C"))'
TILES = 'steps.tile(sch, "C", n=8, m=16)', 'steps.reorder(sch, "C", "k", "m_1", "n_1")'
HEAD_05 = 'repaired(A: T.Buffer((24, 40), "float32"), B: T.Buffer((40, 56), "float32"), C: T.Buffer((24, 56), "float32"))'
EXERCISES = [
    Exercise(
        "02_tensor_program_abstraction",
        "broadcast-test",
        "broadcast",
        (
            written(
                'broadcast_add(A: T.Buffer((24, 1), "float32"), B: T.Buffer((16,), "float32"), C: T.Buffer((24, 16), "float32"))',
                "for i, j in T.grid(24, 16):",
                '    with T.sblock("C"):',
                '        v_i, v_j = T.axis.remap("SR", [i, j])',
                "        C[v_i, v_j] = A[v_i, 0] + B[v_j]",
            ),
            written(
                'broadcast_add(A: T.Buffer((24, 1), "float32"), B: T.Buffer((16,), "float32"), C: T.Buffer((24, 16), "float32"))',
                "for i, j in T.grid(24, 16):",
                "    C[i, j] = A[i, 0] + B[j]",
            ),
        ),
    ),
    Exercise(
        "02_tensor_program_abstraction",
        "bug-hunt-test",
        "bug-hunt",
        tuple(
            written(
                'product(A: T.Buffer((16, 16), "float32"), B: T.Buffer((16, 16), "float32"), C: T.Buffer((16, 16), "float32"))',
                "for i, j in T.grid(16, 16):",
                "    C[i, j] = T.float32(0)",
                "for i, j, k in T.grid(16, 16, 16):",
                *lines,
            )
            for lines in (
                (
                    '    with T.sblock("C"):',
                    '        v_i, v_j, v_k = T.axis.remap("SSS", [i, j, k])',
                    "        C[v_i, v_j] = C[v_i, v_j] + A[v_i, v_k] * B[v_k, v_j]",
                ),
                (
                    '    with T.sblock("C"):',
                    '        v_i, v_j, v_k = T.axis.remap("SRS", [i, j, k])',
                    "        C[v_i, v_j] = C[v_i, v_j] + A[v_i, v_k] * B[v_k, v_j]",
                ),
                ("    C[i, j] = C[i, j] + A[i, k] * B[k, j]",),
            )
        ),
    ),
    Exercise(
        "05_loop_reorder",
        "along-rows-test",
        "along-rows",
        (
            schedule("along_rows"),
            schedule("along_rows", 'reorder(sch, "C", "n", "k", "m")'),
            schedule("along_rows", 'reorder(sch, "C", "k", "n", "m")'),
            schedule("along_rows", LOOPS, "k_0, k_1 = sch.split(k, [None, 2])", "sch.reorder(k_0, m, k_1, n)", "sch.reorder(n, k_1)"),
        ),
    ),
    Exercise(
        "05_loop_reorder",
        "repair-test",
        "repair",
        tuple(
            written(
                HEAD_05,
                "for m, n in T.grid(24, 56):",
                "    C[m, n] = T.float32(0)",
                f"for {order} in T.grid({sizes}):",
                "    C[m, n] = C[m, n] + A[m, k] * B[k, n]",
            )
            for order, sizes in (("k, n, m", "40, 56, 24"), ("m, n, k", "24, 56, 40"), ("n, m, k", "56, 24, 40"))
        ),
    ),
    Exercise(
        "06_tiling",
        "tiled-test",
        "tiled",
        (
            schedule("tiled"),
            schedule("tiled", 'tile(sch, "C", m=16, n=16, k=16)'),
            schedule("tiled", 'tile(sch, "C", n=16, k=16, m=16)'),
            schedule("tiled", 'reorder(sch, "C", "m", "k", "n")'),
            schedule("tiled", 'tile(sch, "C", m=20, k=20, n=20)'),
        ),
    ),
    Exercise(
        "06_tiling",
        "repaired-test",
        "repaired",
        (
            schedule("repaired", LOOPS, "n_0, n_1 = sch.split(n, [16, None])", "k_0, k_1 = sch.split(k, [None, 16])", "sch.reorder(k_0, m, n_0, k_1, n_1)"),
            schedule("repaired", LOOPS, "n_0, n_1 = sch.split(n, [None, 16])", "k_0, k_1 = sch.split(k, [None, 16])", "sch.reorder(k_0, n_0, m, n_1, k_1)"),
        ),
    ),
    Exercise(
        "07_two_levels",
        "any-size-test",
        "any-size",
        (
            schedule("tiled_any"),
            schedule("tiled_any", 'reorder(sch, "C", "m", "k", "n")'),
            schedule("tiled_any", 'pad(sch, "C", n=16, k=16)', 'split(sch, "C", "n", 16)', 'split(sch, "C", "k", 16)', 'reorder(sch, "C", "k_0", "n_0", "m", "n_1", "k_1")'),
        ),
    ),
    Exercise(
        "07_two_levels",
        "in-registers-test",
        "in-registers",
        (
            schedule(
                "in_registers",
                'tile(sch, "C", n=2 * checks.lanes(), k=96, m=4)',
                'reorder(sch, "C", "m_1", "k_1", "n_1")',
                'split(sch, "C", "n_1", checks.lanes())',
                'vectorize(sch, "C", "n_1_1")',
                'hoist_init(sch, "C", "k_0")',
            ),
        ),
    ),
    Exercise(
        "08_fusion",
        "behind-test",
        "behind",
        (
            schedule("behind", 'steps.reorder(sch, "R_matmul", "m", "k", "n")'),
            schedule("behind", 'steps.fuse_consumer(sch, "R", into="R_matmul", at="m")'),
            schedule(
                "behind",
                'steps.reorder(sch, "R_matmul", "m", "k", "n")',
                'loops = sch.get_loops(sch.get_sblock("R_matmul"))',
                'sch.reverse_compute_at(sch.get_sblock("R"), loops[1])',
            ),
        ),
    ),
    Exercise(
        "08_fusion",
        "one-pass-test",
        "one-pass",
        (
            schedule("one_pass"),
            schedule("one_pass", 'steps.compute_per_iteration(sch, "Scale", of="Y", at="m")'),
            schedule("one_pass", *(f'steps.compute_per_iteration(sch, "{s}", of="Y", at="n")' for s in ("Scale", "Sum"))),
        ),
    ),
    Exercise(
        "08_fusion",
        "repair-test",
        "repair",
        (
            schedule("repaired", 'steps.reorder(sch, "C", "m", "k", "l")', 'steps.reorder(sch, "F", "m", "l", "n")', 'steps.inline(sch, "D")', 'steps.merge(sch, "C", "F", at="m")') + '\n\nwhy = "B"\n',
            schedule("repaired", 'steps.reorder(sch, "C", "m", "k", "l")', 'steps.reorder(sch, "F", "m", "l", "n")', 'steps.fuse_consumer(sch, "D", into="C", at="m")') + '\n\nwhy = "B"\n',
            schedule("repaired", 'steps.fuse_consumer(sch, "D", into="C", at="m")', 'steps.merge(sch, "C", "F", at="m")') + '\n\nwhy = "B"\n',
        ),
    ),
    Exercise(
        "08_fusion",
        "online-test",
        "online",
        (
            written(
                'repaired(X: T.Buffer((6, 2048), "float32"), P: T.Buffer((6, 2048), "float32"))',
                "Max = T.sblock_alloc_buffer((1,))",
                "Sum = T.sblock_alloc_buffer((1,))",
                "for m in range(6):",
                "    Max[0] = X[m, 0]",
                "    Sum[0] = T.float32(0)",
                "    for k in range(2048):",
                "        Max[0] = T.max(Max[0], X[m, k])",
                "    for k in range(2048):",
                "        Sum[0] = Sum[0] + T.exp(X[m, 2047 - k] - Max[0])",
                "    for k in range(2048):",
                "        P[m, k] = T.exp(X[m, k] - Max[0]) / Sum[0]",
            ),
        ),
    ),
    Exercise(
        "09_vectorization",
        "columns-test",
        "columns",
        (
            schedule("in_lanes"),
            schedule("in_lanes", 'steps.reorder(sch, "S", "k", "j")', 'steps.vectorize(sch, "S", "j")'),
        ),
    ),
    Exercise(
        "09_vectorization",
        "dots-test",
        "dots",
        (
            schedule("in_sums"),
            schedule(
                "in_sums",
                'sums = steps.several_sums(sch, "S", "k", LANES)',
                'steps.compute_per_iteration(sch, sums, of="S", at="m")',
                "lane, _, k = lookup.loops(sch, sums)[1:]",
                "steps.reorder(sch, sums, k, lane)",
                "steps.vectorize(sch, sums, lane)",
                "steps.hoist_init(sch, sums, k)",
            ),
        ),
    ),
    Exercise(
        "09_vectorization",
        "hunt-test",
        "hunt",
        tuple(
            written(
                'repaired(X: T.Buffer((100, 64), "float32"), Y: T.Buffer((64,), "float32"))',
                "total = T.sblock_alloc_buffer((64,))",
                f"for j in T.{kind}(64):",
                "    total[j] = T.float32(0)",
                "    for k in range(100):",
                "        total[j] = total[j] + X[k, j]",
                "    Y[j] = total[j] / T.float32(100)",
            )
            for kind in ("serial", "parallel")
        ),
    ),
    Exercise(
        "10_parallelism",
        "race-test",
        "race",
        (
            schedule("repaired"),
            schedule("repaired", 'steps.parallel(sch, "S", "j")'),
            schedule("repaired", 'k_0, _ = sch.split(lookup.loop(sch, "S", "k"), [4, None])', "sch.rfactor(k_0, factor_axis=0)", 'steps.reorder(sch, "S_rf", "k_0", "k_1", "j")'),
        ),
    ),
    Exercise(
        "11_packing_and_the_micro_kernel",
        "pack-test",
        "pack",
        (
            schedule("pack_a", *TILES),
            schedule("pack_a", *TILES[:1], 'steps.reorder(sch, "C", "k", "m_1", "n_1")', 'sch.reorder(*[sch.get_loops(sch.get_sblock("C"))[n] for n in (2, 0, 1)])'),
            schedule("pack_a", *TILES, 'sch.cache_read(sch.get_sblock("C"), 0, "global")'),
        ),
    ),
    Exercise(
        "11_packing_and_the_micro_kernel",
        "spills-test",
        "spills",
        (
            schedule(
                "without_spills",
                "lanes = describe().lanes",
                'steps.tile(sch, "C", n=3 * lanes, m=4)',
                'steps.reorder(sch, "C", "k", "m_1", "n_1")',
                'data_steps.pack(sch, "C", "B", along="n", panel=3 * lanes)',
                'data_steps.accumulate_locally(sch, "C", at="m_0")',
                'steps.unroll(sch, "C", "m_1")',
                'steps.vectorize(sch, "C", "n_1")',
                'steps.hoist_init(sch, "C", "k")',
            ),
        ),
    ),
]
SAMPLE = 12  # dodges of each exercise in a run that is not full
IDS = [f"{each.assignment[:2]} {each.test}" for each in EXERCISES]


def programs(asked: Notebook, exercise: Exercise, answer: str) -> Iterator[tuple[Demand, Any]]:
    """The demands of an exercise on programs, each with the program that an answer makes for it."""
    (test,) = (each for each in asked.exam.tests if each.grade_id == exercise.test)
    with asked.answered([answer]) as names:
        for demand in test.demands:
            if "program" in demand.subject.ask()["how"] or isinstance(demand.subject, Scheduled):
                answered = names[demand.subject.answer.name]
                text = produce(answer=answered, **demand.subject.ask())
                yield demand, load_program(text)


def fault(made: list[tuple[Demand, Any]], change: Change) -> str | None:
    """What a changed program is told first; empty where it earns the mark, None where unchanged."""
    for demand, module in made:
        changed = dodged(module, change)
        if changed is None:
            return None
        bench = Bench()
        try:
            bench.load_program(dump_program(changed), demand.subject.problem)
        except Exception as error:
            return f"✘ {error}"
        answer = Examined(bench, problem=demand.subject.problem)
        for check in demand.checks:
            found: Finding = examine(check, answer)
            if check.kind != RATIO and found.verdict is Verdict.UNMET:
                return str(found)
    return ""


@pytest.mark.slow
@pytest.mark.fuzz
@pytest.mark.parametrize("exercise", EXERCISES, ids=IDS)
def test_no_dodge_earns_a_mark(
    notebook: Callable[[str], Notebook],
    exercise: Exercise,
    full: bool,
    seed: int,
    tried: Callable[[str, int], None],
) -> None:
    asked = notebook(exercise.assignment)
    made = [[*programs(asked, exercise, answer)] for answer in exercise.wrong]
    cases = [(number, name) for number in range(len(made)) for name in DODGES]
    random.Random(f"{seed} {exercise.test}").shuffle(cases)
    wanted, count = len(cases) if full else SAMPLE, 0
    for number, name in cases:
        if count == wanted:
            break
        said = fault(made[number], DODGES[name])
        assert said != "", f"{name}, out of wrong answer {number}: earns the mark"
        count += said is not None
    assert count >= min(wanted, 10)
    tried("dodges", count)


@pytest.mark.slow
@pytest.mark.fuzz
def test_harmless_additions_leave_a_right_answer_right(
    notebook: Callable[[str], Notebook],
    solution: Callable[[str, str], str],
    full: bool,
    seed: int,
    tried: Callable[[str, int], None],
) -> None:
    cases = [(exercise, name) for exercise in EXERCISES for name in HARMLESS]
    random.Random(seed).shuffle(cases)
    for exercise, name in cases if full else cases[:8]:
        answer = solution(exercise.assignment, exercise.solution)
        made = [*programs(notebook(exercise.assignment), exercise, answer)]
        said = fault(made, HARMLESS[name])
        assert not said, f"{exercise.test}, {name}: {said}"
    tried("harmless additions", len(cases) if full else 8)
