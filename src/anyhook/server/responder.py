"""Answers payloads of agents: hook files and settings, one engine for each agent."""

from __future__ import annotations

from dataclasses import replace
from inspect import iscoroutinefunction
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anyio

from anyhook.agents import AGENTS, get_agent, recognise
from anyhook.agents.capabilities import stderr_message
from anyhook.agents.replies import answer_of, encode_answer
from anyhook.authoring.degrade import LOST, UnsupportedError, fit
from anyhook.authoring.load import load_hooks
from anyhook.engine.engine import MAX_PROCESSES, Engine
from anyhook.engine.plan import Plan
from anyhook.errors import EventError, UsageError
from anyhook.files import identity_of
from anyhook.handlers.base import Services
from anyhook.handlers.threads import call_in_thread
from anyhook.model.answers import NO_OPINION, Answer, Outcome
from anyhook.model.decisions import HandlerResult, Status
from anyhook.model.json import dump_json, repair
from anyhook.model.layers import Layer
from anyhook.processes.process import OUTPUT_LIMIT
from anyhook.settings.sources import Location

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Mapping, Sequence

    from anyhook.agents.spec import AgentSpec, EventSpec, RuleSet
    from anyhook.authoring.hooks import Hooks
    from anyhook.model.decisions import Decision
    from anyhook.model.definitions import HandlerSpec, HookDefinition
    from anyhook.model.events import Event

    Tell = Callable[[str], None]

MARGIN = 0.9
"""Part of the agent's time that a function may use; the rest is for the answer."""
RELOAD = 10.0
"""Seconds that an edited file may take to be imported; events wait for it."""
WENT_WRONG = {
    Status.FAILED: "failed",
    Status.TIMED_OUT: "ran out of time",
    Status.WARNED: "ended with a warning",
    Status.WITHHELD: "was not run, because the project is not trusted",
}
"""How a handler's turn went to what people are told."""
WITHOUT_ANSWER = frozenset({Status.FAILED, Status.TIMED_OUT})


