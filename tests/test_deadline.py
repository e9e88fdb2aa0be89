"""A deadline ends long computations from the inside, and nothing else."""

from __future__ import annotations

import threading

import pytest

from mlc_course.deadline import OutOfTime, check_time, until
from mlc_course.mugraph.programs import published, workload
from mlc_course.mugraph.search import Limits, Nest, Problem, grow, start
from mlc_course.mugraph.verify import verify

PAST, FAR = 1.0, 2**40


def late() -> bool:
    try:
        check_time()
    except OutOfTime:
        return True
    return False


def test_the_earlier_of_two_deadlines_counts_and_both_end_with_their_block() -> None:
    assert not late()
    with until(FAR):
        assert not late()
        with until(PAST):
            assert late()
            with until(FAR):
                assert late()
        assert not late()
        with until(None):
            assert not late()
    with pytest.raises(ZeroDivisionError), until(PAST):
        raise ZeroDivisionError
    assert not late()


def test_a_deadline_belongs_to_its_thread() -> None:
    seen = list[bool]()
    with until(PAST):
        thread = threading.Thread(target=lambda: seen.append(late()))
        thread.start()
        thread.join()
    assert seen == [False]


@pytest.mark.parametrize(
    ("program", "graph"),
    [
        ("rms_norm_matmul", "rms_norm_matmul_fused"),
        ("stable_attention", "attention_split_kv"),
    ],
)
def test_a_verification_ends_at_its_deadline(program: str, graph: str) -> None:
    with until(PAST), pytest.raises(OutOfTime):
        verify(workload(program), published(graph))
    assert verify(workload(program), published(graph)).equal


def test_a_bank_ends_at_its_deadline_with_what_it_has() -> None:
    begun = start(Problem(workload("gated_mlp")), Nest(("d",)), seed="0")
    with until(PAST):
        assert grow(begun.bank, begun.offer, Limits()) == "out of time"
    assert begun.bank.values
