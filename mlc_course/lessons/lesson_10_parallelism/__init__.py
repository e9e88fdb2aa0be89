"""Lesson 10: who waits for whom? The task timeline."""

from mlc_course.lessons.lesson_10_parallelism.task_timeline import TaskTimeline
from mlc_course.lessons.lesson_10_parallelism.timeline_picture import gantt_svg, owners_svg

__all__ = [
    "TaskTimeline",
    "gantt_svg",
    "owners_svg",
]
