"""Hold every row of the instruction table against its sources, and time instructions alone."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import matplotlib as mpl
from common import Target, command_line, finish
from matplotlib.figure import Figure
from tqdm import tqdm

from mlc_course.drawing import OURS, STYLE
from mlc_course.instruction_selection.isa import LEVELS, Instruction, level_of
from mlc_course.instruction_selection.semantics import (
    RowCheck,
    check_rows,
    lacking,
    left_out,
    mnemonics,
)
from mlc_course.measure import Call, compare
from mlc_course.tensor_program.tir import IRModule, cpu_target, tvm

UNSOURCED = {"usdot"}  # no emulator that pip installs knows it
# Instructions, each of a register of its own; copies of these in a loop; runs of the loop.
IN_A_ROW, COPIES, TIMES = 12, 8, 500
PRODUCT = 3  # cycles of a product that waits for the one before, on x86 processors of 15 years
WIDTHS = {"avx2": 256, "avx512": 512, "vnni": 512}
REGISTER = {128: "xmm", 256: "ymm", 512: "zmm"}
LOOP = """
define i32 @{name}(i64 %n) alwaysinline {{
  %left = call i64 asm sideeffect inteldialect "{text}", "=r,0,{lost}"(i64 %n)
  ret i32 0
}}
"""


def assembly(row: Instruction, width: int) -> list[str]:
    """The instruction on registers that wait for nothing, ``IN_A_ROW`` times."""
    full, half = REGISTER[width], REGISTER.get(width // 2, "")
    name, lanes = mnemonics(row)[0], {8: "b", 16: "w", 32: "d", 64: "q"}[row.result.bits]
    name = name if name.startswith("v") else f"v{name}"
    lines = []
    for i in range(IN_A_ROW):
        to, a, b = f"{full}{i}", f"{full}14", f"{full}15"
        if row.name in ("pand", "por", "pxor") and width == 512:
            lines.append(f"{name}d {to}, {a}, {b}")
        elif row.family.startswith("pcmp") and width == 512:  # a mask, then lanes of it
            lines += [f"{name} k1, {a}, {b}", f"vpmovm2{lanes} {to}, k1"]
        elif row.family.startswith("pmovsx"):
            lines.append(f"{name} {to}, {half}14")
        elif row.has_immediate:
            lines.append(f"{name} {to}, {a}, 3")
        elif len(row.reads) == 1 and row.kind == "lane":
            lines.append(f"{name} {to}, {a}")
        else:
            lines.append(f"{name} {to}, {a}, {b}")
    return lines


def loops(bodies: dict[str, list[str]], cpu: str) -> dict[str, Call]:
    """Loops of these instructions as calls: LLVM assembles them, and changes nothing in them."""
    functions = {}
    for name, lines in bodies.items():
        text = "\\0A".join(["7:", *lines * COPIES, "dec $0", "jnz 7b"])
        lost = [f"~{{{REGISTER[128]}{i}}}" for i in range(16)] + ["~{k1}", "~{rax}", "~{flags}"]
        made = LOOP.format(name=f"loop_{name}", text=text, lost=",".join(lost))
        script = (
            f"@T.prim_func(s_tir=True)\ndef {name}(n: T.int64):\n"
            f'    for i in T.serial(1, annotations={{"pragma_import_llvm": {made!r}}}):\n'
            f'        T.evaluate(T.call_extern("int32", "loop_{name}", n))\n'
        )
        functions[name] = tvm.read_script(script).with_attr("global_symbol", name)
    module = tvm.compile_module(IRModule(functions), cpu_target(cpu=cpu)).mod
    return {name: lambda entry=module[name]: entry(TIMES) for name in bodies}


def cycles(progress: Any) -> Iterator[dict[str, Any]]:
    """Yield the reciprocal throughput of every row of x86, at the widths that this machine has."""
    for level, width in WIDTHS.items():
        if lacking(level_of(level)):
            continue
        rows = [row for row in LEVELS[level].rows if level != "vnni" or row.feature == "avx512vnni"]
        named = {f"row_{i}": row for i, row in enumerate(rows)}
        bodies = {name: assembly(row, width) for name, row in named.items()}
        bodies["product"] = ["imul rax, rax"] * IN_A_ROW
        calls = loops(bodies, dict(level_of(level).target)["mcpu"])
        found = compare(
            {name: calls[name] for name in named},
            ("product", calls["product"]),
            budget_s=0.25 * len(named),
            on_round=lambda _: progress.update(),
        )
        for name, row in named.items():
            low, high = found[name].ratio_iqr
            yield {
                "row": row.name,
                "signature": row.signature,
                "width": width,
                "cycles": PRODUCT / found[name].ratio,
                "quartiles": [PRODUCT / high, PRODUCT / low],
            }


def draw(rows: list[dict[str, Any]], path: Path) -> None:
    """A bar for each instruction: cycles from one to the next."""
    some = {row["row"]: row["cycles"] for row in rows if row["width"] == 256}
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(8, 1 + 0.18 * len(some)), layout="constrained")
        axes = figure.subplots()
        axes.barh(list(some), list(some.values()), color=OURS)
        axes.invert_yaxis()
        axes.tick_params(axis="y", labelsize=8)
        axes.set_xlabel("cycles from one instruction to the next, 256 bits")
        figure.savefig(path)


def broken_counts(checks: list[RowCheck]) -> dict[str, int]:
    """Wrong meanings of all rows: made, refused, the same on every input, and wrongly accepted."""
    found = [each.broken for each in checks if each.broken]
    return {
        "made": sum(each.made for each in found),
        "refused": sum(each.refused for each in found),
        "same": sum(each.same for each in found),
        "accepted": sum(len(each.accepted) for each in found),
    }


def targets_of(checks: list[RowCheck]) -> list[Target]:
    expected = [each for each in checks if each.row.name not in UNSOURCED]
    agreeing = sum(each.verdict == "agrees" for each in expected) / len(expected)
    counts = broken_counts(checks)
    refused = counts["refused"] / (counts["refused"] + counts["accepted"])
    return [
        Target("rows on which a source agrees and none differs, but usdot", 1.0, agreeing),
        Target("wrong meanings refused, of those that differ", 1.0, refused),
    ]


def main() -> int:
    arguments = command_line(__doc__).parse_args()
    checks = []
    for each in check_rows(broken=True):
        tqdm.write(str(each))
        checks.append(each)
    for source, reason in left_out().items():
        print(f"left out: {source} ({reason})")
    with tqdm(desc="timing", unit=" rounds") as progress:
        timed = list(cycles(progress))
    for row in timed:
        print(f"{row['row']:<12} {row['width']} bits {row['cycles']:.2f} cycles")
    counts = broken_counts(checks)
    print(f"wrong meanings: {counts}")
    figures = {
        "rows": [each.to_dict() for each in checks],
        "broken": counts,
        "left_out": left_out(),
        "throughput": timed,
    }
    return finish(arguments, figures, targets_of(checks), lambda path: draw(timed, path))


if __name__ == "__main__":
    sys.exit(main())
