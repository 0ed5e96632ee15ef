"""Files in which hooks leave variables for the shell commands of a session.

Claude Code names such a file in `CLAUDE_ENV_FILE` and runs it as a shell script in front of every
later command of its Bash tool. Its hooks themselves do not see the variables. A host does the same
with `Engine.session_script`.
"""

from __future__ import annotations

import threading
import weakref
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from anyhook.agents.spec import EnvFileRules
    from anyhook.handlers.context import HookContext
    from anyhook.model.definitions import HandlerSpec


class EnvFiles:
    """One file for each hook that may leave variables, in a private temporary directory.

    The directory is made when the first hook needs it. Nothing here raises `OSError`: a hook runs
    without the variable if there is no room for its file.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._numbers = count()
        self._directory: Path | None = None
        self._remove: weakref.finalize[[str], EnvFiles] | None = None
        self._files: dict[tuple[str, str, tuple[object, ...]], Path] = {}
        self._cleared: dict[str, float] = {}

    def variables(self, context: HookContext, handler: HandlerSpec) -> dict[str, str]:
        """Return the variable that names the file of a hook; empty if the event has none."""
        rules = context.agent.env_file
        if rules is None or context.spec.canonical not in rules.events:
            return {}
        session = str(context.given.session_id or "")
        key = (session, context.spec.canonical, handler.identity)
        with self._lock:
            self._clear(rules, context, session)
            try:
                path = self._files.get(key) or self._path()
            except OSError:
                return {}
            self._files[key] = path
        return {rules.variable: str(path)}

    def script(self, session_id: str) -> str:
        """Return what the hooks of a session have left, as one shell script."""
        with self._lock:
            paths = [path for (session, _, _), path in self._files.items() if session == session_id]
        texts = []
        for path in paths:
            try:
                text = path.read_text(encoding="utf-8", errors="surrogateescape")
            except OSError:  # its hook has written nothing
                continue
            texts.append(text if text.endswith("\n") or not text else f"{text}\n")
        return "".join(texts)

    def close(self) -> None:
        """Remove all files."""
        with self._lock:
            self._directory = None
            self._files.clear()
            self._cleared.clear()
            if self._remove is not None:
                self._remove()

    def _clear(self, rules: EnvFileRules, context: HookContext, session: str) -> None:
        """Forget what holds until the event, once for each dispatch of it."""
        gone = rules.clears.get(context.spec.canonical, frozenset())
        if not gone or self._cleared.get(session) == context.epoch:
            return
        self._cleared[session] = context.epoch
        for key in [key for key in self._files if key[0] == session and key[1] in gone]:
            self._files.pop(key).unlink(missing_ok=True)

    def _path(self) -> Path:
        if self._directory is None:
            import shutil  # only few sessions need a file
            import tempfile

            self._directory = Path(tempfile.mkdtemp(prefix="anyhook-env-"))
            self._remove = weakref.finalize(
                self, shutil.rmtree, str(self._directory), ignore_errors=True
            )
        return self._directory / f"hook-{next(self._numbers)}.sh"
