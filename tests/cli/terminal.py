"""A real terminal, which tmux plays."""

from __future__ import annotations

import shlex
import shutil
import subprocess
import sys

from tests.waiting import until

TMUX = shutil.which("tmux")


class Terminal:
    """A terminal of its own server of tmux.

    Args:
        socket: The address of the server.
        environ: The environment of the command.
    """

    def __init__(self, socket, environ):
        self.socket = str(socket)
        self.environ = environ

    def tmux(self, *words):
        done = subprocess.run(
            [TMUX, "-S", self.socket, "-f", "/dev/null", *words],
            env=self.environ,
            capture_output=True,
            text=True,
            check=False,
        )
        return done.stdout

    def start(self, *words, size=(80, 24)):
        """Run `anyhook`, and print its exit code at the end."""
        command = shlex.join((sys.executable, "-m", "anyhook", *words))
        self.tmux(
            *("new-session", "-d", "-x", str(size[0]), "-y", str(size[1])),
            f"{command}; echo EXIT $?; stty -a | grep -o -- '-\\?icanon'; exec sleep 1000",
        )

    def run(self, *words, size=(80, 24)):
        """Run a program."""
        dimensions = ("-x", str(size[0]), "-y", str(size[1]))
        self.tmux("new-session", "-d", *dimensions, shlex.join(words))

    def keys(self, *keys):
        self.tmux("send-keys", "--", *keys)

    def text(self):
        return self.tmux("capture-pane", "-p")

    def shows(self, *texts):
        def holds():
            text = self.text()
            screens = " ".join(text.split()), text.replace("\n", "")
            return all(any(wanted in screen for screen in screens) for wanted in texts)

        try:
            until(holds)
        except AssertionError:
            raise AssertionError(f"{texts} are missing in:\n{self.text()}") from None
