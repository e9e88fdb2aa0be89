"""What TVM says when it refuses something, in the one sentence of it that says why."""

from __future__ import annotations


def refusal_reason(error: Exception) -> str:
    """Return the sentence of a TVM error that says why, without the program printed before it."""
    message = str(error).split("Error message:")[-1]
    return next((line for line in message.strip().splitlines() if line), type(error).__name__)
