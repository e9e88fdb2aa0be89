"""What Linux lets a process give up: privileges, namespaces, a life after its parent's.

Each function is a few system calls. They raise ``OSError``; on other systems, ``AttributeError``.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import fcntl
import os
import platform
import re
import socket
import struct
from dataclasses import dataclass
from functools import partial
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
KEYCTL_JOIN_SESSION_KEYRING = 1  # linux/keyctl.h
# linux/seccomp.h; without the flag, older kernels make a filtered process slower than others
SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_SPEC_ALLOW = 1, 4
SECCOMP_RET_ALLOW, SECCOMP_RET_ERRNO = 0x7FFF0000, 0x00050000
BPF_LOAD, BPF_EQUAL, BPF_AT_LEAST, BPF_RETURN = 0x20, 0x15, 0x35, 0x06  # linux/bpf_common.h
NUMBER_AT, PROCESSOR_AT, FIRST_ARGUMENT_AT = 0, 4, 16  # in struct seccomp_data, little-endian
OTHER_CALLS = 0x40000000  # from here on, x86 has the same calls by other numbers
FAMILIES = (socket.AF_UNIX, socket.AF_INET, socket.AF_INET6, 16)  # 16 is AF_NETLINK


@dataclass(frozen=True)
class Calls:
    """The numbers of some system calls on one kind of processor."""

    processor: int  # linux/audit.h
    socket: int
    keys: tuple[int, int, int]  # add_key, request_key, keyctl
    seccomp: int
    io_uring: int = 425  # it does what other calls do, unfiltered


CALLS = {
    "x86_64": Calls(0xC000003E, socket=41, keys=(248, 249, 250), seccomp=317),
    "aarch64": Calls(0xC00000B7, socket=198, keys=(217, 218, 219), seccomp=277),
}

_libc = ctypes.CDLL(None, use_errno=True)


def _check(result: int, what: str) -> None:
    if result != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")


def _prctl(option: int, *values: int) -> None:
    arguments = [ctypes.c_ulong(each) for each in (*values, 0, 0, 0, 0)[:4]]
    _check(_libc.prctl(option, *arguments), f"prctl {option}")


def kernel() -> tuple[int, int]:
    """Return the version of the kernel, such as (6, 14); (0, 0) where its name tells none."""
    found = re.match(r"(\d+)\.(\d+)", platform.release())
    return (int(found[1]), int(found[2])) if found else (0, 0)


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


def leave_shared_places() -> None:
    """Give up, for good, what no namespace separates: the kernel's keys, and sockets of odd kinds.

    The keyring of a login session is shared by all that it starts, and a virtual machine has
    sockets to its host that belong to no network. Only processors in ``CALLS`` are known.
    """
    calls = CALLS.get(platform.machine())
    if calls is None or not hasattr(_libc, "prctl"):
        return
    with contextlib.suppress(OSError):  # a kernel without keys
        joined = _libc.syscall(calls.keys[2], KEYCTL_JOIN_SESSION_KEYRING, None)
        _check(min(joined, 0), "keyctl")
    _prctl(PR_SET_NO_NEW_PRIVS, 1)
    lines = _filter(calls)
    code = ctypes.create_string_buffer(b"".join(lines))
    program = ctypes.create_string_buffer(struct.pack("@HP", len(lines), ctypes.addressof(code)))
    set_filter = partial(_libc.syscall, calls.seccomp, SECCOMP_SET_MODE_FILTER)
    if set_filter(ctypes.c_ulong(SECCOMP_FILTER_FLAG_SPEC_ALLOW), program) != 0:
        _check(set_filter(ctypes.c_ulong(0), program), "seccomp")  # older than the flag


def _filter(calls: Calls) -> list[bytes]:
    """Return the program that the kernel runs before each system call."""

    def line(code: int, value: int, if_true: int = 0, if_false: int = 0) -> bytes:
        return struct.pack("HBBI", code, if_true, if_false, value)

    def returns(number: int) -> bytes:
        return line(BPF_RETURN, SECCOMP_RET_ERRNO | number)

    refused = (*calls.keys, calls.io_uring)
    return [
        line(BPF_LOAD, PROCESSOR_AT),
        line(BPF_EQUAL, calls.processor, if_true=1),
        returns(errno.ENOSYS),
        line(BPF_LOAD, NUMBER_AT),
        line(BPF_AT_LEAST, OTHER_CALLS, if_true=len(refused) + 1),
        *(line(BPF_EQUAL, number, len(refused) - i) for i, number in enumerate(refused)),
        line(BPF_EQUAL, calls.socket, 2, 1),
        returns(errno.ENOSYS),
        line(BPF_RETURN, SECCOMP_RET_ALLOW),
        line(BPF_LOAD, FIRST_ARGUMENT_AT),
        *(line(BPF_EQUAL, each, len(FAMILIES) - i) for i, each in enumerate(FAMILIES)),
        returns(errno.EAFNOSUPPORT),
        line(BPF_RETURN, SECCOMP_RET_ALLOW),
    ]


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
