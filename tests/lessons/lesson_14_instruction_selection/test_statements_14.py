"""The statements of lesson 14 are refused where they do not fit what was found."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from lesson_runs import statements

from mlc_course.instruction_selection.integers import evaluate
from mlc_course.lessons.lesson_14_instruction_selection import (
    RACED,
    STOPS,
    race_for,
    read_program,
    survey,
)

faults = statements(Path("14_instruction_selection.ipynb"))
SAID = {
    "hook-counts": "Our program is 3.1 times as fast as LLVM's best loop.\n"
    "our program                2 vpavgb, 1 vpaddb, 1 vpsubb\n"
    "LLVM, the loop as written  8 vpaddw, 6 vpmovzxbw, 2 vpsrlw\n",
    "hook-tvm": "its description 129,540\nits three instructions 65,534\nthis processor 65,534",
    "cell-candidates": "pavgb(B, pavgb(D, psubusb(A, {1}))) 972 A = 0, B = 255, D = 255: 192 and "
    "not 191 pavgb(B, paddb(A, psubb(D, pavgb(A, D)))) 0 equal for all inputs, by all inputs",
    "tests-million": "different on 0 of 1,000,000 random inputs",
    "tests-proof": "Different at A[0] = -32768, B[0] = -32768: -32768 and not 32767. none",
    "search-run": "refuted  pavgb(A, B)\ntried    40,791,248 programs in 4.0 s\n"
    "found    pavgb(B, paddb(A, psubb(D, pavgb(A, D))))\n         all inputs (one lane)",
    "insert-described": 'T.min(T.Cast("int32", A[vi]) + T.Cast("int32", B[vi]), 255)',
    "insert-by-hand": "for i in range(96) for i_0 in range(3) llvm.uadd.sat",
    "insert-select": "pavgb psubb paddb pavgb store v6: 32 outputs",
    "insert-dot": "Proved: the same normal form.",
    "proof-all": "16,777,216 inputs, different on 0",
    "proof-reasons": "adding -1 takes that back to 32767\nA in 0..100:\n   Proved: it is\n"
    "A in 0..200:\n   Different at",
    "proof-pack-said": "7 registers of 256 bits. In v5 the outputs are out of order.",
    "proof-layout": "output 8 of the registers is not the cell program's; that on cell 16",
    "break-words-counts": "our program 1 vpaddusb\n"
    "LLVM, the loop as written 8 vpmovzxbd, 4 vpminud\n"
    "LLVM, as a u8 select 1 vpaddusb",
    "break-words-reveal": "The answer is: 1 instruction (1) .",
    "break-average": "our program 1 vpavgb\nLLVM, the loop as written 1 vpavgb",
    "break-none": "found    none. Every program of at most 4 instructions was tried over 16 rows",
    "end-sentence": "This program was found among 40,791,248 programs, is right on all 2^24\n"
    "inputs and not only on a million I tried, and it is 3.1 times as fast as the compiler's\n"
    "because it never leaves 8 bits.",
}


def test_true_sentences_are_accepted() -> None:
    assert not list(faults(SAID))


@pytest.mark.parametrize(
    ("cell", "old", "new"),
    [
        ("hook-counts", "vpmovzxbw", "vpavgb"),
        ("hook-counts", "3.1 times", "2.9 times"),
        ("hook-tvm", "65,534\nthis", "129,540\nthis"),
        ("cell-candidates", "972", "250,000"),
        ("cell-candidates", "equal for all inputs", "not known"),
        ("tests-million", "on 0 of", "on 1 of"),
        ("search-run", "found    pavgb", "found    none"),
        ("search-run", "40,791,248", "40,791,249"),
        ("insert-dot", "Proved", "Different"),
        ("proof-all", "on 0", "on 5"),
        ("proof-reasons", "Different", "Proved"),
        (
            "proof-pack-said",
            "In v5 the outputs are out of order",
            "In every register they are in order",
        ),
        ("proof-layout", "on cell 16", "on cell 8"),
        ("break-words-counts", "select 1 vpaddusb", "select 10 vpaddusb"),
        ("break-words-counts", "vpminud", "vpminub"),
        ("break-average", "as written 1 vpavgb", "as written 9 vpavgb"),
        ("break-none", "none", "pmulld(A, B)"),
        ("end-sentence", "2^24", "2^23"),
    ],
)
def test_untrue_sentences_are_found(cell: str, old: str, new: str) -> None:
    assert old in SAID[cell]
    assert list(faults({**SAID, cell: SAID[cell].replace(old, new)}))


def test_the_answers_below_the_candidate_race_are_those_of_its_recordings() -> None:
    wrong = {name: [x for x in race_for(name).listed if not x.is_right] for name in RACED}
    standing = {name: sum(x.fell is None for x in held) for name, held in wrong.items()}
    assert standing.pop("mul_q15_sat") == 4
    assert set(standing.values()) == {0}
    assert max(x.fell for name in standing for x in wrong[name] if x.fell) < 1024


def test_the_third_program_of_section_3_stands_longer_than_the_candidates_of_the_blur() -> None:
    race = race_for("gauss_121_u8")
    program = read_program("pavgb(B, pavgb(D, psubusb(A, {1})))", race.cell)
    (lane,) = program.lanes(race.cell.inputs, race.cell.result)
    rng = np.random.default_rng(survey.SEED)
    inputs = {
        x: rng.integers(x.lo, x.hi, STOPS[-1], endpoint=True)
        for lanes in race.cell.inputs.values()
        for x in lanes
    }
    wanted = evaluate(race.cell.goal, inputs)
    assert [wanted[stop - 1] for stop in STOPS] == [each.wanted for each in race.samples]
    fell = 1 + int(np.flatnonzero(evaluate(lane, inputs) != wanted)[0])
    assert 1024 < fell < STOPS[-1]
