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
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import anyio

from anyhook.authoring.load import MODULE_PREFIX, load_hooks
from anyhook.authoring.run import FallbackExit, Output, Run, options
from anyhook.errors import AnyhookError
from anyhook.files import identity_of
from anyhook.handlers.function import is_async
from anyhook.handlers.threads import call_in_thread
from anyhook.processes.result import ProcessResult, result_of_reply
from anyhook.worker.client import SWITCH
from anyhook.worker.installed import is_installed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from contextlib import AbstractContextManager
    from typing import NoReturn

    from anyhook.authoring.hooks import Hooks
    from anyhook.files import FileIdentity
    from anyhook.handlers.leases import Leases
    from anyhook.worker.commands import HookCommand


OWN_LOOPS = frozenset({"asyncio", "anyio", "trio", "curio", "uvloop"})
"""Modules of event loops: a function that runs one of its own cannot do so on the host's."""
PATIENCE = 1.0
"""Seconds to wait until other files are loaded."""

_loading = threading.Lock()


@dataclass
class _File:
    """A hook file, as it was read.

    Attributes:
        stamp: Changes when the file does.
        hooks: Its functions; `None` if it has to be run elsewhere.
        needs_thread: It must not be called on the event loop.
        turn: Held while its functions run: they need not be able to run twice at once.
    """

    stamp: FileIdentity
    hooks: Hooks | None = None
    needs_thread: bool = True
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
        self._pid = os.getpid()

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
        may_run: Callable[[], bool] = lambda: True,
    ) -> ProcessResult | None:
        """Run a hook file; see `anyhook.handlers.leases.Leases.run`."""
        started = time.perf_counter()
        path = self._path(command, cwd, env)
        output = None
        ready = None if path is None else self._ready(path)
        if ready is not None:
            output = _run_at_once(ready, command, env, stdin)
        elif path is not None:
            with anyio.move_on_after(timeout) as scope:
                output = await self._run(path, command, env, stdin)
            if scope.cancelled_caught:
                return ProcessResult(timed_out=True, duration=time.perf_counter() - started)
        spent = time.perf_counter() - started
        if output is not None:
            return output.result(output_limit, spent)
        left = None if timeout is None else timeout - spent
        return await self._otherwise.run(
            command,
            cwd=cwd,
            env=env,
            stdin=stdin,
            timeout=left,
            output_limit=output_limit,
            may_run=may_run,
        )

    @staticmethod
    def _path(command: HookCommand, cwd: str, env: Mapping[str, str]) -> str | None:
        """Return the hook file of a command that this interpreter would run."""
        if env.get(SWITCH) == "off" or command.interpreter(env) != sys.executable:
            return None
        return os.path.join(cwd, command.words[0])

    def _ready(self, path: str) -> _File | None:
        """Return a file that has nothing to wait for, neither to be loaded nor to be called."""
        found = self._files.get(path)
        if (
            not self._on_loop
            or found is None
            or found.needs_thread
            or self._pid != os.getpid()
            or found.stamp != identity_of(path)
        ):
            return None
        return found

    async def _run(
        self, path: str, command: HookCommand, env: Mapping[str, str], stdin: bytes
    ) -> _Kept | None:
        """Run a hook file here; `None` if it has to be run elsewhere."""
        file = await self._file(path)
        begun = _begin(file, command, env, stdin)
        if begun is None:
            return None
        run, output = begun
        if run is not None:
            await self._decide(path, file, run)
        return output

    async def _decide(self, path: str, file: _File, run: Run) -> None:
        """Let the functions decide; in a thread, answer for them if they are too slow."""
        if self._on_loop and not file.needs_thread:
            _finish(file, run)
            return
        ended = False
        try:
            with anyio.move_on_after(run.seconds):
                await call_in_thread(_finish, file, run)
                ended = True
        finally:
            if not ended and self._files.get(path) is file:
                del self._files[path]  # its thread may never end: the next event loads it anew
        if not ended:
            run.expire()

    async def _file(self, path: str) -> _File:
        if self._pid != os.getpid():  # in a fork, nobody gives a turn back
            self._files.clear()
            self._pid = os.getpid()
        stamp = identity_of(path)
        found = self._files.get(path)
        if found is None or found.stamp != stamp:
            loaded: _File = await call_in_thread(self._load, path, stamp)
            return loaded
        return found

    def _load(self, path: str, stamp: FileIdentity) -> _File:
        """Load a file, once for all events that wait for it."""
        if not _loading.acquire(timeout=PATIENCE):
            return _File(stamp)
        try:
            found = self._files.get(path)
            if found is None or found.stamp != stamp:
                found = self._files[path] = _loaded(Path(path), stamp)
            return found
        finally:
            _loading.release()


