"""A case in the core and in anyhook, each told as what an agent would do.

A case is plain data::

    {"event": "BeforeTool", "fields": {…}, "disabled": […],
     "definitions": [{"matcher": …, "sequential": …, "hooks": [HOOK, …]}]}

`hooks` in place of `definitions` stands for one definition without a matcher. A HOOK says `stdout`
and `stderr` (text, or a value that is printed as JSON) and `exit` or `signal`; its other members
are those of the settings. It copies what it was told into a file, which is compared too; `record`
names that file.
"""

from __future__ import annotations

import asyncio
import json
import shlex
import shutil
from itertools import count
from pathlib import Path
from typing import Any

from anyhook import Decision, Event, Outcome, Status
from tests.differential.core import Core
from tests.world import World

Case = dict[str, Any]
Effects = dict[str, Any]

REQUEST = {
    "model": "m",
    "messages": [{"role": "user", "content": "one"}, {"role": "model", "content": "two"}],
    "config": {"temperature": 0.5, "topK": 3},
}
RESPONSE = {
    "text": "hi",
    "candidates": [
        {"content": {"role": "model", "parts": ["hi"]}, "finishReason": "STOP", "index": 0}
    ],
}
FIELDS: dict[str, dict[str, Any]] = {
    "SessionStart": {"source": "startup"},
    "SessionEnd": {"reason": "exit"},
    "PreCompress": {"trigger": "auto"},
    "Notification": {
        "notification_type": "ToolPermission",
        "message": "Tool x requires execution",
        "details": {"type": "exec", "title": "x"},
    },
    "BeforeAgent": {"prompt": "hello"},
    "AfterAgent": {"prompt": "hello", "prompt_response": "done", "stop_hook_active": False},
    "BeforeModel": {"llm_request": REQUEST},
    "BeforeToolSelection": {"llm_request": REQUEST},
    "AfterModel": {"llm_request": REQUEST, "llm_response": RESPONSE},
    "BeforeTool": {"tool_name": "write_file", "tool_input": {"path": "a", "content": "b"}},
    "AfterTool": {
        "tool_name": "write_file",
        "tool_input": {"path": "a", "content": "b"},
        "tool_response": {"llmContent": "written", "returnDisplay": "written"},
    },
}
"""Event to what it carries, unless a case says otherwise."""

VERDICT = ("stop", "blocked", "reason")
MATTERS: dict[str, tuple[str, ...]] = {
    "SessionStart": ("context",),
    "SessionEnd": (),
    "PreCompress": (),
    "Notification": (),
    "BeforeAgent": (*VERDICT, "context"),
    "AfterAgent": (*VERDICT, "clear_context"),
    "BeforeModel": (*VERDICT, "llm_request", "llm_response"),
    "BeforeToolSelection": ("tool_config",),
    "AfterModel": (*VERDICT, "llm_response"),
    "BeforeTool": (*VERDICT, "ask", "tool_input"),
    "AfterTool": (*VERDICT, "context", "tail_tool_call"),
}
"""Event to what the agent looks at; the rest of an output has no effect."""

VOLATILE = ("session_id", "transcript_path", "cwd", "timestamp")
NO_REASON = "No reason provided"


class Ours:
    """Fires cases through anyhook.

    Args:
        root: An empty directory.
    """

    def __init__(self, root: Path) -> None:
        self.root = root
        self.runner = asyncio.Runner()
        self._numbers = count()

    def close(self) -> None:
        """End the event loop."""
        self.runner.close()

    def directory(self) -> Path:
        """Return a directory that no case has had."""
        return self.root / str(next(self._numbers))

    def fire(self, case: Case) -> Effects:
        """Fire a case. Returns its effects."""
        world = World(self.directory())
        settings = settings_of(case)
        world.settings("project", settings)
        engine = world.load(rules="observed")
        event, _ = engine.decode(
            {
                "hook_event_name": case["event"],
                "cwd": str(world.project),
                **fields_of(case),
            }
        )
        decision = self.runner.run(engine.dispatch(event))
        return _finish(_of_ours(case["event"], event, decision), settings, case, world)


class Comparison:
    """Fires cases on both sides.

    Args:
        core: The real thing.
        ours: Anyhook.
    """

    def __init__(self, core: Core, ours: Ours) -> None:
        self.core = core
        self.ours = ours

    def fire(self, case: Case) -> tuple[Effects, Effects]:
        """Fire a case. Returns its effects in the core and in anyhook."""
        world = World(self.ours.directory())
        settings, fields = settings_of(case), fields_of(case)
        self.core.ask(
            {
                "hooks": settings["hooks"],
                "disabled": settings["hooksConfig"]["disabled"],
                "cwd": str(world.project),
                "event": case["event"],
                "fields": fields,
            }
        )
        ours = self.ours.fire(case)
        told = self.core.answer()
        return _finish(_of_core(case["event"], fields, told), settings, case, world), ours


def _finish(effects: Effects, settings: dict[str, Any], case: Case, world: World) -> Effects:
    """Add what the hooks saw, shorten commands, and clear away."""
    numbers = _numbers(settings, case["event"])
    effects["ran"] = [numbers.get(str(label), label) for label in effects["ran"]]
    effects["seen"] = _seen(world.project)
    shutil.rmtree(world.root)
    return effects


