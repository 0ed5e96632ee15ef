"""Start a program in a network that has nothing but one port on the loopback interface.

    unshare -rn python enclosed.py DESCRIPTOR PORT PROGRAM ARGUMENT...

This program opens a listening socket, sends it through the Unix
socket DESCRIPTOR to the process that plays the model, and becomes PROGRAM. So the model is outside
and its port inside. It is run by its path, and imports nothing of the package.
"""

from __future__ import annotations

import os
import socket
import struct
import sys

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


def main(descriptor: str, port: str, *command: str) -> None:
    """Send a listening socket to the model and become the program."""
    raise_loopback()
    listener = socket.create_server(("127.0.0.1", int(port)), backlog=64)
    with socket.socket(fileno=int(descriptor)) as model:
        socket.send_fds(model, [b"."], [listener.fileno()])
    os.execvp(command[0], command)  # noqa: S606 - the program that was asked for


if __name__ == "__main__":
    main(*sys.argv[1:])
