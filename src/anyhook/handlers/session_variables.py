"""Variables that hooks leave for the rest of their session.

Claude Code names a file for them in `CLAUDE_ENV_FILE` and runs it as a shell script before every
later command of its Bash tool. Its hooks themselves do not see the variables. A host does the same
with `Engine.session_script`. Other agents take them from answers (`AgentSpec.session_variables`),
for the later hooks.
"""

from __future__ import annotations

import threading
import weakref
from contextlib import suppress
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from anyhook.files import read_user_file
from anyhook.shell.variables import controls_shell

if TYPE_CHECKING:
    from collections.abc import Mapping

    from anyhook.agents.spec.settings import EnvFileRules

MAX_SIZE = 16 * 1024 * 1024
"""Bytes of one file of variables."""


class FileKey(NamedTuple):
    """Whose file it is."""

    session: str
    event: str
    """Canonical name of the event."""
    hook: tuple[object, ...]
    """Identity of the hook."""


class EnvFiles:
    """One file for each hook that may leave variables, in a private temporary directory.

    The directory is made when the first hook needs it. Nothing here raises `OSError`: a hook runs
    without the variable if its file cannot be written.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._numbers = count()
        self._directory: Path | None = None
        self._remove: weakref.finalize[[str], EnvFiles] | None = None
        self._files: dict[FileKey, Path] = {}
        self._cleared: dict[str, float] = {}

    def variables(self, rules: EnvFileRules, key: FileKey, dispatch: float) -> dict[str, str]:
        """Return the variable that names the file of a hook; empty if the event has none.

        `dispatch` identifies the dispatch, so that old files are cleared once for each.
        """
        if key.event not in rules.events:
            return {}
        with self._lock:
            # Some files of a session hold only until this event.
            outdated = rules.clears.get(key.event, frozenset())
            if outdated and self._cleared.get(key.session) != dispatch:
                self._cleared[key.session] = dispatch
                for other in [*self._files]:
                    if other.session == key.session and other.event in outdated:
                        path = self._files.pop(other)
                        with suppress(OSError):  # its hook may have made a directory of it
                            path.unlink()
            if self._directory is None:
                import shutil  # only few sessions need a file
                import tempfile

                try:
                    self._directory = Path(tempfile.mkdtemp(prefix="anyhook-env-"))
                except OSError:
                    return {}
                self._remove = weakref.finalize(
                    self, shutil.rmtree, str(self._directory), ignore_errors=True
                )
            if key not in self._files:
                self._files[key] = self._directory / f"hook-{next(self._numbers)}.sh"
            return {rules.variable: str(self._files[key])}

    def script(self, session: str) -> str:
        """Return the variables that the hooks of a session have left, as one shell script."""
        with self._lock:
            paths = [path for key, path in self._files.items() if key.session == session]
        script = ""
        for path in paths:
            try:
                text = read_user_file(path, MAX_SIZE).decode("utf-8", "surrogateescape")
            except OSError:  # its hook has written nothing
                continue
            if text and not text.endswith("\n"):
                text += "\n"
            script += text
        return script

    def close(self) -> None:
        """Remove all files."""
        with self._lock:
            self._directory = None
            self._files.clear()
            self._cleared.clear()
            if self._remove is not None:
                self._remove()


MAX_SESSIONS = 1000
"""Sessions whose variables are kept; the oldest ones are forgotten first."""


class SessionVariables:
    """The variables of each session."""

    def __init__(self) -> None:
        self._by_session: dict[str, dict[str, str]] = {}

    def of(self, session: str) -> Mapping[str, str]:
        """Return the variables of a session."""
        return self._by_session.get(session, {})

    def add(self, session: str, members: Any) -> None:
        """Keep the variables in an answer, without those that would change programs and shells.

        A hook of a project must not be able to replace the programs of its user's guards.
        """
        if not isinstance(members, dict):
            return
        variables = self._by_session.pop(session, {})
        for name, value in members.items():
            is_variable = isinstance(value, str) and name and "=" not in name
            if is_variable and name != "PATH" and not controls_shell(name):
                variables[name] = value
        if len(self._by_session) >= MAX_SESSIONS:
            del self._by_session[next(iter(self._by_session))]
        self._by_session[session] = variables

    def forget(self, session: str) -> None:
        """Forget the variables of a session that has ended."""
        self._by_session.pop(session, None)