def fields_of(case: Case) -> dict[str, Any]:
    """Return what a case's event carries."""
    return {**FIELDS[case["event"]], **case.get("fields", {})}


def definitions_of(case: Case) -> list[dict[str, Any]]:
    """Return a case's definitions."""
    return case.get("definitions") or [{"hooks": case["hooks"]}]


def settings_of(case: Case) -> dict[str, Any]:
    """Write a case as a settings file."""
    numbers = count()
    written = []
    for definition in definitions_of(case):
        hooks = [_hook(hook, next(numbers)) for hook in definition["hooks"]]
        written.append({**definition, "hooks": hooks})
    return {
        "hooks": {case["event"]: written},
        "hooksConfig": {"disabled": case.get("disabled", [])},
    }


def _hook(hook: dict[str, Any], number: int) -> dict[str, Any]:
    given = {key: value for key, value in hook.items() if key not in SAYS}
    return {"type": "command", "command": command_of({"record": f"{number}", **hook}), **given}


SAYS = frozenset({"stdout", "stderr", "exit", "signal", "record"})
"""What makes the command line of a hook; everything else is a member of it in the settings."""


def command_of(hook: dict[str, Any]) -> str:
    """Write the command line of a hook."""
    parts = [f"cat >seen-{hook['record']}"] if hook.get("record") else []
    for stream, redirect in (("stdout", ""), ("stderr", " >&2")):
        if stream in hook:
            said = hook[stream]
            text = said if isinstance(said, str) else json.dumps(said, ensure_ascii=False)
            parts.append(f"printf %s {shlex.quote(text)}{redirect}")
    end = f"kill -{hook['signal']} $$" if "signal" in hook else f"exit {hook.get('exit', 0)}"
    return "; ".join([*parts, end])


def _numbers(settings: dict[str, Any], event: str) -> dict[str, str]:
    """Return a short label for every command, which stands for a hook without a name."""
    hooks = [hook for definition in settings["hooks"][event] for hook in definition["hooks"]]
    numbers: dict[str, str] = {}
    for number, hook in enumerate(hooks):
        numbers.setdefault(str(hook["command"]), f"#{number}")
    return numbers


def _seen(directory: Path) -> dict[str, Any]:
    """Read what each hook was told, without what differs from firing to firing."""
    seen = {}
    for file in sorted(directory.glob("seen-*")):
        payload = json.loads(file.read_text(encoding="utf-8"))
        told = {key: value for key, value in payload.items() if key not in VOLATILE}
        seen[file.name.removeprefix("seen-")] = told
    return seen


def _of_core(name: str, fields: dict[str, Any], told: dict[str, Any]) -> Effects:
    if told.get("llm_request") == fields.get("llm_request"):
        told["llm_request"] = None
    return _effects(name, told)


def _of_ours(name: str, event: Event, decision: Decision) -> Effects:
    context = "\n".join(decision.context)
    request = decision.llm_request
    ran = [r.handler.name or r.handler.command for r in decision.results if _has_run(r.status)]
    told = {
        "ran": ran,
        "system_messages": list(decision.system_messages),
        "stop": decision.stop,
        "blocked": decision.outcome is Outcome.DENY,
        "ask": decision.outcome is Outcome.ASK,
        "reason": decision.reason or NO_REASON,
        # the agent escapes tags when it puts the context before the model
        "context": context.replace("<", "&lt;").replace(">", "&gt;"),
        "tool_input": decision.tool_input,
        "clear_context": decision.clear_context,
        "tail_tool_call": decision.tail_tool_call,
        "tool_config": decision.tool_config,
        "llm_request": None if request == getattr(event, "llm_request", None) else request,
        "llm_response": decision.llm_response and _shown_response(decision.llm_response),
    }
    return _effects(name, told)


def _has_run(status: Status) -> bool:
    return status not in (Status.SKIPPED, Status.WITHHELD)


def _shown_response(response: Any) -> list[dict[str, Any]]:
    return [
        {
            "parts": candidate["content"]["parts"],
            **{key: candidate[key] for key in ("finishReason", "index") if key in candidate},
        }
        for candidate in response["candidates"]
    ]


def _effects(name: str, told: dict[str, Any]) -> Effects:
    """Keep what has an effect: a stop is looked at first, and beside a denial nothing else counts.

    What a model hook changes is void when the model is not called; an agent without a reason to
    give has no use for one.
    """
    effects = {key: told[key] for key in MATTERS[name] if told.get(key)}
    if effects.get("stop"):
        effects.pop("blocked", None)
        effects.pop("ask", None)
    if effects.keys().isdisjoint(("stop", "blocked")):
        effects.pop("reason", None)
    elif name == "BeforeModel":
        effects.pop("llm_request", None)
    for key in ("tool_input", "tail_tool_call"):  # an empty object counts
        if key in MATTERS[name] and told.get(key) is not None:
            effects[key] = told[key]
    for candidate in effects.get("llm_response", ()):
        if name == "BeforeModel":
            candidate.setdefault("finishReason", "STOP")
    config = (effects.get("llm_request") or {}).get("config", {})
    for key in [key for key, value in config.items() if value is None]:
        del config[key]
    return {"ran": told["ran"], "system_messages": told["system_messages"], **effects}
