"""A command that was interrupted changes its process, which tests share."""

from __future__ import annotations

import signal
from collections.abc import Iterator

import pytest


@pytest.fixture(autouse=True)
def ctrl_c_as_before() -> Iterator[None]:
    """A command that was interrupted once ignores Ctrl-C until its process ends."""
    before = signal.getsignal(signal.SIGINT)
    yield
    signal.signal(signal.SIGINT, before)
