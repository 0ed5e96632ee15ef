"""A hook file, loaded once and used often: what it was loaded from must still be so.

Cold, a file is run from its first line on every event. Warm, it is run once up to `hooks.run()`.
That is the same only as long as what its first lines saw is the same: the file itself, what it
imports, the files that it read, the variables that it looked at. All of them are written down while
it is loaded and compared before each event. What cannot be compared (output, threads, programs,
connections) keeps a file from being warm at all.
"""

from __future__ import annotations

import ast
import builtins
import os
import sys
import time
from types import CodeType, ModuleType

from anyhook.files import FileIdentity, identity_of
from anyhook.worker.installed import is_installed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from typing import Any, NoReturn

    from anyhook.authoring.hooks import Hooks


SLOWLY = 1.0
"""Seconds between two looks at what is installed: an upgrade counts after that."""
READS = frozenset({"open", "os.listdir", "os.scandir"})
"""What the interpreter tells when something is read."""
STARTS = {
    "subprocess.Popen": "starts a program",
    "os.system": "starts a program",
    "os.posix_spawn": "starts a program",
    "os.exec": "starts a program",
    "os.fork": "starts a process",
    "os.forkpty": "starts a process",
    "socket.connect": "makes a connection",
    "socket.bind": "opens a port",
}
"""What the interpreter tells, to what keeps a file cold that does it while it is loaded."""


class NotWarmError(Exception):
    """A file cannot be kept in a worker; its text says why, after the name of the file."""


class LoadedHookFile:
    """A hook file that is ready for events.

    Attributes:
        hooks: Its functions.
        module: What it runs as: `__main__`.
    """

    def __init__(self, hooks: Hooks, module: ModuleType, seen: LoadTrace) -> None:
        self.hooks = hooks
        self.module = module
        self._seen = seen
        self._modules = 0
        self._own: dict[str, FileIdentity] = dict([seen.first])
        self._installed: dict[str, FileIdentity] = {}
        self._looked = 0.0
        self._begun = seen.begun
        self._search = {path: _importable(path) for path in (sys.path[0], *_search_path())}
        self.remember()
        self._begun = time.time_ns()

    def remember(self) -> None:
        """Note what is loaded by now: a function may import more when it is called."""
        if len(sys.modules) == self._modules and not self._seen.paths:
            return
        self._modules = len(sys.modules)
        files = [getattr(module, "__file__", None) for module in own_modules()]
        for path in (*filter(None, files), *self._seen.paths):
            kept = self._installed if is_installed(path) else self._own
            if path not in kept:
                kept[path] = self._stamp_before(path)
        self._seen.paths.clear()
        self._looked = time.monotonic()

    def _stamp_before(self, path: str) -> FileIdentity:
        """Return the stamp of what was read; of nothing if it may have been edited."""
        found = identity_of(path)
        if found is not None and self._begun <= found[4] <= time.time_ns():
            return _EDITED_MEANWHILE
        return found

    def staleness(self, environ: dict[bytes, bytes]) -> str | None:
        """Say why it must be loaded again before the next event; `None` if it need not.

        Args:
            environ: The variables of that event.
        """
        for name, value in self._seen.variables.items():
            if environ.get(name) != value:
                return f"the variable {os.fsdecode(name)} is another"
        for path, before in self._own.items():
            if identity_of(path) != before:
                return f"{path} has changed"
        beside = sys.path[0]
        if _importable(beside) != self._search.get(beside):
            return f"there are other modules in {beside}"
        now = time.monotonic()
        if now - self._looked > SLOWLY:
            self._looked = now
            for path, names in self._search.items():
                if _importable(path) != names:
                    return f"there are other modules in {path}"
            for path, before in self._installed.items():
                if identity_of(path) != before:
                    return f"{path} has changed"
        return None


def own_modules() -> list[ModuleType]:
    """List the modules that were loaded since the fork.

    The others are the worker's to watch; to look at them here would only copy their memory.
    """
    found = []
    for name in reversed(sys.modules):
        if name in _shared:
            break
        found.append(sys.modules[name])
    return found


_shared: list[str] = []
"""The last module that was loaded before the forks."""


def share_modules() -> None:
    """Leave the modules that are loaded by now to who watches them for all forks."""
    _shared[:] = [next(reversed(sys.modules))]


