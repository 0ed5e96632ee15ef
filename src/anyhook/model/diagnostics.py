"""Problems with a stable code, a place, and what to write instead.

Every code has a section in `docs/diagnostics.md`.
"""

from __future__ import annotations

from enum import StrEnum

from anyhook.model.record import Record
from anyhook.model.text import printable


class Severity(StrEnum):
    """Severity of a problem. `anyhook check` fails on errors only."""

    ERROR = "error"
    WARNING = "warning"
    INFO = "info"


class Place(Record, kw_only=False):
    """A position in a file.

    Attributes:
        file: Path of the file, or a name like `<runtime>` for code without one.
        line: 1-based line; `None` for the whole file.
        column: 1-based column in characters; `None` for the whole line.
    """

    file: str
    line: int | None = None
    column: int | None = None

    def __init__(self, file: str, line: int | None = None, column: int | None = None) -> None:
        self.__dict__.update(file=file, line=line, column=column)

    def __str__(self) -> str:
        return self.file if self.line is None else f"{self.file}:{self.line}"


ERROR, WARNING, INFO = Severity.ERROR, Severity.WARNING, Severity.INFO

CODES: dict[str, tuple[Severity, str]] = {
    # settings files
    "settings-unreadable": (ERROR, "a settings file exists and cannot be read"),
    "settings-syntax": (ERROR, "a settings file does not have the syntax of its format"),
    "not-plain-json": (ERROR, "a settings file is not JSON to its agent, which ignores it"),
    "settings-kept": (
        WARNING,
        "a settings file was broken by an edit; its hooks stay in force as they were before",
    ),
    "settings-gone": (WARNING, "a settings file with hooks was deleted"),
    "settings-dropped": (
        ERROR,
        "the agent drops a settings file or an event's hooks because of a mistake",
    ),
    "hook-dropped": (ERROR, "the agent leaves out a hook because of a mistake"),
    "unknown-member": (ERROR, "a member that the agent does not allow in this file"),
    "settings-shape": (ERROR, "a settings file does not hold an object"),
    "duplicate-key": (WARNING, "an object has the same key twice; only the last counts"),
    "bad-structure": (ERROR, "a part of a file for which its agent drops the whole file"),
    "unknown-event": (ERROR, "a key under `hooks` is not an event of the agent"),
    "too-many-hooks": (ERROR, "there are more hooks than anyhook reads"),
    "unknown-field": (WARNING, "a field that the agent does not read; it is ignored"),
    "misplaced-hooks": (ERROR, "hooks stand where the agent does not look for them"),
    "wrong-type": (ERROR, "a value has the wrong type; it is left out"),
    "unwrapped-list": (
        WARNING,
        "an object stands where a list belongs; it is read as a list of one",
    ),
    "missing-field": (ERROR, "a required field is missing; the hook is left out"),
    "refused-text": (ERROR, "a command holds a text that the agent does not accept"),
    "required-member": (WARNING, "a settings file lacks a member that the agent expects"),
    "unknown-type": (ERROR, "a hook type that the agent does not have"),
    "unsupported-type": (WARNING, "a hook type that the agent knows and does not run"),
    "empty-member": (WARNING, "a member that must not be empty is; the hook is left out"),
    "background-not-here": (WARNING, "the agent waits for a hook that should not be waited for"),
    "bad-timeout": (
        ERROR,
        "a timeout that is not positive or below 10 ms; the default is used",
    ),
    "timeout-unit": (WARNING, "a timeout so short that another unit was meant"),
    "type-not-here": (WARNING, "a hook type that does not run on its event"),
    "condition-not-here": (
        WARNING,
        "a hook with `if` on an event without a tool call; it never runs",
    ),
    "bad-condition": (ERROR, "a condition that cannot be parsed; the hook runs on every call"),
    "switch-missing": (WARNING, "the agent itself runs no hooks without a switch"),
    "bad-matcher": (ERROR, "a matcher that is not a valid pattern; it matches literally"),
    "costly-matcher": (
        WARNING,
        "a matcher that can take for ever; where it may, it counts as a match",
    ),
    "dead-matcher": (WARNING, "a matcher or `if` that matches none of the agent's tools or values"),
    "ignored-matcher": (INFO, "a matcher on an event that has nothing to match"),
    "duplicate-hook": (INFO, "the same handler is configured more than once"),
    "legacy-place": (INFO, "a switch stands where older releases kept it"),
    "powerless-switch": (WARNING, "a layer tries to switch off hooks of a stronger one"),
    "unknown-hook-name": (WARNING, "a disabled name that no hook has"),
    "no-handlers": (WARNING, "a definition without hooks"),
    "same-name": (WARNING, "two hooks that differ have one name"),
    "command-syntax": (ERROR, "the shell cannot read a command"),
    "unknown-variable": (WARNING, "a command uses a variable that the agent does not set"),
    "unquoted-variable": (WARNING, "an unquoted path variable would be split at spaces"),
    "project-script": (WARNING, "a hook of the user starts a script of whichever project is open"),
    "script-syntax": (ERROR, "an interpreter cannot read a script"),
    "missing-module": (ERROR, "a script imports a module that its interpreter does not find"),
    "not-executable": (ERROR, "a command is a file that may not be executed"),
    "no-shebang": (ERROR, "a script is started as a program and names no interpreter"),
    "exit-code": (WARNING, "a script ends with 1 where only 2 blocks"),
    "text-before-json": (WARNING, "a script prints text before its JSON"),
    "reply-on-stderr": (WARNING, "a script prints a decision to standard error"),
    "reply-place": (WARNING, "a script prints a member where the agent does not read it"),
    "command-text": (WARNING, "a guard searches the text of a command"),
    "endless-stop": (WARNING, "a hook can keep the agent from stopping for ever"),
    "background-guard": (WARNING, "a hook in the background denies, which has no effect"),
    "denial-lost": (WARNING, "a command line drops the answer by which its script denies"),
    "answer-lost": (ERROR, "a function of a hook file does not return its answer"),
    "never-runs": (ERROR, "a hook file does nothing when an agent starts it"),
    "wrong-agent": (ERROR, "a command names another agent than the one that runs it"),
    "unknown-subject": (WARNING, "a hook file names a tool that no agent has"),
    "ability": (WARNING, "a hook asks for something that the agent cannot do"),
    "missing-program": (ERROR, "a command starts with a program that is not there"),
    "missing-shell": (ERROR, "no shell was found that could run a command line"),
    "shell-variable": (
        WARNING,
        "a variable that would change the shell itself is not passed to hooks",
    ),
    "missing-script": (ERROR, "a command names a script that does not exist"),
    "extension-unreadable": (ERROR, "an extension's manifest or hooks cannot be read"),
    "companion-missing": (ERROR, "the file without which the agent runs no hooks is missing"),
    "companion-outdated": (WARNING, "a generated file is of another release of anyhook"),
    "companion-changed": (ERROR, "a generated file without which no hook runs was edited"),
    # the agent and its hooks
    "agent-assumed": (WARNING, "no agent has hooks here; the default agent's rules hold"),
    "other-agent": (WARNING, "hooks of another agent are here and are not loaded"),
    "hooks-off": (WARNING, "hooks are configured and switched off"),
    "shadow-hook": (INFO, "a hook runs as a shadow: its answer is recorded and does not count"),
    "no-hooks": (WARNING, "no hook runs where one is required"),
    # trust
    "project-untrusted": (WARNING, "hooks of a project that is not trusted do not run"),
    "trust-changed": (WARNING, "a trusted hook or its script changed and does not run"),
    "guard-changed": (WARNING, "a file of the guards changed while no hook saw it"),
    "native-trust": (INFO, "the agent itself does not trust a hook, and does not run it"),
    "trust-store": (ERROR, "the trust store cannot be read; nothing in it is trusted"),
    # the host
    "exit-code-lost": (WARNING, "the host ignores SIGCHLD, so exit codes are lost"),
    # one dispatch
    "payload-field": (WARNING, "a field of an event is missing or has the wrong type"),
    "payload-event": (ERROR, "an event payload that the agent cannot decode"),
    "payload-word": (INFO, "a field of an event holds a word that its agent does not use"),
    "payload-repaired": (WARNING, "an event holds what JSON does not have"),
    "variable-repaired": (WARNING, "a value that no environment can hold was changed"),
    "observer-failed": (WARNING, "an observer of the engine raised"),
    "handler-failed": (WARNING, "a handler could not be run, or it raised"),
    "handler-exit": (WARNING, "a command ended with a code that means a warning"),
    "handler-timeout": (WARNING, "a handler ran into its timeout and was ended"),
    "failed-closed": (WARNING, "a hook failed, and that counts as a denial"),
    "unmatched-tool": (WARNING, "no hook applies to a tool of the program"),
    "service-missing": (WARNING, "a hook needs what the host has not set up"),
    "url-refused": (WARNING, "a hook may not ask this URL"),
    "ignored-output": (
        WARNING,
        "a decision was printed by a handler that failed; it is not applied",
    ),
    "output-truncated": (WARNING, "a stream was longer than the limit"),
    "reply-too-long": (ERROR, "a JSON reply is too long to be read; the hook failed"),
    "output-not-object": (WARNING, "standard output is JSON but not an object"),
    "output-field": (WARNING, "a field of the output has the wrong type; it is left out"),
    "output-word": (WARNING, "a word that is not a decision"),
    "output-event": (WARNING, "the output names no event, or another one"),
    "output-reason": (WARNING, "a denial without the reason that the agent needs"),
    "output-unknown": (WARNING, "a member of the output that the agent does not have"),
    "output-misplaced": (WARNING, "a member of the output stands in the wrong object"),
    "output-tools": (WARNING, "text that names tools the agent does not have"),
    "output-duplicate": (WARNING, "the output has the same key twice"),
    "output-foreign": (WARNING, "the output is written for another agent"),
    "reply-dropped": (WARNING, "the agent ignores a reply because of a combination of members"),
    "output-no-effect": (WARNING, "a field that has no effect on this event"),
    "missing-cwd": (
        WARNING,
        "the working directory is gone; the hook ran in the project directory",
    ),
    "held-pipe": (INFO, "a child process kept the output open after its hook ended"),
    "anyhook-only": (INFO, "the agent itself does not know this form"),
    "conflict": (WARNING, "two handlers set the same field to different values"),
}
"""Code to its usual severity and its meaning."""


