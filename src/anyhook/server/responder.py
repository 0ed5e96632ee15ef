"""Answers payloads of agents with hook files and settings, with one engine for each agent."""

from __future__ import annotations

from inspect import isawaitable, iscoroutinefunction
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anyio

from anyhook.agents import AGENTS, get_agent, recognize
from anyhook.agents.capabilities import stderr_message
from anyhook.agents.encode import encode_answer
from anyhook.authoring.degrade import LOST, UnsupportedError, fit, fit_decision
from anyhook.authoring.load import imported_files, load_hooks
from anyhook.engine.engine import Engine
from anyhook.errors import EventError, UsageError
from anyhook.files import file_stamp
from anyhook.handlers.services import Services
from anyhook.handlers.threads import call_in_thread
from anyhook.model.answers import NO_OPINION, Answer, Outcome
from anyhook.model.definitions import handlers_of
from anyhook.model.json import dump_json, repair
from anyhook.model.layers import Layer
from anyhook.model.record import replace
from anyhook.model.status import TROUBLE, WITHOUT_ANSWER
from anyhook.settings.sources import Location
from anyhook.trust.store import TrustStore

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from anyhook.agents.spec import AgentSpec
    from anyhook.authoring.hooks import Hooks
    from anyhook.engine.observers import Observer
    from anyhook.model.decisions import Decision
    from anyhook.model.definitions import HandlerSpec, HookDefinition
    from anyhook.model.events import Event

    OnMessage = Callable[[str], None]

MARGIN = 0.9
"""Part of the agent's timeout that a function may use; the rest is for the reply."""
RELOAD_TIMEOUT = 10.0
"""Seconds that an edited file may take to be imported; events wait for it."""


