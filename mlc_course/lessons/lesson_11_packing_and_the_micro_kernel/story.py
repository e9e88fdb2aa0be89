"""What a record of the ladder tells: the answers to the lesson's questions, and its main steps."""

from __future__ import annotations

import html
from collections.abc import Iterator

from mlc_course.lessons.kit import table
from mlc_course.tensor_program.ladders import Record, is_counted, made_on, roofs_of

CSS = ".mlc-steps th, .mlc-steps td { text-align: left !important; padding: 2px 14px 2px 0; }"
SAME = 0.05  # two rungs nearer than this are called equal
TEST = (
    " In tile, every step of a sum tests whether it is the first one; hoist-init takes that test "
    "out of the innermost loop."
)
MAIN = (
    ("parallel", "pack-B", "B is packed, and tiles are summed in a buffer of their own"),
    ("pack-B", "micro-kernel", "the rows of a tile are written out, each sum has a name"),
    ("micro-kernel", "pack-per-panel", "a few panels at a time are packed and used"),
    ("pack-per-panel", "larger-stays", "the larger operand's panels stay in the cache"),
    ("larger-stays", "polynomial-exp", "exp is vector code, not a call for each element"),
)


def change(before: Record, after: Record) -> str:
    """Return how the speed beside NumPy changed from one rung to another.

    Each rung was timed in turn with NumPy, and two rungs perhaps minutes apart, so their ratios to
    NumPy are compared and not their times.
    """
    gain = after["ratio_to_numpy"] / before["ratio_to_numpy"]
    if abs(gain - 1) < SAME:
        return "no clear change"
    return f"{gain:.2f} x as fast" if gain > 1 else f"slower: {gain:.2f} x"


def second_level(record: Record) -> str:
    """Return the name of what the second cache fetches from."""
    sources = list(roofs_of(record).sources)
    return sources[1] if len(sources) > 1 else sources[0]


def gigabytes(record: Record, rung: Record) -> str:
    """Return the counted bytes that the second cache fetches; a dash if nobody counted them."""
    if not is_counted(record):
        return "-"
    place = list(roofs_of(record).sources).index(second_level(record))
    return f"{rung['bytes_moved'][place] / 1e9:.2f}"


def steps_html(record: Record) -> str:
    """Return the last steps of the ladder as a table: what changed, and by how much."""
    rungs = {rung["name"]: rung for rung in record["rungs"]}
    rows = []
    for before, after, what in MAIN:
        if before in rungs and after in rungs:
            pair = rungs[before], rungs[after]
            speed, moved = (
                f"{one} → {other}"
                for one, other in (
                    [f"{each['gflops']:.0f}" for each in pair],
                    [gigabytes(record, each) for each in pair],
                )
            )
            rows.append((after, what, speed, moved, change(*pair)))
    head = ("rung", "what changes", "GFLOP/s", f"GB from {second_level(record)}", "beside NumPy")
    said = f"{html.escape(made_on(record))}; the peak is {record['roofs']['gflops']:.0f} GFLOP/s."
    return f"<style>{CSS}</style><p>{said}</p>{table(head, rows, kind='mlc-steps')}"


def answers(record: Record) -> Iterator[str]:
    """Yield an answer to each question about the ladder, from the record that is shown."""
    rungs = record["rungs"]
    names = [rung["name"] for rung in rungs]
    ratios = [rung["ratio_to_numpy"] for rung in rungs]
    gains = {names[i]: ratios[i] / ratios[i - 1] for i in range(2, len(rungs))}
    most = max(gains, key=lambda rung: gains[rung])
    yield f"After reorder, {most} gains most: {gains[most]:.2f} times the speed of the rung before."
    back = [rung for rung, gain in gains.items() if gain < 1 - SAME]
    if not back:
        yield "On this machine no rung is clearly slower than the one before."
    else:
        yield f"Slower than the rung before: {', '.join(back)}.{TEST if 'tile' in back else ''}"
    if is_counted(record) and {"parallel", "pack-B"} <= set(names):
        moved = [float(gigabytes(record, rungs[names.index(each)])) for each in MAIN[0][:2]]
        more = "each byte serves more operations" if moved[1] < moved[0] else "nothing is saved"
        yield (
            f"From parallel to pack-B the operations stay the same, and the second cache fetches "
            f"{moved[0]:.2f} GB, then {moved[1]:.2f} GB: {more}."
        )


def answers_html(record: Record) -> str:
    """Return the answers, folded, with the machine that they are about."""
    items = "".join(f"<li>{html.escape(each)}</li>" for each in answers(record))
    return (
        f"<details><summary>What the record says ({html.escape(made_on(record))})</summary>"
        f"<ol>{items}</ol></details>"
    )
