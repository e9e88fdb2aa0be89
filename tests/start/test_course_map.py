"""The map shows every lesson, where nothing lies on anything else, and says the same in words."""

from __future__ import annotations

import re
from dataclasses import replace
from html.parser import HTMLParser
from itertools import combinations, pairwise

import pytest

from mlc_course.start import ENGLISH, WORDS, Course, Lesson, map_html, map_svg, read_course
from mlc_course.start.layout import HIGH, WIDE, Layout, arrange
from mlc_course.start.page import beside

COURSE, ENGLISH_WORDS = read_course(), WORDS[ENGLISH]
ZERO = COURSE.lessons[0]
DONE = {ZERO.stem: frozenset(ZERO.checks[:3])}

Line = tuple[tuple[float, float], tuple[float, float]]


def faults(layout: Layout) -> list[str]:
    """What lies on something else, one line each."""
    boxes = {n: (p.x, p.y, p.x + WIDE, p.y + HIGH) for n, p in layout.places.items()}
    found = [
        f"{a} on {b}"
        for (a, (l1, t1, r1, b1)), (b, (l2, t2, r2, b2)) in combinations(boxes.items(), 2)
        if l1 < r2 and l2 < r1 and t1 < b2 and t2 < b1
    ]
    for pair, corners in layout.arrows.items():
        for (x1, y1), (x2, y2) in pairwise(corners):
            if x1 != x2 and y1 != y2:
                found.append(f"{pair} is aslant")
            left, right, top, bottom = min(x1, x2), max(x1, x2), min(y1, y2), max(y1, y2)
            if left < 0 or right > layout.width or top < 0 or bottom > layout.height:
                found.append(f"{pair} leaves the picture")
            found += [
                f"{pair} through {n}"
                for n, (x, y, right_x, low_y) in boxes.items()
                if left < right_x and x < right and top < low_y and y < bottom
            ]
        start, end = boxes[pair[0]], boxes[pair[1]]
        (x1, y1), (x2, y2) = corners[0], corners[-1]
        if not (start[0] <= x1 <= start[2] and start[1] <= y1 <= start[3]):
            found.append(f"{pair} does not begin at its box")
        if not (end[0] <= x2 <= end[2] and end[1] <= y2 <= end[3]):
            found.append(f"{pair} does not end at its box")
    for (one, here), (other, there) in combinations(layout.arrows.items(), 2):
        for axis in (0, 1):
            found += [
                f"{one} on {other}"
                for a, b in pairwise(here)
                for c, d in pairwise(there)
                if a[axis] == b[axis] == c[axis] == d[axis]
                and max(a, b) > min(c, d)
                and max(c, d) > min(a, b)
                and one[0] != other[0]
            ]
    return found


@pytest.mark.parametrize("columns", range(1, 9))
def test_no_arrow_runs_through_a_box_or_along_another_arrow(columns: int) -> None:
    assert faults(arrange(COURSE, columns)) == []


def test_a_box_on_a_box_and_an_arrow_through_a_box_are_found() -> None:
    layout = arrange(COURSE, 5)
    assert "0 on 1" in faults(replace(layout, places={**layout.places, 1: layout.places[0]}))
    through = replace(layout, arrows={(0, 2): ((30, 60), (500, 60))})
    assert "(0, 2) through 1" in faults(through)