class LoadTrace:
    """What a file looks at while it is loaded.

    Attributes:
        variables: Variable to its value; `None` if it was not set.
        begun: When loading began, in ns since the epoch.
        first: The hook file, and its stamp before it was read.
        paths: Files and directories that were read, and are not noted yet.
    """

    def __init__(self) -> None:
        self.variables: dict[bytes, bytes | None] = {}
        self.paths: set[str] = set()
        self.did: str | None = None
        self.is_loading = False
        self.begun = 0
        self.first: tuple[str, FileIdentity] = ("", None)

    def forget(self) -> None:
        """Begin anew, with another file."""
        self.variables.clear()
        self.paths.clear()
        self.did = None

    def hook(self, event: str, arguments: tuple[Any, ...]) -> None:
        """Take what the interpreter tells; see `sys.addaudithook`."""
        if not self.is_loading:
            return
        if event in READS and not _is_importing():
            path = arguments[0] if arguments else None
            if isinstance(path, str | bytes) and _is_reading(event, arguments):
                self.paths.add(os.path.abspath(os.fsdecode(path)))
        elif event in STARTS and self.did is None:
            self.did = STARTS[event]


class WatchedEnviron(dict[bytes, bytes]):
    """The data behind `os.environ`, which tells what is looked at.

    Attributes:
        looked: Variables that were looked at since this was cleared.
    """

    looked: set[bytes]

    def __getitem__(self, name: bytes) -> bytes:
        self.looked.add(name)
        return super().__getitem__(name)

    def __iter__(self) -> Iterator[bytes]:
        self.looked.update(super().__iter__())
        return super().__iter__()

    def __contains__(self, name: object) -> bool:
        if isinstance(name, bytes):
            self.looked.add(name)
        return super().__contains__(name)


_watching: list[LoadTrace] = []


def watch_reads() -> LoadTrace:
    """Have the interpreter tell what is looked at. It does so for good, so it is asked once."""
    if not _watching:
        _watching.append(LoadTrace())
        sys.addaudithook(_watching[0].hook)
    _watching[0].forget()
    return _watching[0]


def watch_environ() -> WatchedEnviron:
    """Put the watching data behind `os.environ`, if it is not there."""
    data: Any = os.environ
    if isinstance(data._data, WatchedEnviron):
        return data._data
    watched = WatchedEnviron(data._data)
    watched.looked = set()
    data._data = watched
    if hasattr(os, "environb"):
        os.environb._data = watched  # type: ignore[attr-defined]
    return watched


def load(
    path: str,
    arguments: Sequence[str],
    seen: LoadTrace,
    environ: WatchedEnviron,
    given: Mapping[bytes, bytes],
) -> LoadedHookFile:
    """Run a hook file up to `hooks.run()`.

    Args:
        path: The file, as its command line names it.
        arguments: The arguments of its command line.
        seen: Takes what it looks at.
        environ: The data behind `os.environ`.
        given: The variables that it began with.

    Raises:
        NotWarmError: If it must be run cold.
    """
    from anyhook.authoring import hooks as authoring

    seen.begun = time.time_ns()
    module = _main_module(path, arguments)
    paused: list[Hooks] = []

    def take(hooks: Hooks, argv: Sequence[str] | None) -> NoReturn:
        if argv is not None:
            raise NotWarmError("gives hooks.run() arguments of its own")
        paused.append(hooks)
        raise _Paused

    seen.first = os.path.abspath(path), identity_of(path)
    try:
        with open(path, "rb") as file:
            source = file.read()
        code = compile(source, path, "exec", dont_inherit=True)
        ends_with_run = _calls_run_last(code) or _ends_with_run(ast.parse(source))
    except (OSError, SyntaxError, ValueError, RecursionError) as error:
        raise NotWarmError(f"cannot be read ({type(error).__name__})") from None
    if not ends_with_run:
        raise NotWarmError("has something behind hooks.run(), or another way to call it")
    environ.looked.clear()
    seen.is_loading = True
    authoring.worker.append(take)
    try:
        exec(code, module.__dict__)  # noqa: S102 - running hooks is what a worker is for
    except _Paused:
        pass
    except NotWarmError:
        raise
    except BaseException as error:  # noqa: BLE001 - cold, it fails the same way and is told
        raise NotWarmError(f"fails while it is loaded ({type(error).__name__})") from None
    finally:
        authoring.worker.pop()
        seen.is_loading = False
    if not paused:
        raise NotWarmError("never comes to hooks.run()")
    if seen.did:
        raise NotWarmError(f"{seen.did} while it is loaded")
    if paused[0].state == "cold":
        raise NotWarmError('says state="cold"')
    note_variables(seen, environ, given)
    return LoadedHookFile(paused[0], module, seen)


