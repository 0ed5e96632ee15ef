"""`anyhook serve`: an HTTP endpoint for hooks that cost no process."""

from __future__ import annotations

import json
import os
import sys
from contextlib import contextmanager, redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TextIO

import typer
from rich.text import Text

from anyhook.agents import get_agent
from anyhook.cli import OK
from anyhook.cli.options import AsJson, existing_project
from anyhook.cli.output import console, print_json, print_settings_problems
from anyhook.errors import UsageError
from anyhook.model.text import printable
from anyhook.server.address import Address, listen

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import ModuleType

    from anyhook.agents.spec import AgentSpec, EventSpec
    from anyhook.server.responder import Responder

VARIABLE = "ANYHOOK_TOKEN"
SHORTEST = 16
"""Characters of a token; a shorter one could be found by trying."""
LIBRARIES = frozenset({"starlette", "uvicorn"})
KIND = "http"
"""Type of the hooks that ask an endpoint."""
MUST_ANSWER = {"onFailure": "block"}
"""What makes a denial of an endpoint that cannot be reached."""

HELP = f"""Answer hooks over HTTP, so that none of them costs a process.

Claude Code's hooks of type `http`, and those of an engine, post their events here. With hook files
(`anyhook.authoring`) their functions decide; without, or with `--project`, the hooks in the
project's settings. Files that are edited are read again. Ctrl-C and SIGTERM end it.

A token is best given in the variable `{VARIABLE}`, because everybody on this machine can read the
arguments of a program. Without one every program of this machine may fire hooks; other machines
never may.

For example:

    anyhook serve .anyhook/guard.py
    anyhook serve .anyhook/guard.py --port 0 --json
    anyhook serve --project ~/code/app --agent claude
"""


def serve(
    files: Annotated[
        list[Path] | None, typer.Argument(metavar="[HOOK.py]...", help="Hook files.")
    ] = None,
    project: Annotated[
        Path | None,
        typer.Option(
            "--project",
            "-C",
            help="Project whose settings decide too; by default this one if no file is given.",
        ),
    ] = None,
    agent: Annotated[
        str | None,
        typer.Option("--agent", help="The agent that asks; by default every event tells."),
    ] = None,
    host: Annotated[
        str, typer.Option("--host", help="Address to listen at; others than loopback need a token.")
    ] = "127.0.0.1",
    port: Annotated[
        int, typer.Option("--port", min=0, max=65535, help="Port; 0 for any that is free.")
    ] = 8787,
    token: Annotated[
        str | None,
        typer.Option("--token", help=f"What requests must bring; better in {VARIABLE}."),
    ] = None,
    trust_once: Annotated[
        bool, typer.Option("--trust-once", help="Run the project's hooks without asking.")
    ] = False,
    as_json: AsJson = False,
) -> int:
    """Answer hooks over HTTP."""
    library = _library()
    secret = _token(token)
    settings = existing_project(project or Path()) if project or not files else None
    listening, address = listen(host, port, is_guarded=secret is not None)
    with listening, _stdout_kept_clean() as stdout:
        from anyhook.server.responder import Responder

        responder = Responder(
            files or [],
            project=settings,
            agent=agent,
            trust_once=trust_once,
            environ={key: value for key, value in os.environ.items() if key != VARIABLE},
            leads_here=address.is_at,
            tell=_tell,
        )

        def announce() -> None:
            with redirect_stdout(stdout):
                if as_json:
                    ready = {"url": address.url, "pid": os.getpid(), "agent": agent}
                    print_json(ready)
                else:
                    _show(responder, address, is_guarded=secret is not None)

        app = library.make_app(responder, token=secret, hosts=address.hosts)
        try:
            library.run(app, listening, announce)
        except KeyboardInterrupt:  # which is how people end it
            pass
        finally:
            responder.close()
    _tell("ended")
    return OK


serve.__doc__ = HELP


@contextmanager
def _stdout_kept_clean() -> Iterator[TextIO]:
    """Yield standard output; what hooks and their programs print there goes to standard error."""
    sys.stdout.flush()
    fd = sys.stdout.fileno()
    with os.fdopen(os.dup(fd), "w", encoding=sys.stdout.encoding, errors="backslashreplace") as out:
        os.dup2(sys.stderr.fileno(), fd)
        try:
            with redirect_stdout(sys.stderr):
                yield out
        finally:
            sys.stdout.flush()
            os.dup2(out.fileno(), fd)


