"""What a hook file read while it was loaded, so that a change of it is noticed.

A cold hook is loaded on every event. A warm one is loaded once, and that means the same only as
long as everything that loading read is unchanged: the file itself, the modules that it imports, the
files and directories that it opened or asked for, the variables that it looked up, its arguments
and its working directory. Each of them is recorded here while the file is loaded. What belongs to
the project is compared before each event; what is installed, between events.
"""

from __future__ import annotations

import os
import sys
import time

from anyhook._compat import caller
from anyhook.files import TICK, FileIdentity, file_stamp, opens_for_reading
from anyhook.trust.loaded_code import LoadedCode, is_installed
from anyhook.worker.byte_code import remove_doubtful_byte_code

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from typing import Any

READ_EVENTS = frozenset({"open", "os.listdir", "os.scandir", "sqlite3.connect"})
"""Audit events of reading, with the path as their first argument."""
SIDE_EFFECTS = {
    "subprocess.Popen": "starts a program",
    "os.system": "starts a program",
    "os.posix_spawn": "starts a program",
    "os.exec": "starts a program",
    "os.fork": "starts a process",
    "os.forkpty": "starts a process",
    "socket.connect": "makes a connection",
    "socket.bind": "opens a port",
    "os.chdir": "changes the working directory",
}
"""Audit events of what every event of a cold hook would repeat, with the reason to stay cold."""
QUESTIONS = ("stat", "lstat", "access")
"""Functions of `os` that ask for a file, without an audit event: `Path.exists`, `shutil.which`."""
MAX_QUESTIONS = 1000
"""Files that a hook file may ask for while it is loaded: each event asks for them again."""
CHECK_INTERVAL = 0.9
"""Seconds between two checks of what is installed: there may be hundreds of files. A server that
waits checks them each time that it wakes up, which is once in a second."""
EDITED_WHILE_LOADING: FileIdentity = (0, 0, -1, 0, 0)
"""Equals no file, so that the first event notices the edit."""


