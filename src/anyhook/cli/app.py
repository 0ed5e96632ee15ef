"""The table of commands. A command's module is imported when it is run or listed in the help."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from importlib import import_module
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

from anyhook import __version__

COMMANDS = {
    "init": "init:init",
    "add": "add:add",
    "remove": "add:remove",
    "list": "listing:list_hooks",
    "check": "check:check",
    "fire": "fire:fire",
    "test": "test:test",
    "trust": "trust:trust",
    "enable": "shadow:enable",
    "disable": "switch:disable",
    "shadow": "shadow:shadow",
    "hooks": "panel:hooks",
    "ui": "serve:ui",
    "probe": "probe:probe",
    "redteam": "redteam:redteam",
    "score": "score:score",
    "backtest": "backtest:backtest",
    "history": "history:list_sessions",
    "history show": "history:show",
    "history search": "history:search_events",
    "history stats": "history_stats:stats",
    "history record on": "record:switch_on",
    "history record off": "record:switch_off",
    "history record status": "record:status",
    "history replay": "backtest:replay",
    "history report": "history_stats:report",
    "history import": "history_files:import_sessions",
    "history export": "history_files:export",
    "migrate": "migrate:migrate",
    "agents": "agents:list_agents",
    "agents capabilities": "agents:capabilities",
    "agents schema": "agents:schema",
    "allow": "allow:allow",
    "run": "plumbing:run",
    "serve": "serve:serve",
    "dispatch": "dispatch:dispatch",
    "shim": "plumbing:shim",
    "worker status": "worker:status",
    "worker stop": "worker:stop",
    "worker doctor": "doctor:doctor",
    "worker bench": "bench:bench",
    "convert": "convert:convert",
    "completion": "plumbing:completion",
}
"""The words of each command, in the order of the help, to `MODULE:NAME` of its function."""
GROUPS = {
    "history record": "Record what your agents' hooks see and decide.",
    "worker": "Warm workers, which run hook files: see, check, measure and end them.",
}
"""Words that are not a command without a further one, to their help."""
PLUMBING = frozenset({"run", "serve", "dispatch", "shim", "worker", "convert", "completion"})
"""First words of commands that agents, plugins and shells start."""


class _Coercion:
    """Converts the values of a parameter that do not have its type yet.

    For that, typer imports pydantic: 100 modules and a fifth of the CPU time of `anyhook list`.
    Most values need it not: those that are missing, defaults and texts.
    """

    def __init__(self, parameter: Any) -> None:
        self.parameter = parameter

    def coerce(self, value: Any, **context: Any) -> Any:
        """Return a value of the parameter's type."""
        expected = self.parameter.type_descriptor.annotation
        is_list = self.parameter.multiple or self.parameter.nargs == -1
        if value is None and not is_list:
            return None
        if is_list and (value is None or expected == list[str]):
            return [*(value or ())]
        if isinstance(expected, type) and isinstance(value, expected):
            return value
        return type(self.parameter).get_runtime_param(self.parameter).coerce(value, **context)


class _Command(TyperCommand):
    """A command that converts only values that need it."""

    def get_params(self, ctx: Any) -> list[Any]:
        """Return the arguments and options of the command."""
        return _converting_less(super().get_params(ctx))


class _Group(TyperGroup):
    """A group that converts only values that need it."""

    def get_params(self, ctx: Any) -> list[Any]:
        """Return the arguments and options of the group."""
        return _converting_less(super().get_params(ctx))


def _converting_less(parameters: Sequence[Any]) -> list[Any]:
    for parameter in parameters:
        parameter.get_runtime_param = partial(_Coercion, parameter)
    return [*parameters]


def words_of(arguments: Sequence[str]) -> str:
    """Return the words of the command or group that a command line names; empty for none."""
    for length in range(len(arguments), 0, -1):
        words = " ".join(arguments[:length])
        if words in COMMANDS or words in GROUPS:
            return words
    return ""


def make_app(arguments: Sequence[str]) -> typer.Typer:
    """Make the application for a command line.

    It holds only the command that the arguments name, because importing every command takes longer
    than most commands run. The help of a group needs all commands of the group.
    """
    app = _new_group(name="anyhook", no_args_is_help=True)
    app.callback()(root)
    groups = {"": app}
    words = words_of(arguments)
    rest = arguments[len(words.split()) :]
    is_alone = words in COMMANDS and (not rest or rest[0].startswith("-"))
    has_children = not is_alone or not {"-h", "--help"}.isdisjoint(rest)
    for name, location in COMMANDS.items():
        is_named = f"{words} ".startswith(f"{name} ")
        is_below = not words or name.startswith(f"{words} ")
        if not is_named and not (is_below and has_children):
            continue
        parent, last = _parent_of(name, groups)
        command = import_command(location)
        if any(other.startswith(f"{name} ") for other in COMMANDS):
            groups[name] = _new_group(invoke_without_command=True, callback=command)
            parent.add_typer(groups[name], name=last)
        else:
            parent.command(last, cls=_Command)(command)
    return app


def _parent_of(name: str, groups: dict[str, typer.Typer]) -> tuple[typer.Typer, str]:
    """Return the group that holds a command, which is made if necessary, and the last word."""
    words, _, last = name.rpartition(" ")
    if words not in groups:
        parent, word = _parent_of(words, groups)
        groups[words] = _new_group(no_args_is_help=True, help=GROUPS[words])
        parent.add_typer(groups[words], name=word)
    return groups[words], last


def _new_group(**options: Any) -> typer.Typer:
    return typer.Typer(
        cls=_Group,
        add_completion=False,
        rich_markup_mode="markdown",
        context_settings={"help_option_names": ["-h", "--help"]},
        pretty_exceptions_enable=False,
        **options,
    )


def import_command(location: str) -> Callable[..., Any]:
    """Return the function of a command."""
    module, _, name = location.partition(":")
    command: Callable[..., Any] = getattr(import_module(f"anyhook.cli.{module}"), name)
    return command


def _print_version(is_wanted: bool) -> None:
    if is_wanted:
        typer.echo(f"anyhook {__version__}")
        raise typer.Exit


def root(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_print_version, is_eager=True, help="Show the version."),
    ] = False,
) -> None:
    """Run, test and explain the lifecycle hooks of AI coding agents."""
