"""The floor: the same commands, spawned with the least that the system needs."""

from __future__ import annotations

import os
import selectors
import shutil

_NULL = os.devnull


def spawn_bare(commands: list[str], stdin: bytes) -> list[bytes]:
    """Run command lines side by side with `posix_spawn`; give each its input, take its output.

    No deadline, no group, no limit, no error stream, no decoding: what nothing can go below.
    """
    bash = shutil.which("bash") or "/bin/sh"
    selector = selectors.DefaultSelector()
    pids, outputs = [], {}
    for command in commands:
        in_read, in_write = os.pipe()
        out_read, out_write = os.pipe()
        pids.append(
            os.posix_spawn(
                bash,
                ["bash", "-c", command],
                os.environ,
                file_actions=[
                    (os.POSIX_SPAWN_DUP2, in_read, 0),
                    (os.POSIX_SPAWN_DUP2, out_write, 1),
                    (os.POSIX_SPAWN_OPEN, 2, _NULL, os.O_WRONLY, 0),
                ],
            )
        )
        os.close(in_read)
        os.close(out_write)
        os.write(in_write, stdin)
        os.close(in_write)
        outputs[out_read] = b""
        selector.register(out_read, selectors.EVENT_READ)
    while selector.get_map():
        for key, _ in selector.select():
            chunk = os.read(key.fd, 65536)
            outputs[key.fd] += chunk
            if not chunk:
                selector.unregister(key.fd)
                os.close(key.fd)
    selector.close()
    for pid in pids:
        os.waitpid(pid, 0)
    return list(outputs.values())