class _Kept(Output):
    """Keeps an answer, and leaves the process alone."""

    def __init__(self) -> None:
        self.text = b""
        self.told: list[str] = []

    def result(self, limit: int, duration: float) -> ProcessResult:
        """Put it as that of a program."""
        told = "".join(f"{line}\n" for line in self.told)
        errors = told.encode("utf-8", "backslashreplace")
        return result_of_reply(self.code, self.text, errors, output_limit=limit, duration=duration)

    def write(self, text: bytes, lost: FallbackExit) -> None:  # noqa: ARG002 - it is read here
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


def _begin(
    file: _File, command: HookCommand, env: Mapping[str, str], stdin: bytes
) -> tuple[Run | None, _Kept] | None:
    """Take the event for the functions of a file, and their turn.

    Returns:
        The event on its way, to be given to `_finish`, or `None` where nothing is left to decide;
        and what takes the answer. `None` if it has to be run elsewhere.
    """
    if file.hooks is None:
        return None
    try:
        name, timeout = options(command.words[1:])
    except AnyhookError:
        return None
    if not file.turn.acquire(blocking=False):
        return None  # another event has it, maybe for ever
    output = _Kept()
    run = Run(file.hooks, output, timeout, environ=env)
    is_event = False
    try:
        is_event = run.take(stdin, name)
    except SystemExit as end:  # without an event there is nothing but an exit code
        output.code = int(end.code or 0)
    finally:
        if not is_event:
            file.turn.release()
    return (run if is_event else None), output


def _run_at_once(
    file: _File, command: HookCommand, env: Mapping[str, str], stdin: bytes
) -> _Kept | None:
    """Run a file that is ready; `None` if it has to be run elsewhere."""
    begun = _begin(file, command, env, stdin)
    if begun is None:
        return None
    run, output = begun
    if run is not None:
        _finish(file, run)
    return output


def _finish(file: _File, run: Run) -> None:
    """Let the functions decide, and give their turn back."""
    try:
        run.decide()
    finally:
        file.turn.release()


def _loaded(file: Path, stamp: FileIdentity) -> _File:
    """Load a hook file, if it can be run here."""
    before = set(sys.modules)
    try:
        tree = ast.parse(file.read_bytes())
        if not _fits(tree, file):
            return _File(stamp)
        hooks = load_hooks(file, beside=False)
    except BaseException:  # noqa: BLE001 - as a program, it tells by itself what is wrong
        return _File(stamp)
    new = [name for name in sys.modules if name not in before]
    if hooks.state != "kept" or not all(map(_is_everybodys, new)):
        for name in new:
            del sys.modules[name]
        return _File(stamp)
    is_async_ = any(is_async(function.function) for function in hooks.functions)
    own_loops = any(name.partition(".")[0] in OWN_LOOPS for name in _imported(tree))
    return _File(stamp, hooks, needs_thread=is_async_ or own_loops)


def _fits(tree: ast.Module, file: Path) -> bool:
    """Tell from a file's text whether it can be run here: nothing of it has been run yet."""
    names = [node.id for node in ast.walk(tree) if isinstance(node, ast.Name)]
    last = tree.body[-1] if tree.body else None
    return (
        isinstance(last, ast.If)
        and ast.unparse(last.test) in MAIN
        and not last.orelse
        and len(last.body) == 1
        and _is_run(last.body[0])
        and names.count("__name__") == 1
        and not any(map(_says_state, ast.walk(tree)))
        and all(_resolves(name.partition(".")[0], file) for name in _imported(tree))
    )


MAIN = frozenset({"__name__ == '__main__'", "'__main__' == __name__"})


def _is_run(statement: ast.stmt) -> bool:
    call = statement.value if isinstance(statement, ast.Expr) else None
    return (
        isinstance(call, ast.Call)
        and isinstance(call.func, ast.Attribute)
        and call.func.attr == "run"
        and not call.args
        and not call.keywords
    )


def _says_state(node: ast.AST) -> bool:
    """Tell whether a call says what is kept between events: to keep it needs no word."""
    return isinstance(node, ast.Call) and any(word.arg == "state" for word in node.keywords)


def _imported(tree: ast.Module) -> Iterator[str]:
    """Yield what a file imports by name, at whatever time."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.module if node.module and not node.level else ""


def _resolves(name: str, file: Path) -> bool:
    """Tell whether a module is the same for everybody: not one of the file's own directory."""
    here = file.resolve().parent
    if not name or any((here / which).exists() for which in (f"{name}.py", name)):
        return False
    if name in sys.modules:
        return _is_everybodys(name)
    found = find_spec(name)
    return found is not None and _is_shared(found.origin)


def _is_everybodys(name: str) -> bool:
    module = sys.modules[name]
    return name.startswith(MODULE_PREFIX) or _is_shared(getattr(module, "__file__", None))


def _is_shared(file: object) -> bool:
    return not isinstance(file, str) or not os.path.isabs(file) or is_installed(file)
