"""What does a student meet first? The map of the course: parts, paths, and what is done.

``course`` describes the course, and reads the rest from the notebooks; read it first. ``layout``
and ``map_picture`` draw the map, ``map_page`` makes of it a piece of a page that moves without a
script, and ``page`` adds what is done. ``server`` shows it in a tab of JupyterLab. All words are in
``words``.
"""

from mlc_course.start.course import (
    ENGLISH,
    Course,
    Lesson,
    course_text,
    known_course,
    read_course,
)
from mlc_course.start.map_page import map_html
from mlc_course.start.map_picture import map_svg
from mlc_course.start.page import beside, course_map, notebooks, start_page
from mlc_course.start.words import WORDS, Words

__all__ = [
    "Course",
    "ENGLISH",
    "Lesson",
    "WORDS",
    "Words",
    "beside",
    "course_map",
    "course_text",
    "known_course",
    "map_html",
    "map_svg",
    "notebooks",
    "read_course",
    "start_page",
]
