"""Calls of the Linux kernel that Python has no functions for.

`os.unshare` came with Python 3.12; mounts, capabilities and Landlock have no functions. The
programs `unshare` and `mount` would need a process for each call, and a sandbox makes forty.
"""

from __future__ import annotations

import ctypes
import os
import struct
from functools import cache

MS_RDONLY = 0x1
MS_NOSUID = 0x2
MS_NODEV = 0x4
MS_REMOUNT = 0x20
MS_BIND = 0x1000
MS_REC = 0x4000
MS_PRIVATE = 0x40000
"""Flags of mount(2)."""
MNT_DETACH = 0x2
CLONE_NEWNS = 0x00020000
CLONE_NEWIPC = 0x08000000
CLONE_NEWUSER = 0x10000000
CLONE_NEWPID = 0x20000000
CLONE_NEWNET = 0x40000000
"""Namespaces, as unshare(2) takes them."""
PR_SET_DUMPABLE = 4
PR_CAPBSET_DROP = 24
PR_SET_CHILD_SUBREAPER = 36
PR_SET_NO_NEW_PRIVS = 38
_LAST_CAPABILITY = 63
_CAPABILITY_VERSION = 0x20080522
_SIOCGIFFLAGS, _SIOCSIFFLAGS, _IFF_UP = 0x8913, 0x8914, 0x1
_INTERFACE = struct.Struct("16sh22x")
"""`struct ifreq` of linux/if.h: a name, flags, and room for other requests."""


@cache
def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


def _check(result: int, what: str) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number), what)
    return result


def mount(
    source: str, target: str, kind: str = "", flags: int = 0, options: str | None = None
) -> None:
    """Mount a file system, or change the flags of one.

    Raises:
        OSError: If the system does not allow it.
    """
    result = _libc().mount(
        os.fsencode(source),
        os.fsencode(target),
        os.fsencode(kind) if kind else None,
        ctypes.c_ulong(flags),
        None if options is None else os.fsencode(options),
    )
    _check(result, target)


def unmount(target: str) -> None:
    """Unmount a file system and all that is mounted below it, also while it is used.

    Raises:
        OSError: If nothing is mounted there.
    """
    _check(_libc().umount2(os.fsencode(target), MNT_DETACH), target)


def prctl(option: int, value: int) -> None:
    """Change a property of this process.

    Raises:
        OSError: If the kernel does not have it.
    """
    zero = ctypes.c_ulong(0)
    _check(_libc().prctl(option, ctypes.c_ulong(value), zero, zero, zero), "prctl")


def enter_namespaces() -> None:
    """Move this process to namespaces of its own, in which it has all capabilities.

    It keeps its user and group. The first process that it starts is the first one of a new process
    namespace: the kernel ends all others of the namespace with it.

    Raises:
        OSError: If the system does not allow it.
    """
    user, group = os.getuid(), os.getgid()
    namespaces = CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWIPC
    _check(_libc().unshare(namespaces), "unshare")
    # The order is the kernel's: no group can be mapped as long as setgroups(2) is allowed.
    for name, text in (
        ("setgroups", "deny"),
        ("uid_map", f"{user} {user} 1"),
        ("gid_map", f"{group} {group} 1"),
    ):
        with open(f"/proc/self/{name}", "w", encoding="ascii") as stream:
            stream.write(text)


def set_up_loopback() -> None:
    """Switch the loopback interface on, which is off in a new network namespace."""
    import fcntl
    import socket

    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
        reply = fcntl.ioctl(control, _SIOCGIFFLAGS, _INTERFACE.pack(b"lo", 0))
        name, flags = _INTERFACE.unpack(reply)
        fcntl.ioctl(control, _SIOCSIFFLAGS, _INTERFACE.pack(name, flags | _IFF_UP))


def drop_capabilities() -> None:
    """Give up all capabilities for good, also for programs that are started."""
    prctl(PR_SET_NO_NEW_PRIVS, 1)
    for capability in range(_LAST_CAPABILITY + 1):
        try:
            prctl(PR_CAPBSET_DROP, capability)
        except OSError:  # the kernel has fewer
            break
    header = struct.pack("=Ii", _CAPABILITY_VERSION, 0)
    _check(_libc().capset(header, bytes(24)), "capset")


# -- Landlock: rules that a process sets for itself and its children

_LANDLOCK_CREATE, _LANDLOCK_ADD, _LANDLOCK_RESTRICT = 444, 445, 446
"""Numbers of system calls, the same on all architectures."""
_ACCESS_WRITE_FILE, _ACCESS_REFER, _ACCESS_TRUNCATE = 1 << 1, 1 << 13, 1 << 14
_ACCESS_CHANGES = 0b1_1111_1111_0000 | _ACCESS_WRITE_FILE
"""Rights of linux/landlock.h: write to a file, remove and make files of any kind."""
_ACCESS_TCP = 0b11
_SCOPED = 0b11
"""Abstract sockets of others, and signals to others."""


def landlock_version() -> int:
    """Return the version of Landlock in the kernel; 0 if there is none."""
    return max(0, int(_libc().syscall(_LANDLOCK_CREATE, None, ctypes.c_size_t(0), 1)))


def allow_writes(paths: list[str]) -> None:
    """Restrict this process and its children for good: they can change files below paths only.

    With newer kernels they also cannot use TCP (6.7), nor signal others or use their abstract
    sockets (6.12).

    Raises:
        OSError: If the kernel has no Landlock.
    """
    version = landlock_version()
    writes = _ACCESS_CHANGES
    writes |= _ACCESS_REFER if version >= 2 else 0
    writes |= _ACCESS_TRUNCATE if version >= 3 else 0
    rules = struct.pack(
        "=QQQ", writes, _ACCESS_TCP if version >= 4 else 0, _SCOPED if version >= 6 else 0
    )
    size = 24  # the structure grew with the releases of Landlock
    if version < 4:
        size = 8
    elif version < 6:
        size = 16
    libc = _libc()
    ruleset = libc.syscall(_LANDLOCK_CREATE, rules, ctypes.c_size_t(size), 0)
    _check(ruleset, "landlock_create_ruleset")
    try:
        for path in paths:
            parent = os.open(path, os.O_PATH | os.O_CLOEXEC)
            try:
                rights = writes
                if not os.path.isdir(path):
                    rights &= _ACCESS_WRITE_FILE | _ACCESS_TRUNCATE
                rule = struct.pack("=Qi", rights, parent)
                result = libc.syscall(_LANDLOCK_ADD, ruleset, 1, rule, 0)
                _check(result, "landlock_add_rule")
            finally:
                os.close(parent)
        prctl(PR_SET_NO_NEW_PRIVS, 1)
        _check(libc.syscall(_LANDLOCK_RESTRICT, ruleset, 0), "landlock_restrict_self")
    finally:
        os.close(ruleset)
