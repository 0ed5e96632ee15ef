"""The exceptions that anyhook raises.

```
AnyhookError
├── UsageError              wrong use of an API, an option or a name
│   ├── UnknownNameError    an agent, event, rule set or hook name; carries suggestions
│   │   └── UnknownEventError   an event that the agent does not have; names the agent that has it
│   ├── EventError          an event that cannot be built or fired
│   └── MissingLibraryError a library of an extra that is not installed; says how to get it
├── SettingsError           a settings file cannot be read or edited; carries the place
├── StartedByAgentError     a process that an agent has started may not weaken its guards
├── EngineClosedError       the engine was used after it was closed
├── RequiredHooksError      hooks that the host requires do not run; carries the reasons
├── HistoryError            the history cannot be opened, read or written
├── SandboxError            the sandbox in which hooks are tried cannot be made or has ended
│   └── RunEndedError       a process ended in it without a result; carries its exit code
├── StoppedError            a hook ended the agent (`anyhook.integrations`)
└── PlatformError           something that this platform cannot do
```

A handler that fails is a `HandlerResult`, not an exception: the other answers still count.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from anyhook.model.diagnostics import Diagnostic


class AnyhookError(Exception):
    """Base of everything that anyhook raises on purpose."""


class UsageError(AnyhookError):
    """The caller used an API, an option or a name in a wrong way."""


class MissingLibraryError(UsageError):
    """A library of an extra is not installed. The message names the extra, and what to run.

    The command names libraries and not anyhook, which may come from a directory. It fits the
    environment: pipx, one without pip (uv makes such ones), or any other.

    Args:
        feature: What needs the library.
        library: The library, for people.
        extra: The extra of anyhook that has it.
        otherwise: What else can be done.
    """

    def __init__(self, feature: str, library: str, extra: str, otherwise: str = "") -> None:
        what = f"{library} (the extra anyhook[{extra}])"
        super().__init__(f"{feature} needs {what}: {_install_command(extra)}{otherwise}")


def _install_command(extra: str) -> str:
    import shlex
    import sys
    from importlib.metadata import PackageNotFoundError, requires
    from importlib.util import find_spec
    from pathlib import Path

    marker = f"extra=='{extra}'"
    try:
        lines = [line.replace(" ", "").replace('"', "'") for line in requires("anyhook") or ()]
    except PackageNotFoundError:
        lines = []
    libraries = [line.partition(";")[0] for line in lines if line.endswith(marker)]
    words = ["pip", "install"]
    if "pipx" in Path(sys.prefix).parts:
        words = ["pipx", "inject", "anyhook"]
    elif find_spec("pip") is None:
        words = ["uv", "pip", "install", "--python", sys.executable]
    return shlex.join([*words, *(libraries or [f"anyhook[{extra}]"])])


class UnknownNameError(UsageError):
    """A name is not in its table.

    Attributes:
        kind: What was named: `"agent"`, `"event"`, `"hook"`, …
        name: The name that was given.
        known: The names that exist.

    Args:
        list_all: Add all known names to the message, even if one of them is similar.
    """

    def __init__(
        self, kind: str, name: str, known: Iterable[str], *, list_all: bool = False
    ) -> None:
        from anyhook.model.suggest import did_you_mean

        self.kind = kind
        self.name = name
        self.known = tuple(known)
        hint = did_you_mean(name, self.known) or ""
        if list_all or not hint:
            hint += f" known: {', '.join(self.known)}" if self.known else " there is none"
        super().__init__(f"no {kind} named {name!r}; {hint.strip()}")


class UnknownEventError(UnknownNameError):
    """An agent has no event of that name.

    Args:
        title: Title of the agent.
        name: The name that was given.
        known: The events of the agent.
        explanation: Which agent has the event, and its name here; `None` if no agent has it.
    """

    def __init__(
        self, title: str, name: str, known: Iterable[str], explanation: str | None
    ) -> None:
        super().__init__("event", name, known)
        hint = explanation or str(self).partition("; ")[2]
        self.args = (f"{name} is not an event of {title}; {hint}",)


class EventError(UsageError):
    """An event that cannot be built or dispatched."""


class SettingsError(AnyhookError):
    """A settings file cannot be read or edited.

    Attributes:
        path: The file.
        line: 1-based line, or `None`.
    """

    def __init__(self, message: str, *, path: str, line: int | None = None) -> None:
        self.path = path
        self.line = line
        place = f"{path}:{line}" if line else path
        super().__init__(f"{place}: {message}")


class StartedByAgentError(AnyhookError):
    """What weakens a guard is refused to a process that an agent has started.

    Attributes:
        title: Title of the agent.
    """

    def __init__(self, title: str) -> None:
        self.title = title
        super().__init__(f"{title} has started this process, and only you may weaken its guards")


class EngineClosedError(AnyhookError):
    """The engine was closed; load a new one."""


class RequiredHooksError(AnyhookError):
    """Hooks that the host requires (`Engine.load(require=…)`) do not run.

    Attributes:
        diagnostics: The reasons, one for each hook, file or event.
    """

    def __init__(self, diagnostics: Iterable[Diagnostic]) -> None:
        self.diagnostics = tuple(diagnostics)
        reasons = "\n".join(f"  {diagnostic}" for diagnostic in self.diagnostics)
        super().__init__(f"hooks that this program requires do not run:\n{reasons}")


class HistoryError(AnyhookError):
    """The history (`anyhook.history`) cannot be opened, read or written."""


class SandboxError(AnyhookError):
    """The sandbox in which hooks are tried cannot be made, has ended, or returned no result."""


class RunEndedError(SandboxError):
    """A process in a sandbox ended without a result, because a hook ended it or it was killed.

    Attributes:
        exit_code: Its exit code; minus the number of the signal that ended it.
        step: The step that it was at, as the function has counted them.
        is_late: Whether it was killed because the step took too long.
    """

    def __init__(self, exit_code: int, *, step: int = 0, is_late: bool = False) -> None:
        self.exit_code = exit_code
        self.step = step
        self.is_late = is_late
        end = f"exit code {exit_code}"
        if exit_code < 0:
            end = "killed at the time limit" if is_late else f"signal {-exit_code}"
        super().__init__(f"the hooks ended their process ({end})")


class StoppedError(AnyhookError):
    """A hook ended the agent (`continue: false`).

    Attributes:
        reason: The hook's reason, for the user.
    """

    def __init__(self, reason: str) -> None:
        self.reason = reason
        super().__init__(reason)


class PlatformError(AnyhookError):
    """The platform lacks something that the call needs."""
