"""Both corpora as one class: ``python tests/corpus/build.py OUT`` writes OUT/cheat-NAME and others.

    mlc-course grade OUT --solutions tests/corpus/solutions

grades them. Some of the cheats need a sandbox with walls (bubblewrap): without one, they are left
out.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

TESTS = Path(__file__).parents[1]
if str(TESTS) not in sys.path:
    sys.path.insert(0, str(TESTS))

from cheats import CHEATS  # noqa: E402
from honest import HONEST  # noqa: E402

from corpus.handing_in import FILE, SOLUTION, Notebook  # noqa: E402
from mlc_course.grading.nbgrader import release  # noqa: E402
from mlc_course.grading.process import has_bubblewrap  # noqa: E402


def released() -> Notebook:
    """The notebook that students get: without answers and hidden tests."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder, "exercises")
        release(SOLUTION.parents[1], out)
        text = (out / "corpus" / FILE).read_text(encoding="utf-8")
    notebook: Notebook = json.loads(text)
    return notebook


def build(folder: Path, *, alone: bool = True) -> list[Path]:
    """Write every submission below a new folder; without ``alone``, only those that need no walls.

    Returns the students' folders.
    """
    exercise = released()
    students = {f"honest-{name}": write for name, write in HONEST.items()}
    students |= {f"cheat-{n}": c.write for n, c in CHEATS.items() if alone or not c.alone}
    for student, write in students.items():
        write(folder / student, exercise)
    return [folder / student for student in students]


def main(arguments: Sequence[str]) -> int:
    """Build both corpora in the folder that the command line names."""
    if len(arguments) != 1 or Path(arguments[0]).exists():
        print("usage: build.py OUT, a folder that does not exist yet", file=sys.stderr)
        return 2
    students = build(Path(arguments[0]), alone=has_bubblewrap())
    print(f"{len(students)} submissions in {arguments[0]}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
