"""Without a browser the tests that need one fail, and say what to install."""

from __future__ import annotations

import pytest

from .conftest import chromium


def test_a_machine_without_chromium_fails_and_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("PATH", "")
    with pytest.raises(pytest.fail.Exception, match="install chromium"):
        chromium()
