"""``mlc-course init``: the lessons and exercises in a folder of one's own, without a checkout."""

from __future__ import annotations

import os
import shlex
from pathlib import Path

from mlc_course import __version__
from mlc_course.course_files import START_PAGE, course_files, lay_out, origin
from mlc_course.errors import UsageError
from mlc_course.units import plural


def run(*, folder: Path) -> int:
    """Lay the course out in a folder, or bring it up to date there, and say what was done.

    Raises ``UsageError`` when the folder cannot be written, or is a checkout of the course.
    """
    if os.path.isfile(folder / "mlc_course" / "__init__.py"):  # False, where one may not look
        raise UsageError(
            f"{folder} is a checkout of the course, which has its lessons",
            expected="a folder of your own",
            got=folder.resolve(),
            hint="mlc-course lab opens them; git pull brings them up to date",
        )
    files = course_files(origin())
    if START_PAGE.as_posix() not in files:
        raise UsageError(
            "this installation does not carry the course",
            got=f"no {START_PAGE} in {origin()}",
            hint="install the wheel, or a checkout",
        )
    try:
        done = lay_out(folder, files)
    except OSError as error:
        raise UsageError(
            f"{folder}: not all files could be written",
            got=f"{error.filename}: {error.strerror or error}",
            hint="nothing was lost; mend it, and run the same command again",
        ) from None
    counts = (("new", done.new), ("brought up to date", done.updated), ("as before", done.current))
    said = [f"{plural(len(paths), 'file')} {word}" for word, paths in counts if paths]
    print(f"{folder}: the course of version {__version__}; {', '.join(said) or 'no file changed'}")
    if done.kept:
        print("\nLeft alone, because these are yours now:")
        print(*(f"  {path}" for path in done.kept), sep="\n")
        print("To have the course's version beside yours, rename yours and run init again.")
    if done.gone:
        print("\nNo longer part of the course, and left where they are:")
        print(*(f"  {path}" for path in done.gone), sep="\n")
    print(f"\nNext: cd {shlex.quote(str(folder))} && mlc-course lab")
    return 0
