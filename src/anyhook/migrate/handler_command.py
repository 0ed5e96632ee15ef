"""The command of a migrated handler: behind the shim, called directly, or without its shim."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from anyhook.migrate.commands import (
    SAME_DIRECTORY,
    counterpart_variables,
    for_agent,
    is_portable,
    line_of,
    own_variables,
    quote,
    renamed,
    with_top_of_repository,
    wrap,
)
from anyhook.migrate.context import ANYTHING, MORE
from anyhook.migrate.options import ShimOptions
from anyhook.secrets.names import is_secret_name
from anyhook.shell.path_variables import quote_path_variables, unquoted_variables

if TYPE_CHECKING:
    from collections.abc import Mapping

    from anyhook.migrate.context import HandlerMigration


@dataclass(frozen=True, slots=True)
class CommandForm:
    """A command in the form of the target's settings."""

    line: str
    """The command line, or the program."""
    members: dict[str, Any] = field(default_factory=dict)
    """Other members of the handler that belong to it."""
    is_shimmed: bool = False


def migrate_command(move: HandlerMigration) -> CommandForm:
    """Return what the command of a handler becomes; losses are recorded."""
    written_env = move.written.get("env") or {}
    env = {name: value for name, value in written_env.items() if isinstance(value, str)}
    if move.own_options is not None:
        return _restore_command(move, move.own_options, env)
    members = _env_member(move, env)
    # Variables without a place in the target's settings are set by the command line.
    exported = {} if members else env
    if move.inner is not None:
        line = str(move.handler.command)
        if exported:
            options = move.inner.replace(env=(*move.inner.env, *exported.items()))
            line = wrap(options, move.target, move.context.program)
        return CommandForm(line, members, is_shimmed=True)
    plain = move.handler.command or line_of(move.handler.argv or (), move.source.hook_environment)
    _record_changed_variables(move, plain, exported)
    needs_shim = bool(
        move.handler.condition or move.handler.background or move.handler.on_failure == "block"
    )
    speaks_every_language = is_portable(plain, move.files())
    if move.context.shim and (needs_shim or not speaks_every_language):
        options = _shim_options(move).replace(env=tuple(exported.items()))
        line = wrap(options, move.target, move.context.program)
        return CommandForm(line, members, is_shimmed=True)
    _record_missing_shim(move, is_understood=speaks_every_language and not needs_shim)
    names, missing = counterpart_variables(move.source, move.target)
    contents = move.source.hook_environment
    directories = [name for name in missing if contents[name] in SAME_DIRECTORY]
    line = with_top_of_repository(plain, directories, move.shell)
    for name in missing:
        if name in line:
            reason = f"{move.target.title} sets no variable for that"
            move.record_loss("lost", f"${name}", reason, "read it from the event")
    line = renamed(line, names, move.shell, kept_apart=move.target.settings.expands_env)
    if speaks_every_language:
        line = for_agent(line, move.source.name, move.target.name)
    return CommandForm(_export(move, exported) + line, members)


# -- behind the shim


def _shim_options(move: HandlerMigration) -> ShimOptions:
    handler = move.handler
    if handler.argv is None:
        line = quote_path_variables(handler.command or "", handler.variables)
        command: tuple[str, ...] = (own_variables(line, move.source, move.shell),)
    elif len(handler.argv) > 1:
        command = handler.argv
    else:
        command = (line_of(handler.argv, move.source.hook_environment),)
    if handler.options.get("wakes"):
        move.record_loss(
            "lost",
            f"asyncRewake: {handler.label}",
            f"{move.target.title} does not continue when a background command ends",
            "run it in the foreground, or look at its result in a later event",
        )
    needs_timeout = handler.on_failure == "block" or handler.background
    timeout = handler.timeout if needs_timeout else None
    event = "" if move.is_same_moment else move.source_event.wire
    return ShimOptions(
        agent=move.source.name,
        command=command,
        event=event,
        matcher=move.matcher.check,
        condition=handler.condition or "",
        shell=move.shell,
        timeout=timeout,
        background=handler.background,
        on_failure=handler.on_failure,
    )


