"""The map as a piece of a page: the picture, what is chosen on it, and the same as a list.

It moves without a script, so that it is the same in JupyterLab, below a cell and in the book: radio
buttons choose a path and a lesson, and style rules show what belongs to them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from html import escape
from importlib import resources

from mlc_course.lessons.kit import STYLE
from mlc_course.progress import Done
from mlc_course.start.course import Course, Lesson
from mlc_course.start.layout import HIGH, WIDE, arrange
from mlc_course.start.map_picture import map_svg
from mlc_course.start.words import Words

RULES = (resources.files("mlc_course.start") / "map.css").read_text(encoding="utf-8")
COLUMNS = (5, 3, 2)  # of pages from wide to narrow

Link = Callable[[str], str]


def map_html(
    course: Course,
    words: Words,
    *,
    link: Link,
    done: Done | None = None,
    name: str = "map",
    styles: str = STYLE,
) -> str:
    """Return the map; ``link`` makes the address of a path in the course's folder.

    ``done`` is None where nothing is known of a reader. Two maps of one page need two names, and
    ``styles`` are the widgets' rules, which a page may have already.
    """
    first = course.next(done or {})
    whole = _radio(f"{name}-path", "whole", words.whole, checked=True)
    chosen = "".join(_chosen(course, each, words, link, done) for each in course.lessons)
    return "".join(
        (
            f'<div class="mlc mlc-map" data-testid="map" data-lm-suppress-shortcuts="true">'
            f"<style>{styles}{RULES}{_rules(course)}</style>",
            f'<fieldset class="mlc-paths"><legend>{escape(words.choose_path)}</legend>{whole}',
            *(_radio(f"{name}-path", path, words.paths[path][0]) for path in course.paths),
            "</fieldset>",
            f'<div class="mlc-said" aria-live="polite"><p class="of-whole">{words.whole_about}</p>',
            *(_path(course, path, words) for path in course.paths),
            "</div>",
            _picture(course, words, done, first, name),
            f'<div class="mlc-chosen-lesson" aria-live="polite">{chosen}</div>',
            _list(course, words, link, done),
            "</div>",
        )
    )


def _rules(course: Course) -> str:
    """The rules that show what is chosen, one for each path and each lesson."""
    rules = [_shown("of-whole", ".p-whole")]
    for path in course.paths:
        chosen, on = f".mlc-map:has(.p-{path}:checked)", f".in-{path}"
        rules += [
            _shown(f"of-{path}", f".p-{path}"),
            f"{chosen} :is(.lesson:not({on}), .arrow) {{ opacity: 0.3; }}",
            f"{chosen} .step{on} {{ visibility: visible; }}",
        ]
    for each in course.lessons:
        chosen = f".mlc-map:has(.c-{each.number}:checked)"
        rules += [
            _shown(f"of-{each.number}", f".c-{each.number}"),
            f"{chosen} .arrow:is(.from-{each.number}, .to-{each.number}) {{ opacity: 1; "
            "stroke: #d55e00; fill: #d55e00; stroke-width: 2.6; }",
        ]
    return "\n".join(rules)


def _shown(kind: str, by: str) -> str:
    return f".mlc-map:has({by}:checked) .{kind} {{ display: block; }}"


def _radio(group: str, value: str, said: str, *, checked: bool = False) -> str:
    mark = " checked" if checked else ""
    return (
        f'<label><input type="radio" name="{group}" class="p-{value}" value="{value}" '
        f'data-testid="path-{value}"{mark}> {escape(said)}</label>'
    )


def _path(course: Course, path: str, words: Words) -> str:
    """What a path is for, how long it takes, and what it leaves out."""
    on = [each for each in course.lessons if each.number in course.paths[path]]
    missing = {n for each in on for n in each.builds_on} - {each.number for each in on}
    said = [
        words.paths[path][1],
        words.path_takes.format(count=len(on), time=words.time(course.minutes(path))),
    ]
    if missing:
        left_out = [each for each in course.lessons if each.number in missing]
        said.append(words.path_skips.format(lessons=_named(left_out, words)))
    return f'<p class="of-{path}">{escape(words.gap.join(said))}</p>'


def _named(lessons: list[Lesson], words: Words) -> str:
    """Return "lesson 7", or "lessons 4, 5 and 6"."""
    *before, last = (str(each.number) for each in lessons)
    if not before:
        return words.lesson.format(number=last)
    return words.lessons.format(numbers=words.last.join((words.between.join(before), last)))


def _picture(course: Course, words: Words, done: Done | None, first: Lesson, name: str) -> str:
    """The picture, of which the width of the page chooses a form, with a button over each box."""
    layouts = {columns: arrange(course, columns) for columns in COLUMNS}
    pictures = "".join(
        f'<div class="c{columns}">{_unnamed(map_svg(course, words, columns, done))}</div>'
        for columns in COLUMNS
    )
    size = ";".join(
        f"--w{columns}:{_share(WIDE, each.width)};--h{columns}:{_share(HIGH, each.height)}"
        for columns, each in layouts.items()
    )

    def choice(lesson: Lesson) -> str:
        where = ";".join(
            f"--x{columns}:{_share(each.places[lesson.number].x, each.width)};"
            f"--y{columns}:{_share(each.places[lesson.number].y, each.height)}"
            for columns, each in layouts.items()
        )
        mark = " checked" if lesson == first else ""
        return (
            f'<label style="{where}"><input type="radio" name="{name}-lesson" '
            f'class="c-{lesson.number}" value="{lesson.number}" '
            f'data-testid="lesson-{lesson.number}" '
            f'aria-label="{escape(_said(lesson, words, done))}"{mark}></label>'
        )

    return (
        f'<div class="mlc-picture">{pictures}<fieldset class="mlc-choices" style="{size}">'
        f'<legend class="mlc-hidden">{escape(words.choose_lesson)}</legend>'
        f"{''.join(map(choice, course.lessons))}</fieldset></div>"
    )


def _share(part: float, whole: float) -> str:
    return f"{100 * part / whole:.3f}%"


def _unnamed(svg: str) -> str:
    """A picture that is not read aloud, because the buttons over it are."""
    return re.sub(r'role="img" aria-label="[^"]*"', 'aria-hidden="true"', svg, count=1)


def _said(lesson: Lesson, words: Words, done: Done | None) -> str:
    """A box in words."""
    said = [f"{lesson.number} {lesson.title}"]
    said += [words.coming] if lesson.is_coming else [words.time(lesson.minutes)]
    if not lesson.is_coming:
        said.append(_exercises(lesson, words, done))
    return ", ".join(said)


def _exercises(lesson: Lesson, words: Words, done: Done | None) -> str:
    if done is None:
        return words.exercises.format(all=len(lesson.checks))
    return words.exercises_done.format(done=lesson.met(done)[0], all=len(lesson.checks))


def _chosen(course: Course, lesson: Lesson, words: Words, link: Link, done: Done | None) -> str:
    """What is known of one lesson."""
    before = [a for a, b in course.arrows() if b == lesson]
    after = [b for a, b in course.arrows() if a == lesson]
    facts = [words.coming if lesson.is_coming else words.time(lesson.minutes) + words.stop]
    facts.append(
        words.builds_on.format(lessons=_named(before, words)) if before else words.builds_on_nothing
    )
    if after:
        facts.append(words.leads_to.format(lessons=_named(after, words)))
    if not lesson.is_coming:
        facts.append(_exercises(lesson, words, done) + words.stop)
        if done is not None and lesson.blanks:
            filled = lesson.met(done)[1]
            facts.append(words.blanks_done.format(done=filled, all=len(lesson.blanks)) + words.stop)
    opens = (
        ""
        if lesson.is_coming
        else f" {_open(lesson.notebook, words.open_lesson, link)}"
        f"{_open(lesson.exercises, words.open_exercises, link)}"
    )
    return (
        f'<section class="mlc-lesson of-{lesson.number}" data-testid="about-{lesson.number}">'
        f"<h2>{lesson.number} {escape(lesson.title)}</h2><p><b>{escape(lesson.question)}</b></p>"
        f"<p><span>{escape(words.gap.join(facts))}</span>{opens}</p></section>"
    )


def _open(path: str, said: str, link: Link) -> str:
    return (
        f'<a class="mlc-open" href="{escape(link(path))}" data-path="{escape(path)}">'
        f"{escape(said)}</a>"
    )


def _list(course: Course, words: Words, link: Link, done: Done | None) -> str:
    """The map in words: a row for each lesson."""
    head = "".join(f'<th scope="col">{escape(each)}</th>' for each in words.columns)
    rows = "".join(
        f"<tr>{''.join(f'<td>{cell}</td>' for cell in cells)}</tr>"
        if len(cells) > 1
        else f'<tr><th scope="colgroup" colspan="{len(words.columns)}">{cells[0]}</th></tr>'
        for cells in _rows(course, words, link, done)
    )
    return (
        f'<details data-testid="list"><summary>{escape(words.as_list)}</summary>'
        f'<div class="mlc-scroll"><table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody>'
        "</table></div></details>"
    )


def _rows(course: Course, words: Words, link: Link, done: Done | None) -> Iterator[list[str]]:
    """The cells of each row: one, with the name of a part, and then those of its lessons."""
    for part in dict.fromkeys(each.part for each in course.lessons):
        yield [escape(words.parts[part])]
        yield from ([*_row(each, words, link, done)] for each in course.part(part))


def _row(lesson: Lesson, words: Words, link: Link, done: Done | None) -> Iterator[str]:
    yield str(lesson.number)
    if lesson.is_coming:
        yield escape(lesson.title)
        yield escape(words.coming)
        yield ""
    else:
        yield _anchor(lesson.notebook, lesson.title, link)
        yield escape(lesson.question)
        yield words.time(lesson.minutes)
    yield ", ".join(map(str, lesson.builds_on))
    yield (
        "" if lesson.is_coming else _anchor(lesson.exercises, _exercises(lesson, words, done), link)
    )


def _anchor(path: str, said: str, link: Link) -> str:
    return f'<a href="{escape(link(path))}" data-path="{escape(path)}">{escape(said)}</a>'