class Responder:
    """Decides payloads of agents, and writes each decision in the agent's own form.

    Hook files and settings are read again when they were edited. An edited hook file that cannot
    be imported is reported, and its previous version stays.

    Args:
        files: Hook files.
        project: The project whose settings are loaded; `None` for none.
        agent: The agent that asks; `None` to recognize it by each payload.
        trust_once: Run the project's hooks without asking the trust store.
        environ: Environment that commands of the settings inherit; by default this process's.
        observers: See every event and its decision.
        leads_here: Returns whether a URL is the responder's own. A handler that requests it is left
            out: it would never end.
        on_message: Gets messages for the user. No message holds a payload.

    Attributes:
        engines: Name of an agent to the engine that decides for it.

    Raises:
        UsageError: If a file cannot be imported, or the agent does not exist.
    """

    def __init__(
        self,
        files: Sequence[str | os.PathLike[str]] = (),
        *,
        project: str | os.PathLike[str] | None = None,
        agent: str | None = None,
        trust_once: bool = False,
        environ: Mapping[str, str] | None = None,
        observers: Iterable[Observer] = (),
        leads_here: Callable[[str], bool] = lambda _url: False,
        on_message: OnMessage = lambda _message: None,
    ) -> None:
        self._agent_name = agent
        self._on_message = on_message
        self._lock = anyio.Lock()
        paths = dict.fromkeys(Path(file).resolve() for file in files)
        self._files = [_HookFile(path) for path in paths]
        own_requests = _OwnRequests(leads_here, on_message)
        self.engines: dict[str, Engine] = {}
        for name in [agent] if agent else AGENTS:
            spec = get_agent(name)
            if project is None:
                # It has no hooks but registered functions.
                engine = Engine(
                    Location.of("."),
                    spec.with_settings(files=(), packages=None),
                    store=None,
                    services=Services(),
                    warm=False,
                )
            elif agent is None:
                # `Engine.load` would report the hooks of the other agents as not loaded.
                engine = Engine(
                    Location.of(project, spec, environ=environ),
                    spec,
                    store=None if trust_once else TrustStore(),
                    services=Services(),
                    watch=True,
                )
            else:
                engine = Engine.load(
                    project, agent=name, trust_once=trust_once, environ=environ, watch=True
                )
            engine.leave_out(own_requests)
            for observer in observers:
                engine.add_observer(observer)
            self.engines[name] = engine
        self._register_functions()
        # Report at the start what will be left out.
        for handler in self._handlers_of_settings():
            own_requests(handler)

    @property
    def events(self) -> dict[str, bool]:
        """Canonical event of the files to whether a function for it denies when it fails."""
        events: dict[str, bool] = {}
        for file in self._files:
            denies_on_failure = file.hooks.on_crash == "deny"
            for function in file.hooks.functions:
                events[function.event] = denies_on_failure or events.get(function.event, False)
        return events

    @property
    def hooks(self) -> int:
        """Number of hooks: functions, and handlers in settings."""
        functions = sum(len(file.hooks.functions) for file in self._files)
        # Several agents read one settings file.
        return functions + len({_key_of(handler) for handler in self._handlers_of_settings()})

    @property
    def withheld(self) -> int:
        """Number of handlers in settings that do not run because they are not trusted."""
        withheld: set[object] = set()
        for engine in self.engines.values():
            handlers = handlers_of(engine.hooks.definitions)
            withheld.update(_key_of(it) for it in handlers if engine.guard.withhold(it))
        return len(withheld)

    def _handlers_of_settings(self) -> Iterator[HandlerSpec]:
        for engine in self.engines.values():
            yield from handlers_of(engine.hooks.definitions)

    def close(self) -> None:
        """Refuse further events and end what runs in the background."""
        for engine in self.engines.values():
            engine.close()

    async def reply(self, payload: Mapping[str, Any]) -> bytes:
        """Answer an event in JSON of the agent's own form, or its form of no opinion.

        Raises:
            EventError: If the agent cannot be recognized, or has no such event.
            EngineClosedError: After `close`.
        """
        await self._reload_changed_files()
        # Without an environment: this one is the server's, not the agent's.
        name = self._agent_name or recognize(payload, {})
        if name is None:
            event_keys = {get_agent(name).event_key for name in self.engines}
            keys = " or ".join(sorted(filter(None, event_keys)))  # Copilot CLI sends no name
            raise EventError(
                f"the agent that sent this event cannot be recognized: {keys} must name an event "
                f"of {', '.join(self.engines)}; start a server for one agent with --agent"
            )
        engine = self.engines[name]
        event, problems = engine.decode(payload)
        spec = engine.agent.by_canonical.get(event.name)
        if spec is None:
            raise EventError(problems[0].message)
        for problem in problems:
            self._on_message(f"{spec.wire}: {problem.message}")
        decision = await engine.dispatch(event)
        for result in decision.results:
            if result.status not in TROUBLE:
                continue
            message = f"{spec.wire}: {_describe(result.handler)} {TROUBLE[result.status]}"
            # The output of commands may repeat the payload; errors of functions are named by type.
            if result.handler.layer is Layer.RUNTIME:
                message += f": {result.error}"
            self._on_message(message)
        answer, notes = fit_decision(engine.agent, event, decision)
        for note in notes:
            self._on_message(f"{spec.wire}: {note}")
        answer = _add_failures(engine.agent, event, decision, answer)
        reply = encode_answer(engine.agent, spec, answer)
        if not reply:
            return spec.no_opinion_output.encode()
        try:
            return dump_json(reply)
        except (TypeError, ValueError, RecursionError):
            return dump_json(repair(reply))

    async def _reload_changed_files(self) -> None:
        if not any(file.has_changed() for file in self._files):
            return
        async with self._lock:
            changed = [file for file in self._files if file.has_changed()]
            if not changed:  # another event has read them
                return
            # The client may disconnect, but what was read must get to the engines.
            with anyio.CancelScope(shield=True):
                for file in changed:
                    problem = await file.reload()
                    if problem is not None:
                        self._on_message(f"{problem}; the previous version stays")
                self._register_functions()

    def _register_functions(self) -> None:
        """Give every engine the current functions; running dispatches keep theirs."""
        for engine in self.engines.values():
            for handler in handlers_of(engine.definitions):
                if handler.layer is Layer.RUNTIME:
                    engine.unregister(handler)
            for file in self._files:
                file.hooks.register(_Registration(engine, file.hooks, self._on_message))