class Responder:
    """Decides payloads of agents, and writes the decision in the agent's own form.

    Functions of hook files are read again when their file was edited, settings when theirs was. An
    edited file that cannot be imported is told, and the version before stays.

    Args:
        files: Hook files.
        project: Whose settings are loaded; `None` for none.
        agent: The agent that asks; `None` if every payload tells by itself.
        trust_once: Run the project's hooks without asking the trust store.
        environ: Environment that commands of the settings inherit; by default this process's.
        leads_here: Tells whether a URL is the responder's own. A handler that asks it is left out,
            because it would ask for ever.
        tell: Takes a line for people. No line holds a payload.

    Attributes:
        engines: AgentSpec to the engine that decides for it.

    Raises:
        UsageError: If a file cannot be imported or there is no such agent.
    """

    def __init__(
        self,
        files: Sequence[str | os.PathLike[str]] = (),
        *,
        project: str | os.PathLike[str] | None = None,
        agent: str | None = None,
        trust_once: bool = False,
        environ: Mapping[str, str] | None = None,
        leads_here: Callable[[str], bool] = lambda _url: False,
        tell: Tell = lambda _line: None,
    ) -> None:
        self._agent = agent
        self._tell = tell
        self._lock = anyio.Lock()
        self._files = [_HookFile(path) for path in dict.fromkeys(Path(f).resolve() for f in files)]
        ours = _Ours(leads_here, tell)
        self.engines: dict[str, Engine] = {}
        for name in (agent,) if agent else AGENTS:
            engine = _Engine.without_settings(name)
            if project is not None:
                engine = _Engine.load(
                    project, agent=name, trust_once=trust_once, environ=environ, watch=True
                )
            engine.leaves_out = ours
            self.engines[name] = engine
        self._register()
        for handler in self._configured():
            ours(handler)

    @property
    def events(self) -> dict[str, bool]:
        """Canonical event of the files to whether a function that must not fail is for it."""
        found: dict[str, bool] = {}
        for file in self._files:
            for function in file.hooks.functions:
                closed = file.hooks.on_crash == "deny"
                found[function.event] = closed or found.get(function.event, False)
        return found

    @property
    def hooks(self) -> int:
        """How many hooks there are: functions, and handlers in settings."""
        return sum(len(file.hooks.functions) for file in self._files) + len(self._configured())

    def _configured(self) -> list[HandlerSpec]:
        return [
            handler
            for engine in self.engines.values()
            for definition in engine.hooks.definitions
            for handler in definition.handlers
        ]

    def close(self) -> None:
        """Refuse further events and end what runs in the background."""
        for engine in self.engines.values():
            engine.close()

    async def reply(self, payload: Mapping[str, Any]) -> bytes:
        """Answer an event.

        Args:
            payload: What an agent sends.

        Returns:
            JSON in the agent's own form, or what stands for no opinion.

        Raises:
            EventError: If nothing tells whose event it is, or the agent has no such event.
            EngineClosedError: After `close`.
        """
        await self._refresh()
        engine = self._engine_for(payload)
        event, problems = engine.decode(payload)
        spec = engine.agent.by_canonical.get(event.name)
        if spec is None:
            raise EventError(problems[0].message)
        for problem in problems:
            self._tell(f"{spec.wire}: {problem.message}")
        decision = await engine.dispatch(event)
        for result in decision.results:
            self._report(spec, result)
        return _encoded(engine.agent, spec, _with_losses(engine.agent, event, decision))

    def _engine_for(self, payload: Mapping[str, Any]) -> Engine:
        # of the environment nothing is known: it is the server's, not the agent's
        name = self._agent or recognise(payload, {})
        if name is None:
            keys = " or ".join(sorted({get_agent(name).event_key for name in self.engines}))
            raise EventError(
                f"nothing tells which agent sent this event: {keys} must name an event of "
                f"{', '.join(self.engines)}; a server for one agent is started with --agent"
            )
        return self.engines[name]

    def _report(self, spec: EventSpec, result: HandlerResult) -> None:
        what = WENT_WRONG.get(result.status)
        if what is None:
            return
        # what commands say may repeat the payload; the errors of functions are named by kind
        why = f": {result.error}" if result.handler.layer is Layer.RUNTIME else ""
        self._tell(f"{spec.wire}: {_where(result.handler)} {what}{why}")

    # -- files that change

    async def _refresh(self) -> None:
        if not any(file.has_changed() for file in self._files):
            return
        async with self._lock:
            changed = [file for file in self._files if file.has_changed()]
            # whoever asked may go away, but what was read must get to the engines
            with anyio.CancelScope(shield=True):
                for file in changed:
                    problem = await file.reload()
                    if problem is not None:
                        self._tell(f"{problem}; the version before goes on")
                if changed:
                    self._register()

    def _register(self) -> None:
        """Give every engine the functions as they are now; dispatches that run keep theirs."""
        for engine in self.engines.values():
            for definition in engine.definitions:
                if definition.layer is Layer.RUNTIME:
                    engine.unregister(definition.handlers[0])
            for file in self._files:
                file.hooks.register(_Fitting(engine, file.hooks, self._tell))


