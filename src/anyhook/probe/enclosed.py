"""Start a program in a network that has nothing but one port on the loopback interface.

    unshare -rn --mount python enclosed.py DESCRIPTOR PORT PROTECTED WRITABLE PROGRAM ARGUMENT...

PROTECTED are directories, separated as in `PATH`, that the program cannot write to, except to what
is below the directory WRITABLE. This program opens a listening socket, sends it through the Unix
socket DESCRIPTOR to the process that plays the model, and becomes PROGRAM. So the model is outside
and its port inside. It is run by its path, and imports nothing of the package.
"""

from __future__ import annotations

import os
import socket
import struct
import subprocess
import sys
from pathlib import Path

# linux/sockios.h and linux/if.h; "struct ifreq" is a name, flags, and room for other requests.
SIOCGIFFLAGS = 0x8913
SIOCSIFFLAGS = 0x8914
IFF_UP = 0x1
INTERFACE = struct.Struct("16sh22x")


def raise_loopback() -> None:
    """Switch the loopback interface on: in a new network namespace it is off."""
    import fcntl

    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
        answer = fcntl.ioctl(control, SIOCGIFFLAGS, INTERFACE.pack(b"lo", 0))
        name, flags = INTERFACE.unpack(answer)
        if not flags & IFF_UP:
            fcntl.ioctl(control, SIOCSIFFLAGS, INTERFACE.pack(name, flags | IFF_UP))


def protect(directories: list[str], writable: str) -> None:
    """Make directories read-only, as far as the system allows it, except one below them."""
    for directory in directories:
        _mount("--bind", directory, directory)
    if directories:
        _mount("--bind", writable, writable)
    for directory in directories:
        _mount("-o", "remount,bind,ro", directory)


def _mount(*arguments: str) -> None:
    command = ["mount", *arguments]
    subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, check=False)


def main(descriptor: str, port: str, protected: str, writable: str, *command: str) -> None:
    """Send a listening socket to the model and become the program."""
    raise_loopback()
    protect([path for path in protected.split(os.pathsep) if path], writable)
    # The working directory may be below a new mount.
    os.chdir(Path.cwd())
    listener = socket.create_server(("127.0.0.1", int(port)), backlog=64)
    with socket.socket(fileno=int(descriptor)) as model:
        socket.send_fds(model, [b"."], [listener.fileno()])
    os.execvp(command[0], command)  # noqa: S606 - the program that was asked for


if __name__ == "__main__":
    main(*sys.argv[1:])
