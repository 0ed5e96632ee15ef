"""The process of a server: it loads a hook file once, and then serves its events.

    python -c "from anyhook.worker.loader import main; main()" BASE [IDLE_SECONDS [REASON]]

A client starts it with a lock on descriptor 3, and on standard input the request with whose
environment, directory and arguments the file is loaded. `hooks.run()` in the file then becomes the
loop of the server (`anyhook.worker.server`).

The server ends after some idle minutes, and when anything that loading read has changed: the next
client then starts another one. A file that cannot be loaded once for all events is not loaded again
for each of them: the process replaces itself by one that asks every client to run the hook cold,
and reports the reason.
"""

from __future__ import annotations

import builtins
import contextlib
import gc
import os
import select
import signal
import sys
import time
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING

from anyhook._compat import count_threads
from anyhook.authoring.process_exit import file_identity, flush_streams
from anyhook.files import file_stamp
from anyhook.worker.byte_code import ignore_doubtful_byte_code
from anyhook.worker.child import LoadedHookFile, accept, read_body, send_quietly, status_frame
from anyhook.worker.client import HEAD, RUN, SERVER_CODE, STOP, absolute, check_private
from anyhook.worker.code_report import CodeReport
from anyhook.worker.endpoint import LOCK_FD, Endpoint, holds_lock, log_traceback
from anyhook.worker.load_trace import LoadTrace
from anyhook.worker.process_state import redirect_streams, scratch_file
from anyhook.worker.protocol import frame, pack_cold, parse_request
from anyhook.worker.sample import sample_payload
from anyhook.worker.server import Server

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import NoReturn

    from anyhook.authoring.functions import HookFunction
    from anyhook.authoring.hooks import Hooks

IDLE_SECONDS = 15 * 60.0
RELOAD_DELAY = 60.0
"""Seconds after which a file that could not be warm is loaded again, also if it did not change."""
CO_COROUTINE = 0x80
"""As in `inspect`, which takes megabytes."""
PRELOADED = (
    "atexit",
    "hashlib",
    "anyhook.agents.payloads",
    "anyhook.agents.encode",
    "anyhook.authoring.degrade",
    "anyhook.authoring.recording",
    "anyhook.model.call_effects",
    "anyhook.model.sequence",
    "anyhook.model.session_events",
    "anyhook.model.tool_events",
    "anyhook.model.turn_events",
    "anyhook.shell.commands",
)
"""What an answer imports late; each child would otherwise import it again."""


class Loader:
    """Loads a hook file up to its `hooks.run()`, which then serves.

    Args:
        base: The path of the socket and lock, without their suffixes.
        body: The request with which the file is loaded.
        idle: Seconds without an event after which the server ends.
    """

    def __init__(self, base: str, body: bytes, idle: float) -> None:
        self._base = base
        self._idle = idle
        self._pid = os.getpid()
        self._environ = dict(os.environb)
        request = parse_request(body)
        self._first_event, self._request = request.payload, request.replace(payload=b"")
        self._body = body.removesuffix(request.payload)
        self._cwd, self._path, *self._arguments = map(os.fsdecode, self._request.words)
        self._hook_file = absolute(self._path, self._cwd)
        self._trace = LoadTrace()

    def load_and_serve(self) -> None:
        """Run the file in the module `__main__`; return if another process must do the rest."""
        from anyhook.authoring import hooks as authoring

        os.chdir(self._cwd)
        os.umask(self._request.umask)
        os.environb.clear()
        os.environb.update(self._request.environ)
        self._output_file = scratch_file()
        redirect_streams(self._output_file)
        argv = [self._path, *self._arguments]
        if not sys.flags.safe_path:
            sys.path[0] = os.path.dirname(os.path.realpath(self._hook_file))
        # An empty module, as the interpreter makes it for a file.
        module = sys.modules["__main__"] = ModuleType("__main__")
        module.__dict__.update(__file__=self._hook_file, __builtins__=builtins, __cached__=None)
        self._own_files = [file_identity(file) for file in (LOCK_FD, self._output_file)]
        self._descriptors = _descriptors()
        sys.orig_argv = [sys.executable, *argv]
        authoring.on_run.append(self._serve)
        ignore_doubtful_byte_code()
        self._trace.start(self._hook_file, self._cwd, argv)
        try:
            with open(self._hook_file, "rb") as file:
                code = compile(file.read(), self._hook_file, "exec", dont_inherit=True)
        except (OSError, SyntaxError, ValueError, RecursionError) as error:
            self._refuse(f"cannot be read ({type(error).__name__})")
        try:
            exec(code, module.__dict__)  # noqa: S102 - running hooks is what a worker is for
        except BaseException as error:  # noqa: BLE001 - the cold run fails in the same way
            self._refuse(f"fails while it is loaded ({type(error).__name__})")
        self._refuse("never calls hooks.run()")

    def _serve(self, hooks: Hooks, arguments: Sequence[str] | None) -> NoReturn:
        """Serve events with the functions of a file; this is its `hooks.run()`."""
        if os.getpid() != self._pid:
            os._exit(0)  # a process that the file has forked
        from anyhook.authoring import hooks as authoring

        try:
            authoring.on_run.clear()
            self._trace.stop()
            reason = self._reason_to_refuse()
            if reason:
                self._refuse(reason)
            if any(map(_is_async, hooks.functions)):
                import_module("asyncio")
            event_environ, loaded = self._request.environ, dict(os.environb)
            endpoint = Endpoint(self._base, self._hook_file, self._cwd, self._idle)
            report = CodeReport(self._hook_file, self._trace.code)
            report.keep_in_background(event_environ)
            server = Server(
                endpoint,
                LoadedHookFile(
                    hooks,
                    arguments,
                    self._trace,
                    report,
                    {n: value for n, value in loaded.items() if event_environ.get(n) != value},
                    frozenset(event_environ.keys() - loaded.keys()),
                ),
                self._body + sample_payload(self._arguments, self._first_event, os.environ),
            )
            server.rehearse()
            self._first_event = b""  # a process that stays keeps no event
            os.chdir("/")
            gc.collect()
            gc.freeze()  # children copy the pages that a collection writes
            server.run()
        except BaseException:  # noqa: BLE001 - nothing may reach the `except` of a hook file
            log_traceback(self._base)
        finally:
            os._exit(0)

    def _reason_to_refuse(self) -> str:
        """Return why events cannot share what the file did while it was loaded."""
        own_files = [file_identity(file) for file in (LOCK_FD, self._output_file)]
        if own_files != self._own_files:
            return "closes files that it has not opened while it is loaded"
        flush_streams()
        umask = os.umask(self._request.umask)
        problems = {
            self._trace.side_effect: bool(self._trace.side_effect),
            "prints": bool(os.fstat(self._output_file).st_size),
            "starts a thread": count_threads() > 0,
            "keeps a file open": _descriptors() != self._descriptors,
            "changes the umask": umask != self._request.umask,
        }
        problem = next((text for text, applies in problems.items() if applies), "")
        return f"{problem} while it is loaded" if problem else ""

    def _refuse(self, reason: str) -> NoReturn:
        """Replace this process by one that only asks clients to run the hook cold.

        What loading has done (threads, open files, handlers) must not stay for minutes.
        """
        if os.getpid() != self._pid:
            os._exit(0)  # a process that the file has forked
        request = scratch_file()
        os.write(request, frame(self._body))
        os.lseek(request, 0, os.SEEK_SET)
        os.dup2(request, 0)
        words = [sys.executable, "-c", SERVER_CODE, self._base, str(self._idle), reason]
        os.chdir("/")
        os.execve(sys.executable, words, self._environ)