def _library() -> ModuleType:
    try:
        from anyhook.server import http
    except ModuleNotFoundError as error:
        library = (error.name or "").partition(".")[0]
        if library not in LIBRARIES:
            raise
        raise UsageError(
            f'anyhook serve needs {library}; get it with: pip install "anyhook[serve]"'
        ) from None
    return http


def _token(given: str | None) -> str | None:
    """Return the token; messages never hold it.

    Raises:
        UsageError: If it is too weak, or cannot stand in a header.
    """
    source, token = (
        ("--token", given) if given is not None else (VARIABLE, os.environ.get(VARIABLE))
    )
    if token is None:
        return None
    if len(token) < SHORTEST:
        raise UsageError(
            f"{source} has {len(token)} characters; it needs {SHORTEST}, for example those of: "
            "openssl rand -hex 16"
        )
    if not (token.isascii() and token.isprintable()) or " " in token:
        raise UsageError(f"{source} must be ASCII without spaces, to stand in a header")
    return token


def _tell(line: str) -> None:
    text = Text.assemble(("anyhook serve: ", "dim"), printable(line))
    console(stderr=True).print(text, soft_wrap=True)


# -- what is shown at the start


def _show(responder: Responder, address: Address, *, is_guarded: bool) -> None:
    out = console()
    hooks = responder.hooks
    many = "hook" if hooks == 1 else "hooks"
    head = Text.assemble("Listening on ", (address.url, "bold cyan"), f" with {hooks} {many}.")
    out.print(head, soft_wrap=True)
    for engine in responder.engines.values():
        print_settings_problems(out, engine.diagnostics, engine.project_dir)
    for name in responder.engines:
        agent = get_agent(name)
        if KIND in agent.handler_types:
            _show_entry(agent, responder, address, is_guarded=is_guarded)
    out.print("Ctrl-C ends it.", style="dim")


def _show_entry(
    agent: AgentSpec, responder: Responder, address: Address, *, is_guarded: bool
) -> None:
    """Show what to write into an agent's settings."""
    out = console()
    known = [(agent.by_canonical.get(event), closed) for event, closed in responder.events.items()]
    events = [(spec, closed) for spec, closed in known if spec is not None]
    asked = [(spec, closed) for spec, closed in events if _may_ask(spec)]
    entry = settings_entry(address.url, is_guarded=is_guarded)
    if asked:
        entry = _definitions(agent, entry, asked)
    out.print(f"In the settings of {agent.title}:")
    out.print(json.dumps(entry, indent=2), markup=False, soft_wrap=True)
    if is_guarded:
        out.print(f"{agent.title} needs the same {VARIABLE} in its environment.")
    left = [spec.wire for spec, _ in events if not _may_ask(spec)]
    if left:
        out.print(
            f"{agent.title} asks no {KIND} hooks on {', '.join(left)}; there the file runs as a "
            f"command: anyhook install FILE --agent {agent.name}",
            soft_wrap=True,
        )


def _definitions(
    agent: AgentSpec, entry: dict[str, Any], asked: list[tuple[EventSpec, bool]]
) -> dict[str, Any]:
    """Write the settings that ask an endpoint on events; a guard that must not fail is closed."""
    found: dict[str, Any] = {}
    for spec, must_answer in asked:
        closed = MUST_ANSWER if must_answer and spec.can_fail_closed else {}
        found[spec.wire] = [{"hooks": [entry | closed]}]
    for key in reversed(agent.hooks_path):
        found = {key: found}
    return found


def _may_ask(spec: EventSpec) -> bool:
    return spec.handler_kinds is None or KIND in spec.handler_kinds


def settings_entry(url: str, *, is_guarded: bool) -> dict[str, Any]:
    """Write the handler that asks an endpoint, as it stands in settings.

    Args:
        url: The endpoint.
        is_guarded: Whether it wants a token, which the agent then has in its environment.
    """
    entry: dict[str, Any] = {"type": KIND, "url": url}
    if is_guarded:
        entry["headers"] = {"Authorization": f"Bearer ${VARIABLE}"}
        entry["allowedEnvVars"] = [VARIABLE]
    return entry
