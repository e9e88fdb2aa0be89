"""mlc_course: machine learning compilation, taught by a library that does it."""

__version__ = "0.9.0"
