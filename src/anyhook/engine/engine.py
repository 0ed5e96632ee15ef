"""The engine that a host embeds: settings in, decisions out."""

from __future__ import annotations

import datetime
import os
import time
from collections.abc import Collection
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anyio
from anyio.lowlevel import RunVar

from anyhook.agents import get_agent
from anyhook.agents.payloads import decode_event, encode_event
from anyhook.agents.replies import encode_decision
from anyhook.engine.absent import (
    check_required,
    kept_or_problem,
    required_events,
    switched_off,
    taken_out,
)
from anyhook.engine.combine import combine
from anyhook.engine.guard import Guard, SharedGuard
from anyhook.engine.host import host_diagnostics
from anyhook.engine.messages import MessageChannel
from anyhook.engine.plan import EMPTY_PLAN, Plan, make_plan
from anyhook.engine.run import run_plan, withhold_safely
from anyhook.errors import EngineClosedError, EventError, UsageError
from anyhook.handlers.background import Background
from anyhook.handlers.base import HookContext, Services, get_kind
from anyhook.handlers.env_files import EnvFiles
from anyhook.handlers.environment import Inheritance, Redaction
from anyhook.handlers.leases import Leases
from anyhook.model.decisions import NO_DECISION, Decision
from anyhook.model.definitions import HandlerSpec, HookDefinition
from anyhook.model.diagnostics import Place
from anyhook.model.events import Event
from anyhook.model.layers import Layer
from anyhook.processes.process import OUTPUT_LIMIT, descriptor_budget
from anyhook.settings.detect import agents_with_hooks, choose_agent, find_project
from anyhook.settings.hookset import load_hooks
from anyhook.settings.sources import Location
from anyhook.trust.store import TrustStore

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from types import TracebackType
    from typing import Literal, Self, TypeVar

    from anyhook.agents.spec import AgentSpec, EventSpec, RuleSet
    from anyhook.handlers.base import Ask, McpClient
    from anyhook.handlers.in_process import InProcess
    from anyhook.model.diagnostics import Diagnostic

    Warm = bool | Literal["in_process", "on_loop"]
    FunctionT = TypeVar("FunctionT", bound=Callable[..., Any])

MAX_PROCESSES = 64
"""Commands that run at once. Each holds five descriptors, and a host commonly has 1,024."""
PLANS = 4096
"""Plans that are remembered; one for each event and subject."""