class LoadTrace:
    """Records what a hook file reads while it is loaded.

    Attributes:
        side_effect: What it did that cannot be done once for all events; empty if nothing.
        code: The files that it loads as code, also while it answers events.
    """

    def __init__(self) -> None:
        self.side_effect = ""
        self.code = LoadedCode()
        self._paths: set[str] = set()
        self._asked: dict[str, int | None] = {}
        self._variables: set[bytes] = set()
        self._reads_all_variables = False
        self._reads_cwd = False
        self._reads_arguments = False
        self._is_loading = False
        self._started = 0

    def start(self, hook_file: str, cwd: str, argv: Sequence[str]) -> None:
        """Record what is read from now on, and replace `sys.argv` and `os.environ` for that.

        Args:
            hook_file: Absolute path of the hook file.
            cwd: Working directory.
            argv: The value of `sys.argv`.
        """
        self._started = time.time_ns() - TICK
        self._hook_file = hook_file
        self._cwd = cwd
        self._argv = list(argv)
        self._environ = dict(os.environb)
        self._paths.add(hook_file)
        self._is_loading = True
        sys.addaudithook(self._on_audit_event)
        self._traced_argv = sys.argv = _TracedArguments(argv)
        _TracedArguments.trace = _TracedEnviron.trace = self
        # modules may hold the objects already, so they get another class instead of a replacement
        for environ in (os.environ, os.environb):
            environ.__class__ = _TracedEnviron
        self._real_getcwd = os.getcwd, os.getcwdb
        os.getcwd, os.getcwdb = self._getcwd, self._getcwdb
        self._real_questions = {name: getattr(os, name) for name in QUESTIONS}
        for name, function in self._real_questions.items():
            traced = _TracedQuestion(self, function)
            setattr(os, name, traced)
            # `shutil` looks for the functions in these sets when it is imported.
            for supporting in (os.supports_dir_fd, os.supports_fd, os.supports_follow_symlinks):
                if function in supporting:
                    supporting.add(traced)

    def note_question(self, path: Any) -> None:
        """Record that a file was asked for."""
        if not self._is_loading:
            return
        try:
            text = os.fsdecode(path)
        except TypeError:  # a file descriptor
            return
        self._reads_cwd = self._reads_cwd or not text.startswith("/")
        asked = os.path.normpath(os.path.join(self._cwd, text))
        # Its own directories exist: `Path(__file__).resolve()` asks for each of them.
        if asked not in self._asked and not self._hook_file.startswith(asked.rstrip("/") + "/"):
            if len(self._asked) == MAX_QUESTIONS:
                self.side_effect = self.side_effect or f"asks for over {MAX_QUESTIONS:,} files"
                return
            self._asked[asked] = self._answer(asked)

    def _answer(self, path: str) -> int | None:
        """Return the kind and the permissions of a file; `None` if there is none.

        Its size and its times do not count: a hook may ask for its own log.
        """
        try:
            return int(self._real_questions["stat"](path).st_mode)
        except (OSError, ValueError):
            return None

    def stop(self) -> None:
        """Stop recording, and take the identities of everything that was read."""
        self._is_loading = False
        for environ in (os.environ, os.environb):
            environ.__class__ = _EnvironClass
        os.getcwd, os.getcwdb = self._real_getcwd
        for name, function in self._real_questions.items():
            setattr(os, name, function)
        if sys.argv is not self._traced_argv or self._argv != list.copy(self._traced_argv):
            self.side_effect = self.side_effect or "changes sys.argv"
        sys.argv = self._argv.copy()
        if not all(map(os.path.isabs, filter(None, sys.path))):
            self._reads_cwd = True  # `import` looks below it
        modules = [getattr(module, "__file__", None) for module in list(sys.modules.values())]
        interpreter = (sys.executable, os.path.join(sys.prefix, "pyvenv.cfg"))
        self._own: dict[str, FileIdentity] = {}
        self._installed = {path: file_stamp(path) for path in interpreter}
        # A module that was loaded by its path need not be in sys.modules.
        self._paths |= self.code.code_files
        for path in (*self._paths, *(path for path in modules if isinstance(path, str))):
            kind = self._installed if is_installed(path) else self._own
            identity = file_stamp(path)
            if identity is not None and identity[4] > self._started:
                identity = EDITED_WHILE_LOADING
            kind[path] = identity
        # Directories whose modules may come and go: not those of the interpreter.
        directories = [path for path in sys.path if path and not is_installed(path + os.sep)]
        self._offers = {path: _Offer(path) for path in dict.fromkeys(directories)}
        self._checked = time.monotonic()

    def difference(
        self, environ: Mapping[bytes, bytes], cwd: str, argv: Sequence[str]
    ) -> str | None:
        """Return why the file must be loaded again for an event; `None` if it need not.

        Args:
            environ: The variables of the event.
            cwd: Its working directory.
            argv: The hook file and the arguments of its command.
        """
        names = self._variables
        if self._reads_all_variables:
            names = self._environ.keys() | environ.keys()
        for name in names:
            if environ.get(name) != self._environ.get(name):
                variable = os.fsdecode(name)
                return f"reads the variable {variable} while it is loaded, which has changed"
        if self._reads_cwd and cwd != self._cwd:
            return "uses the working directory while it is loaded, which has changed"
        if self._reads_arguments and list(argv) != self._argv:
            return "reads its arguments while it is loaded, which have changed"
        return self.changed_file()

    def changed_file(self) -> str | None:
        """Return why the file must be loaded again for any event; `None` if it need not.

        Installed files are not compared (`changed_installation`).
        """
        for path in _changed(self._own):
            return _describe_change(path)
        for path, answer in self._asked.items():
            if self._answer(path) != answer:
                return _describe_change(path)
        for directory, offer in self._offers.items():
            if offer.has_changed(directory):
                return f"was loaded before the modules in {directory} changed"
        return None

    def changed_installation(self) -> str | None:
        """Return which installed file has changed, at most once in an interval."""
        now = time.monotonic()
        if now - self._checked < CHECK_INTERVAL:
            return None
        self._checked = now
        for path in _changed(self._installed):
            return _describe_change(path)
        return None

    def _getcwd(self) -> str:
        self._reads_cwd = True
        return self._real_getcwd[0]()

    def _getcwdb(self) -> bytes:
        self._reads_cwd = True
        return self._real_getcwd[1]()

    def _on_audit_event(self, event: str, arguments: tuple[Any, ...]) -> None:
        self.code.note(event, arguments)
        if not self._is_loading:
            return
        if event in READ_EVENTS and not _is_importing():
            path = arguments[0] if arguments else "."
            if path is None:
                path = "."
            is_read = event != "open" or opens_for_reading(*arguments[2:3])
            if isinstance(path, str | bytes) and is_read:
                text = os.fsdecode(path)
                self._reads_cwd = self._reads_cwd or not text.startswith("/")
                self._paths.add(os.path.normpath(os.path.join(self._cwd, text)))
        elif event in SIDE_EFFECTS and not self.side_effect:
            self.side_effect = SIDE_EFFECTS[event]

    def read_variable(self, name: object) -> None:
        """Record that a variable was looked up."""
        if isinstance(name, str | bytes):
            self._variables.add(os.fsencode(name))

    def read_all_variables(self) -> None:
        """Record that all variables were listed."""
        self._reads_all_variables = True

    def read_arguments(self) -> None:
        """Record that the arguments were looked at."""
        self._reads_arguments = True


