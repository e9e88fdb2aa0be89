"""What did a class hand in? A folder from a learning platform, read whole, with nothing unnamed.

Read ``files`` first (folders and archives, never unpacked), then ``layouts`` (whose a name is),
then ``class_folder`` (which notebook counts, and why the others do not) and ``times``.
"""

from mlc_course.grading.handed_in.class_folder import Collected, Left, collect
from mlc_course.grading.handed_in.times import HandedIn, handed_in

__all__ = ["Collected", "HandedIn", "Left", "collect", "handed_in"]
