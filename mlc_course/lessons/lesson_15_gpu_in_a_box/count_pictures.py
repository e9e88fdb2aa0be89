"""What kernels move and wait for, as bars with a dashed line at the least, and in sentences."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from mlc_course.drawing import PAGE_INK, PAGE_OURS, PAGE_PAPER, document, rect, text
from mlc_course.mugraph.box import SECTOR, Run
from mlc_course.mugraph.kernels import Barrier, Kernel, rewritten
from mlc_course.units import plural

WIDE, LEFT, BAR, ROW = 980.0, 170.0, 640.0, 34.0


def wavefronts_svg(counts: Mapping[str, int], *, least: int) -> str:
    """Draw the wavefronts of each access as a bar; the dashed line is at the ``least``."""
    rows = [(name, count, f"{count:,}") for name, count in counts.items()]
    return _bars("wavefronts to read the tile", rows, least)


def transactions_svg(runs: Mapping[str, Run], *, least_bytes: int) -> str:
    """Draw the bytes that each run moved as a bar, with its wavefronts and barriers in words.

    The dashed line is at ``least_bytes``.
    """
    rows = []
    for name, run in runs.items():
        waves, barriers = run.shared.wavefronts, run.barriers
        words = [f"{run.device.bytes_moved:,} bytes"]
        words += [f"{waves:,} wavefronts, {plural(barriers, 'barrier')}"] if waves else []
        rows.append((name, run.device.bytes_moved, ", ".join(words)))
    return _bars("bytes to and from device memory", rows, least_bytes)


def compared(what: str, before: int, now: int) -> str:
    """Return in words how a count changed."""
    if now == before:
        return f"{what}: {now:,}, as before"
    factor, word = (before / now, "fewer") if now < before else (now / before, "more")
    return f"{what}: {now:,} instead of {before:,}, {word} by a factor of {factor:.1f}"


def transpose_sentence(plain: Run, tiled: Run, padded: Run) -> str:
    """Return what the reader can say at the end of the lesson, with the counts of three runs."""
    return (
        "The 32 threads of a warp access memory together. Device memory moves every sector\n"
        f"of {SECTOR} bytes that one of them touches, so neighbouring threads should touch\n"
        f"neighbouring elements: the transpose moves {padded.device.bytes_moved:,} bytes then, and "
        f"{plain.device.bytes_moved:,} otherwise.\n"
        "Where the order does not suit, a tile in shared memory turns it around, with\n"
        f"{plural(padded.barriers, 'barrier')} between those who write it and those who read it.\n"
        "With a pitch that spreads its columns over the banks, the tile takes "
        f"{padded.shared.wavefronts:,}\nwavefronts, and with a pitch of 32 it takes "
        f"{tiled.shared.wavefronts:,}."
    )


def without_barriers(kernel: Kernel) -> Kernel:
    """Return the same kernel with every barrier taken out."""
    body = rewritten(kernel.body, lambda s: () if isinstance(s, Barrier) else (s,))
    return replace(kernel, body=body)


def _bars(title: str, rows: list[tuple[str, int, str]], least: int) -> str:
    scale = BAR / max(max(count for _, count, _ in rows), least)
    high = 44 + ROW * len(rows)
    said = f"{title}; " + "; ".join(f"{name}: {words}" for name, _, words in rows)
    parts = [text(LEFT, 20, title, bold=True, anchor="start"), *_rows(rows, scale)]
    x = LEFT + least * scale
    parts.append(
        f'<path d="M{x:.1f} 28V{high - 12:.0f}" stroke="{PAGE_INK}" stroke-width="1.6" '
        'stroke-dasharray="5 4" fill="none"/>'
    )
    parts.append(text(WIDE - 8, 20, f"dashed: {least:,} at least", anchor="end", size=14))
    return document(WIDE, high, f"{said}; at least {least:,}", parts)


def _rows(rows: list[tuple[str, int, str]], scale: float) -> Iterator[str]:
    for place, (name, count, words) in enumerate(rows):
        y = 32 + ROW * place
        yield text(LEFT - 10, y + 18, name, anchor="end", size=15)
        yield rect(LEFT, y, max(2.0, count * scale), 24, fill=PAGE_OURS, line=0, round_by=0)
        inside = count * scale > 0.6 * BAR
        x = LEFT + count * scale + (-8 if inside else 10)
        anchor = "end" if inside else "start"
        colour = PAGE_PAPER if inside else PAGE_INK
        yield text(x, y + 17, words, anchor=anchor, size=14, colour=colour)