class _HookFile:
    """A hook file and its functions, as they were when it was last read."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._identities = {path: file_stamp(path)}
        self.hooks = load_hooks(path)
        self._note_imports()

    def has_changed(self) -> bool:
        """Return whether the file, or one that it imported from its directory, was edited since."""
        return any(file_stamp(path) != identity for path, identity in self._identities.items())

    def _note_imports(self) -> None:
        # Former ones stay: a module that cannot be read now may be corrected.
        for file in imported_files(self._path):
            self._identities.setdefault(file, file_stamp(file))

    async def reload(self) -> str | None:
        """Read the file again; returns why that failed.

        Until that is done the file counts as changed, so that events wait for the new version.
        """
        identities = {path: file_stamp(path) for path in self._identities}
        try:
            with anyio.fail_after(RELOAD_TIMEOUT):
                self.hooks = await call_in_thread(load_hooks, self._path)
        except UsageError as error:
            return str(error)
        except TimeoutError:
            return f"{self._path} is not imported after {RELOAD_TIMEOUT:g} seconds"
        finally:
            self._identities = identities
            self._note_imports()
        return None


# -- engines


class _OwnRequests:
    """Recognizes handlers that would request the responder itself, and reports each once."""

    def __init__(self, leads_here: Callable[[str], bool], on_message: OnMessage) -> None:
        self._leads_here = leads_here
        self._on_message = on_message
        self._reported: set[str] = set()

    def __call__(self, handler: HandlerSpec) -> bool:
        url = handler.options.get("url")
        if handler.kind != "http" or not isinstance(url, str) or not self._leads_here(url):
            return False
        place = f"{handler.place.file}:{handler.place.line}"
        if place not in self._reported:
            self._reported.add(place)
            self._on_message(
                f"{place}: the hook {handler.label} is left out: it leads to this server"
            )
        return True


def _key_of(handler: HandlerSpec) -> object:
    return (handler.place.file, handler.path)


class _Registration:
    """Registers the functions of a hook file with an engine.

    Their answers are fitted to what the agent can do over HTTP.
    """

    def __init__(self, engine: Engine, hooks: Hooks, on_message: OnMessage) -> None:
        self.agent = engine.agent
        self._engine = engine
        self._hooks = hooks
        self._on_message = on_message

    def define(self, definition: HookDefinition) -> None:
        """Add a definition."""
        handlers: list[HandlerSpec] = []
        for handler in definition.handlers:
            function = handler.function
            if function is not None:
                timeout = handler.timeout if self._hooks.timeout else handler.timeout * MARGIN
                handlers.append(replace(handler, function=self._wrap(function), timeout=timeout))
            else:
                handlers.append(handler)
        self._engine.define(replace(definition, handlers=tuple(handlers)))

    def _wrap(self, function: Callable[[Any], Any]) -> Callable[[Any], Any]:
        """Make a function that fits the answer to the event as it was before the call."""

        async def finish(event: Event, returned: Any) -> Answer | None:
            return self._fit(event, await returned)

        async def call_async(event: Event) -> Answer | None:
            return await finish(event.copy(), function(event))

        def call(event: Event) -> Any:
            original = event.copy()
            returned = function(event)
            if isawaitable(returned):
                return finish(original, returned)
            return self._fit(original, returned)

        return call_async if iscoroutinefunction(function) else call

    def _fit(self, event: Event, answer: Answer | None) -> Answer | None:
        """Change an answer to what the agent can do; a denial is kept in any case."""
        if answer is None or answer is NO_OPINION:
            return answer
        try:
            must_refuse = self._hooks.unsupported == "refuse"
            name = self._hooks.name
            fitted, notes = fit(self.agent, event, answer, name=name, refuse=must_refuse)
        except UnsupportedError:
            if answer.outcome is not Outcome.DENY:
                raise
            denial = Answer(outcome=Outcome.DENY, reason=answer.reason)
            fitted, notes = fit(self.agent, event, denial, name=self._hooks.name)
        if stderr_message(self.agent, event.name, fitted) is not None:
            wire = event.wire_name or event.name
            notes.append(f"a reply over HTTP cannot hold a message to the user on {wire}; {LOST}")
        for note in notes:
            self._on_message(f"{self._hooks.name}: {note}")
        return fitted


# -- replies


def _add_failures(agent: AgentSpec, event: Event, decision: Decision, answer: Answer) -> Answer:
    """Return the answer of a decision with a message about functions that failed."""
    failures: list[str] = []
    for result in decision.results:
        is_function = result.handler.layer is Layer.RUNTIME
        has_no_answer = result.status in WITHOUT_ANSWER
        if is_function and has_no_answer and result.answer.outcome is not Outcome.DENY:
            problem = f"{_describe(result.handler)} {TROUBLE[result.status]}"
            failures.append(f"{problem}; its result was ignored")
    if not failures:
        return answer
    message, _ = fit(agent, event, Answer(system_message="\n".join(failures)))
    texts = [text for text in (answer.system_message, message.system_message) if text]
    return answer.replace(system_message="\n".join(texts) or None)


def _describe(handler: HandlerSpec) -> str:
    return f"hook {handler.label} ({Path(handler.place.file).name}:{handler.place.line})"
