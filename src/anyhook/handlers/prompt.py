"""Handlers that are questions to a model: a condition or a rule, and the event that it is about.

Claude Code, hooks reference, "Prompt-based hooks" and "Agent-based hooks". The model is the
host's: `Engine.load(ask=…)`. What a no does is the event's `refusal`.
"""

from __future__ import annotations

import json
import re
import time
from collections import deque
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from anyhook.agents.spec import Denial
from anyhook.handlers.base import Question, failed
from anyhook.handlers.network import ask_service, payload_notes, report
from anyhook.model.answers import NO_OPINION, Answer
from anyhook.model.decisions import HandlerResult, Status

if TYPE_CHECKING:
    from anyhook.handlers.base import HookContext
    from anyhook.model.definitions import HandlerSpec

NO_ASK = "there is no model to ask; pass ask=… to Engine.load"
FORM = '{"ok": true} or {"ok": false, "reason": "…"}'
"""What a model has to answer."""
NO_REASON = "the model said no, and gave no reason"
_DECODER = json.JSONDecoder()
_PLACE = re.compile(r"(\\?)\$ARGUMENTS\b")
_BRACE = re.compile(r"\{(?=\s*+[\"}])")
"""What may begin an object; a model that thinks aloud writes others, too."""
_EFFORT = 64
"""How often a text is read at most, all in all: no text takes more than linear time."""
_WINDOW = 4096
"""Characters that are read of an object, unless it is longer."""
_LONGEST_TOKEN = 64
"""Characters; an error that is nearer to the end of a part may only come from the cut."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a model answered.

    Attributes:
        ok: Whether the condition holds.
        reason: Why not.
        impossible: Whether it can never hold, so that it is useless to go on trying.
    """

    ok: bool
    reason: str = NO_REASON
    impossible: bool = False


async def run_prompt(context: HookContext, handler: HandlerSpec) -> HandlerResult:
    """Put a question to the host's model, and make an answer of its verdict.

    A model that cannot be asked, is too slow or answers in another form has no opinion.
    """
    ask = context.services.ask
    if ask is None:
        return report("service-missing", context, handler, NO_ASK)
    started = time.perf_counter()
    options = handler.options
    text = fill(str(options["prompt"]), context.payload.decode().rstrip("\n"))
    question = Question(text, options.get("model"), bool(options.get("agentic")))
    said = await ask_service(context, handler, str, "the model", lambda: ask(question))
    if isinstance(said, HandlerResult):
        return said
    notes = payload_notes(context, handler)
    verdict = read_verdict(said)
    if verdict is None:
        why, status = f"the model did not answer {FORM}", Status.WARNED
        base = failed(context, handler, why, status=status, started=started, notes=notes)
        return replace(base, stdout=said)
    return HandlerResult(
        handler,
        Status.RAN,
        _answer(context, handler, verdict),
        started=started - context.epoch,
        duration=time.perf_counter() - started,
        stdout=said,
        diagnostics=notes,
    )


def fill(prompt: str, payload: str) -> str:
    r"""Write the whole question: `$ARGUMENTS` is the event; `\$ARGUMENTS` is just that.

    Args:
        prompt: The text of the settings. Without a place for the event, the event comes after it.
        payload: The event as JSON. Nothing is looked for in it.
    """
    found = False

    def value(match: re.Match[str]) -> str:
        nonlocal found
        if match[1]:
            return match[0][1:]
        found = True
        return payload

    text = _PLACE.sub(value, prompt)
    return text if found else f"{text}\n\n{payload}"


def read_verdict(said: str) -> Verdict | None:
    """Read a model's answer, with whatever it wrote around the object.

    Of several verdicts a no stands: a model may quote what the event tells it to say.

    Returns:
        The verdict; `None` if there is none.
    """
    found = [value for value in _objects(said) if isinstance(value.get("ok"), bool)]
    if not found:
        return None
    value = next((item for item in found if not item["ok"]), found[-1])
    reason = value.get("reason")
    known = reason.strip() if isinstance(reason, str) else ""
    return Verdict(value["ok"], known or NO_REASON, value.get("impossible") is True)


def _objects(text: str) -> list[dict[str, Any]]:
    found, at, effort = [], 0, _EFFORT * len(text)
    while effort > 0 and (brace := _BRACE.search(text, at)):
        start = brace.start()
        value, at = _object(text, start)
        if value is None:
            effort -= at - start
            at = start + 1
        else:
            found.append(value)
    return found if effort > 0 else found + _last_objects(text, at)


def _object(text: str, at: int) -> tuple[dict[str, Any] | None, int]:
    """Read an object; return it, if it is one, and up to where the text was read."""
    # An error counts the lines in front of it, so it had better not see the whole text.
    part = text[at : at + _WINDOW]
    try:
        value, end = _DECODER.raw_decode(part)
    except json.JSONDecodeError as error:
        is_open = error.msg.startswith("Unterminated")
        if at + len(part) < len(text) and (is_open or error.pos > len(part) - _LONGEST_TOKEN):
            return _long_object(text, at)
        return None, at + (len(part) if is_open else error.pos + 1)
    except (ValueError, RecursionError):
        return None, at + len(part)
    return value, at + end


def _long_object(text: str, at: int) -> tuple[dict[str, Any] | None, int]:
    try:
        value, end = _DECODER.raw_decode(text, at)
    except (ValueError, RecursionError):
        return None, at + len(text)
    return value, end


def _last_objects(text: str, at: int) -> list[dict[str, Any]]:
    """Read the last objects of a text that is not worth reading from its beginning."""
    found = []
    for start in deque((brace.start() for brace in _BRACE.finditer(text, at)), maxlen=_EFFORT):
        if start >= at:
            value, end = _object(text, start)
            if value is not None:
                found.append(value)
                at = end
    return found


def _answer(context: HookContext, handler: HandlerSpec, verdict: Verdict) -> Answer:
    spec, options = context.spec, handler.options
    gives_up = verdict.impossible and spec.denial is Denial.CONTINUES
    if verdict.ok or (gives_up and not options.get("agentic")):
        return NO_OPINION
    refusal = spec.prompt_refusals[bool(options.get("continue_on_block"))]
    return Answer(**refusal, reason=verdict.reason) if refusal else NO_OPINION
