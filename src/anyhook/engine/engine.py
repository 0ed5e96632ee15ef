"""The engine that a host embeds: settings in, decisions out.

It is one module because `Engine` is the API of hosts, documented method by method. Planning,
running and combining are modules of their own.
"""

from __future__ import annotations

import datetime
import itertools
import os
import time
from collections.abc import Collection, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anyio
from anyio.lowlevel import RunVar

from anyhook.agents import get_agent
from anyhook.agents.encode import encode_answer
from anyhook.agents.payloads import encode_event
from anyhook.agents.translate import decode_any_form
from anyhook.authoring.degrade import fit_decision
from anyhook.engine.absent import (
    HookState,
    check_required,
    find_disabled,
    find_shadows,
    report_switched_off,
    required_events,
)
from anyhook.engine.combine import combine
from anyhook.engine.dead_matchers import check_matcher, check_never_matches
from anyhook.engine.guard import SharedGuard, TrustGuard
from anyhook.engine.hook_files import shadow_place
from anyhook.engine.host import host_diagnostics
from anyhook.engine.host_functions import check_host_matcher, define_function
from anyhook.engine.messages import MessageChannel
from anyhook.engine.observers import (
    OWN_SESSIONS,
    Observations,
    observers_of_unmatched,
    report_closed,
)
from anyhook.engine.plan import EMPTY_PLAN, Plan, make_plan
from anyhook.engine.run import run_plan, withhold_safely
from anyhook.engine.unmatched_tools import ProgramTool, UnmatchedTools
from anyhook.engine.unrunnable import start_problems, unrunnable_hooks
from anyhook.errors import EngineClosedError, EventError, RequiredHooksError, UsageError
from anyhook.handlers.background import Background
from anyhook.handlers.context import SERVERS, HookContext
from anyhook.handlers.environment import Inheritance, Redaction
from anyhook.handlers.kinds import get_kind
from anyhook.handlers.services import Services
from anyhook.handlers.session_variables import EnvFiles, SessionVariables
from anyhook.model.decisions import NO_DECISION, Decision
from anyhook.model.events import Event, ToolEvent
from anyhook.model.record import replace
from anyhook.model.status import Status, trouble_of
from anyhook.processes.result import OUTPUT_LIMIT, descriptor_budget
from anyhook.settings.detect import agents_with_hooks, choose_agent, find_project
from anyhook.settings.hookset import load_hook_set
from anyhook.settings.sources import Location
from anyhook.trust.store import TrustStore

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Self, TypeVar

    from anyhook.agents.spec import AgentSpec, EventSpec, RuleSet
    from anyhook.engine.observers import Observer
    from anyhook.handlers.services import Ask, McpClient
    from anyhook.model.decisions import HandlerResult
    from anyhook.model.definitions import HandlerSpec, HookDefinition
    from anyhook.model.diagnostics import Diagnostic
    from anyhook.model.layers import Layer

    FunctionT = TypeVar("FunctionT", bound=Callable[..., Any])

MAX_PROCESSES = 64
"""Commands that run at once; fewer under a low limit of open files (`descriptor_budget`)."""
MAX_PLANS = 4096
"""Plans that are cached, one for each event and subject."""


