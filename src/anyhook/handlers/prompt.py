"""Handlers that ask a model: a condition or a rule, and the event that it is about.

Claude Code, hooks reference, "Prompt-based hooks" and "Agent-based hooks". The model is the
host's: `Engine.load(ask=…)`. What a negative verdict does is the event's `refusal`.
"""

from __future__ import annotations

import inspect
import json
import re
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from anyhook.agents.spec import Denial
from anyhook.handlers.function import is_async
from anyhook.handlers.results import call_service, failed_result, payload_notes
from anyhook.handlers.services import PromptQuestion
from anyhook.handlers.threads import call_in_thread
from anyhook.model.answers import NO_OPINION, Answer
from anyhook.model.decisions import HandlerResult, Status
from anyhook.model.record import replace

if TYPE_CHECKING:
    from anyhook.handlers.context import HookContext
    from anyhook.model.definitions import HandlerSpec

NO_ASK = "there is no model to ask; pass ask=… to Engine.load"
ANSWER_FORM = '{"ok": true} or {"ok": false, "reason": "…"}'
"""The JSON that a model has to answer."""
NO_REASON = "the model said no, and gave no reason"
_DECODER = json.JSONDecoder()
_ARGUMENTS = re.compile(r"(\\?)\$ARGUMENTS\b")
_BRACE = re.compile(r"\{(?=\s*+[\"}])")
"""The possible begin of an object; a model that thinks aloud writes others, too."""
MAX_REPLY_LENGTH = 100_000
"""Characters of a reply that is read. To search one for objects takes quadratic time at worst: a
second for this many."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """The answer of a model."""

    ok: bool
    reason: str = NO_REASON
    """Why the condition does not hold."""
    impossible: bool = False
    """Whether it can never hold, so that further attempts are useless."""


async def run_prompt(context: HookContext, handler: HandlerSpec) -> HandlerResult:
    """Ask the host's model, and make an answer of its verdict.

    A model that is missing, too slow or answers in another form has no opinion.
    """
    ask = context.services.ask
    if ask is None:
        return failed_result(context, handler, NO_ASK, code="service-missing")
    started = time.perf_counter()
    options = handler.options
    text = fill_prompt(str(options["prompt"]), context.payload.decode().rstrip("\n"))
    is_agentic = bool(options.get("agentic"))
    question = PromptQuestion(text, options.get("model"), is_agentic)

    async def ask_model() -> Any:
        returned = ask(question) if is_async(ask) else await call_in_thread(ask, question)
        return await returned if inspect.isawaitable(returned) else returned

    reply = await call_service(context, handler, "the model", ask_model, str)
    if isinstance(reply, HandlerResult):
        return reply
    notes = payload_notes(context, handler)
    verdict = parse_verdict(reply)
    if verdict is None:
        error = f"the model did not answer {ANSWER_FORM}"
        result = failed_result(
            context, handler, error, status=Status.WARNED, started=started, notes=notes
        )
        return replace(result, stdout=reply)
    answer = NO_OPINION
    # A plain prompt hook lets an agent stop whose goal cannot be reached; an agentic one does not.
    gives_up = verdict.impossible and context.spec.denial is Denial.CONTINUES and not is_agentic
    if not verdict.ok and not gives_up:
        refusal = context.spec.prompt_refusals[bool(options.get("continue_on_block"))]
        if refusal:
            answer = Answer(**refusal, reason=verdict.reason)
    return HandlerResult(
        handler,
        Status.RAN,
        answer,
        started=started - context.epoch,
        duration=time.perf_counter() - started,
        stdout=reply,
        diagnostics=notes,
    )


def fill_prompt(prompt: str, payload: str) -> str:
    r"""Write the whole question: `$ARGUMENTS` is the event; `\$ARGUMENTS` is literal.

    In a prompt without a place for the event, the event comes after it. Nothing is replaced in the
    payload, the event as JSON.
    """
    has_place = False

    def replace_arguments(match: re.Match[str]) -> str:
        nonlocal has_place
        if match[1]:
            return match[0][1:]
        has_place = True
        return payload

    text = _ARGUMENTS.sub(replace_arguments, prompt)
    return text if has_place else f"{text}\n\n{payload}"


# -- the verdict in a model's reply


def parse_verdict(reply: str) -> Verdict | None:
    """Find the verdict in a model's reply, with any text around it; `None` if there is none.

    Of several verdicts a negative one counts: a model may quote a verdict that the event asks for.
    """
    if len(reply) > MAX_REPLY_LENGTH:
        return None
    verdict = None
    position = 0
    while (brace := _BRACE.search(reply, position)) is not None:
        try:
            value, position = _DECODER.raw_decode(reply, brace.start())
        except (ValueError, RecursionError):
            position = brace.start() + 1
            continue
        ok, reason = value.get("ok"), value.get("reason")
        if not isinstance(ok, bool):
            continue
        text = reason.strip() if isinstance(reason, str) else ""
        verdict = Verdict(ok, text or NO_REASON, value.get("impossible") is True)
        if not ok:
            break
    return verdict
