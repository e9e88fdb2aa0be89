"""Where does a student's work run? In sandboxed child processes that exchange plain data.

Read ``answers`` first (what crosses), then ``sandbox`` (limits), ``remote`` (the grader's side).
"""

from mlc_course.grading.process import sandbox, values
from mlc_course.grading.process.answers import (
    Boxed,
    Called,
    Given,
    Name,
    Optimized,
    Scheduled,
    Subject,
    Written,
    boxed,
    called,
    given,
    optimized,
    own_error,
    problem,
    produce,
    scheduled,
    written,
)
from mlc_course.grading.process.bench import (
    BASELINE,
    NAIVE,
    YOURS,
    Bench,
    Inspection,
    MadeGraph,
    Program,
)
from mlc_course.grading.process.finding import (
    Finding,
    Verdict,
    earned,
    met,
    printable,
    told,
    unmet,
)
from mlc_course.grading.process.pages import page
from mlc_course.grading.process.privileges import hide_memory
from mlc_course.grading.process.remote import Interpreter, RemoteBench
from mlc_course.grading.process.sandbox import (
    BUBBLEWRAP,
    RLIMITS,
    Child,
    Limits,
    chosen,
    has_bubblewrap,
)
from mlc_course.grading.process.values import shown
from mlc_course.grading.process.walls import seen

__all__ = [
    "BASELINE",
    "BUBBLEWRAP",
    "Bench",
    "Boxed",
    "Called",
    "Child",
    "Finding",
    "Given",
    "Inspection",
    "Interpreter",
    "Limits",
    "MadeGraph",
    "NAIVE",
    "Name",
    "Optimized",
    "Program",
    "RLIMITS",
    "RemoteBench",
    "Scheduled",
    "Subject",
    "Verdict",
    "Written",
    "YOURS",
    "boxed",
    "called",
    "chosen",
    "earned",
    "given",
    "has_bubblewrap",
    "hide_memory",
    "met",
    "optimized",
    "own_error",
    "page",
    "printable",
    "problem",
    "produce",
    "sandbox",
    "scheduled",
    "seen",
    "shown",
    "told",
    "unmet",
    "values",
    "written",
]
