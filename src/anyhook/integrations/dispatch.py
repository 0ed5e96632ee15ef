"""Fires the events of a session, and applies what is the same for every event.

That is: stops, messages for the user, questions to the user, denials without an effect, and the
transcript. `Session` decides what a decision means for each kind of event.
"""

from __future__ import annotations

import inspect
import logging
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from anyhook.agents.spec import Denial
from anyhook.errors import StoppedError, UsageError
from anyhook.integrations.results import Question
from anyhook.model.answers import Audience, Outcome
from anyhook.model.decisions import NO_DECISION
from anyhook.model.diagnostics import Severity, diagnose
from anyhook.model.events import Event, Notification, event_class
from anyhook.model.json import dump_json, repair

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator, Mapping

    from anyhook.agents.spec import EventSpec
    from anyhook.engine.engine import Engine
    from anyhook.engine.messages import MessageChannel
    from anyhook.model.decisions import Decision
    from anyhook.model.diagnostics import Diagnostic
    from anyhook.model.events import BeforeTool


log = logging.getLogger("anyhook.integrations")

EventT = TypeVar("EventT", bound=Event)

DENYING_OUTCOMES = frozenset({Outcome.ASK, Outcome.DEFER, Outcome.DENY})
"""Outcomes that keep an event from happening, unless the user agrees."""


class EventDispatcher:
    """Fires the events of one session. Without `ask`, each question counts as a denial."""

    def __init__(
        self,
        engine: Engine,
        *,
        session_id: str,
        cwd: str,
        ask: Callable[[Question], bool | Awaitable[bool]] | None,
        messages: MessageChannel,
        on_decision: Callable[[Event, Decision], object] | None,
        transcript: str | Path | None,
    ) -> None:
        self.engine = engine
        self.session_id = session_id
        self.cwd = cwd
        self.messages = messages
        self.stopped: str | None = None
        """Why a hook ended the agent; `None` if none did."""
        self._ask = ask
        self._on_decision = on_decision
        self._transcript = Path(transcript) if transcript else None

    def common_fields(self) -> dict[str, Any]:
        """Return the fields that every event has."""
        return {
            "session_id": self.session_id,
            "transcript_path": str(self._transcript or ""),
            "cwd": self.cwd,
        }

    def new_event(self, kind: type[EventT], **fields: Any) -> EventT:
        """Return an event of this session."""
        return kind(**self.common_fields(), **fields)

    def spec(self, event: str) -> EventSpec | None:
        """Return what the agent's reference says of an event; `None` if the agent has none."""
        return self.engine.rules.by_canonical.get(event)

    def listens(self, event: str) -> bool:
        """Return whether a hook listens to an event, or the host gets every decision."""
        return self._on_decision is not None or self.engine.listens(event)

    def write(self, kind: str, **fields: Any) -> None:
        """Append a line to the transcript; a file that cannot be written ends the transcript."""
        if self._transcript is None:
            return
        record = {"type": kind, "session_id": self.session_id, **fields}
        line = dump_json(repair(record)) + b"\n"
        try:
            self._transcript.parent.mkdir(parents=True, exist_ok=True)
            with self._transcript.open("ab") as file:
                file.write(line)
        except OSError as error:
            log.warning("the transcript cannot be written: %s", error)
            self._transcript = None

    async def fire(self, event: Event, *, ends_session: bool = False) -> Decision:
        """Let hooks decide an event; a stop has no effect if the session ends with the event.

        Raises:
            StoppedError: If a hook ends the agent, or has ended it before.
        """
        if self.stopped is not None and not ends_session:
            raise StoppedError(self.stopped)
        if not self.listens(event.name):
            return NO_DECISION
        event = self.engine.complete(event)  # the host gets the event that the hooks saw
        decision = await self.engine.decide(event)
        self.messages.report(decision.diagnostics)
        if self._on_decision is not None:
            self._on_decision(event, decision)
        hooks: list[dict[str, Any]] = []
        for result in decision.results:
            answer = result.answer
            if answer.suppress_output:
                continue
            hook = {
                "hook": result.handler.label,
                "status": str(result.status),
                "outcome": "stop" if answer.stop else str(answer.outcome),
                "reason": answer.stop_reason or answer.reason or result.error,
            }
            hooks.append(hook)
        if hooks:
            self.write("hooks", event=event.name, hooks=hooks)
        for text in decision.system_messages:
            self.messages.send(text)
        if decision.stop:
            reason = decision.reason or "a hook ended the agent"
            if not ends_session:
                self.stopped = reason
                self.write("stopped", reason=reason)
                raise StoppedError(reason)
            self.messages.send(reason)
        return decision

    async def announce(self, event: Event, *, ends_session: bool = False) -> Decision:
        """Fire an event that cannot be denied; a denial is reported with its reason."""
        decision = await self.fire(event, ends_session=ends_session)
        if decision.outcome in DENYING_OUTCOMES and not decision.stop:
            self.report_denial(event, decision)
        return decision

    async def notify(self, kind: str, message: str, details: dict[str, Any] | None) -> Decision:
        """Fire a notification, with the agent's own word for its kind."""
        spec = self.spec("notification")
        for word, canonical in (spec.subject_aliases if spec is not None else {}).items():
            if canonical == kind:
                kind = word
                break
        event = self.new_event(
            Notification, notification_type=kind, message=message, details=details or {}
        )
        return await self.announce(event)

    async def request_permission(
        self, event: BeforeTool, decision: Decision, question: Question
    ) -> str | None:
        """Ask hooks that may answer for the user, then the user; return the reason of a no."""
        if self.spec("permission_request") is not None:
            request = self.new_event(
                event_class("permission_request"),
                tool_name=event.tool_name,
                tool_input=event.tool_input,
                mcp_context=event.mcp_context,
            )
            permission = await self.fire(request)
            if permission.outcome is Outcome.ALLOW:
                return None
            # A hook that asks leaves the question to the user.
            if permission.outcome is not Outcome.ASK:
                denied = await self.denial_reason(request, permission)
                if denied is not None:
                    return denied
        notification = await self.notify(
            "permission_prompt",
            f"Tool {question.tool} requires confirmation",
            {"type": "info", "title": question.tool, "prompt": question.reason},
        )
        if notification.approve:
            return None
        return await self.ask_user(event, decision, question)

    async def denial_reason(
        self,
        event: Event,
        decision: Decision,
        *,
        tool: str | None = None,
        arguments: Mapping[str, Any] | None = None,
        text: str = "",
    ) -> str | None:
        """Return why an event must not happen, or its result not be used; `None` if it may.

        The user is asked if a hook wants that; a no is a denial.
        """
        if decision.outcome is Outcome.DENY:
            return decision.reason or "denied by a hook"
        if decision.outcome is Outcome.DEFER:
            return decision.reason or "a hook wants this decided later"
        if decision.outcome is not Outcome.ASK:
            return None
        question = Question(tool, dict(arguments or {}), decision.reason or "", event.name, text)
        return await self.ask_user(event, decision, question)

    async def ask_user(self, event: Event, decision: Decision, question: Question) -> str | None:
        """Ask the user. Returns the reason of a no; `None` for a yes.

        Raises:
            UsageError: If the function of the host returns something else than a yes or a no.
        """
        reason = question.reason or "a hook wants this confirmed"
        if self._ask is not None:
            agrees: object = self._ask(question)
            if inspect.isawaitable(agrees):
                agrees = await agrees
            # A text like "no" would count as a yes.
            if not isinstance(agrees, bool):
                raise UsageError(
                    f"the function ask= must return True or False, not {agrees!r}; "
                    f"{question.tool or event.name} was not allowed"
                )
            return None if agrees else f"the user said no: {reason}"
        spec = self.spec(event.name)
        reason = f"{reason} ({CANNOT_ASK})"
        if spec is None:
            return reason
        self.messages.report(questions_without_user(spec, decision))
        # A reason for the agent alone would not reach the user; the host shows the other ones.
        if spec.reason_audience is Audience.AGENT:
            is_call = event.name == "before_tool"
            subject = f"{question.tool} was not run" if is_call else f"{spec.wire} was denied"
            self.messages.send(f"{subject}: {reason}")
        return reason

    def report_denial(self, event: Event, decision: Decision) -> None:
        """Report a denial that has no effect on its event, with its reason."""
        spec = self.spec(event.name)
        if spec is not None:
            self.messages.report(denials_without_effect(spec, decision))


