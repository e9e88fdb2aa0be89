"""The access meter: change stride, width and padding, and see what a warp's access costs."""

from __future__ import annotations

import html
from typing import Any

import traitlets

from mlc_course.drawing import INK, PAGE_OURS, PAGE_PAPER, document, rect, text
from mlc_course.lessons.kit import Choice, Widget, charts, in_range
from mlc_course.mugraph.box import (
    SECTOR,
    Request,
    banks_svg,
    banks_words,
    lane_addresses,
    lines_svg,
    lines_words,
)

WORD, COLUMNS = 4, 32
MEMORIES = ("device", "shared")
PATTERNS = ("row", "column")
WIDTHS = (1, 2, 4)
MOST_STRIDE, MOST_PADDING, MOST_FIRST = 33, 8, 31
LEFT, BAR, WIDE, HIGH = 190.0, 600.0, 950.0, 58.0


class AccessMeter(Widget):
    """One access of a warp, drawn and counted.

    With the ``pattern`` row, lane i accesses the element i times ``stride`` accesses after the
    ``first``. With column, lane i accesses row i of a tile of 32 columns and some ``padding``.
    ``width`` is how many neighbouring floats each lane takes. Raises ``UsageError`` for other
    values.
    """

    tasks: tuple[str, ...] = ()

    memory = Choice("device", MEMORIES)
    pattern = Choice("row", PATTERNS)
    width = Choice(1, WIDTHS)
    stride = traitlets.Int(1).tag(sync=True)
    padding = traitlets.Int(0).tag(sync=True)
    first = traitlets.Int(0).tag(sync=True)

    chart = traitlets.Unicode("").tag(sync=True)
    meter = traitlets.Unicode("").tag(sync=True)

    def __init__(self, **traits: Any) -> None:
        super().__init__(**traits)
        self._show()

    @traitlets.validate("stride")
    def _check_stride(self, proposal: Any) -> int:
        return in_range("stride", 0, MOST_STRIDE, proposal.value)

    @traitlets.validate("padding")
    def _check_padding(self, proposal: Any) -> int:
        return in_range("padding", 0, MOST_PADDING, proposal.value)

    @traitlets.validate("first")
    def _check_first(self, proposal: Any) -> int:
        return in_range("first element", 0, MOST_FIRST, proposal.value)

    @property
    def request(self) -> Request | None:
        """The access; None if it does not begin at a multiple of its size."""
        width = int(self.width)
        apart = self.stride * width if self.pattern == "row" else COLUMNS + self.padding
        if self.first % width or apart % width:
            return None
        addresses = lane_addresses(WORD * self.first, WORD * apart)
        return Request(addresses, WORD * width, "shared" if self.memory == "shared" else "global")

    @traitlets.observe("memory", "pattern", "width", "stride", "padding", "first")
    def _change(self, change: Any) -> None:
        self._show()

    def _show(self) -> None:
        with self.hold_sync():
            request = self.request
            if request is None:
                size = WORD * int(self.width)
                self.chart = self.meter = ""
                self.status = (
                    f"A GPU refuses this access: {size} bytes at once have to begin at a multiple "
                    f"of {size} bytes, and some lane's do not. Change the first element"
                    f"{' or the padding' if self.pattern == 'column' else ''}."
                )
                return
            is_shared = self.memory == "shared"
            self.chart = banks_svg(request) if is_shared else lines_svg(request)
            self.meter = meter_svg(request)
            self.status = banks_words(request) if is_shared else lines_words(request)

    def static_html(self) -> str:
        """Return rows and columns in both memories."""
        kept = [
            *(Request(lane_addresses(0, WORD * apart), WORD) for apart in (1, 2)),
            *(Request(lane_addresses(0, WORD * apart), WORD, "shared") for apart in (32, 33)),
        ]
        parts = []
        for request in kept:
            is_shared = request.scope == "shared"
            words = banks_words(request) if is_shared else lines_words(request)
            picture = banks_svg(request) if is_shared else lines_svg(request)
            parts.append(f"{charts(meter_svg(request), picture)}<p>{html.escape(words)}</p>")
        return "".join(parts)


def meter_svg(request: Request) -> str:
    """Draw what an access costs as a bar, with a dashed line at the least that it could be."""
    if request.scope == "shared":
        used, least, most = request.wavefronts, request.least_wavefronts, 32
        words = f"{used} wavefronts" if used != 1 else "1 wavefront"
    else:
        used = len(request.sectors)
        least = -(-request.bytes_wanted // SECTOR)
        most = 64
        words = f"{used} sectors" if used != 1 else "1 sector"
    scale = BAR / most
    x = LEFT + least * scale
    dashed = (
        f'<path d="M{x:.1f} 6V50" stroke="{INK}" stroke-width="1.6" stroke-dasharray="5 4" '
        'fill="none"/>'
    )
    parts = [
        text(LEFT - 10, 34, words, bold=True, anchor="end"),
        rect(LEFT, 16, BAR, 26, fill=PAGE_PAPER, line=0.6, round_by=0),
        rect(LEFT, 16, max(2.0, used * scale), 26, fill=PAGE_OURS, line=0, round_by=0),
        dashed,
        text(LEFT + BAR + 10, 34, f"{least} would do", anchor="start", size=14),
    ]
    return document(WIDE, HIGH, f"{words}; {least} would do", parts)