@pytest.mark.parametrize("seed", range(20))
def test_any_course_has_a_map(seed: int) -> None:
    """Also one whose lessons build on any earlier ones."""
    import random

    rng = random.Random(seed)
    lessons: list[Lesson] = []
    for number in range(rng.randint(2, 16)):
        before = rng.sample(range(number), min(number, rng.randint(0, 3)))
        part = ("cpu", "mugraphs", "shapes")[number // 7]
        lessons.append(Lesson(number, f"Name {number}", part, tuple(sorted(before))))
    course = Course(tuple(lessons), {})
    for columns in (2, 3, 5):
        assert faults(arrange(course, columns)) == []


def test_the_picture_has_a_box_and_the_name_of_each_lesson_and_each_part() -> None:
    svg = map_svg(COURSE, ENGLISH_WORDS, 5, DONE)
    assert len(re.findall(r'class="lesson ', svg)) == len(COURSE.lessons)
    assert len(re.findall(r'class="arrow ', svg)) == len(COURSE.arrows())
    (said,) = re.findall(r'aria-label="([^"]+)"', svg)
    for part in ENGLISH_WORDS.parts.values():
        assert part in said and f">{part}</text>" in svg
    assert "14 Instruction selection by synthesis" in said
    assert svg.count('fill="#009e73" stroke=') == 3  # exercises that are done


def test_all_exercises_done_are_a_tick_beside_the_circles() -> None:
    everything = {ZERO.stem: frozenset(ZERO.checks)}
    ticks = [
        map_svg(COURSE, ENGLISH_WORDS, 5, done).count("l4 4l7 -9") for done in (DONE, everything)
    ]
    assert ticks == [0, 1]
    assert "l4 4l7 -9" not in map_svg(COURSE, ENGLISH_WORDS)  # of nobody in particular


class Page(HTMLParser):
    """The elements of a page, its links and its texts."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))
        if tag != "input":
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))

    def all(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for found, attributes in self.found if found == tag]


def shown(**options: object) -> str:
    return map_html(COURSE, ENGLISH_WORDS, link=lambda path: f"/at/{path}", **options)  # type: ignore[arg-type]


def test_the_page_is_sound_html_without_a_script() -> None:
    page = Page(shown(done=DONE))
    assert not page.open and not page.all("script")
    assert not [each for _, attributes in page.found for each in attributes if each[:2] == "on"]


def test_every_lesson_can_be_chosen_and_opened() -> None:
    page = Page(shown())
    choices = [each for each in page.all("input") if each["name"] == "map-lesson"]
    assert [each["value"] for each in choices] == [str(each.number) for each in COURSE.lessons]
    assert all(each["aria-label"] for each in choices)
    assert sum("checked" in each for each in choices) == 1
    addresses = [each["href"] for each in page.all("a")]
    for lesson in COURSE.lessons:
        wanted = 0 if lesson.is_coming else 2  # beside the picture, and in the list
        for path in (lesson.notebook, lesson.exercises):
            assert addresses.count(f"/at/{path}") == wanted or not path


def test_what_a_box_says_is_in_the_name_of_its_button() -> None:
    text = shown(done=DONE)
    assert f'aria-label="0 {ZERO.title}, 40 min, 3 of 4 exercises done"' in text
    assert "0 of 3 blanks filled" in text
    assert "3 of 4 exercises done" not in shown() and "blanks" not in shown()


def test_a_path_says_how_long_it_takes_and_what_it_leaves_out() -> None:
    text = shown()
    assert "4 lessons, 2 h 40 min. It leaves out lessons that these build on: lesson 1." in text
    assert f"{len(COURSE.lessons)} lessons, {ENGLISH_WORDS.time(COURSE.minutes('term'))}." in text


def test_a_lesson_that_is_still_to_come_is_shown_as_such() -> None:
    last = COURSE.lessons[-1]
    coming = Lesson(last.number, "Your own", last.part, last.builds_on)
    course = replace(COURSE, lessons=(*COURSE.lessons[:-1], coming))
    text = map_html(course, ENGLISH_WORDS, link=str)
    assert f'aria-label="{last.number} Your own, coming"' in text
    assert not [each for each in Page(text).all("a") if "21_" in str(each["href"])]


def test_titles_are_text_and_no_markup() -> None:
    odd = replace(ZERO, title='<b>"A & B"', question="<script>")
    text = map_html(replace(COURSE, lessons=(odd, *COURSE.lessons[1:])), ENGLISH_WORDS, link=str)
    page = Page(text)
    assert not page.all("script") and "&lt;b&gt;&quot;A &amp; B&quot;" in text


def test_two_maps_of_one_page_do_not_share_their_buttons() -> None:
    one, other = (Page(shown(name=name)) for name in ("one", "other"))
    names = [{each["name"] for each in page.all("input")} for page in (one, other)]
    assert not names[0] & names[1]


def test_addresses_beside_a_notebook() -> None:
    assert beside("notebooks/05_loop_reorder.ipynb") == "05_loop_reorder.ipynb"
    assert beside("exercises/a/a.ipynb") == "../exercises/a/a.ipynb"


def test_a_chinese_title_is_broken_between_signs() -> None:
    title = "计算图与算子融合以及更多的内容"
    svg = map_svg(replace(COURSE, lessons=(replace(ZERO, title=title),)), ENGLISH_WORDS)
    lines = re.findall(r">([一-鿿]+)<", svg)
    assert "".join(lines) == title and len(lines) > 1