def _env_member(move: HandlerMigration, env: Mapping[str, str]) -> dict[str, Any]:
    package_variables = sorted(move.handler.env.keys() - env.keys())
    if package_variables:
        move.record_loss(
            "lost",
            f"variables of the package: {', '.join(package_variables)}",
            "their values are the package's, and may be secrets",
            "set them in the environment of the agent",
        )
    if not env or "env" not in move.target.settings.handler_fields:
        return {}
    return {"env": dict(env)}


def _export(move: HandlerMigration, env: Mapping[str, str]) -> str:
    line = ""
    for name, value in env.items():
        quoted = quote(value, move.target)
        # Where the source expands variables in values, the shell has to do it in its place.
        if move.source.settings.expands_env and "$" in value:
            quoted = '"' + re.sub(r'(["`\\])', r"\\\1", value) + '"'
        line += f"export {name}={quoted}; "
    return line


# -- back to the agent that it was written for


def _restore_command(
    move: HandlerMigration, options: ShimOptions, env: Mapping[str, str]
) -> CommandForm:
    """Return the command without the shim, to which its own agent has what the shim added."""
    command_type = move.target.settings.handler_types["command"]
    shim_settings = {
        "condition": options.condition,
        "shell": options.shell,
        "background": options.background,
        "on_failure": options.on_failure if options.on_failure != "continue" else "",
    }
    keys = {member.option: key for key, member in command_type.fields.items()}
    members: dict[str, Any] = {}
    for option, value in shim_settings.items():
        if value and option in keys:
            members[keys[option]] = value
    all_env = {**env, **dict(options.env)}
    env_member = _env_member(move, all_env)
    program, *arguments = options.command
    if arguments and command_type.programs:
        return CommandForm(program, {**members, "args": arguments, **env_member})
    line = line_of(options.command, ()) if arguments else program
    exported = {} if env_member else all_env
    return CommandForm(_export(move, exported) + line, {**members, **env_member})


# -- losses


def _record_changed_variables(
    move: HandlerMigration, line: str, exported: Mapping[str, str]
) -> None:
    """Report variables of a command line that are lost, get quotes, or come to its values."""
    packages = move.source.settings.packages
    if packages is not None and move.handler.origin is None:
        for name in packages.path_variables:
            # `${NAME:-default}` works without the variable.
            if re.search(rf"\b{name}\b(?!:?-)", line):
                move.record_loss(
                    "lost",
                    f"${name}",
                    "it is set for the hooks of a package alone",
                    "write the path, or a variable of your own",
                )
    # Without quotes the shell splits values with blanks.
    if " " in str(move.context.location.project):
        for name in unquoted_variables(line, move.source.hook_environment):
            move.record_loss(
                "changed",
                f"${name} without quotes",
                "the shell splits it at the blank in the project's path; now it has quotes",
                f'write "${{{name}}}" in the source, too',
                ANYTHING,
            )
    for name in exported:
        if is_secret_name(name):
            move.record_loss(
                "changed",
                f"env.{name}",
                f"{move.target.title} has no place for it, so its value stands in the command "
                "line, which other programs can see",
                "set it in the environment of the agent",
            )


def _record_missing_shim(move: HandlerMigration, *, is_understood: bool) -> None:
    """Report what only the shim could have kept."""
    label, target = move.handler.label, move.target
    remedy = "migrate it without --no-shim"
    if not is_understood:
        move.record_loss(
            "changed",
            label,
            f"it gets the events of {target.title} and must answer in its form",
            f"{remedy}, unless the command speaks that language",
            ANYTHING,
        )
    settings = move.shim_only_settings
    if move.matcher.check:
        settings.append(f"matcher {move.definition.matcher!r}")
    for name in settings:
        reason = f"{target.title} has nothing for it"
        move.record_loss("changed", f"{name}: {label}", reason, remedy, ANYTHING)
    if not move.is_same_moment:
        subject = f"{move.source_event.wire}: {label}"
        reason = f"{move.target_event.wire} of {target.title} happens at other times, too"
        remedy = "look into the event whether the tool failed"
        move.record_loss("changed", subject, reason, remedy, MORE)
