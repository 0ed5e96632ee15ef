"""`anyhook serve`, an endpoint that runs hooks without a process, and `anyhook ui`, a page."""

from __future__ import annotations

import json
import os
import sys
import webbrowser
from contextlib import closing, contextmanager, redirect_stdout, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TextIO

import typer
from rich.text import Text

from anyhook.agents import get_agent
from anyhook.agents.spec.settings import HOOKS_PATH
from anyhook.atomic_write import replace_file
from anyhook.cli import OK
from anyhook.cli.colors import CAUTION, HEADING
from anyhook.cli.options import HERE, AsJson, Otel, Project, extra_required, open_telemetry
from anyhook.cli.output import console, print_json
from anyhook.cli.render import print_settings_problems
from anyhook.errors import UsageError
from anyhook.journal.lines import history_directory
from anyhook.manage.scope import existing_project
from anyhook.model.text import count_of, printable
from anyhook.server.address import Address, listen
from anyhook.settings.layout import own_entries

if TYPE_CHECKING:
    from collections.abc import Iterator

    from anyhook.agents.spec import AgentSpec, EventSpec
    from anyhook.server.responder import Responder


ENV_VARIABLE = "ANYHOOK_TOKEN"
MIN_TOKEN = 16
"""Characters of a token; a shorter one could be guessed."""

KIND = "http"
"""Type of the hooks that post to an endpoint."""


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
        typer.Option("--agent", help="The agent that asks; by default each event shows it."),
    ] = None,
    host: Annotated[
        str, typer.Option("--host", help="Address to listen at; others than loopback need a token.")
    ] = "127.0.0.1",
    port: Annotated[
        int, typer.Option("--port", min=0, max=65535, help="Port; 0 for any that is free.")
    ] = 8787,
    trust_once: Annotated[
        bool, typer.Option("--trust-once", help="Run the project's hooks without asking.")
    ] = False,
    otel: Otel = False,
    as_json: AsJson = False,
) -> int:
    """Answer hooks over HTTP, without a process for each of them.

    Claude Code's hooks of type `http`, and those of an engine, post their events here. With hook
    files (`anyhook.authoring`) their functions decide; without, or with `--project`, the hooks in
    the project's settings. Files that are edited are read again. Ctrl-C and SIGTERM end it.

    Set the token in the variable `ANYHOOK_TOKEN`: every user of this machine can read the arguments
    of a program. Without a token every program of this machine may fire hooks; other machines never
    may.

    For example:

        anyhook serve .anyhook/guard.py
        anyhook serve .anyhook/guard.py --port 0 --json
        anyhook serve --project ~/code/app --agent claude
    """
    with extra_required("anyhook serve", "serve"):
        from anyhook.server import http
    secret = _read_token()
    settings = None
    if project or not files:
        settings = existing_project(project or Path())
    listening, address = listen(host, port, is_guarded=secret is not None)
    # The trace in which the server was started is not that of the sessions that it serves.
    with open_telemetry(otel, environ={}) as observers, listening, _redirect_stdout() as stdout:
        from anyhook.server.responder import Responder

        responder = Responder(
            files or [],
            project=settings,
            agent=agent,
            trust_once=trust_once,
            environ={key: value for key, value in os.environ.items() if key != ENV_VARIABLE},
            observers=observers,
            leads_here=address.is_at,
            on_message=_print_message,
        )

        def announce() -> None:
            with redirect_stdout(stdout):
                if as_json:
                    print_json({"url": address.url, "pid": os.getpid(), "agent": agent})
                else:
                    _show(responder, address, is_guarded=secret is not None)

        app: Any = http.make_app(responder, token=secret, hosts=address.hosts)
        if otel:
            from anyhook.telemetry.propagation import TraceContext

            app = TraceContext(app)
        try:
            http.run(app, listening, announce)
        except KeyboardInterrupt:  # Ctrl-C is the usual way to end it
            pass
        finally:
            responder.close()
    _print_message("ended")
    return OK


@contextmanager
def _redirect_stdout() -> Iterator[TextIO]:
    """Yield standard output; the output of hooks and their programs goes to standard error."""
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


def _read_token() -> str | None:
    """Return the token of all requests; messages never hold it."""
    token = os.environ.get(ENV_VARIABLE)
    if token is None:
        return None
    if len(token) < MIN_TOKEN:
        raise UsageError(
            f"{ENV_VARIABLE} has {len(token)} characters; it needs {MIN_TOKEN}, for example those "
            "of: openssl rand -hex 16"
        )
    if not (token.isascii() and token.isprintable()) or " " in token:
        raise UsageError(f"{ENV_VARIABLE} must be ASCII without spaces, to be valid in a header")
    return token


def _print_message(message: str) -> None:
    text = Text.assemble(("anyhook serve: ", "dim"), printable(message))
    console(stderr=True).print(text, soft_wrap=True)


# -- output at the start