class _HookFile:
    """A hook file and its functions, as they were when it was last read."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._stamp = identity_of(path)
        self.hooks = load_hooks(path)

    def has_changed(self) -> bool:
        return identity_of(self._path) != self._stamp

    async def reload(self) -> str | None:
        """Read it again. Returns why that was not possible.

        Until that is done the file counts as changed, so that events wait for the new version.
        """
        stamp = identity_of(self._path)
        try:
            with anyio.fail_after(RELOAD):
                self.hooks = await call_in_thread(load_hooks, self._path)
        except UsageError as error:
            return str(error)
        except TimeoutError:
            return f"{self._path} is not imported after {RELOAD:g} seconds"
        finally:
            self._stamp = stamp
        return None


# -- engines


class _Ours:
    """Tells which handlers would ask the responder itself, and says so once for each."""

    def __init__(self, leads_here: Callable[[str], bool], tell: Tell) -> None:
        self._leads_here = leads_here
        self._tell = tell
        self._told: set[str] = set()

    def __call__(self, handler: HandlerSpec) -> bool:
        url = handler.options.get("url")
        if handler.kind != "http" or not isinstance(url, str) or not self._leads_here(url):
            return False
        place = f"{handler.place.file}:{handler.place.line}"
        if place not in self._told:
            self._told.add(place)
            self._tell(f"{place}: the hook {handler.label} is left out: it leads to this server")
        return True


class _Engine(Engine):
    """An engine that leaves handlers out."""

    leaves_out: Callable[[HandlerSpec], bool] = staticmethod(lambda _handler: False)

    @classmethod
    def without_settings(cls, name: str) -> _Engine:
        """Make an engine that has no hooks but those that it is given."""
        return cls(
            Location.of("."),
            get_agent(name).replace(settings=(), packages=None),
            rules="documented",
            store=None,
            watch=False,
            redact=None,
            max_processes=MAX_PROCESSES,
            output_limit=OUTPUT_LIMIT,
            warm=False,
            services=Services(),
        )

    def plan(self, event: Event, rules: RuleSet | None = None) -> Plan:
        """Return which handlers an event would run, in which order."""
        made = super().plan(event, rules)
        if not any(map(self.leaves_out, made.handlers)):
            return made
        groups = (tuple(h for h in group if not self.leaves_out(h)) for group in made.groups)
        return Plan(tuple(group for group in groups if group))


class _Fitting:
    """Takes the functions of a hook file to an engine, and fits what they say to its agent."""

    def __init__(self, engine: Engine, hooks: Hooks, tell: Tell) -> None:
        self.agent = engine.agent
        self._engine = engine
        self._hooks = hooks
        self._tell = tell

    def define(self, definition: HookDefinition) -> None:
        """Add a definition."""
        handlers = tuple(map(self._fitted, definition.handlers))
        self._engine.define(replace(definition, handlers=handlers))

    def _fitted(self, handler: HandlerSpec) -> HandlerSpec:
        function = handler.function
        if function is None:
            return handler
        timeout = handler.timeout if self._hooks.timeout else handler.timeout * MARGIN
        return replace(handler, function=self._fitting(function), timeout=timeout)

    def _fitting(self, function: Callable[[Any], Any]) -> Callable[[Any], Any]:
        async def finish(before: Event, saying: Any) -> Answer | None:
            return self._fit(before, await saying)

        if iscoroutinefunction(function):

            async def call_async(event: Event) -> Answer | None:
                return await finish(event.copy(), function(event))

            return call_async

        def call(event: Event) -> Any:
            before = event.copy()
            said = function(event)
            return finish(before, said) if hasattr(said, "__await__") else self._fit(before, said)

        return call

    def _fit(self, event: Event, said: Answer | None) -> Answer | None:
        """Make of an answer what the agent can carry out; a denial is kept whatever else is not."""
        if said is None or said is NO_OPINION:
            return said
        try:
            answer, notes = fit(self.agent, event, said, refuse=self._hooks.unsupported == "refuse")
        except UnsupportedError:
            if said.outcome is not Outcome.DENY:
                raise
            rest = Answer(outcome=Outcome.DENY, reason=said.reason)
            answer, notes = fit(self.agent, event, rest)
        if stderr_message(self.agent, event.name, answer) is not None:
            wire = event.wire_name or event.name
            notes.append(f"a reply over HTTP cannot hold a message to the user on {wire}; {LOST}")
        for note in notes:
            self._tell(f"{self._hooks.name}: {note}")
        return answer


# -- replies


def _with_losses(agent: AgentSpec, event: Event, decision: Decision) -> Answer:
    """Write a decision as an answer that tells the user which functions had no say."""
    answer = answer_of(decision)
    losses = [
        f"{_where(result.handler)} {WENT_WRONG[result.status]}; it had no say"
        for result in decision.results
        if result.status in WITHOUT_ANSWER
        and result.handler.layer is Layer.RUNTIME
        and result.answer.outcome is not Outcome.DENY
    ]
    if not losses:
        return answer
    told, _ = fit(agent, event, Answer(system_message="\n".join(losses)))
    messages = [text for text in (answer.system_message, told.system_message) if text]
    return answer.replace(system_message="\n".join(messages) or None)


def _where(handler: HandlerSpec) -> str:
    return f"hook {handler.label} ({Path(handler.place.file).name}:{handler.place.line})"


def _encoded(agent: AgentSpec, spec: EventSpec, answer: Answer) -> bytes:
    reply = encode_answer(agent, spec, answer)
    if not reply:
        return spec.no_opinion_output.encode()
    try:
        return dump_json(reply)
    except (TypeError, ValueError, RecursionError):
        return dump_json(repair(reply))
