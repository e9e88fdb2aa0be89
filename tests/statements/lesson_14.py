"""What lesson 14 says of programs, proofs and LLVM's words, held against what its cells found."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

FOUND = {  # what a cell must say, whatever the machine
    "hook-counts": r"our program +2 vpavgb, 1 vpaddb, 1 vpsubb.*LLVM, .*vpmovzxbw",
    "hook-tvm": r"description +129,540.*instructions +65,534.*processor.* 65,534",
    "cell-candidates": r"255, D = 255: 192 and not 191 .* 0 +equal for all inputs, by all inputs",
    "tests-million": r"different on 0 of 1,000,000 random inputs",
    "tests-proof": r"A\[0\] = -32768, B\[0\] = -32768: -32768 and not 32767.*\bnone\b",
    "search-run": r"refuted .*tried .*found +pavgb.*\s+all inputs",
    "insert-described": r"T\.min\(T\.Cast\(.*A\[vi\]\) \+ T\.Cast\(.*B\[vi\]\), 255\)",
    "insert-by-hand": r"for i in range\(96\).*for i_0 in range\(3\).*llvm\.uadd\.sat",
    "insert-select": r"pavgb.*psubb.*paddb.*pavgb.*store v6: 32 outputs",
    "insert-dot": r"^Proved",
    "proof-all": r"16,777,216 inputs, different on 0",
    "proof-reasons": r"adding -1 takes .* to 32767.*0\.\.100:\s+Proved.*0\.\.200:\s+Different",
    "proof-pack-said": r"In v5 the outputs are out of order",
    "proof-layout": r"output 8 of the registers is not the cell program's.*on cell 16",
    "break-words-counts": r"our program +1 vpaddusb.*as a u8 select +1 vpaddusb",
    "break-words-reveal": r"1 instruction.{0,12}\(1\)",
    "break-average": r"our program +1 vpavgb.*LLVM, the loop as written +1 vpavgb",
    "break-none": r"found +none\. Every program of at most \d+ instructions? was tried",
}


def faults(said: Mapping[str, str]) -> Iterator[str]:
    for cell, pattern in FOUND.items():
        if not re.search(pattern, said[cell], re.S):
            yield f"{cell}: {said[cell][:400]}"
    near = re.search(r"psubusb\(A, \{1\}\)\)\) +([\d,]+)", said["cell-candidates"])
    if not near or not 0 < _number(near[1]) < 2_000:
        yield f"the third candidate is not nearly right: {said['cell-candidates']}"
    tried = re.search(r"tried +([\d,]+) programs", said["search-run"])
    sentence = " ".join(said["end-sentence"].split())
    if not tried or f"found among {tried[1]} programs" not in sentence:
        yield f"the last sentence has another number of programs: {sentence}"
    if "right on all 2^24 inputs" not in sentence:
        yield f"the last sentence has another number of inputs: {sentence}"
    ratio = re.search(r"([\d.]+) times as fast as LLVM's", said["hook-counts"])
    if ratio and f"is {ratio[1]} times as fast as the compiler's" not in sentence:
        yield f"the last sentence has another ratio: {sentence}"
    wide = re.search(r"loop as written +([^\n]*vpminud[^\n]*)", said["break-words-counts"])
    if not wide:
        yield f"LLVM does not add in wide lanes as written: {said['break-words-counts']}"


def _number(text: str) -> int:
    return int(text.replace(",", ""))
