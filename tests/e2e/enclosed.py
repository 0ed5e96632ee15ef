"""Start a program that has a loopback interface for its network, with one port to talk to.

    unshare -rn python enclosed.py FD VARIABLE PROGRAM ARGUMENT...

Opens a listening socket, sends it through the Unix socket FD to the process of the test, puts its
address into the environment as VARIABLE, and becomes PROGRAM. So the model that the program talks
to lives in the test, and its port in here. Without `unshare` the same works, in the open.
"""

from __future__ import annotations

import fcntl
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
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
        answer = fcntl.ioctl(control, SIOCGIFFLAGS, INTERFACE.pack(b"lo", 0))
        name, flags = INTERFACE.unpack(answer)
        if not flags & IFF_UP:
            fcntl.ioctl(control, SIOCSIFFLAGS, INTERFACE.pack(name, flags | IFF_UP))


def main(descriptor: str, variable: str, *command: str) -> None:
    """Send a listening socket home and become the program."""
    if sys.platform == "linux":
        raise_loopback()
    listener = socket.create_server(("127.0.0.1", 0), backlog=64)
    with socket.socket(fileno=int(descriptor)) as home:
        socket.send_fds(home, [b"."], [listener.fileno()])
    os.environ[variable] = f"http://127.0.0.1:{listener.getsockname()[1]}"
    os.execvp(command[0], command)


if __name__ == "__main__":
    main(*sys.argv[1:])