class Engine:
    """The hooks of a project, and the decisions on its events.

    ```python
    async with Engine.load(".", agent="gemini") as engine:
        decision = await engine.dispatch(BeforeTool(tool_name="shell", tool_input={}))
    ```

    Create an engine with `Engine.load`. It works with asyncio and trio, and any number of
    dispatches may run at once. Between dispatches it holds no threads and no descriptors, except
    connections to workers, which are closed after a minute without events.

    Attributes:
        agent: The agent whose settings and commands these are.
        rules: The rule set of the agent.
        project_dir: Directory of the project.
        hooks: The hooks of the settings files.
        disabled: The hooks that `anyhook disable` removed from these files.
        messages: Delivers every problem to the host.
        required: Whether configured hooks must run, or the events whose hooks must, by canonical
            name.
        unmatched_tools: Finds the tools of the program that no hook applies to.
    """

    def __init__(
        self,
        location: Location,
        agent: AgentSpec,
        *,
        store: TrustStore | None,
        services: Services,
        rules: str = "documented",
        watch: bool = False,
        redact: Redaction | None = None,
        max_processes: int = MAX_PROCESSES,
        output_limit: int = OUTPUT_LIMIT,
        warm: bool = True,
        required: bool | frozenset[str] = False,
        detected: tuple[Diagnostic, ...] = (),
        on_message: Callable[[str], object] | None = None,
    ) -> None:
        self.messages = MessageChannel(on_message)
        self.required = required
        self._has_checked_required = required is False
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
        self._events_with_hooks: frozenset[str] | None = None
        self._is_left_out: Callable[[HandlerSpec], bool] | None = None
        self.unmatched_tools = UnmatchedTools(self)
        self._closed = False
        self._host_services = services
        self._observers: list[Observer] = []
        self._background = Background()
        self._session_variables = SessionVariables()
        self._session_id = f"{OWN_SESSIONS}{os.urandom(8).hex()}"
        self._env_files = EnvFiles() if agent.settings.env_file is not None else None
        self._is_warm = warm
        self.hooks = load_hook_set(agent, location)
        self._apply_settings()

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
        warm: bool = True,
        ask: Ask | None = None,
        mcp: McpClient | None = None,
        private_hosts: Iterable[str] = (),
        record: bool = False,
        observers: Iterable[Observer] = (),
    ) -> Self:
        """Read the settings of every layer for a project.

        Files that did not change since they were last read in this process are not parsed again.

        Args:
            project_dir: Directory of the project; by default, and for `"."`, the project of the
                current directory (see `anyhook.settings.detect.find_project`).
            agent: A name that `anyhook agents` lists; by default the only agent that has
                hooks in the project, else in the user's settings, else `gemini`, which is reported.
            rules: `documented`: what the agent's reference promises; `observed`: what the newest
                observed release does; `observed@VERSION`: what an older release does.
            require: Raise if hooks do not run, now and at each of their events: `True` for any
                configured hook, or the events (`{"before_tool"}`) that must have hooks, all of
                which run.
            on_message: Receives each problem of the settings, of trust and of every decision once,
                as a string; by default the logger `anyhook` receives them at level WARNING.
            trust_once: Run the project's hooks without asking the trust store.
            trust_store: Store of what the user trusts; by default the user's.
            watch: Check before every dispatch whether a settings file changed, and read it again.
            redact: Variables that commands do not inherit; by default as the settings say.
            home: Home directory; by default the user's.
            environ: Environment of the host, which commands inherit; by default this process's.
            max_processes: Commands that run at once; fewer if the limit of open files is low.
            output_limit: Bytes of each output stream of a command that are kept.
            warm: Send the events of a command that runs a hook file through a worker
                (`anyhook run HOOK.py`) to the worker, without starting the command. The result is
                the same. See `register_file` for hook files in this process.
            ask: Sends the questions of `prompt` hooks to a model.
            mcp: Calls the tools of `mcp_tool` hooks, like `anyhook.handlers.mcp_client.SdkClient`.
            private_hosts: Hosts in private networks that `http` hooks may send requests to.
            record: Record every event and its decision in the user's history, without secrets
                (`anyhook history`).
            observers: See every event and its decision; see `add_observer`.

        Returns:
            An engine. Problems of the settings are in `diagnostics` and have been reported; they
            raise only if hooks are required.

        Raises:
            UnknownNameError: If the agent, the rule set or the event does not exist.
            UsageError: If the directory does not exist, if several agents have hooks and `agent` is
                not given, or if an argument has a wrong type.
            RequiredHooksError: If hooks that are required do not run, or never can: their script
                does not exist, their matcher matches nothing, or `ask` or `mcp` is missing.
        """
        _check_options(require, on_message, trust_once=trust_once, warm=warm)
        if project_dir is None or os.fspath(project_dir) in (".", ""):
            project = find_project(".", home)
        else:
            project = Path(project_dir)
        if not os.path.isdir(project):  # noqa: PTH112 - `Path.is_dir` raises for a null byte
            raise UsageError(f"no directory {str(project)!r}; pass the one of the project")
        choice = choose_agent(agents_with_hooks(project, home=home, environ=environ), agent)
        spec = get_agent(choice.agent)
        services = Services(ask=ask, mcp=mcp, private_hosts=frozenset(private_hosts))
        engine = cls(
            Location.of(project, spec, home=home, environ=environ),
            spec,
            rules=rules,
            store=None if trust_once else (trust_store or TrustStore()),
            watch=watch,
            redact=redact,
            max_processes=max_processes,
            output_limit=output_limit,
            warm=warm,
            services=services,
            required=required_events(require, spec),
            detected=choice.diagnostics,
            on_message=on_message,
        )
        if record:
            from anyhook.engine.recorder import Recorder

            variables = {**engine.environ, **engine.guard.variables()}
            engine.add_observer(Recorder(engine.project_dir, variables))
        for observer in observers:
            engine.add_observer(observer)
        if not engine._has_checked_required:
            engine._check_required()
        return engine

    def _requires(self, event: str) -> bool:
        return self.required is True or (self.required is not False and event in self.required)

    def _check_required(self) -> None:
        """Check that the required hooks run.

        Raises:
            RequiredHooksError: If one does not, or never can.
        """
        state = HookState(
            required=self.required,
            hooks=self.hooks,
            rules=self.rules,
            disabled=self.disabled,
            diagnostics=self.diagnostics,
            location=self._location,
            guard=self.guard,
            services=self._host_services,
            runs=self.runs,
            shadow_place=partial(shadow_place, self),
        )
        check_required(state, unrunnable_hooks(state))
        self._has_checked_required = True

    # -- closing and reloading

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_error: object) -> None:
        self.close()

    def close(self) -> None:
        """Reject further dispatches, and kill the commands that run in the background.

        Dispatches that are running are completed.
        """
        if not self._closed:
            report_closed(self._observers, self.agent)
        self._closed = True
        self._background.close()
        if self._env_files is not None:
            self._env_files.close()

    @property
    def background(self) -> Background:
        """The commands that run in the background (`async` hooks of Claude Code)."""
        return self._background

    def session_script(self, session_id: str) -> str:
        """Return the shell script to run before each shell command of a session.

        It is the text that hooks wrote to the file which their agent names for that purpose (in
        Claude Code `CLAUDE_ENV_FILE`), mostly `export` lines. It does not affect hooks.

        Args:
            session_id: Identifier of the session, as in its events.

        Returns:
            The script; empty if no hook has written one, and after `close`.
        """
        if self._env_files is None:
            return ""
        return self._env_files.script(session_id)

    def reload(self) -> bool:
        """Read the settings again, and return whether they changed.

        Of a file that is empty, half-written or broken, the last valid content stays in force; a
        file that was deleted has no hooks.
        """
        before = self.hooks
        self.hooks = load_hook_set(self.agent, self._location, before)
        files_changed = self.hooks.files != before.files
        if not files_changed and self.hooks.diagnostics == before.diagnostics:
            return False
        self._apply_settings()
        self._has_checked_required = self.required is False
        return True

    def _apply_settings(self) -> None:
        """Set everything that depends on the settings, and report their problems."""
        self.disabled = find_disabled(self.agent, self.hooks)
        agent, environ, layers = self.agent, self._location.environ, self.agent.settings.layer_order
        redactions: dict[Layer, Redaction] = {}
        for layer in layers:
            redaction = self._redact or Redaction()
            if self._redact is None and agent.settings.redaction is not None:
                settings = self.hooks.redaction(layer)
                redaction = Redaction.from_settings(settings, environ, agent.settings.redaction)
            redactions[layer] = redaction
        self._inherits = Inheritance(
            environ, redactions, agent.settings.redaction, agent.settings.stripped_prefixes
        )
        self._services = replace(
            self._host_services,
            url_patterns={layer: self.hooks.url_patterns(layer) for layer in layers},
            private_hosts=self._host_services.private_hosts | self.hooks.named_hosts(),
            header_variables={layer: self.hooks.header_variables(layer) for layer in layers},
            background=self._background,
            is_warm=self._is_warm,
            env_files=self._env_files,
        )
        self._guard = self._make_guard()
        # Commands that run in the background ask in other threads.
        self._shared_guard = SharedGuard(self._make_guard())
        self._forget_plans()
        self.report_problems(self.messages)

    def _make_guard(self) -> TrustGuard:
        definitions = tuple(self.hooks.definitions)
        return TrustGuard(self.agent, self._location.project, self._store, definitions)

    def _forget_plans(self) -> None:
        self._plans.clear()
        self._events_with_hooks = None
        self.unmatched_tools.forget()

    # -- hooks and their problems

    @property
    def definitions(self) -> tuple[HookDefinition, ...]:
        """All definitions; those that were registered at run time come first."""
        return (*self._runtime, *self.hooks.definitions)

    def listens(self, event: str | None = None) -> bool:
        """Return whether there are hooks, without any I/O.

        Args:
            event: Canonical name of an event; `None` for any.

        Returns:
            Whether hooks are configured on the event. If settings are watched it is always true,
            because a hook may be added before the next dispatch; if the engine has observers, too,
            because they see every event; and if required hooks may be missing since a reload.
        """
        if self._watch or self._observers or not self._has_checked_required:
            return True
        if self._events_with_hooks is None:
            self._events_with_hooks = frozenset(hook.event for hook in self.definitions)
        if event is None:
            return bool(self._events_with_hooks)
        return event in self._events_with_hooks

    @property
    def diagnostics(self) -> tuple[Diagnostic, ...]:
        """The problems of the settings, and the configured hooks that do not run."""
        return (*self._settings_diagnostics(), *self._guard.diagnostics())

    def switched_off(self) -> tuple[Diagnostic, ...]:
        """Report the hooks that the settings switch off, disable, or make shadows."""
        return (
            *report_switched_off(self.hooks),
            *find_shadows(self.hooks),
            *self.disabled.diagnostics(),
        )

    def report_problems(self, channel: MessageChannel) -> None:
        """Report the problems of the settings, and the hooks that do not run.

        Args:
            channel: Receives the messages. One with the engine's own receiver gets none, because
                that receiver got them when the settings were read.
        """
        if channel is self.messages or channel.on_message != self.messages.on_message:
            channel.report((*self._settings_diagnostics(), *self._guard.summary()))
        # The summary covers all untrusted hooks; a later event must not report each of them again.
        channel.skip(self._guard.diagnostics())

    def _settings_diagnostics(self) -> tuple[Diagnostic, ...]:
        dead_matchers: list[Diagnostic] = []
        for definition in self.hooks.definitions:
            form = self.agent.form(definition.form)
            spec = form.by_canonical[definition.event]
            # A host may have tools of any name: the first call of one shows if a matcher is dead.
            if spec.subject == "tool_name":
                continue
            problem = check_never_matches(form, spec, definition, self.guard.may_match)
            if problem is not None:
                dead_matchers.append(problem)
        return (
            *self._detected,
            *host_diagnostics(self._location.environ),
            *self.hooks.diagnostics,
            *self.switched_off(),
            *dead_matchers,
        )

    def runs(self, handler: HandlerSpec) -> bool:
        """Return whether a handler of the settings is switched on and trusted."""
        is_on = self.hooks.switched_off(handler, self.rules) is None
        return is_on and self._guard.withhold(handler) is None

    @property
    def guard(self) -> TrustGuard:
        """The guard, which decides which hooks of the project may run."""
        return self._guard

    @property
    def environ(self) -> Mapping[str, str]:
        """The environment that commands inherit, before redaction."""
        return self._location.environ

    def plan(self, event: Event, rules: RuleSet | None = None) -> Plan:
        """Return the handlers that an event would run, in order.

        Args:
            event: The event.
            rules: Another rule set of the agent than the engine's own.
        """
        rules = rules or self.rules
        spec = rules.by_canonical.get(event.name)
        if spec is None:
            return EMPTY_PLAN
        subject = spec.subject_of(event)
        if rules is not self.rules:
            return self.plan_for(rules, event.name, subject)
        key = (event.name, subject)
        plan = self._plans.get(key)
        if plan is None:
            plan = self.plan_for(rules, event.name, subject)
            if plan.is_final:  # else it changes when the user trusts the project
                if len(self._plans) >= MAX_PLANS:
                    self._plans.clear()
                self._plans[key] = plan
        return plan

    def plan_for(self, rules: RuleSet, event: str, subject: str | None) -> Plan:
        """Return the handlers of an event whose subject is given, under a rule set of the agent."""
        is_left_out = self._is_left_out

        def is_on(handler: HandlerSpec) -> bool:
            if is_left_out is not None and is_left_out(handler):
                return False
            return self.hooks.switched_off(handler, rules) is None

        return make_plan(
            self.agent,
            rules,
            self.definitions,
            event,
            subject,
            is_on=is_on,
            may_match=self._guard.may_match,
        )

    def leave_out(self, is_left_out: Callable[[HandlerSpec], bool]) -> None:
        """Never run the handlers for which a function returns true.

        A server uses this to leave out hooks that would call the server.
        """
        self._is_left_out = is_left_out
        self._forget_plans()

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
        """Register a function as a hook, which runs before the hooks of the settings.

        Args:
            event: Canonical name (`before_tool`) or the agent's (`BeforeTool`).
            function: Takes a copy of the event and returns `None` for no opinion, an `Answer`, or a
                reply in the agent's JSON form. Plain or async.
            matcher: Pattern on the event's subject.
            name: Display name, by which settings can switch it off; by default the function's.
            timeout: Seconds; by default the agent's default for commands on the event.
            threaded: Run a plain function in a thread. Otherwise it runs on the event loop, which
                is faster, and its timeout cannot end it.

        Returns:
            The handler, for `unregister`.

        Raises:
            UnknownNameError: If the agent has no such event.
            UsageError: If the function cannot be called, the matcher is not a valid pattern, or the
                timeout is not a number of seconds.
        """
        spec = self.agent.event(event)
        definition = define_function(
            self.agent,
            spec,
            function,
            matcher=matcher,
            name=name,
            timeout=timeout,
            threaded=threaded,
        )
        # A host may have tools of any name: the first call of one shows whether a matcher is dead.
        if spec.subject != "tool_name":
            problem = check_matcher(self.agent, spec, definition, lambda _: True)
            if problem is not None:
                self.messages.report([problem])
        self.define(definition)
        return definition.handlers[0]

    def register_file(self, path: str | os.PathLike[str]) -> tuple[HandlerSpec, ...]:
        """Let the functions of a hook file decide events, in this process.

        The file is imported once, with this process's variables, directory and modules. It is not
        asked for trust: the host chose it.

        Args:
            path: A file written with `anyhook.authoring`.

        Returns:
            A handler for each function whose event the agent has, for `unregister`. A message
            names the other events: functions for them do not run.

        Raises:
            UsageError: If it is not a hook file, or cannot be imported.
        """
        from anyhook.authoring.load import load_hooks as load_hook_file
        from anyhook.authoring.register import register
        from anyhook.engine.file_observer import FileObserver

        observer = FileObserver(path)
        with observer.observe():
            hooks = load_hook_file(path)
        for event in dict.fromkeys(function.event for function in hooks.functions):
            if event not in self.agent.by_canonical:
                title = self.agent.title
                self.messages.send(
                    f"{path}: {title} has no {event}, so functions for it do not run"
                )
        return register(hooks, self, observer.observe)

    def define(self, definition: HookDefinition) -> None:
        """Add a definition at run time; `Hooks.register` uses it."""
        self._runtime.append(definition)
        self._forget_plans()

    def on(
        self, event: str, *, matcher: str | None = None, **options: Any
    ) -> Callable[[FunctionT], FunctionT]:
        """Register the decorated function as a hook; takes the options of `register`.

        Raises:
            UnknownNameError: If the agent has no such event.
            UsageError: If the matcher is not a valid pattern, or if the decorator is used without
                one, like `@engine.on` in place of `@engine.on("before_tool")`.
        """
        if not isinstance(event, str):
            raise UsageError(f'name the event, like @engine.on("before_tool"), not {event!r}')
        check_host_matcher(self.agent.event(event), matcher)

        def decorate(function: FunctionT) -> FunctionT:
            self.register(event, function, matcher=matcher, **options)
            return function

        return decorate

    def unregister(self, handler: HandlerSpec) -> None:
        """Remove a handler that `register` returned."""
        definitions: list[HookDefinition] = []
        for definition in self._runtime:
            # The same function may be registered again, with another matcher.
            others = tuple(each for each in definition.handlers if each is not handler)
            if others:
                definitions.append(definition.replace(handlers=others))
        self._runtime = definitions
        self._forget_plans()

    # -- observers

    def add_observer(self, observer: Observer) -> None:
        """Show an observer every event and its decision from now on, like a recorder or a tracer.

        Args:
            observer: Called on the event loop at the start and at the end of each dispatch.
        """
        self._observers.append(observer)

    def remove_observer(self, observer: Observer) -> None:
        """Remove an observer; dispatches that are running are still shown to it.

        Raises:
            ValueError: If it was not added.
        """
        self._observers.remove(observer)

    # -- events

    async def dispatch(self, event: Event) -> Decision:
        """Run the handlers that match an event, and combine their answers.

        A handler that fails, runs into its timeout or prints something invalid has no opinion,
        which is reported in the decision's diagnostics. When the call is cancelled, its commands
        are killed first.

        Args:
            event: The event; not modified.

        Returns:
            The decision; `NO_DECISION` if nothing matches.

        Raises:
            EngineClosedError: If the engine was closed.
            EventError: If the argument is not an event, or has a text in place of arguments.
            RequiredHooksError: If hooks are required on the event, and one does not run any more;
                or if a tool escapes the hook that guards what it does, because its name is not one
                that the agent has.
        """
        decision = await self.decide(event)
        if isinstance(event, ToolEvent):
            # A payload may hold any value there; every hook applies to such a call.
            name: object = event.tool_name
            if isinstance(name, str) and not self.unmatched_tools.is_checked(name, name):
                arguments: object = event.tool_input
                canonical = self.agent.vocabulary.tool(name, event.mcp_context)
                names = tuple(arguments) if isinstance(arguments, Mapping) else ()
                tool = ProgramTool(name, name, canonical, names)
                self.unmatched_tools.check(tool, self.messages)
        if decision.diagnostics:
            self.messages.report(decision.diagnostics)
        return decision

    async def decide(self, event: Event) -> Decision:
        """Decide an event like `dispatch`, but leave it to the caller to report its problems.

        Raises:
            EngineClosedError: If the engine was closed.
            EventError: If the argument is not an event, or has a text in place of arguments.
            RequiredHooksError: If hooks are required on the event, and one does not run any more.
        """
        if self._closed:
            raise EngineClosedError("the engine is closed; load a new one")
        if not isinstance(event, Event):
            raise EventError(
                f"{type(event).__name__} is not an event; build one, like BeforeTool(tool_name=…), "
                "or decode a payload with engine.decode(payload)"
            )
        arguments: object = getattr(event, "tool_input", None)
        if isinstance(arguments, str) and event.raw is None:
            # Model APIs return arguments as JSON text, in which no guard finds anything.
            raise EventError("tool_input is a dict of arguments; read JSON text with json.loads")
        problems: tuple[Diagnostic, ...] = ()
        if self._watch:
            before = self.hooks.diagnostics
            if self.hooks.is_stale() and self.reload():
                problems = tuple(each for each in self.hooks.diagnostics if each not in before)
        if not self._has_checked_required and self._requires(event.name):
            self._check_required()
        plan = self.plan(event)
        observers = self._observers
        if observers and not plan.groups:
            observers, failures = observers_of_unmatched(observers, self.agent, event)
            problems = (*problems, *failures)
        if not observers:
            if not plan.groups and not problems:
                return NO_DECISION
            return await self._run(event, plan, problems, {})
        event = self.complete(event)
        observations = Observations(observers, self.agent, event)
        decision: Decision | None = None
        try:
            decision = await self._run(event, plan, problems, observations.variables)
        finally:
            observations.finish(decision)
        if not observations.problems:
            return decision
        return replace(decision, diagnostics=(*observations.problems, *decision.diagnostics))

    async def _run(
        self,
        event: Event,
        plan: Plan,
        problems: tuple[Diagnostic, ...],
        variables: Mapping[str, str],
    ) -> Decision:
        if not plan.groups:
            return Decision(diagnostics=problems) if problems else NO_DECISION
        event = self.complete(event)
        spec = self.rules.by_canonical[event.name]
        context = self._make_context(spec, event, plan, variables)
        results = await run_plan(plan, context)
        if self._requires(event.name):
            # A required hook may lose its trust or its script at any time.
            reasons: list[Diagnostic] = []
            for result in itertools.chain.from_iterable(results):
                if result.status is Status.WITHHELD:
                    reasons += result.diagnostics
                elif trouble_of(result.status, result.exit_code, result.signal):
                    handler = result.handler
                    reasons += start_problems(self.agent, handler, self._location, self._guard)
            if reasons:
                raise RequiredHooksError(reasons)
        decision = combine(self.rules, spec, event, results)
        # What hooks set for the later hooks of the session is kept until it ends.
        name = self.agent.session_variables
        if name in decision.extra:
            self._session_variables.add(str(event.session_id or ""), decision.extra[name])
        if event.name == "session_end":
            self._session_variables.forget(str(event.session_id or ""))
        problems = (*problems, *plan.diagnostics)
        if not problems:
            return decision
        return replace(decision, diagnostics=(*problems, *decision.diagnostics))

    def complete(self, event: Event) -> Event:
        """Return an event with its empty session, time, directory and vocabulary set.

        Events that a program builds without a session share one of the engine.

        `dispatch` completes events, too.
        """
        is_complete = event.session_id and event.timestamp and event.cwd and event.vocabulary
        if event.raw is not None or is_complete:
            return event
        now = datetime.datetime.now(datetime.UTC)
        time_text = now.isoformat(timespec="milliseconds").removesuffix("+00:00") + "Z"
        return event.replace(
            session_id=event.session_id or self._session_id,
            timestamp=event.timestamp or time_text,
            cwd=event.cwd or str(self.project_dir),
            vocabulary=event.vocabulary or self.agent.vocabulary,
        )

    def _make_context(
        self, spec: EventSpec, event: Event, plan: Plan, variables: Mapping[str, str]
    ) -> HookContext:
        for group in plan.groups:
            for handler in group:
                get_kind(handler.kind)  # import it before the clock of the dispatch starts
        # The guards are bound here, so that a reload does not change them during a dispatch.
        guard, shared_guard = self._guard, self._shared_guard
        needs_trust = self.agent.settings.needs_trust

        def withhold(handler: HandlerSpec) -> HandlerResult | None:
            if handler.layer not in needs_trust:
                return None
            return withhold_safely(guard.withhold, context.directory_of(handler), handler)

        def withhold_in_background(handler: HandlerSpec) -> HandlerResult | None:
            return withhold_safely(shared_guard.withhold, context.directory_of(handler), handler)

        session_variables = self._session_variables.of(str(event.session_id or ""))
        context = HookContext(
            agent=self.agent,
            rules=self.rules,
            spec=spec,
            event=event,
            project_dir=self.project_dir,
            home=self._location.home,
            inherits=self._inherits,
            limiter=self._limiter_of_loop,
            output_limit=self._output_limit,
            epoch=time.perf_counter(),
            services=self._services,
            servers=SERVERS.get(),
            session_variables={**session_variables, **variables},
            withhold=withhold,
            withhold_in_background=withhold_in_background,
        )
        return context

    def _limiter_of_loop(self) -> anyio.CapacityLimiter:
        """Return the limiter of the running event loop; an engine may be used by several."""
        try:
            return self._limiter.get()
        except LookupError:
            limiter = anyio.CapacityLimiter(descriptor_budget(self._max_processes))
            self._limiter.set(limiter)
            return limiter

    def decode(self, payload: Mapping[str, Any]) -> tuple[Event, tuple[Diagnostic, ...]]:
        """Decode a payload of the agent.

        Returns:
            The event, and the problems of the payload.
        """
        return decode_any_form(self.agent, payload)

    def encode(self, event: Event) -> dict[str, Any]:
        """Encode an event as a payload of the agent."""
        return encode_event(self.agent, event)

    def reply(self, event: Event, decision: Decision) -> dict[str, Any]:
        """Encode a decision as one reply, as a single hook of the agent would print it.

        What the agent cannot do is replaced by the nearest that it can, and reported: a stop by a
        denial.

        Raises:
            EventError: If the agent has no such event.
        """
        spec = self.agent.by_canonical.get(event.name)
        if spec is None:
            raise EventError(f"{self.agent.title} has no event {event.name!r}")
        answer, notes = fit_decision(self.agent, event, decision)
        for note in notes:
            self.messages.send(f"{spec.wire}: {note}")
        return encode_answer(self.agent, spec, answer)


def _check_options(
    require: object, on_message: object, *, trust_once: object, warm: object
) -> None:
    """Check the options whose wrong type would disable a guard, or run hooks without trust."""
    if isinstance(require, str) or not isinstance(require, bool | Collection):
        raise UsageError(
            'require is True, False or a set of events, like require={"before_tool"}, '
            f"not {require!r}"
        )
    if not isinstance(trust_once, bool):
        raise UsageError(f"trust_once is True or False, not {trust_once!r}")
    if not isinstance(warm, bool):
        raise UsageError(f"warm is True or False, not {warm!r}; see also Engine.register_file")
    if on_message is not None and not callable(on_message):
        raise UsageError(f"on_message is a function that takes a text, not {on_message!r}")
