"""Cells that push at the walls of the sandbox itself: kernel settings, namespaces, devices."""

from __future__ import annotations

from pathlib import Path

from corpus.handing_in import Notebook, hand_in


def kernel_settings(folder: Path, exercise: Notebook) -> None:
    """Who grades as root lends that to /proc/sys: a program named there runs outside, as root."""
    hand_in(
        folder,
        exercise,
        first="""\
setting = "/proc/sys/kernel/core_pattern"
now = open(setting).read()
with open(setting, "w") as file:
    file.write(now)  # as it was: this is a test""",
    )


def own_namespace(folder: Path, exercise: Notebook) -> None:
    """Everybody is root in a namespace of their own, and may mount as much memory as they like."""
    hand_in(
        folder,
        exercise,
        first="""\
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
os.makedirs("/tmp/here")
libc.unshare(0x10000000 | 0x00020000)
if libc.mount(b"none", b"/tmp/here", b"tmpfs", 0, b"size=8G"):
    raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))""",
    )


def devices(folder: Path, exercise: Notebook) -> None:
    """A device made anew is the disk itself."""
    hand_in(
        folder,
        exercise,
        first="import os, stat\nos.mknod('/tmp/disk', stat.S_IFBLK | 0o666, os.makedev(254, 0))",
    )
