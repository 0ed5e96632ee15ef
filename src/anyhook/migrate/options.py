"""The command line of the shim: read by the shim itself, written into settings, read back.

    anyhook shim --as claude --event PostToolUse -- '"$CLAUDE_PROJECT_DIR"/check.sh'

One argument after `--` is a command line for the shell of the agent that the command was written
for; several are a program and its arguments, which need no shell.
"""

from __future__ import annotations

from anyhook.errors import UsageError
from anyhook.model.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

USAGE = "anyhook shim --as AGENT [options] -- COMMAND"


class ShimOptions(Record):
    """The options of a shim."""

    agent: str
    command: tuple[str, ...]
    host: str = ""
    """The agent that runs the shim; empty: found out from its events."""
    event: str = ""
    """The one event, by its name on the wire, that the command is for; empty for any."""
    matcher: str = ""
    """A matcher in the words of `agent` that has to fit too."""
    condition: str = ""
    """A rule on the tool call, in the same words, that has to hold."""
    shell: str = ""
    timeout: float | None = None
    """Seconds; the command is ended then."""
    background: bool = False
    on_failure: str = "continue"
    """`block`: a failure counts as a denial."""
    env: tuple[tuple[str, str], ...] = ()


OPTIONS = {
    "--as": "agent",
    "--host": "host",
    "--event": "event",
    "--matcher": "matcher",
    "--if": "condition",
    "--shell": "shell",
    "--timeout": "timeout",
    "--on-failure": "on_failure",
    "--env": "env",
    "--background": "background",
}
"""Option to the field that it sets, in the order in which they are written."""


def parse_shim_options(words: Sequence[str]) -> ShimOptions:
    """Read the arguments of a shim.

    Raises:
        UsageError: If they are none; the message says what to write.
    """
    values: dict[str, Any] = {}
    env: list[tuple[str, str]] = []
    rest = list(words)
    while rest:
        word = rest.pop(0)
        if word == "--":
            break
        name, equals_sign, value = word.partition("=")
        field = OPTIONS.get(name)
        if field is None:
            raise UsageError(f"the shim has no option {name!r}; write: {USAGE}")
        if field == "background":
            values[field] = True
            continue
        if not equals_sign:
            if not rest or rest[0] == "--":
                raise UsageError(f"{name} needs a value; write: {USAGE}")
            value = rest.pop(0)
        if field == "env":
            key, equals_sign, text = value.partition("=")
            if not equals_sign or not key:
                raise UsageError(f"--env takes NAME=VALUE, not {value!r}")
            env.append((key, text))
        else:
            values[field] = CHECKS[field](value) if field in CHECKS else value
    if "agent" not in values:
        raise UsageError(f"--as says for which agent the command was written: {USAGE}")
    if not rest or not rest[0]:
        raise UsageError(f"there is no command; write: {USAGE}")
    return ShimOptions(command=tuple(rest), env=tuple(env), **values)


def must_block(words: Sequence[str]) -> bool:
    """Return whether the failure of a command line that cannot be parsed is a denial."""
    options = list(words)
    if "--" in options:
        options = options[: options.index("--")]
    pairs = [options[index : index + 2] for index in range(len(options))]
    return "--on-failure=block" in options or ["--on-failure", "block"] in pairs


def write_options(options: ShimOptions) -> list[str]:
    """Write options as arguments, in one order, without the defaults."""
    words: list[str] = []
    for option, field in OPTIONS.items():
        value = getattr(options, field)
        is_default = value in ("", None) or value == getattr(ShimOptions, field, "")
        if is_default:
            continue
        if field == "env":
            for key, text in value:
                words += [option, f"{key}={text}"]
        elif field == "background":
            words.append(option)
        else:
            text = value if isinstance(value, str) else f"{value:.15g}"
            # A word `--` ends the options.
            words += [f"{option}={text}"] if text == "--" else [option, text]
    return [*words, "--", *options.command]


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds < 1e7:
        raise UsageError(f"--timeout takes seconds, not {text!r}")
    return seconds


def _on_failure(text: str) -> str:
    if text not in ("continue", "block"):
        raise UsageError(f"--on-failure is continue or block, not {text!r}")
    return text


CHECKS: dict[str, Callable[[str], Any]] = {"timeout": _seconds, "on_failure": _on_failure}
"""Field to what reads its value."""
