"""Which language does the course speak? Its words in English, and their translations.

``speech`` is what other rooms use: ``tr("{count} misses", count=3)``. ``catalogue`` finds every
marked string, and keeps the files of translations, ``zh.po`` among them, up to date.
"""

from mlc_course.words.speech import (
    ENGLISH,
    LANGUAGE,
    LANGUAGES,
    columns,
    language,
    listed,
    marked,
    padded,
    script_words,
    spoken,
    tr,
    trn,
)

__all__ = [
    "ENGLISH",
    "LANGUAGE",
    "LANGUAGES",
    "columns",
    "language",
    "listed",
    "marked",
    "padded",
    "script_words",
    "spoken",
    "tr",
    "trn",
]
