"""Run the ``mlc-course`` command: ``python -m mlc_course.commands``."""

import sys

from mlc_course.commands import main

sys.exit(main())
