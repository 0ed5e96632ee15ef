"""Functions that tests run in a sandbox."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

from anyhook.errors import UsageError
from anyhook.sandbox.sandbox import Sandbox


def run_command(_run, command, seconds=10):
    """Run a shell command, as a command hook is run; returns its output."""
    done = subprocess.run(
        ["bash", "-c", command], capture_output=True, text=True, timeout=seconds, check=False
    )
    return done.stdout + done.stderr


def run_python(_run, source):
    """Run a Python program in this process, as the functions of a hook file are run."""
    names = {
        "os": os, "signal": signal, "socket": socket, "subprocess": subprocess, "sys": sys,
        "threading": threading, "time": time, "Path": Path, "errors": [],
    }  # fmt: skip
    try:
        exec(source, names)
    except Exception as error:
        names["errors"].append(repr(error))
    return names["errors"]


def read(_run, path):
    return Path(path).read_text()


def write(_run, path):
    Path(path).write_text("written")
    return Path(path).read_text()


def environment(_run):
    return dict(os.environ), os.getcwd(), str(Path.home())


def end(run, how):
    run.begin(3)
    if how == "exit":
        os._exit(7)
    if how == "signal":
        os.kill(os.getpid(), signal.SIGKILL)
    run.begin(4, 0.2)
    signal.pthread_sigmask(signal.SIG_BLOCK, range(1, 32))
    time.sleep(60)


def leave_processes(_run, mark):
    """Start a process in a session of its own; returns whether an earlier one is seen."""
    earlier = [
        path for path in Path("/proc").glob("[0-9]*/cmdline") if mark in path.read_text("latin-1")
    ]
    command = f"exec -a {mark} sleep 60"
    subprocess.Popen(["setsid", "bash", "-c", command], stdout=subprocess.DEVNULL)
    return len(earlier)


def send_values(run, values):
    for value in values:
        run.send(value)
    return len(values)


def return_value(_run, value):
    return value


class Dangerous:
    """Calls a function when it is read, as a hook could write to the pipe of its process."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return os.mkdir, (self.path,)


def return_dangerous(_run, path):
    return Dangerous(path)


def fail(_run, message):
    raise UsageError(message)


def divide_by_zero(_run):
    return 1 / 0


def say_and_sleep(run):
    subprocess.Popen(["setsid", "sleep", "60"])
    run.send("runs")
    time.sleep(60)


def sandbox_within(_run, project, home):
    with Sandbox(project, home) as sandbox:
        return list(sandbox.limits), [tuple(pair) for pair in sandbox.paths]
