"""A user at a terminal who answers the question of a command with one key."""

from __future__ import annotations

import os
import pty
import select
import subprocess
import sys

TIMEOUT = 60
KEY_INTERVAL = 0.2
"""Seconds."""


def answer(words, key, *, question=" y/N ", cwd, environ=None, meanwhile=None):
    """Run `anyhook` in a terminal of its own, and press a key when it asks.

    Args:
        words: Arguments of the command.
        key: The key, as bytes.
        question: The end of the question.
        cwd: The current directory.
        environ: The environment; by default that of the test.
        meanwhile: Is called once when the question is shown, before the key is pressed.

    Returns:
        The exit code and what it printed.
    """
    terminal, child_end = pty.openpty()
    with subprocess.Popen(
        [sys.executable, "-P", "-m", "anyhook", *words],
        stdin=child_end,
        stdout=child_end,
        stderr=child_end,
        cwd=cwd,
        env={"COLUMNS": "500", "TERM": "dumb", **(os.environ if environ is None else environ)},
    ) as process:
        os.close(child_end)
        output = b""
        while True:
            # What was typed before the program reads keys is not an answer, so it is typed again.
            if not select.select([terminal], [], [], KEY_INTERVAL)[0]:
                if question.encode() in output:
                    if meanwhile is not None:
                        meanwhile()
                        meanwhile = None
                    os.write(terminal, key)
                continue
            piece = _read(terminal)
            if not piece:
                break
            output += piece
        process.wait(TIMEOUT)
    os.close(terminal)
    return process.returncode, output.decode().replace("\r\n", "\n")


def _read(terminal):
    try:
        return os.read(terminal, 65536)
    except OSError:  # the last process that had the terminal has ended
        return b""
