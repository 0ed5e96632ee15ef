"""Every exception that anyhook raises.

```
AnyhookError
├── UsageError              the caller asked for something that does not exist
│   ├── UnknownNameError    an agent, event, rule set or hook name; carries suggestions
│   │   └── UnknownEventError   an event that the agent does not have; names the agent that has it
│   └── EventError          an event that cannot be built or fired
├── SettingsError           a settings file cannot be read or edited; carries the place
├── EngineClosedError       the engine was used after it was closed
├── RequiredHooksError      hooks that the host requires do not run; carries the reasons
├── StoppedError            a hook ended the agent (`anyhook.integrations`)
└── PlatformError           something that this platform cannot do
```

A handler that runs and fails is a value (`HandlerResult`), never an exception:
one broken hook must not take the others' answers with it.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from anyhook.model.diagnostics import Diagnostic


class AnyhookError(Exception):
    """Base of everything that anyhook raises on purpose."""


class UsageError(AnyhookError):
    """The caller asked for something that does not exist or cannot be."""


class UnknownNameError(UsageError):
    """A name is not in its table.

    Attributes:
        kind: What was named: `"agent"`, `"event"`, `"hook"`, …
        name: The name that was given.
        known: The names that exist.
    """

    def __init__(
        self, kind: str, name: str, known: Iterable[str], *, list_all: bool = False
    ) -> None:
        from anyhook.model.suggest import did_you_mean

        self.kind = kind
        self.name = name
        self.known = tuple(known)
        suggestion = did_you_mean(name, self.known)
        everything = f"known: {', '.join(self.known)}" if self.known else "there is none"
        hint = f"{suggestion} {everything}" if suggestion and list_all else suggestion or everything
        super().__init__(f"no {kind} named {name!r}; {hint}")


class UnknownEventError(UnknownNameError):
    """An agent has no event of that name.

    Args:
        title: The agent, for people.
        name: The name that was given.
        known: The agent's events.
        elsewhere: Which other agent has the event, and what it is called here; `None` if none has.
    """

    def __init__(self, title: str, name: str, known: Iterable[str], elsewhere: str | None) -> None:
        super().__init__("event", name, known)
        if elsewhere is not None:
            self.args = (f"{name} is not an event of {title}; {elsewhere}",)
        else:
            hint = str(self).partition("; ")[2]
            self.args = (f"{name} is not an event of {title}; {hint}",)


class EventError(UsageError):
    """An event lacks what it needs, or has what it cannot have."""


class SettingsError(AnyhookError):
    """A settings file cannot be read or edited.

    Attributes:
        path: The file.
        line: 1-based line, or `None`.
    """

    def __init__(self, message: str, *, path: str, line: int | None = None) -> None:
        self.path = path
        self.line = line
        super().__init__(f"{path}{f':{line}' if line else ''}: {message}")


class EngineClosedError(AnyhookError):
    """The engine was closed; load a new one."""


class RequiredHooksError(AnyhookError):
    """Hooks that the host requires (`Engine.load(require=…)`) do not run.

    Attributes:
        diagnostics: Why: one for each hook, file or event concerned.
    """

    def __init__(self, diagnostics: Iterable[Diagnostic]) -> None:
        self.diagnostics = tuple(diagnostics)
        reasons = "\n".join(f"  {found}" for found in self.diagnostics)
        super().__init__(f"hooks that this program requires do not run:\n{reasons}")


class StoppedError(AnyhookError):
    """A hook ended the agent (`continue: false`).

    Attributes:
        reason: Why, for the user.
    """

    def __init__(self, reason: str) -> None:
        self.reason = reason
        super().__init__(reason)


class PlatformError(AnyhookError):
    """This platform lacks what the call needs; the message says what."""
