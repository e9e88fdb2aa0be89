"""Ports for servers that tests start."""

from __future__ import annotations

import contextlib
import secrets
import socket


def free_port() -> int:
    """Return a port below those that a system gives to kernels, so that none takes it meanwhile."""
    while True:
        port = secrets.choice(range(20_000, 32_000))
        with contextlib.suppress(OSError), socket.socket() as probe:
            probe.bind(("127.0.0.1", port))
            return port