def _show(responder: Responder, address: Address, *, is_guarded: bool) -> None:
    out = console()
    hooks = count_of(responder.hooks, "hook")
    head = Text.assemble("Listening on ", (address.url, HEADING), f" with {hooks}.")
    out.print(head, soft_wrap=True)
    if responder.withheld:
        count = count_of(responder.withheld, "hook")
        text = f"Not trusted, and not run: {count}; review with: anyhook trust"
        out.print(text, style=CAUTION, soft_wrap=True)
    engines = responder.engines.values()
    problems = dict.fromkeys(problem for engine in engines for problem in engine.diagnostics)
    print_settings_problems(out, problems, next(iter(engines)).project_dir)
    for name in responder.engines:
        agent = get_agent(name)
        if KIND in agent.settings.handler_types:
            _show_entry(agent, responder, address, is_guarded=is_guarded)
    out.print("Ctrl-C ends it.", style="dim")


def _show_entry(
    agent: AgentSpec, responder: Responder, address: Address, *, is_guarded: bool
) -> None:
    """Show the settings that make an agent use this server."""
    out = console()
    supported: list[tuple[EventSpec, bool]] = []
    unsupported: list[str] = []
    for name, fails_closed in responder.events.items():
        event = agent.by_canonical.get(name)
        if event is None:
            continue
        if event.handler_kinds is None or KIND in event.handler_kinds:
            supported.append((event, fails_closed))
        else:
            unsupported.append(event.wire)
    entry: dict[str, Any] = {"type": KIND, "url": address.url}
    if is_guarded:  # the agent takes the token from its environment
        entry["headers"] = {"Authorization": f"Bearer ${ENV_VARIABLE}"}
        entry["allowedEnvVars"] = [ENV_VARIABLE]
    if supported:
        # Makes an endpoint that cannot be reached deny.
        member = agent.settings.handler_types[KIND].fail_closed_member
        fail_closed = {} if member is None else {member[0]: member[1]}
        settings: dict[str, Any] = {}
        for spec, fails_closed in supported:
            hook = entry
            if fails_closed and spec.can_fail_closed:
                hook = entry | fail_closed
            settings[spec.wire] = own_entries(agent, {"hooks": [hook]})
        for key in reversed(HOOKS_PATH):
            settings = {key: settings}
        entry = settings
    out.print(f"In the settings of {agent.title}:")
    out.print(json.dumps(entry, indent=2), soft_wrap=True)
    if is_guarded:
        out.print(f"{agent.title} needs the same {ENV_VARIABLE} in its environment.")
    if unsupported:
        out.print(
            f"{agent.title} runs no {KIND} hooks on {', '.join(unsupported)}; there, add the "
            f"file as a command: anyhook add FILE --agent {agent.name}",
            soft_wrap=True,
        )


# -- the page

PORT = 8790
ENTRANCE = '<!doctype html><meta http-equiv="refresh" content="0;url={0}"><a href="{0}">Open</a>\n'


def ui(
    project: Project = HERE,
    port: Annotated[
        int, typer.Option("--port", min=0, max=65535, help="Port; 0 for any that is free.")
    ] = PORT,
    is_opened: Annotated[
        bool, typer.Option("--open", "-o", help="Open the page in the browser.")
    ] = False,
    as_json: AsJson = False,
) -> int:
    """Show in a browser what hooks decide, live and in past sessions.

    The page is for this machine only, and for the browser that opens the printed address. It works
    without a network. Ctrl-C ends it.

    For example:

        anyhook ui
        anyhook ui --open --project ~/code/app
    """
    with extra_required("anyhook ui"):
        from anyhook.page import app
        from anyhook.page.access import Access
        from anyhook.server import http
    directory_of_project = existing_project(project)
    directory = Path(history_directory())
    listening, address = listen("127.0.0.1", port, is_guarded=True)
    with closing(listening):
        access = Access.load(directory, address.port)

        def announce() -> None:
            if as_json:
                print_json({"url": access.url, "pid": os.getpid()})
            else:
                console().print(
                    Text.assemble("The page is at ", (access.url, HEADING)), soft_wrap=True
                )
                console().print("The address is for you alone. Ctrl-C ends it.", style="dim")
            if is_opened:
                webbrowser.open(entrance(directory, access.url).as_uri())

        with suppress(KeyboardInterrupt):  # Ctrl-C is the usual way to end it
            http.run(app.make_app(directory, access, directory_of_project), listening, announce)
    return OK


def entrance(directory: Path, url: str) -> Path:
    """Write a file that leads to the first address, and return its path.

    Other users of this machine can read the arguments of a browser that is started, but not the
    file.

    Raises:
        UsageError: If it cannot be written.
    """
    path = directory / "ui-open.html"
    try:
        replace_file(path, ENTRANCE.format(url).encode(), mode=0o600)
    except OSError as error:
        raise UsageError(f"{path} cannot be written: {error.strerror}") from error
    return path
