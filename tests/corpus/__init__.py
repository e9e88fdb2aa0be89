"""An exam for the tests of the grader, and how submissions to it are made."""
