"""The wheel carries the course: its lessons, exercises and pages, from the folders they are in.

Everything else about the package is in pyproject.toml.
"""

import shutil
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py

# What `mlc-course init` lays out, the lock that doctor compares with, and recorded times that
# lesson 19 prints. No solutions.
COURSE = (
    "notebooks/*.ipynb",
    "notebooks/*.svg",
    "notebooks/zh/*.ipynb",
    "notebooks/zh/*.svg",
    "exercises/*/*.ipynb",
    "docs/*.md",
    "docs/*.svg",
    "benchmarks/results/*.png",
    "benchmarks/results/*.svg",
)
COURSE += ("constraints.txt", "benchmarks/results/gpu_*.json")


class CarryTheCourse(build_py):
    """Copy the course's files into the package; an editable install reads them in the checkout."""

    def run(self) -> None:
        """Build the package, then put the course beside its modules."""
        super().run()
        if self.editable_mode:
            return
        carried = Path(self.build_lib, "mlc_course", "carried")
        shutil.rmtree(carried, ignore_errors=True)  # what an earlier build left
        for path in (path for pattern in COURSE for path in Path().glob(pattern)):
            (carried / path).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, carried / path)


setup(cmdclass={"build_py": CarryTheCourse})
