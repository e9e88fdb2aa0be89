"""What did a class hand in? A folder from a learning platform, read whole, with nothing unnamed.

Read ``files`` first (folders and archives, never unpacked), then ``layouts`` (whose a name is),
then ``class_folder`` (which notebook counts, and why the others do not).
"""

from mlc_course.grading.handed_in.class_folder import Collected, Left, collect

__all__ = ["Collected", "Left", "collect"]
