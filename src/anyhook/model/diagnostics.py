"""What was ignored, repaired or dropped, with its place and what to write instead.

Every code is stable and has a section in `docs/diagnostics.md`.
"""

from __future__ import annotations

from enum import StrEnum

from anyhook.model.record import Record
from anyhook.model.text import printable


class Severity(StrEnum):
    """How bad it is; `anyhook check` fails on errors only."""

    ERROR = "error"
    WARNING = "warning"
    INFO = "info"


class Place(Record, kw_only=False):
    """Where something was written.

    Attributes:
        file: Path of the file, or a name like `<runtime>` for code.
        line: 1-based line, or `None` if the whole file is meant.
        column: 1-based column in characters, or `None`.
    """

    file: str
    line: int | None = None
    column: int | None = None

    def __init__(self, file: str, line: int | None = None, column: int | None = None) -> None:
        self.__dict__.update(file=file, line=line, column=column)

    def __hash__(self) -> int:
        return hash((self.file, self.line, self.column))

    def __str__(self) -> str:
        return ":".join(str(part) for part in (self.file, self.line) if part is not None)


CODES: dict[str, tuple[Severity, str]] = {
    # settings files
    "settings-unreadable": (Severity.ERROR, "a settings file exists and cannot be read"),
    "settings-syntax": (Severity.ERROR, "a settings file is not JSON with comments"),
    "settings-kept": (
        Severity.WARNING,
        "a settings file was broken by an edit; its hooks stay in force as they were before",
    ),
    "settings-gone": (Severity.WARNING, "a settings file with hooks was deleted"),
    "settings-shape": (Severity.ERROR, "a settings file does not hold an object"),
    "duplicate-key": (Severity.WARNING, "an object has the same key twice; only the last counts"),
    "unknown-event": (Severity.ERROR, "a key under `hooks` is no event of the agent"),
    "too-many-hooks": (Severity.ERROR, "a file has more hooks than anyhook reads"),
    "unknown-field": (Severity.WARNING, "a field that no rule knows"),
    "misplaced-hooks": (Severity.ERROR, "hooks stand where the agent does not look for them"),
    "wrong-type": (Severity.ERROR, "a value has the wrong type; it is left out"),
    "unwrapped-list": (
        Severity.WARNING,
        "an object stands where a list belongs; it is read as a list of one",
    ),
    "missing-field": (Severity.ERROR, "a required field is missing; the hook is left out"),
    "unknown-type": (Severity.ERROR, "a hook type that the agent does not have"),
    "bad-timeout": (
        Severity.ERROR,
        "a timeout that is no positive number or below 10 ms; the default is used",
    ),
    "timeout-unit": (Severity.WARNING, "a timeout so short that another unit was meant"),
    "type-not-here": (Severity.WARNING, "a hook type that does not run on its event"),
    "condition-not-here": (Severity.WARNING, "a hook with a condition that never runs"),
    "bad-condition": (Severity.ERROR, "a condition that is no rule; the hook runs on every call"),
    "switch-missing": (Severity.WARNING, "the agent itself runs no hooks without a switch"),
    "bad-matcher": (Severity.ERROR, "a matcher that is no valid pattern; it matches literally"),
    "costly-matcher": (
        Severity.WARNING,
        "a matcher that can take for ever; where it may, it counts as a match",
    ),
    "dead-matcher": (Severity.WARNING, "a matcher that hits nothing the agent has"),
    "ignored-matcher": (Severity.INFO, "a matcher on an event that has nothing to match"),
    "duplicate-hook": (Severity.INFO, "the same handler is configured more than once"),
    "legacy-place": (Severity.INFO, "a switch stands where older releases kept it"),
    "powerless-switch": (Severity.WARNING, "a layer tries to switch off hooks of a stronger one"),
    "unknown-hook-name": (Severity.WARNING, "a disabled name that no hook has"),
    "no-handlers": (Severity.WARNING, "a definition without hooks"),
    "same-name": (Severity.WARNING, "two hooks that differ have one name"),
    "command-syntax": (Severity.ERROR, "the shell cannot read a command"),
    "unknown-variable": (Severity.WARNING, "a command uses a variable that the agent does not set"),
    "unquoted-variable": (Severity.WARNING, "an unquoted path variable would be split at spaces"),
    "not-executable": (Severity.ERROR, "a command is a file that may not be executed"),
    "no-shebang": (Severity.ERROR, "a script is started as a program and names no interpreter"),
    "exit-code": (Severity.WARNING, "a script ends with 1 where only 2 blocks"),
    "text-before-json": (Severity.WARNING, "a script prints text before its JSON"),
    "reply-on-stderr": (Severity.WARNING, "a script prints a decision to standard error"),
    "reply-place": (Severity.WARNING, "a script prints a member where the agent does not read it"),
    "endless-stop": (Severity.WARNING, "a hook can keep the agent from stopping for ever"),
    "never-runs": (Severity.ERROR, "a hook file does nothing when an agent starts it"),
    "unknown-subject": (Severity.WARNING, "a hook file names a tool that no agent has"),
    "ability": (Severity.WARNING, "a hook asks for something that the agent cannot do"),
    "missing-program": (Severity.ERROR, "a command starts with a program that is not there"),
    "missing-shell": (Severity.ERROR, "there is no shell that could run a command line"),
    "shell-variable": (
        Severity.WARNING,
        "a variable that would change the shell itself is not passed to hooks",
    ),
    "missing-script": (Severity.ERROR, "a command names a script that does not exist"),
    "extension-unreadable": (Severity.ERROR, "an extension's manifest or hooks cannot be read"),
    # the agent and its hooks
    "agent-assumed": (Severity.WARNING, "no agent has hooks here; the default agent's rules hold"),
    "other-agent": (Severity.WARNING, "hooks of another agent are here and are not loaded"),
    "hooks-off": (Severity.WARNING, "hooks are configured and switched off"),
    "no-hooks": (Severity.WARNING, "no hook runs where one is required"),
    # trust
    "project-untrusted": (Severity.WARNING, "hooks of a project that is not trusted do not run"),
    "trust-changed": (Severity.WARNING, "a trusted hook or its script changed and does not run"),
    "trust-store": (Severity.ERROR, "the trust store cannot be read; nothing in it is trusted"),
    # the host
    "exit-code-lost": (Severity.WARNING, "the host ignores SIGCHLD, so exit codes are lost"),
    # one dispatch
    "payload-field": (Severity.WARNING, "a field of an event is missing or has the wrong type"),
    "payload-event": (Severity.ERROR, "an event payload that the agent cannot decode"),
    "payload-word": (Severity.INFO, "a field of an event holds a word that its agent does not use"),
    "payload-repaired": (Severity.WARNING, "an event holds what JSON does not have"),
    "variable-repaired": (Severity.WARNING, "a value that no environment can hold was changed"),
    "handler-failed": (Severity.WARNING, "a handler could not be run, or it raised"),
    "handler-exit": (Severity.WARNING, "a command ended with a code that means a warning"),
    "handler-timeout": (Severity.WARNING, "a handler ran into its timeout and was ended"),
    "failed-closed": (Severity.WARNING, "a hook failed, and that counts as a denial"),
    "service-missing": (Severity.WARNING, "a hook needs what the host has not set up"),
    "url-refused": (Severity.WARNING, "a hook may not ask this URL"),
    "ignored-output": (
        Severity.WARNING,
        "a decision was printed by a handler that failed; it is not applied",
    ),
    "output-truncated": (Severity.WARNING, "a stream was longer than the limit"),
    "reply-too-long": (Severity.ERROR, "a JSON reply is too long to be read; the hook failed"),
    "output-not-object": (Severity.WARNING, "standard output is JSON but no object"),
    "output-field": (Severity.WARNING, "a field of the output has the wrong type; it is left out"),
    "output-word": (Severity.WARNING, "a word that is no decision"),
    "output-event": (Severity.WARNING, "the output names no event, or another one"),
    "output-reason": (Severity.WARNING, "a denial without the reason that the agent needs"),
    "output-unknown": (Severity.WARNING, "a member of the output that the agent does not have"),
    "output-misplaced": (Severity.WARNING, "a member of the output stands in the wrong object"),
    "output-tools": (Severity.WARNING, "text that names tools the agent does not have"),
    "output-duplicate": (Severity.WARNING, "the output has the same key twice"),
    "output-foreign": (Severity.WARNING, "the output is written for another agent"),
    "output-no-effect": (Severity.INFO, "a field that has no effect on this event"),
    "missing-cwd": (
        Severity.WARNING,
        "the working directory is gone; the hook ran in the project directory",
    ),
    "held-pipe": (Severity.INFO, "a child process kept the output open after its hook ended"),
    "anyhook-only": (Severity.INFO, "the agent itself does not know this form"),
    "conflict": (Severity.WARNING, "two handlers set the same field to different values"),
}
"""Code to severity and meaning. The severity is the usual one; a diagnostic may carry another."""


class Diagnostic(Record, kw_only=False):
    """One finding.

    Attributes:
        code: Stable code, a key of `CODES`.
        message: What is wrong, and what to write instead.
        place: Where, if it has a place.
        severity: How bad it is.
        handler: Display name of the handler it is about, if it is about one.
    """

    code: str
    message: str
    place: Place | None = None
    severity: Severity = Severity.WARNING
    handler: str | None = None

    def __init__(
        self,
        code: str,
        message: str,
        place: Place | None = None,
        severity: Severity = Severity.WARNING,
        handler: str | None = None,
    ) -> None:
        self.__dict__.update(
            code=code, message=message, place=place, severity=severity, handler=handler
        )

    def __hash__(self) -> int:
        return hash((self.code, self.message, self.place, self.severity, self.handler))

    def __str__(self) -> str:
        where = f"{self.place}: " if self.place else ""
        return f"{where}{self.severity}[{self.code}]: {self.message}"


def diagnose(
    code: str,
    message: str,
    place: Place | None = None,
    *,
    handler: str | None = None,
    severity: Severity | None = None,
) -> Diagnostic:
    """Make a diagnostic with the usual severity of its code."""
    return Diagnostic(code, printable(message), place, severity or CODES[code][0], handler)
