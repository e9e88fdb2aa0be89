"""What does an instructor get besides marks? Tables, pages, and a filled gradebook.

Read ``report`` first: it brings together what processes and persons gave, and the rules. ``files``
names all that is written, and ``gradebook`` is nbgrader's part of it.
"""

from mlc_course.commands.marks.files import MarksFiles
from mlc_course.commands.marks.report import MarksReport

__all__ = ["MarksFiles", "MarksReport"]