def note_variables(seen: LoadTrace, environ: WatchedEnviron, given: Mapping[bytes, bytes]) -> None:
    """Let the variables that were looked at count as part of what was loaded."""
    for name in environ.looked:
        seen.variables.setdefault(name, given.get(name))
    environ.looked.clear()


_EDITED_MEANWHILE: FileIdentity = (0, 0, -1, 0, 0)
"""Equals no stamp, so that the file is loaded once more."""


def _search_path() -> list[str]:
    """List the directories whose modules may come and go: not those of the interpreter."""
    return [path for path in dict.fromkeys(sys.path) if path and not is_installed(path + os.sep)]


_offers: dict[str, tuple[int, frozenset[str]]] = {}
"""Directory to when it was changed last, and what it offered then."""


def _importable(path: str) -> frozenset[str] | None:
    """Return what a directory offers to `import`; `None` if it is not there."""
    try:
        modified = os.stat(path).st_mtime_ns
        known = _offers.get(path)
        if known is not None and known[0] == modified:
            return known[1]
        with os.scandir(path) as entries:
            names = frozenset(
                entry.name
                for entry in entries
                if entry.name.endswith((".py", ".so"))
                or (entry.name.isidentifier() and entry.name != "__pycache__" and entry.is_dir())
            )
    except OSError:
        return None
    _offers[path] = modified, names
    return names


class _Paused(BaseException):
    """The file came to `hooks.run()`."""


def _main_module(path: str, arguments: Sequence[str]) -> ModuleType:
    sys.argv = [path, *arguments]
    sys.orig_argv = [sys.executable, path, *arguments]
    sys.path[0] = os.path.dirname(os.path.realpath(path))
    module = ModuleType("__main__")
    module.__dict__.update(__file__=path, __builtins__=builtins, __cached__=None)
    sys.modules["__main__"] = module
    return module


def _operations(code: CodeType) -> bytes:
    return code.co_code[::2]


def _endings() -> tuple[bytes, ...]:
    """Return the operations of a file's last statement, bare and under an `if`."""
    bare = _operations(_RUNS)[1:]  # behind the start
    guarded = _operations(compile("if x:\n    x.run()", "", "exec"))
    return bare, guarded[max(guarded.find(bare), 0) :]


_RUNS = compile("x.run()", "", "exec")
_ENDINGS = _endings()
_SHIFT = int(_RUNS.co_code[5] > 1)
"""Bits of an attribute's number that are no number; here it is 1."""


def _calls_run_last(code: CodeType) -> bool:
    """Tell whether the last thing that a file does is, in the usual words, to run its hooks.

    A tree tells for all words, but to make one copies much memory that is shared until then.
    """
    operations = _operations(code)
    for ending in _ENDINGS:
        if operations.endswith(ending):
            place = len(operations) - len(ending) + 1
            look_up, attribute = operations[place], code.co_code[2 * place + 1]
            looked_up = zip(operations, code.co_code[1::2], strict=True)
            is_only_one = list(looked_up).count((look_up, attribute)) == 1
            return is_only_one and code.co_names[attribute >> _SHIFT] == "run"
    return False


def _ends_with_run(tree: ast.Module) -> bool:
    """Tell whether the last thing that a file does is to run its hooks."""
    if not tree.body:
        return False
    last = tree.body[-1]
    if isinstance(last, ast.If) and not last.orelse:
        last = last.body[-1]
    call = last.value if isinstance(last, ast.Expr) else None
    return (
        isinstance(call, ast.Call)
        and isinstance(call.func, ast.Attribute)
        and call.func.attr == "run"
    )


def _is_importing() -> bool:
    """Tell whether it is the import system that reads: what it loads is noted as modules."""
    return sys._getframe(2).f_code.co_filename.startswith("<frozen importlib")


def _is_reading(event: str, arguments: tuple[Any, ...]) -> bool:
    if event != "open":
        return True
    mode, flags = (*arguments[1:3], None, None)[:2]
    if isinstance(mode, str):
        return not set(mode) & set("wax+")
    return not (isinstance(flags, int) and flags & (os.O_WRONLY | os.O_RDWR))
