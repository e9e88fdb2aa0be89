"""nbgrader's settings. ``make setup`` links this file into .venv/etc/jupyter, so that nbgrader and
JupyterLab find it from every folder; without the link, start them here.

Instructors edit solutions/; exercises/ is generated from it (make exercises). What a class hands in
and the gradebook stay in .grading/, which is not part of the repository.
"""

import contextlib
from pathlib import Path

ROOT = Path(__file__).resolve().parent
GRADING = ROOT / ".grading"
EXCHANGE = GRADING / "exchange"
with contextlib.suppress(OSError):  # a student's checkout may be read-only, and needs neither
    EXCHANGE.mkdir(parents=True, exist_ok=True)

c = get_config()  # noqa: F821 (traitlets gives the name to this file)

c.CourseDirectory.course_id = "mlc"
c.CourseDirectory.root = str(ROOT)
c.CourseDirectory.source_directory = "solutions"
c.CourseDirectory.release_directory = "exercises"
c.CourseDirectory.submitted_directory = ".grading/submitted"
c.CourseDirectory.autograded_directory = ".grading/autograded"
c.CourseDirectory.feedback_directory = ".grading/feedback"
c.CourseDirectory.solution_directory = ".grading/solution"
c.CourseDirectory.source_with_tests_directory = ".grading/source_with_tests"
c.CourseDirectory.db_url = f"sqlite:///{GRADING / 'gradebook.db'}"
c.CourseDirectory.ignore = [".*", "*.pyc", "__pycache__"]
c.Exchange.root = str(EXCHANGE)

c.ClearSolutions.code_stub = {
    "python": '# YOUR CODE HERE\nraise NotImplementedError("write your answer in this cell")'
}
c.OverwriteCells.add_missing_cells = True  # a deleted test is put back, and fails

# Seconds for one cell; nbgrader's own Execute inherits both.
c.ExecutePreprocessor.timeout = 60
c.ExecutePreprocessor.interrupt_on_timeout = True

# formgrader shows what students wrote, in a page that can do whatever the instructor can.
c.HTMLExporter.preprocessors = ["nbconvert.preprocessors.sanitize.SanitizeHTML"]
c.SanitizeHTML.enabled = True
