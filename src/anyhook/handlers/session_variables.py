"""Variables that hooks set for the later hooks of their session (`AgentSpec.session_variables`)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from anyhook.shell.variables import controls_shell

if TYPE_CHECKING:
    from collections.abc import Mapping

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
