"""The words of the start page, in each language that has them.

A language is one row of ``WORDS``. Titles and questions of lessons are in the notebooks.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Words:
    """Everything the map says. Braces are filled in: ``{done}`` and ``{all}`` are numbers.

    ``parts`` and ``paths`` have a name for each of the course's, and for a path what it is for.
    """

    language: str  # in itself
    title: str
    about: str
    map: str
    map_said: str
    parts: Mapping[str, str]
    paths: Mapping[str, tuple[str, str]]
    choose_path: str
    whole: str
    whole_about: str
    path_takes: str
    path_skips: str
    choose_lesson: str
    lesson: str
    lessons: str
    between: str  # two names of a list
    last: str  # the last name of a list and the one before
    minutes: str
    hours: str
    hours_and_minutes: str
    builds_on: str
    builds_on_nothing: str
    leads_to: str
    coming: str
    exercises: str
    exercises_done: str
    blanks_done: str
    open_lesson: str
    open_exercises: str
    as_list: str
    columns: tuple[str, str, str, str, str, str]
    all_done: str
    next_lesson: str
    where: str
    forget: str
    forget_really: str
    glossary: str
    ready: str
    choose_language: str

    def time(self, minutes: int) -> str:
        """Return a time in words: 40 min, 3 h, 2 h 40 min."""
        hours, rest = divmod(minutes, 60)
        form = self.minutes if not hours else self.hours_and_minutes if rest else self.hours
        return form.format(minutes=rest, hours=hours)


WORDS: dict[str, Words] = {
    "en": Words(
        language="English",
        title="Machine learning compilation, by hand",
        about="A neural network is a short list of tensor functions. A processor runs loops, with "
        "vector instructions and caches. This course is about what happens in between: you "
        "transform a program, predict what the change does, measure it beside NumPy, and find out "
        "why.",
        map="The map",
        map_said="The lessons as boxes in three parts, with an arrow from each to those that build "
        "on it; the table below says the same",
        parts={
            "cpu": "Part I: tensor programs on a CPU",
            "mugraphs": "Part II: mu-graphs",
            "shapes": "Part III: dynamic shapes, and a capstone",
        },
        paths={
            "evening": ("One evening", "Why the order of three loops decides how fast they are."),
            "term": ("One term", "Everything, two lessons a week."),
            "tvm": (
                "I know TVM",
                "What TVM does not tell you: caches, the micro-kernel, search, instructions, "
                "mu-graphs and unknown sizes.",
            ),
            "mirage": (
                "I came for Mirage",
                "From a GPU's threads to a superoptimizer and the code it writes.",
            ),
        },
        choose_path="Path",
        whole="The whole map",
        whole_about="An arrow leads from a lesson to those that build on it.",
        path_takes="{count} lessons, {time}.",
        path_skips="It leaves out lessons that these build on: {lessons}. The glossary explains "
        "their terms.",
        choose_lesson="Lesson",
        lesson="lesson {number}",
        lessons="lessons {numbers}",
        between=", ",
        last=" and ",
        minutes="{minutes} min",
        hours="{hours} h",
        hours_and_minutes="{hours} h {minutes} min",
        builds_on="Builds on {lessons}.",
        builds_on_nothing="Builds on no other lesson.",
        leads_to="Leads to {lessons}.",
        coming="coming",
        exercises="{all} exercises",
        exercises_done="{done} of {all} exercises done",
        blanks_done="{done} of {all} blanks filled",
        open_lesson="Open the lesson",
        open_exercises="Open its exercises",
        as_list="The map as a list",
        columns=("no.", "lesson", "the question", "time", "builds on", "exercises"),
        all_done="All exercises are done.",
        next_lesson="{done} of {all} exercises done. Next: {lesson}",
        where="What is done comes from your own checks. It is kept on this machine, in {file}.",
        forget="Forget it",
        forget_really="Forget which exercises are done? Your notebooks stay as they are.",
        glossary="Glossary",
        ready="Is this machine ready?",
        choose_language="Language",
    ),
}
