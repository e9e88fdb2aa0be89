"""Which programs of students may run? A closed list, with every index proved in bounds.

Read ``admitted_programs`` first.
"""

from mlc_course.grading.admission.admitted_kernels import admitted_function, admitted_kernel
from mlc_course.grading.admission.admitted_pages import OFFERED, admitted_page, offered_as
from mlc_course.grading.admission.admitted_programs import admit, dtypes

__all__ = [
    "OFFERED",
    "admit",
    "admitted_function",
    "admitted_kernel",
    "admitted_page",
    "dtypes",
    "offered_as",
]
