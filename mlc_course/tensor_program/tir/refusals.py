"""What TVM says when it refuses something, in the one sentence of it that says why."""

from __future__ import annotations

import re

NODE = re.compile(r"(?:s_)?tirx?\.(For|SBlock)#\d+")  # of a printed program that is left out
WORDS = {"For": "(a loop)", "SBlock": "(a block)"}


def refusal_reason(error: Exception) -> str:
    """Return the sentence of a TVM error that says why, without the program printed before it."""
    message = str(error).split("Error message:")[-1].strip()
    said = next((line for line in message.splitlines() if line), type(error).__name__)
    said = said.removeprefix("ScheduleError: ").split(" Problematic stmt:")[0]
    return NODE.sub(lambda found: WORDS[found[1]], said)
