"""The map as a picture: a box for each lesson, in three parts, with arrows from what it builds on.

The classes of its pieces are what the page around it chooses by: ``lesson l05 in-evening``,
``arrow from-3 to-5``.
"""

from __future__ import annotations

from html import escape

from mlc_course.drawing import AMBER, GREEN, PAGE_INK, PAGE_PAPER, rect, text, width
from mlc_course.progress import Done
from mlc_course.start.course import Course, Lesson
from mlc_course.start.layout import EDGE, HIGH, WIDE, Layout, arrange
from mlc_course.start.pictures import PICTURES, SIZE
from mlc_course.start.words import Words

LETTERS, LINE, MARGIN, TITLE = 13.0, 16.0, 8.0, 16.0
ROOM = WIDE - SIZE - 2.5 * MARGIN  # for a line of the title
GREY = "var(--mlc-between, #808080)"  # stands out from light pages and from dark ones
HEAD = 7


def map_svg(course: Course, words: Words, columns: int = 5, done: Done | None = None) -> str:
    """Draw the map; ``done`` is None where nothing is known of a reader."""
    layout = arrange(course, columns)
    headings = (_heading(words.parts[part], y) for part, y in layout.headings.items())
    arrows = (_arrow(layout, before, after) for before, after in layout.arrows)
    lessons = (_lesson(course, each, layout, words, done) for each in course.lessons)
    wide, high = f"{layout.width:.0f}", f"{layout.height:.0f}"
    drawn = "".join((*arrows, *headings, *lessons))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {wide} {high}" role="img" '
        f'aria-label="{escape(_said(course, words))}" width="{wide}" height="{high}" '
        f'font-family="sans-serif" fill="{PAGE_INK}">{drawn}</svg>'
    )


def short(title: str) -> str:
    """Return a title without what follows a colon."""
    return title.partition(":")[0].partition("：")[0]


def _said(course: Course, words: Words) -> str:
    """What the picture shows, in words."""
    parts = dict.fromkeys(each.part for each in course.lessons)
    return " ".join(
        f"{words.parts[part]}: "
        + "; ".join(f"{each.number} {short(each.title)}" for each in course.part(part))
        + "."
        for part in parts
    )


def _heading(name: str, y: float) -> str:
    """The name of a part, on paper of its own, since arrows run behind it."""
    paper = rect(EDGE, y - 18, width(name, TITLE, bold=True) + 8, 24, stroke="none")
    return paper + text(EDGE + 4, y, name, size=TITLE, bold=True, anchor="start")


def _arrow(layout: Layout, before: int, after: int) -> str:
    corners = layout.arrows[before, after]
    (x1, y1), (x2, y2) = corners[-2:]
    down = x1 == x2
    stop = (x2, y2 - HEAD) if down else (x2 - HEAD, y2)
    line = "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in (*corners[:-1], stop))
    head = f"M{x2:.1f} {y2:.1f}" + (f"l-4 -{HEAD}h8z" if down else f"l-{HEAD} -4v8z")
    return (
        f'<g class="arrow from-{before} to-{after}" stroke="{GREY}" fill="{GREY}">'
        f'<path d="{line}" fill="none" stroke-width="1.6" stroke-linejoin="round"/>'
        f'<path d="{head}" stroke="none"/></g>'
    )


def _lesson(course: Course, lesson: Lesson, layout: Layout, words: Words, done: Done | None) -> str:
    place = layout.places[lesson.number]
    on = [name for name, path in course.paths.items() if lesson.number in path]
    dashed = 'stroke-dasharray="5 4"' if lesson.is_coming else ""
    left, right = SIZE + 2 * MARGIN, WIDE - 2 * MARGIN
    time = words.coming if lesson.is_coming else words.time(lesson.minutes)
    parts = [
        rect(0, 0, WIDE, HIGH, round_by=6, more=f'class="card" {dashed}'),
        f'<g class="picture" transform="translate({MARGIN:g} {MARGIN:g})">'
        f"{PICTURES[lesson.number]}</g>",
        text(left, 20, str(lesson.number), bold=True, anchor="start"),
        text(right, 20, time, size=12, anchor="end"),
        *(
            text(left, 37 + LINE * n, line, size=_size(line), anchor="start")
            for n, line in enumerate(_lines(short(lesson.title)))
        ),
        *([] if done is None else _marks(lesson, done)),
        *(_step(course.paths[name].index(lesson.number) + 1, name) for name in on),
    ]
    classes = " ".join(("lesson", f"l{lesson.number:02}", *(f"in-{name}" for name in on)))
    at = f"translate({place.x:.1f} {place.y:.1f})"
    return f'<g class="{classes}" transform="{at}">{"".join(parts)}</g>'


def _marks(lesson: Lesson, done: Done) -> list[str]:
    """A circle for each exercise, filled where it is done; a tick where all are."""
    met, count = lesson.met(done)[0], len(lesson.checks)
    y, last = HIGH - 11, WIDE - MARGIN - 5
    circles = [
        f'<circle cx="{last - 12 * (count - 1 - n):.1f}" cy="{y:.1f}" r="4" '
        f'fill="{GREEN if n < met else PAGE_PAPER}" stroke="{PAGE_INK}" stroke-width="1"/>'
        for n in range(count)
    ]
    x = last - 12 * count - 10
    tick = f'<path d="M{x:.1f} {y:.1f}l4 4l7 -9" fill="none" stroke="{GREEN}" stroke-width="3"/>'
    return [*circles, tick] if count and met == count else circles


def _step(number: int, path: str) -> str:
    """The place of a lesson on a path, which is shown while that path is chosen."""
    return (
        f'<g class="step in-{path}" visibility="hidden" transform="translate({WIDE - 6:.1f} 4)">'
        f'<circle r="12" fill="{AMBER}" stroke="{PAGE_INK}"/>'
        f'<text y="4.5" font-size="13" font-weight="bold" text-anchor="middle" fill="#222221">'
        f"{number}</text></g>"
    )


def _lines(title: str) -> list[str]:
    """Break a title into lines that fit beside the picture.

    A word that is too long stays whole. Chinese has no spaces, and may break after any sign.
    """
    lines = [""]
    for word in _words(title):
        longer = lines[-1] + word
        if lines[-1] and width(longer.rstrip(), LETTERS) > ROOM:
            lines.append(word)
        else:
            lines[-1] = longer
    return [line.strip() for line in lines]


def _size(line: str) -> float:
    """The size of a line's letters, smaller where a single word is too long."""
    return min(LETTERS, LETTERS * ROOM / width(line, LETTERS))


def _words(title: str) -> list[str]:
    words = [f"{word} " for word in title.split()]
    return [
        piece
        for word in words
        for piece in (word if any(ord(sign) > 0x2E80 for sign in word) else [word])
    ]