def refuse(endpoint: Endpoint) -> None:
    """Ask every client to run the hook cold, until the file changes or no event comes."""
    identity = file_stamp(endpoint.hook_file)
    loaded_at = time.monotonic()
    listener = endpoint.listen()
    poll = select.poll()
    poll.register(listener, select.POLLIN)
    count = 0
    is_ending = False
    while not is_ending and poll.poll(endpoint.idle * 1000):
        link = accept(listener)
        body = read_body(link) if link is not None else None
        if link is None or body is None:
            continue
        if body[:1] == RUN:
            count += 1
            endpoint.note_cold(endpoint.reason)
            send_quietly(link, pack_cold(endpoint.reason))
            is_late = time.monotonic() - loaded_at > RELOAD_DELAY
            is_ending = is_late or file_stamp(endpoint.hook_file) != identity
        else:
            is_ending = body[:1] == STOP
            status = endpoint.status(
                os.getpid(), warm=0, cold=count, running=(), is_ending=is_ending
            )
            send_quietly(link, status_frame(status))
        link.close()
    endpoint.close(listener)


def main() -> None:
    """Be the server of an address."""
    base = sys.argv[1]
    idle = float(sys.argv[2]) if len(sys.argv) > 2 else IDLE_SECONDS
    reason = sys.argv[3] if len(sys.argv) > 3 else ""
    reset_signals()
    check_private(os.path.dirname(base))
    if not holds_lock(base):
        return
    try:
        with open(0, "rb", closefd=False) as stream:
            body = stream.read()[HEAD:]
        if reason:
            cwd, path, *_ = map(os.fsdecode, parse_request(body).words)
            refuse(Endpoint(base, absolute(path, cwd), cwd, idle, reason))
            return
        preload()
        Loader(base, body, idle).load_and_serve()
    except Exception:  # noqa: BLE001 - a bug of this package must leave a trace
        log_traceback(base)


def reset_signals() -> None:
    """Handle every signal as an interpreter does that no other program has started.

    The agent that happened to start the server may ignore or block some.
    """
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
    ignored_by_interpreter = {signal.SIGPIPE, signal.SIGXFSZ}
    for number in signal.valid_signals() - ignored_by_interpreter:
        if signal.getsignal(number) == signal.SIG_IGN:
            signal.signal(number, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)


def preload() -> None:
    """Import what answers need."""
    from anyhook.agents import CODING_AGENTS, get_agent
    from anyhook.agents.entry import load_object
    from anyhook.secrets.redact import find_at_once

    for name in PRELOADED:
        import_module(name)
    find_at_once("", "")  # compiles the expressions
    for name in CODING_AGENTS:
        load_object(get_agent(name).vocabulary.tool_result_form)


def _is_async(function: HookFunction) -> bool:
    """Return whether a function is an `async def`, which runs in a loop of `asyncio`."""
    code = getattr(function.function, "__code__", None)
    return code is not None and bool(code.co_flags & CO_COROUTINE)


def _descriptors() -> set[int]:
    numbers = set()
    for name in os.listdir("/dev/fd"):
        with contextlib.suppress(OSError):  # the one that listed the directory
            os.fstat(int(name))
            numbers.add(int(name))
    return numbers
