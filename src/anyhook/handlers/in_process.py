"""Hook files in the host's own process, where the host wants that.

The functions are called in a thread, or on the event loop itself. What they say is written and read
as that of a program, so it means the same; what they see around them (variables, working directory,
arguments, standard output, what other hooks have imported) is the host's. A file that needs more of
its own is handed on to a worker.
"""

from __future__ import annotations

import ast
import os
import sys
import threading
import time
from contextlib import nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import anyio

from anyhook.authoring.load import load_hooks
from anyhook.authoring.run import Lost, Output, Run, options
from anyhook.errors import AnyhookError
from anyhook.handlers.function import is_async
from anyhook.handlers.process import ProcessResult
from anyhook.handlers.threads import call_in_thread
from anyhook.model.stamps import stamp_of
from anyhook.warm.client import SWITCH

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from contextlib import AbstractContextManager
    from typing import NoReturn

    from anyhook.authoring.hooks import Hooks
    from anyhook.handlers.leases import Leases
    from anyhook.model.stamps import Stamp
    from anyhook.warm.commands import HookCommand


@dataclass
class _File:
    """A hook file, as it was read.

    Attributes:
        stamp: Changes when the file does.
        hooks: Its functions; `None` if it has to be run elsewhere.
        turn: Held while its functions run: they need not be able to run twice at once.
    """

    stamp: Stamp
    hooks: Hooks | None
    turn: threading.Lock = field(default_factory=threading.Lock)


class InProcess:
    """The hook files of one engine.

    Args:
        otherwise: Runs those that cannot be run here.
        on_loop: Call plain functions on the event loop, where nothing can end them.
    """

    def __init__(self, otherwise: Leases, *, on_loop: bool) -> None:
        self._otherwise = otherwise
        self._on_loop = on_loop
        self._files: dict[str, _File] = {}

    def close(self) -> None:
        """Give back what runs elsewhere."""
        self._otherwise.close()

    async def run(
        self,
        command: HookCommand,
        *,
        cwd: str,
        env: Mapping[str, str],
        stdin: bytes,
        timeout: float | None,
        output_limit: int,
    ) -> ProcessResult | None:
        """Run a hook file; see `anyhook.handlers.leases.Leases.run`."""
        started = time.perf_counter()
        result = None
        with anyio.move_on_after(timeout) as scope:
            result = await self._run(command, cwd, env, stdin, output_limit)
        if scope.cancelled_caught:
            return ProcessResult(timed_out=True, duration=time.perf_counter() - started)
        if result is not None:
            return result
        return await self._otherwise.run(
            command, cwd=cwd, env=env, stdin=stdin, timeout=timeout, output_limit=output_limit
        )

    async def _run(
        self,
        command: HookCommand,
        cwd: str,
        env: Mapping[str, str],
        stdin: bytes,
        output_limit: int,
    ) -> ProcessResult | None:
        if env.get(SWITCH) == "off" or command.interpreter(env) != sys.executable:
            return None
        path = os.path.join(cwd, command.words[0])  # noqa: PTH118 - ten times faster
        file = await self._file(path)
        if file.hooks is None:
            return None
        try:
            name, timeout = options(command.words[1:])
        except AnyhookError:
            return None
        started = time.perf_counter()
        output = _Kept()
        code = 0
        try:
            run = Run(file.hooks, output, timeout, environ=env)
            if run.take(stdin, name):
                await self._decide(path, file, run)
        except SystemExit as end:  # without an event there is nothing but an exit code
            code = int(end.code or 0)
        out, err = output.text, "".join(f"{line}\n" for line in output.told).encode()
        return ProcessResult(
            exit_code=code,
            stdout=out[:output_limit].decode("utf-8", "replace"),
            stderr=err[:output_limit].decode("utf-8", "replace"),
            stdout_truncated=len(out) > output_limit,
            stderr_truncated=len(err) > output_limit,
            duration=time.perf_counter() - started,
        )

    async def _decide(self, path: str, file: _File, run: Run) -> None:
        """Let the functions decide, in a thread; answer for them if they are too slow."""

        def decide() -> None:
            with file.turn:
                run.decide()

        if self._on_loop and not any(is_async(f.function) for f in run.hooks.functions):
            decide()
            return
        ended = False
        try:
            with anyio.move_on_after(run.seconds):
                await call_in_thread(decide)
                ended = True
        finally:
            if not ended and self._files.get(path) is file:
                del self._files[path]  # its thread may never end: the next event loads it anew
        if not ended:
            run.expire()

    async def _file(self, path: str) -> _File:
        stamp = stamp_of(path)
        found = self._files.get(path)
        if found is None or found.stamp != stamp:
            found = self._files[path] = _File(stamp, await call_in_thread(_load, path))
        return found


class _Kept(Output):
    """Keeps an answer, and leaves the process alone."""

    def __init__(self) -> None:
        self.text = b""
        self.told: list[str] = []

    def write(self, text: bytes, lost: Lost) -> None:  # noqa: ARG002 - it is read here
        self.text = text

    def leave(self) -> NoReturn:
        raise RuntimeError("the process is the host's")

    def warn(self, text: str) -> None:
        self.told.append(text)

    def silence(self) -> None:
        """Nothing that the process prints is taken for the answer here."""

    def limit(
        self,
        seconds: float,  # noqa: ARG002 - whoever waits looks at the clock
        then: Callable[[], None],  # noqa: ARG002 - likewise
    ) -> AbstractContextManager[object, bool | None]:
        return nullcontext()


def _load(path: str) -> Hooks | None:
    """Load a hook file; `None` if it must not run here."""
    file = Path(path)
    try:
        tree = ast.parse(file.read_bytes())
        if any(_is_beside(file, name) for name in _imported(tree)):
            return None  # another file's module of the same name would be taken for it
        hooks = load_hooks(file)
    except (AnyhookError, OSError, SyntaxError, ValueError, RecursionError):
        return None  # as a program, it tells by itself what is wrong
    return hooks if hooks.state == "kept" else None


def _imported(tree: ast.Module) -> Iterator[str]:
    """Yield what a file imports by name, at whatever time."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.module or ""


def _is_beside(file: Path, module: str) -> bool:
    name = module.partition(".")[0]
    here = file.resolve().parent
    return any((here / which).exists() for which in (f"{name}.py", name)) if name else True