class Engine:
    """Loads the hooks of a project and decides events with them.

    Make one with `Engine.load`. It works on asyncio and trio, holds no threads or descriptors
    between dispatches but connections to workers, which end when nothing comes for a minute, and
    any number of dispatches may run at once.

    Attributes:
        agent: The language of the settings and the commands.
        rules: The reading of it.
        project_dir: Directory of the project.
        hooks: What the settings files say.
        messages: Delivers every problem to the host.
        required: Whether configured hooks must run, or the events whose hooks must, by canonical
            name.
    """

    def __init__(
        self,
        location: Location,
        agent: AgentSpec,
        *,
        rules: str,
        store: TrustStore | None,
        watch: bool,
        redact: Redaction | None,
        max_processes: int,
        output_limit: int,
        warm: Warm,
        services: Services,
        detected: tuple[Diagnostic, ...] = (),
        on_message: Callable[[str], object] | None = None,
    ) -> None:
        self.messages = MessageChannel(on_message)
        self.required: bool | frozenset[str] = False
        self._detected = detected
        self.agent = agent
        self.rules = agent.rules(rules)
        self.project_dir = location.project
        self._location = location
        self._store = store
        self._watch = watch
        self._redact = redact
        self._max_processes = max_processes
        self._output_limit = output_limit
        self._limiter: RunVar[anyio.CapacityLimiter] = RunVar("anyhook-commands")
        self._runtime: list[HookDefinition] = []
        self._plans: dict[tuple[str, str | None], Plan] = {}
        self._heard: frozenset[str] | None = None
        self._closed = False
        self._given_services = services
        self._background = Background()
        self._env_files = EnvFiles() if agent.env_file is not None else None
        self._leases = _leases_for(warm)
        self.hooks = load_hooks(agent, location)
        self._prepare()

    @classmethod
    def load(
        cls,
        project_dir: str | os.PathLike[str] | None = None,
        *,
        agent: str | None = None,
        rules: str = "documented",
        require: bool | Collection[str] = False,
        on_message: Callable[[str], object] | None = None,
        trust_once: bool = False,
        trust_store: TrustStore | None = None,
        watch: bool = False,
        redact: Redaction | None = None,
        home: str | os.PathLike[str] | None = None,
        environ: Mapping[str, str] | None = None,
        max_processes: int = MAX_PROCESSES,
        output_limit: int = OUTPUT_LIMIT,
        warm: Warm = True,
        ask: Ask | None = None,
        mcp: McpClient | None = None,
        private_hosts: Iterable[str] = (),
    ) -> Self:
        """Read the settings of every layer for a project.

        Files that did not change since they were last read in this process are not parsed again.

        Args:
            project_dir: Directory of the project; by default, and for `"."`, the one that the
                current directory belongs to (see `anyhook.settings.detect.find_project`).
            agent: `gemini`, `claude`, `terminai` or `generic`; by default the one agent that has
                hooks in the project, else in the user's settings, else `gemini`, which is reported.
            rules: `documented`, what the agent's references promise, `observed`, what the newest
                release that was observed really does, or `observed@VERSION` for a former one.
            require: Raise if hooks do not run: `True` for any configured hook, or the events
                (`{"before_tool"}`) that must have hooks of which every one runs.
            on_message: Gets, as one text each, the problems of the settings, of trust and of every
                decision, each problem once; by default the logger `anyhook` gets them at WARNING.
            trust_once: Run the project's hooks without asking the trust store, this once.
            trust_store: Where trust is recorded; by default the user's.
            watch: Look before every dispatch whether a settings file changed, and read it again.
            redact: Which variables commands do not inherit; by default what the settings say.
            home: Home directory; by default the user's.
            environ: Environment of the host, which commands inherit; by default this process's.
            max_processes: Commands that run at once; fewer where the limit of open files is low.
            output_limit: Bytes of each stream of a command that are kept.
            warm: Hand a command that runs a hook file through a worker (`anyhook run HOOK.py`) to
                the worker at once, without a process. It means the same. `"in_process"` calls its
                functions in a thread of this process instead, where that can be done, with this
                process's variables, directory and output instead of the hook's own; `"on_loop"`
                calls them on the event loop, which is fastest, and nothing can end one that hangs.
            ask: Puts the questions of `prompt` hooks to a model.
            mcp: Calls the tools of `mcp_tool` hooks, like `anyhook.handlers.mcp_client.SdkClient`.
            private_hosts: Hosts in private networks that `http` hooks may ask.

        Returns:
            An engine. What is wrong with the settings is in `diagnostics` and was reported; unless
            hooks are required, it never raises for what files hold.

        Raises:
            UnknownNameError: If there is no such agent, rule set or event.
            UsageError: If there is no such directory, if several agents have hooks and none is
                named, or if `warm` is something else.
            RequiredHooksError: If hooks that are required do not run.
        """
        _check_options(require, on_message, trust_once=trust_once)
        is_default = project_dir is None or os.fspath(project_dir) in (".", "")
        project = find_project(".", home) if is_default else Path(project_dir or ".")
        if not os.path.isdir(project):  # noqa: PTH112 - a path of any form is no exception
            raise UsageError(f"no directory {str(project)!r}; pass the one of the project")
        agents = agents_with_hooks(project, home=home, environ=environ)
        choice = choose_agent(agents, agent)
        tables = get_agent(choice.agent)
        location = Location.of(
            project, home=home, environ=environ, home_variable=tables.home_variable
        )
        store = None if trust_once else (trust_store or TrustStore())
        engine = cls(
            location,
            tables,
            rules=rules,
            store=store,
            watch=watch,
            redact=redact,
            max_processes=max_processes,
            output_limit=output_limit,
            warm=warm,
            services=Services(ask=ask, mcp=mcp, private_hosts=frozenset(private_hosts)),
            detected=choice.diagnostics,
            on_message=on_message,
        )
        check_required(require, tables, engine, engine.diagnostics)
        engine.required = required_events(require, tables)
        return engine

    # -- life

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        _kind: type[BaseException] | None,
        _error: BaseException | None,
        _traceback: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Refuse further dispatches and end what runs in the background.

        Dispatches that run go on to their end.
        """
        self._closed = True
        self._background.close()
        if self._env_files is not None:
            self._env_files.close()
        if self._leases is not None:
            self._leases.close()

    @property
    def background(self) -> Background:
        """What was started and not waited for (Claude Code: `async` hooks)."""
        return self._background

    def session_script(self, session_id: str) -> str:
        """Return the shell script to run before each shell command of a session.

        It is what hooks wrote to the file that their agent names for that purpose (Claude Code:
        `CLAUDE_ENV_FILE`), mostly `export` lines. Hooks themselves do not see its effect.

        Args:
            session_id: The session of the events that the hooks got.

        Returns:
            The script; empty if no hook has written anything, and after `close`.
        """
        return self._env_files.script(session_id) if self._env_files is not None else ""

    def reload(self) -> bool:
        """Read the settings again. Returns whether they had changed.

        A file that is empty, half-written or broken stays in force as it was when it was read
        last; one that was deleted has no hooks.
        """
        before, hooks = self.hooks, load_hooks(self.agent, self._location, self.hooks)
        self.hooks = hooks
        if (hooks.files, hooks.diagnostics) == (before.files, before.diagnostics):
            return False  # the same definitions, with newer identities of their files
        self._prepare()
        return True

    def _prepare(self) -> None:
        """Work out what depends on the settings."""
        self.kept, self._kept_problems = kept_or_problem(self.agent, self.hooks)
        self._inherits = Inheritance(
            self._location.environ,
            {layer: self._redaction(layer) for layer in self.agent.layer_order},
            self.agent.redaction,
            self.agent.stripped_prefixes,
        )
        definitions = tuple(self.hooks.definitions)
        judged = (self.agent, self._location.project, self._store, definitions)
        self._guard = Guard(*judged)
        self._shared_guard = SharedGuard(Guard(*judged))
        self._plans = {}
        self._heard = None
        layers = self.agent.layer_order
        self._services = replace(
            self._given_services,
            url_patterns={layer: self.hooks.url_patterns(layer) for layer in layers},
            private_hosts=self._given_services.private_hosts | self.hooks.named_hosts(),
            header_variables={layer: self.hooks.header_variables(layer) for layer in layers},
            background=self._background,
            leases=self._leases,
            env_files=self._env_files,
        )
        self.report_problems(self.messages)

    def _redaction(self, layer: Layer) -> Redaction:
        rules = self.agent.redaction
        if self._redact is not None or rules is None:
            return self._redact or Redaction()
        settings = self.hooks.redaction(layer)
        return Redaction.from_settings(settings, self._location.environ, rules)

    # -- what there is

    @property
    def definitions(self) -> tuple[HookDefinition, ...]:
        """Every definition, those registered at run time first."""
        return (*self._runtime, *self.hooks.definitions)

    def listens(self, event: str | None = None) -> bool:
        """Tell whether hooks are there at all, or on an event; an answer that costs nothing.

        Args:
            event: Canonical name; `None` for any.

        Returns:
            Whether some are, or may be soon, because settings are watched.
        """
        if self._watch:
            return True
        if self._heard is None:
            self._heard = frozenset(definition.event for definition in self.definitions)
        return bool(self._heard) if event is None else event in self._heard

    @property
    def diagnostics(self) -> tuple[Diagnostic, ...]:
        """What is wrong with the settings, and which configured hooks do not run."""
        return (*self._settings_diagnostics(), *self._guard.diagnostics())

    def switched_off(self) -> tuple[Diagnostic, ...]:
        """Return a diagnostic for every switch that keeps hooks from running."""
        return (*switched_off(self.hooks), *taken_out(self.kept), *self._kept_problems)

    def report_problems(self, channel: MessageChannel) -> None:
        """Report what is wrong with the settings, and which hooks do not run.

        Args:
            channel: Where to. One that has the engine's own receiver gets nothing, because that
                receiver got everything when the settings were read.
        """
        if channel is self.messages or channel.on_message != self.messages.on_message:
            channel.report((*self._settings_diagnostics(), *self._guard.summary()))
        channel.skip(self._guard.diagnostics())  # a later event must not report each hook again

    def _settings_diagnostics(self) -> tuple[Diagnostic, ...]:
        return (
            *self._detected,
            *host_diagnostics(self._location.environ),
            *self.hooks.diagnostics,
            *self.switched_off(),
        )

    def runs(self, handler: HandlerSpec) -> bool:
        """Return whether a handler of the settings is switched on and trusted."""
        is_on = self.hooks.switched_off(handler, self.rules) is None
        return is_on and self._guard.withhold(handler) is None

    @property
    def guard(self) -> Guard:
        """What decides which hooks of the project may run."""
        return self._guard

    @property
    def environ(self) -> Mapping[str, str]:
        """The environment that commands inherit, before redaction."""
        return self._location.environ

    def plan(self, event: Event, rules: RuleSet | None = None) -> Plan:
        """Return which handlers an event would run, in which order.

        Args:
            event: The event.
            rules: Another reading of the agent than the engine's own.
        """
        rules = rules or self.rules
        spec = rules.by_canonical.get(event.name)
        if spec is None:
            return EMPTY_PLAN
        value = getattr(event, spec.subject) if spec.subject else None
        subject = value if isinstance(value, str) else None
        if rules is not self.rules:
            return self._make_plan(rules, event.name, subject)[0]
        key = (event.name, subject)
        found = self._plans.get(key)
        if found is not None:
            return found
        made, is_final = self._make_plan(rules, event.name, subject)
        if is_final:  # a plan that could not look at every pattern holds until trust is given
            if len(self._plans) >= PLANS:
                self._plans.clear()
            self._plans[key] = made
        return made

    def _make_plan(self, rules: RuleSet, event: str, subject: str | None) -> tuple[Plan, bool]:
        blind = False

        def may_match(definition: HookDefinition) -> bool:
            nonlocal blind
            allowed = self._guard.may_match(definition)
            blind = blind or not allowed
            return allowed

        made = make_plan(
            self.agent,
            rules,
            self.definitions,
            event,
            subject,
            is_on=lambda handler: self.hooks.switched_off(handler, rules) is None,
            may_match=may_match,
        )
        return made, not blind

    # -- hooks of the host

    def register(
        self,
        event: str,
        function: Callable[..., Any],
        *,
        matcher: str | None = None,
        name: str | None = None,
        timeout: float | None = None,
        threaded: bool = True,
    ) -> HandlerSpec:
        """Let a Python function decide events, before the hooks of the settings.

        Args:
            event: Canonical name (`before_tool`) or the agent's (`BeforeTool`).
            function: Takes the event; returns `None` for no opinion, an `Answer`, or a reply in
                the agent's JSON form. Plain or async. The event is its own to change.
            matcher: Pattern on the event's subject.
            name: For the switches and the explanations; by default the function's.
            timeout: Seconds; by default the agent's.
            threaded: Run a plain function in a worker thread. Without, it runs on the event loop,
                which is faster, and nothing can end it.

        Returns:
            The handler, for `unregister`.

        Raises:
            UnknownNameError: If the agent has no such event.
        """
        spec = self.agent.event(event)
        code = getattr(function, "__code__", None)
        place = Place(code.co_filename, code.co_firstlineno) if code else Place("<runtime>")
        handler = HandlerSpec(
            kind="function",
            layer=Layer.RUNTIME,
            place=place,
            name=name or getattr(function, "__qualname__", None),
            function=function,
            threaded=threaded,
            description=(function.__doc__ or "").strip().partition("\n")[0] or None,
            timeout=timeout if timeout is not None else self.agent.default_timeout,
        )
        self.define(
            HookDefinition(spec.canonical, Layer.RUNTIME, place, matcher, False, (handler,))
        )
        return handler

    def define(self, definition: HookDefinition) -> None:
        """Add a whole definition at run time; `Hooks.register` does so."""
        self._runtime.append(definition)
        self._plans.clear()
        self._heard = None

    def on(
        self, event: str, *, matcher: str | None = None, **options: Any
    ) -> Callable[[FunctionT], FunctionT]:
        """Decorate a function that decides events; takes the options of `register`."""

        def decorate(function: FunctionT) -> FunctionT:
            self.register(event, function, matcher=matcher, **options)
            return function

        return decorate

    def unregister(self, handler: HandlerSpec) -> None:
        """Take a handler back that `register` returned."""
        self._runtime = [d for d in self._runtime if handler not in d.handlers]
        self._plans.clear()
        self._heard = None

    # -- events

    async def dispatch(self, event: Event) -> Decision:
        """Run every handler that matches an event and combine what they say.

        Handlers that fail, hang or print nonsense count as having no opinion, and are told about
        in the decision's diagnostics. When the call is cancelled, the commands are ended first.

        Args:
            event: What happened. Not modified.

        Returns:
            The decision; `NO_DECISION` if nothing matched.

        Raises:
            EngineClosedError: If the engine was closed.
            EventError: If it is no event.
        """
        decision = await self.decide(event)
        if decision.diagnostics:
            self.messages.report(decision.diagnostics)
        return decision

    async def decide(self, event: Event) -> Decision:
        """Decide an event like `dispatch`, and leave its problems to the caller to report."""
        if self._closed:
            raise EngineClosedError("the engine is closed; load a new one")
        if not isinstance(event, Event):
            raise EventError(
                f"{type(event).__name__} is no event; build one, like BeforeTool(tool_name=…), "
                "or decode a payload with engine.decode(payload)"
            )
        news = self._read_again() if self._watch else ()
        plan = self.plan(event)
        if not plan.groups:
            return Decision(diagnostics=news) if news else NO_DECISION
        spec = self.rules.by_canonical[event.name]
        results = await run_plan(plan, self._firing(spec, event, plan))
        decision = combine(self.rules, spec, event, results)
        news = (*news, *plan.diagnostics)
        if news:
            decision = replace(decision, diagnostics=(*news, *decision.diagnostics))
        return decision

    def _read_again(self) -> tuple[Diagnostic, ...]:
        """Read the settings again if they changed. Returns what is newly wrong with them."""
        before = self.hooks.diagnostics
        if not (self.hooks.is_stale() and self.reload()):
            return ()
        return tuple(problem for problem in self.hooks.diagnostics if problem not in before)

    def complete(self, event: Event) -> Event:
        """Fill in what an event built in Python leaves out: the time, and where the agent stands.

        `dispatch` does so by itself; this is for who wants to see the event as hooks do.
        """
        return self._completed(event, time.time())

    def _completed(self, event: Event, when: float) -> Event:
        if event.raw is not None or (event.timestamp and event.cwd and event.vocabulary):
            return event
        return event.replace(
            timestamp=event.timestamp or _told(when),
            cwd=event.cwd or str(self.project_dir),
            vocabulary=event.vocabulary or self.agent.vocabulary,
        )

    def _firing(self, spec: EventSpec, event: Event, plan: Plan) -> HookContext:
        for group in plan.groups:
            for handler in group:
                get_kind(handler.kind)  # imported before the clock starts
        context = HookContext(
            self.agent,
            self.rules,
            spec,
            event,
            self._completed,
            self.project_dir,
            self._location.home,
            self._inherits,
            self._limiter_of_run,
            self._output_limit,
            time.perf_counter(),
            time.time(),
            self._services,
        )
        # A reload does not change which guard is asked about this event.
        shared = self._shared_guard.withhold
        return replace(
            context,
            withhold=partial(withhold_safely, self._guard.withhold, context.cwd),
            withhold_in_background=partial(withhold_safely, shared, context.cwd),
        )

    def _limiter_of_run(self) -> anyio.CapacityLimiter:
        """Return the limiter of the event loop that runs; an engine may see several."""
        try:
            return self._limiter.get()
        except LookupError:
            limiter = anyio.CapacityLimiter(descriptor_budget(self._max_processes))
            self._limiter.set(limiter)
            return limiter

    def decode(self, payload: Mapping[str, Any]) -> tuple[Event, tuple[Diagnostic, ...]]:
        """Make a typed event of a payload in the agent's form.

        Returns:
            The event, and what was wrong with the payload.
        """
        return decode_event(self.agent, payload)

    def encode(self, event: Event) -> dict[str, Any]:
        """Write an event as a payload in the agent's form."""
        return encode_event(self.agent, event)

    def reply(self, event: Event, decision: Decision) -> dict[str, Any]:
        """Write a decision as one reply in the agent's form, as a single hook would print it.

        Raises:
            EventError: If the agent does not know the event.
        """
        spec = self.agent.by_canonical.get(event.name)
        if spec is None:
            raise EventError(f"{self.agent.title} has no event {event.name!r}")
        return encode_decision(self.agent, spec, decision, event)


def _check_options(require: object, on_message: object, *, trust_once: object) -> None:
    """Refuse options whose wrong type would switch a guard off, or run hooks without trust."""
    if isinstance(require, str) or not isinstance(require, bool | Collection):
        raise UsageError(
            'require is True, False or a set of events, like require={"before_tool"}, '
            f"not {require!r}"
        )
    if not isinstance(trust_once, bool):
        raise UsageError(f"trust_once is True or False, not {trust_once!r}")
    if on_message is not None and not callable(on_message):
        raise UsageError(f"on_message is a function that takes a text, not {on_message!r}")


def _leases_for(warm: Warm) -> Leases | InProcess | None:
    if warm in ("in_process", "on_loop"):
        from anyhook.handlers.in_process import InProcess

        return InProcess(Leases(), on_loop=warm == "on_loop")
    if not isinstance(warm, bool):
        raise UsageError(f"warm={warm!r}: it is True, False, 'in_process' or 'on_loop'")
    return Leases() if warm else None


def _told(when: float) -> str:
    """Write a time in seconds since the epoch as agents do."""
    moment = datetime.datetime.fromtimestamp(when, datetime.UTC)
    return moment.isoformat(timespec="milliseconds")[:-6] + "Z"