class Diagnostic(Record, kw_only=False):
    """One problem.

    Attributes:
        code: Stable code, a key of `CODES`.
        message: What is wrong, and what to write instead.
        place: The position of the problem, if it has one.
        severity: Usually the severity of the code.
        handler: Label of the handler that the problem is about, if any.
        subject: Identifies the problem among those with the same code, place and handler, if two
            reports of it may have different messages: with process ids, counts, or what a hook
            printed. `None` if the message identifies it.
    """

    code: str
    message: str
    place: Place | None = None
    severity: Severity = Severity.WARNING
    handler: str | None = None
    subject: str | None = None

    def __init__(
        self,
        code: str,
        message: str,
        place: Place | None = None,
        severity: Severity = Severity.WARNING,
        handler: str | None = None,
        *,
        subject: str | None = None,
    ) -> None:
        self.__dict__.update(
            code=code,
            message=message,
            place=place,
            severity=severity,
            handler=handler,
            subject=subject,
        )

    @property
    def identity(self) -> tuple[object, ...]:
        """What two reports of one problem have in common."""
        subject = self.message if self.subject is None else self.subject
        return self.code, self.place, self.handler, subject

    def __str__(self) -> str:
        position = f"{self.place}: " if self.place else ""
        return f"{position}{self.severity}[{self.code}]: {self.message}"


def diagnose(
    code: str,
    message: str,
    place: Place | None = None,
    *,
    handler: str | None = None,
    severity: Severity | None = None,
    subject: str | None = None,
) -> Diagnostic:
    """Return a diagnostic with the usual severity of its code."""
    return Diagnostic(
        code, printable(message), place, severity or CODES[code][0], handler, subject=subject
    )