class _TracedQuestion:
    """A function of `os` that records the files that it is asked for while a hook file is loaded.

    Modules may hold it for ever (`from os import stat`), and pass it to other processes.
    """

    def __init__(self, trace: LoadTrace, function: Callable[..., Any]) -> None:
        self.__name__ = function.__name__
        self.__doc__ = function.__doc__
        self._trace = trace
        self._function = function

    def __call__(self, path: Any, *arguments: Any, **options: Any) -> Any:
        if options.get("dir_fd") is None:
            self._trace.note_question(path)
        return self._function(path, *arguments, **options)

    def __reduce__(self) -> tuple[Any, ...]:
        return _untraced, (self._function,)


def _untraced(function: Callable[..., Any]) -> Callable[..., Any]:
    return function


_EnvironClass: Any = type(os.environ)
"""It has no public name."""


class _TracedEnviron(_EnvironClass):  # type: ignore[misc] # see above
    """The class of `os.environ` while a hook file is loaded."""

    trace: LoadTrace

    def __getitem__(self, name: Any) -> Any:
        self.trace.read_variable(name)
        return super().__getitem__(name)

    def __iter__(self) -> Any:
        self.trace.read_all_variables()
        return super().__iter__()

    def __len__(self) -> Any:
        self.trace.read_all_variables()
        return super().__len__()


class _TracedArguments(list[str]):
    """The value of `sys.argv` while a hook file is loaded."""

    trace: LoadTrace

    def __getitem__(self, index: Any) -> Any:
        self.trace.read_arguments()
        return super().__getitem__(index)

    def __iter__(self) -> Iterator[str]:
        self.trace.read_arguments()
        return super().__iter__()

    def __len__(self) -> int:
        self.trace.read_arguments()
        return super().__len__()

    def __contains__(self, word: object) -> bool:
        self.trace.read_arguments()
        return super().__contains__(word)


class _Offer:
    """The modules that a directory offers to `import`."""

    def __init__(self, directory: str) -> None:
        self._modified = _modified(directory)
        self._names = _importable(directory)

    def has_changed(self, directory: str) -> bool:
        """Return whether it offers other modules now."""
        return _modified(directory) != self._modified and _importable(directory) != self._names


def _modified(directory: str) -> int:
    try:
        return os.stat(directory).st_mtime_ns
    except OSError:
        return 0


def _importable(directory: str) -> frozenset[str]:
    try:
        with os.scandir(directory) as entries:
            return frozenset(
                entry.name
                for entry in entries
                if entry.name.endswith((".py", ".so"))
                or (entry.name.isidentifier() and entry.name != "__pycache__" and entry.is_dir())
            )
    except OSError:
        return frozenset()


def _changed(identities: Mapping[str, FileIdentity]) -> Iterator[str]:
    for path, identity in identities.items():
        if file_stamp(path) != identity:
            yield path


def _describe_change(path: str) -> str:
    remove_doubtful_byte_code(path)  # the cold run would load it
    return f"was loaded before {path} changed"


def _is_importing() -> bool:
    """Return whether the import system reads: its files are recorded as modules."""
    return caller(2).f_code.co_filename.startswith("<frozen importlib")