# -- problems that are reported because a decision cannot be carried out

CANNOT_ASK = "the user cannot be asked"
"""Appended to the reason of a question for which the host has no `ask` function."""


EFFECTS = {
    Denial.NOTHING: "which cannot be denied",
    Denial.EMPTIES: "so the model is offered no tool",
}
"""What a denial does on events that have no action to prevent."""


def denials_without_effect(spec: EventSpec, decision: Decision) -> Iterator[Diagnostic]:
    """Yield the denials of an event that has no action to prevent, with their reasons."""
    effect = EFFECTS.get(spec.denial)
    if effect is None:
        return
    for blame in decision.blame.get("reason") or decision.blame.get("outcome", ()):
        label = blame.handler.label
        text = f"{label!r} denied {spec.wire}, {effect}; its reason: {blame.value}"
        yield diagnose(
            "output-no-effect", text, blame.handler.place, handler=label, severity=Severity.WARNING
        )


def questions_without_user(spec: EventSpec, decision: Decision) -> Iterator[Diagnostic]:
    """Yield the hooks whose question cannot be put to the user."""
    for blame in decision.blame.get("outcome", ()):
        label = blame.handler.label
        text = (
            f"{label!r} on {spec.wire} asks the user, who cannot be asked here; each question "
            "counts as a denial"
        )
        yield diagnose("service-missing", text, blame.handler.place, handler=label)
