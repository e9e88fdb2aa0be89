"""What Linux lets a process give up: privileges, namespaces, a life after its parent's.

Each function is a few system calls. They raise ``OSError``; on other systems, ``AttributeError``.
"""

from __future__ import annotations

import ctypes
import fcntl
import os
import socket
import struct
from pathlib import Path

# linux/prctl.h
PR_SET_DUMPABLE, PR_CAPBSET_DROP, PR_SET_CHILD_SUBREAPER = 4, 24, 36
PR_SET_NO_NEW_PRIVS, PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL = 38, 47, 4
CAPABILITY_VERSION_3 = 0x20080522  # linux/capability.h
# linux/sched.h
NEW_MOUNTS, NEW_IPC, NEW_USER, NEW_PROCESSES, NEW_NETWORK = (
    0x00020000, 0x08000000, 0x10000000, 0x20000000, 0x40000000,
)  # fmt: skip
# linux/mount.h
MS_RDONLY, MS_NOSUID, MS_NODEV, MS_NOEXEC, MS_REC, MS_PRIVATE = 1, 2, 4, 8, 1 << 14, 1 << 18
MNT_DETACH = 2
SIOCGIFFLAGS, SIOCSIFFLAGS, IFF_UP = 0x8913, 0x8914, 1  # linux/sockios.h, linux/if.h

_libc = ctypes.CDLL(None, use_errno=True)


def _check(result: int, what: str) -> None:
    if result != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")


def _prctl(option: int, *values: int) -> None:
    arguments = [ctypes.c_ulong(each) for each in (*values, 0, 0, 0, 0)[:4]]
    _check(_libc.prctl(option, *arguments), f"prctl {option}")


def adopt_orphans() -> None:
    """Become the parent of each process below this one whose own parent ends."""
    _prctl(PR_SET_CHILD_SUBREAPER, 1)


def hide_memory(hidden: bool = True) -> None:
    """Close this process's memory, environment and open files to others of the same user."""
    try:
        _prctl(PR_SET_DUMPABLE, int(not hidden))
    except AttributeError:  # not Linux
        return


def drop_all() -> None:
    """Give up every privilege, and any way to gain one by running a program."""
    _prctl(PR_SET_NO_NEW_PRIVS, 1)
    _prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL)
    for capability in range(int(Path("/proc/sys/kernel/cap_last_cap").read_text()) + 1):
        _prctl(PR_CAPBSET_DROP, capability)
    header = struct.pack("Ii", CAPABILITY_VERSION_3, 0)
    _check(_libc.capset(header, bytes(24)), "capset")


def unshare(kinds: int) -> None:
    """Leave the namespaces of these kinds for new ones."""
    _check(_libc.unshare(kinds), "unshare")


def mount(kind: str, place: str, flags: int, options: str = "") -> None:
    """Mount a file system of the kernel's own."""
    words = [each.encode() for each in (kind, place, kind, options)]
    _check(_libc.mount(words[0], words[1], words[2], ctypes.c_ulong(flags), words[3]), place)


def keep_mounts_private() -> None:
    """Let no mount that is made from now on be seen in another namespace, nor theirs here."""
    flags = ctypes.c_ulong(MS_REC | MS_PRIVATE)
    _check(_libc.mount(None, b"/", None, flags, None), "mounts")


def unmount(place: str) -> None:
    """Take a mount away; what is open in it stays usable until it is closed."""
    _check(_libc.umount2(place.encode(), MNT_DETACH), place)


def start_loopback() -> None:
    """Let a new network namespace talk to itself."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asked:
        request = struct.pack("16sH22x", b"lo", 0)
        (flags,) = struct.unpack_from("H", fcntl.ioctl(asked, SIOCGIFFLAGS, request), 16)
        fcntl.ioctl(asked, SIOCSIFFLAGS, struct.pack("16sH22x", b"lo", flags | IFF_UP))
