"""``check`` in a notebook: what a student reads, within the cell."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
from IPython.core.interactiveshell import InteractiveShell
from traitlets.config import Config

from mlc_course.errors import TooNoisy, UnmetCheck, UsageError
from mlc_course.exercise import (
    agrees,
    axis_kinds,
    breaks,
    called,
    check,
    computes,
    equals,
    faster,
    given,
    holds,
    inner_stride,
    lanes,
    predicts,
    problem,
    returns,
    scheduled,
    seal,
    sealed,
    spills,
    written,
)
from mlc_course.grading.checks.checking import Examined, NotYet
from mlc_course.grading.checks.ratio import Faster, check_possible, race
from mlc_course.grading.process import BASELINE, YOURS
from mlc_course.machine import describe
from mlc_course.measure import FEWEST, Comparison, Timing
from mlc_course.tensor_program.memory import Roofs
from mlc_course.tensor_program.problems import matmul
from mlc_course.tensor_program.schedule import hoist_init, reorder, split, vectorize
from mlc_course.tensor_program.tir import PrimFunc, Schedule, T

SMALL = matmul(16, 32, 64)


def along_rows(sch: Schedule) -> None:
    reorder(sch, "C", "m", "k", "n")


def vectors(sch: Schedule) -> None:
    along_rows(sch)
    split(sch, "C", "n", 16)
    vectorize(sch, "C", "n_1")


def diagnosis(*arguments: Any) -> str:
    with pytest.raises(NotYet) as caught:
        check(*arguments)
    return str(caught.value)


def test_a_right_answer_is_told_what_was_seen(capsys: pytest.CaptureFixture[str]) -> None:
    check(scheduled(along_rows, SMALL), computes(), inner_stride("C"))
    first, second = capsys.readouterr().out.splitlines()
    assert first.startswith("✔ computes matmul (M=16, K=32, N=64); relative error")
    assert second == "✔ along the inner loop n every address moves by 1 element or less"


def test_every_check_is_told_not_only_the_first_that_fails() -> None:
    text = diagnosis(scheduled(lambda sch: None, SMALL), inner_stride("C"), computes())
    assert "✘ the inner loop k strides by 64 elements in B" in text
    assert "    expected  at most 1\n" in text
    assert "✔ computes matmul" in text


XY = {"x": seal("a", "x"), "y": seal("b", "y")}


@pytest.mark.parametrize(
    ("subject", "checks", "words"),
    [
        (scheduled(None, SMALL), [computes()], "there is no answer yet"),
        (scheduled(..., SMALL), [computes()], "there is no answer yet"),
        (scheduled(3, SMALL), [computes()], "a function that takes a schedule"),
        (scheduled(lambda sch: reorder(sch, "C", "m", "q"), SMALL), [computes()], "no loop 'q'"),
        (scheduled(lambda sch: 1 / 0, SMALL), [computes()], "ZeroDivisionError"),
        (scheduled(along_rows, SMALL), [inner_stride("D")], "a block named D"),
        (scheduled(along_rows, SMALL), [axis_kinds("C", "SS")], "got       SSR"),
        (scheduled(along_rows, SMALL), [axis_kinds("D", "SSR")], "no block 'D'"),
        (scheduled(along_rows, SMALL), [lanes(999)], "float32 in each instruction"),
        (written(along_rows, SMALL), [computes()], "a TensorIR function (@T.prim_func)"),
        (called(3), [returns(result=1)], "expected  a function"),
        (called(lambda x: x), [returns(1, result=2)], "✘ a wrong result for (1)"),
        (called(lambda x: object()), [returns(1, result=2)], "a type that does not count"),
        (called(lambda: None), [returns(1, result=2)], "takes other arguments"),
        (given(float("nan")), [equals(1.0)], "not the right value"),
        (given("3"), [predicts(lambda: 3.0)], "not a prediction"),
        (given(9), [predicts(lambda: 3.0, within=2)], "above the truth"),
        (given(1), [predicts(lambda: 3.0, within=2)], "off by a factor of 3"),
        (given("d"), [sealed("abc", seal("a"))], "expected  a | b | c"),
        (given("b"), [sealed("abc", seal("a"))], "another answer is right"),
        (given({"x": "a"}), [sealed("abc", XY)], "not an answer to every part"),
        (given({"x": "a", "y": "d"}), [sealed("abc", XY)], "y: not one of the choices"),
        (given({"x": "a", "y": "a"}), [sealed("abc", XY)], "1 of 2 are right"),
        (given({"x": "b", "y": "a"}), [sealed("abc", XY)], "0 of 2 are right"),
        (given({"x": [], "y": "a"}), [sealed("abc", XY)], "x: not one of the choices"),
        (given(2), [breaks("all are even", lambda v: None if v % 2 else "2 is even")],
         "the claim stands: all are even"),
    ],
)  # fmt: skip
def test_a_wrong_answer_is_told_why(subject: Any, checks: list[Any], words: str) -> None:
    assert words in diagnosis(subject, *checks)


@T.prim_func(s_tir=True)  # type: ignore[untyped-decorator]
def wide(A: T.Buffer((64, 64)), B: T.Buffer((64, 64))):  # type: ignore[no-untyped-def]
    for i in T.vectorized(4096):
        B[i // 64, i % 64] = T.pow(A[i // 64, i % 64], T.float32(1.5))


@T.prim_func(s_tir=True)  # type: ignore[untyped-decorator]
def endless(A: T.Buffer((64, 64)), B: T.Buffer((64, 64))):  # type: ignore[no-untyped-def]
    for _, i, j in T.grid(10**9, 64, 64):
        B[i, j] = A[i, j]


@T.prim_func(s_tir=True)  # type: ignore[untyped-decorator]
def vectors_in_vectors(A: T.Buffer((64, 64)), B: T.Buffer((64, 64))):  # type: ignore[no-untyped-def]
    for i in T.vectorized(8):
        for j in T.vectorized(8):
            B[i, j] = A[i, j]


@pytest.mark.parametrize(
    ("program", "words"),
    [
        (wide, "the program is too large to be compiled"),
        (endless, "the program runs too long"),
        (vectors_in_vectors, "does not compile this program"),
    ],
)
def test_what_would_hang_a_kernel_is_refused_in_words(program: PrimFunc, words: str) -> None:
    copy = problem("copy", inputs={"A": (64, 64)}, result=("B", (64, 64)), exact=lambda a: a)
    text = diagnosis(written(program, copy), computes(), lanes(4))
    assert words in text
    assert "InternalError" not in text
    assert "hint" in text


def test_kinds_of_axes_count_in_any_order_and_after_the_init_is_hoisted() -> None:
    def hoisted(sch: Any) -> None:
        along_rows(sch)
        hoist_init(sch, "C", "k")

    check(scheduled(hoisted, SMALL), axis_kinds("C", "RSS"), computes())


@pytest.mark.parametrize("kinds", ["", "SSX", "ssr"])
def test_kinds_that_are_none_are_refused(kinds: str) -> None:
    with pytest.raises(UsageError, match="not kinds of axes"):
        axis_kinds("C", kinds)


def test_an_unwritten_function_is_no_answer_yet() -> None:
    def stub(*_: object) -> None:
        raise NotImplementedError

    for subject in (scheduled(stub, SMALL), called(stub)):
        assert "there is no answer yet" in diagnosis(subject, returns(1, result=1))


def test_a_wrong_program_is_told_its_error() -> None:
    @T.prim_func(s_tir=True)
    def zeros(a: T.Buffer((4,), "float32"), b: T.Buffer((4,), "float32")):
        for i in range(4):
            b[i] = T.float32(0.0)

    double = problem("double", inputs={"a": (4,)}, result=("b", (4,)), exact=lambda a: 2 * a)
    assert "the result differs from float64 NumPy" in diagnosis(written(zeros, double), computes())


def test_an_element_that_is_never_written_is_no_result() -> None:
    @T.prim_func(s_tir=True)
    def half(a: T.Buffer((4,), "float32"), b: T.Buffer((4,), "float32")):
        for i in range(2):
            b[i] = a[i] * T.float32(2.0)

    double = problem("double", inputs={"a": (4,)}, result=("b", (4,)), exact=lambda a: 2 * a)
    assert "relative error" in diagnosis(written(half, double), computes())


def in_half_precision() -> PrimFunc:
    @T.prim_func(s_tir=True)
    def rounded(a: T.Buffer((4,), "float32"), b: T.Buffer((4,), "float32")):
        for i in range(4):
            b[i] = T.Cast("float32", T.Cast("float16", a[i]))

    return rounded


def test_another_precision_is_another_problem() -> None:
    same = problem("copy", inputs={"a": (4,)}, result=("b", (4,)), exact=lambda a: a)
    text = diagnosis(written(in_half_precision(), same), computes(tolerance=0.1))
    assert "the program computes in another precision" in text
    assert "float16" in text


def test_a_function_for_other_schedules_is_told_apart() -> None:
    @T.prim_func
    def plain(a: T.Buffer((4,), "float32"), b: T.Buffer((4,), "float32")):
        for i in range(4):
            b[i] = a[i]

    same = problem("copy", inputs={"a": (4,)}, result=("b", (4,)), exact=lambda a: a)
    assert "@T.prim_func(s_tir=True) above it" in diagnosis(written(plain, same), computes())


def test_arguments_are_copies() -> None:
    shared = np.zeros(2)

    def spoils(a: Any) -> float:
        a[:] = 1
        return 1.0

    check(called(spoils), returns(shared, result=1.0), returns(shared, result=1.0))
    assert not shared.any()


def test_agreement_uses_random_arguments() -> None:
    asked: list[int] = []
    check(
        called(lambda x: 2 * x),
        agrees(lambda x: asked.append(x) or 2 * x, lambda rng: (int(rng.integers(2**40)),)),
    )
    assert len(set(asked)) == 20


def test_counts_of_instructions_are_checked(capsys: pytest.CaptureFixture[str]) -> None:
    check(scheduled(vectors, SMALL), lanes(4), spills(64))  # with AVX2, four of them are there
    assert "the hot loop computes on" in capsys.readouterr().out
    assert "do not fit into the registers" in diagnosis(scheduled(vectors, SMALL), spills(-1))
    many = describe().lanes * 64
    assert "the vectors are short" in diagnosis(scheduled(vectors, SMALL), lanes(many))


def test_jupyter_shows_no_traceback(capsys: pytest.CaptureFixture[str]) -> None:
    config = Config()
    config.HistoryManager.enabled = False
    shell = InteractiveShell(config=config)
    shell.run_cell("from mlc_course.exercise import *")
    shell.run_cell("check(given(2), equals(3, hint='one more'))")
    shown = capsys.readouterr().out
    assert shown.strip().splitlines() == [
        "✘ not the right value",
        "    got       2",
        "    hint      one more",
    ]


def test_a_predicate_of_the_exercises_own() -> None:
    def short(subject: Any) -> str:
        if len(subject) > 3:
            raise UnmetCheck("too long", got=len(subject))
        return "short"

    check(given("abc"), holds(short))
    assert "✘ too long" in diagnosis(given("abcd"), holds(short))


# --- races ----------------------------------------------------------------------------------------


@dataclass
class Stopwatch:
    """A bench and a clock in one: every call takes its set time, in seconds."""

    costs: dict[str, Callable[[int], float]]
    now: float = 0.0
    calls: dict[str, int] = field(default_factory=lambda: {YOURS: 0, BASELINE: 0})

    def race(self, rung: str, inputs: list[Any]) -> None:
        pass

    def repeat(self, contestant: str, times: int) -> None:
        for _ in range(times):
            self.calls[contestant] += 1
            self.now += self.costs[contestant](self.calls[contestant])

    def __call__(self) -> float:
        return self.now


def answer(costs: dict[str, Callable[[int], float]]) -> Examined:
    return Examined(Stopwatch(costs), problem=SMALL)  # type: ignore[arg-type]


def test_a_race_is_a_ratio_of_times_for_one_call() -> None:
    raced = answer({YOURS: lambda _: 0.0001, BASELINE: lambda _: 0.01})
    found = race(raced, "naive", clock=raced.bench)  # type: ignore[arg-type]
    assert found.ratio == pytest.approx(100)
    assert found.timing.best_s == pytest.approx(0.0001)
    assert found.warning is None


def test_an_answer_that_waits_is_as_slow_as_the_clock_on_the_wall_says() -> None:
    raced = answer({YOURS: lambda _: 0.04, BASELINE: lambda _: 0.01})  # of CPU time: nothing
    found = race(raced, "naive", clock=raced.bench)  # type: ignore[arg-type]
    assert (found.ratio, found.warning) == (pytest.approx(0.25), None)


def test_a_slow_answer_is_not_excused_for_having_few_rounds(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    raced = answer({YOURS: lambda _: 50.0, BASELINE: lambda _: 10.0})
    found = race(raced, "naive", clock=raced.bench)  # type: ignore[arg-type]
    assert len(found.ratios) == FEWEST
    monkeypatch.setattr("mlc_course.grading.checks.ratio.race", lambda *_: found)
    with pytest.raises(UnmetCheck, match="right, but too slow"):
        Faster(2).judge(Examined(problem=SMALL))


def test_an_interrupt_does_not_make_one_short_call_a_reading() -> None:
    raced = answer({YOURS: lambda call: 0.005 if call == 2 else 0.0001, BASELINE: lambda _: 0.0002})
    race(raced, "naive", clock=raced.bench)  # type: ignore[arg-type]
    assert raced.bench.calls[YOURS] > 3 * 0.002 / 0.0001  # type: ignore[attr-defined]


def comparison(yours: list[float], baseline: list[float]) -> Comparison:
    return Comparison(Timing(YOURS, tuple(yours)), Timing(BASELINE, tuple(baseline)))


@pytest.fixture
def raced(monkeypatch: pytest.MonkeyPatch) -> Callable[[Comparison], None]:
    def set_to(found: Comparison) -> None:
        monkeypatch.setattr("mlc_course.grading.checks.ratio.race", lambda *_: found)

    return set_to


def test_fast_enough_slow_and_too_noisy(raced: Callable[[Comparison], None]) -> None:
    plain = Examined(problem=SMALL)
    raced(comparison([1.0] * 6, [4.0] * 6))
    assert "4.00 [4.00 4.00] times as fast" in Faster(3).judge(plain)
    with pytest.raises(UnmetCheck, match="right, but too slow"):
        Faster(5).judge(plain)
    raced(comparison([1.0] * 6, [1.0, 1.0, 2.0, 3.0, 6.0, 9.0]))
    with pytest.raises(TooNoisy, match="graded on counters only"):
        Faster(5).judge(plain)


def test_most_of_the_reference_is_enough(raced: Callable[[Comparison], None]) -> None:
    raced(comparison([1.0] * 6, [4.0] * 6))
    Faster(10).judge(Examined(problem=SMALL, reference_ratio=5.0))
    with pytest.raises(UnmetCheck, match="expected  4.20 times"):
        Faster(10).judge(Examined(problem=SMALL, reference_ratio=6.0))


def test_a_time_below_the_floor_is_impossible() -> None:
    roofs = Roofs(1, gflops=1.0, gbytes_per_s=1.0)
    floor = SMALL.flops / 1e9
    check_possible(Examined(problem=SMALL), comparison([floor], [1.0]), roofs)
    with pytest.raises(UnmetCheck, match="faster than this machine can be"):
        check_possible(Examined(problem=SMALL), comparison([floor / 2], [1.0]), roofs)


def test_a_program_that_sees_its_last_result_is_not_raced() -> None:
    @T.prim_func(s_tir=True)
    def lazy(a: T.Buffer((64,), "float32"), b: T.Buffer((64,), "float32")):
        for i in range(64):
            if T.Select(T.fabs(b[i] - a[i]) <= T.float32(0.0), 1, 0) == 0:  # NaN at first
                b[i] = a[i]

    copy = problem("copy", inputs={"a": (64,)}, result=("b", (64,)), exact=lambda a: a)
    text = diagnosis(written(lazy, copy), computes(), faster(0.0))
    assert "✔ computes copy" in text
    assert "the addresses of this program depend on its data" in text


def test_an_init_of_its_own_leaves_the_block_what_it_is(capsys: pytest.CaptureFixture[str]) -> None:
    def apart(sch: Schedule) -> None:
        along_rows(sch)
        sch.decompose_reduction(sch.get_sblock("C"), sch.get_loops(sch.get_sblock("C"))[1])

    check(scheduled(apart, SMALL), computes(), inner_stride("C"))
    assert "along the inner loop n" in capsys.readouterr().out


def test_there_is_no_race_for_a_wrong_program() -> None:
    text = diagnosis(scheduled(lambda sch: None, SMALL), inner_stride("C"), faster(1e9))
    assert "too slow" not in text
