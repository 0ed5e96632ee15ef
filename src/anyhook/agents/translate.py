"""Events and answers of one agent in the words of another; the generic layer is one of them."""

from __future__ import annotations

from anyhook.agents.payloads import NOT_IN_PAYLOAD, decode_event, encode_event, payload_key
from anyhook.agents.spec import Denial
from anyhook.agents.tool_results import read_tool_result, write_tool_result
from anyhook.model.answers import Answer, Outcome
from anyhook.model.events import AfterTool, ToolEvent, event_class
from anyhook.model.tools import MCP_PREFIX, PATHS, ToolCall, ToolResult

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from anyhook.agents.spec import AgentSpec
    from anyhook.model.diagnostics import Diagnostic
    from anyhook.model.events import Event

AFTER_TOOL = "after_tool"
FAILED_TOOL = "post_tool_use_failure"
DIRECTORY = "directory"
_PRIME = 2**61 - 1
RAW = "raw"
"""The form of responses that are kept as they came."""


def counterparts(source: AgentSpec, event: str, target: AgentSpec) -> tuple[str, ...]:
    """List the events of another agent in which an event can happen.

    Args:
        source: The agent whose event it is.
        event: Canonical name.
        target: The other agent.

    Returns:
        Canonical names; none if the other agent never tells of it. Of tools that failed some agents
        tell in the event of all tools, and some in one of their own.
    """
    if event == FAILED_TOOL and target.tool_failure_event == AFTER_TOOL:
        return (AFTER_TOOL,)
    if event not in target.by_canonical:
        return ()
    if (
        event == AFTER_TOOL
        and source.tool_failure_event == event
        and target.tool_failure_event == FAILED_TOOL
    ):
        return (AFTER_TOOL, FAILED_TOOL)
    return (event,)


def translate_event(event: Event, source: AgentSpec, target: AgentSpec) -> Event:
    """Put an event in another agent's words.

    Tools, their arguments and what they returned get the other agent's names and forms, and so do
    words like the type of a notification. What the other agent always sends and this one did not
    is filled in. A tool that failed becomes the event that tells so there.

    Args:
        event: An event in the words of `source`.
        source: Whose words.
        target: The other agent.

    Returns:
        An event that was built in Python. A tool outside the vocabulary keeps its raw name, and an
        event that the target does not have its own.
    """
    own = {f: getattr(event, f) for f in event.record_fields if f not in NOT_IN_PAYLOAD}
    name = event.name
    if isinstance(event, ToolEvent):
        call = call_of(event, source)
        result = _result(event, call, source)
        name = _event_of(event, result, target)
        told = _as_told(event, call, source, target)
        own |= _tool_fields(event, told, target)
        if DIRECTORY in told.arguments and _lacks(target, told.tool, DIRECTORY):
            own["tool_input"].pop(DIRECTORY)  # it runs where the other agent says that it stands
            own["cwd"] = _absolute(told.arguments[DIRECTORY], event.cwd)
        if result is not None:
            own |= _outcome_fields(event, name, told, result, source, target)
    cls = type(event) if name == event.name else event_class(name)
    own = {f: value for f, value in own.items() if f in cls.record_names}
    spec = target.by_canonical.get(name)
    old = source.by_canonical.get(name)
    if old is not None and spec is not None and old.subject in own and old.subject == spec.subject:
        own[old.subject] = translate_subject(
            own[old.subject], old.subject_aliases, spec.subject_aliases
        )
    for field, filler in target.field_defaults.items():
        if field in cls.record_names and own.get(field) in (None, ""):
            own[field] = FILLS[filler](own)
    wire = spec.wire if spec is not None else event.wire_name
    return cls(**own, wire_name=wire, vocabulary=target.vocabulary)


def views(event: Event, source: AgentSpec) -> list[Event]:
    """List the events that show a hook all of one that it could only see a part of.

    A prompt may name several addresses where a hook reads one, and a tool may make several edits in
    one call: a guard has to see each of them.

    Args:
        event: An event in the words of `source`.
        source: Whose words.

    Returns:
        At least one event; the first one if nothing is hidden.
    """
    if not isinstance(event, ToolEvent):
        return [event]
    call = call_of(event, source)
    parts: list[dict[str, Any]] = []
    if call.tool == "web_fetch" and "url" in call.arguments:
        prompt = call.arguments.get("prompt")
        parts = [{"url": url} for url in _urls_in(prompt)]
    edits = call.arguments.get("edits")
    if call.tool == "edit_file" and isinstance(edits, list):
        parts = [edit for edit in edits if isinstance(edit, dict)]
    if len(parts) < (1 if edits else 2):
        return [event]
    rest = {key: value for key, value in call.arguments.items() if key != "edits"}
    words = source.vocabulary
    return [
        event.replace(raw=None, tool_input=words.arguments(call.tool, {**rest, **part}))
        for part in parts
    ]


def translate_payload(
    payload: Mapping[str, Any], source: AgentSpec, target: AgentSpec
) -> tuple[dict[str, Any], tuple[Diagnostic, ...]]:
    """Write one agent's payload as another one's.

    Args:
        payload: As the source agent sent it.
        source: Whose it is.
        target: Whose form is wanted.

    Returns:
        The payload, and what was wrong with the one that was given. In the generic form the
        payload that was given is kept whole, and the agent is named. An event that the target
        does not know keeps its raw name.
    """
    event, problems = decode_event(source, payload)
    made = encode_event(target, translate_event(event, source, target))
    if target.agent_key:
        made[target.agent_key] = source.name
    if target.raw_key:
        made[target.raw_key] = dict(payload)
    return made, problems


def translate_answer(
    answer: Answer, shown: Event, asked: Event, source: AgentSpec, target: AgentSpec
) -> tuple[Answer, list[str]]:
    """Put what a hook said in another agent's words.

    Args:
        answer: What it said, in the words of `source`.
        shown: The event that the hook was shown, in the same words.
        asked: The event that `target` sent.
        source: The agent that the hook was written for.
        target: The agent that the answer is for.

    Returns:
        The answer, and what is lost of it, for people. What `target` has no ability for is still
        in it: `anyhook.authoring.degrade.fit` finds another way for that.
    """
    notes: list[str] = []
    changes: dict[str, Any] = {}
    if isinstance(shown, ToolEvent) and isinstance(asked, ToolEvent):
        call = call_of(shown, source)
        if answer.tool_input is not None:
            changes["tool_input"], removed = _changed_input(
                answer.tool_input, shown, asked, source, target
            )
            if removed:
                notes.append(f"{target.title} cannot take arguments away: {', '.join(removed)}")
        if answer.tool_output is not None and _differ(source, target):
            result = read_tool_result(source, call, answer.tool_output)
            spec = target.by_canonical.get(asked.name)
            takes = spec is not None and "tool_output" in spec.effective_fields
            made = write_tool_result(target, call, result) if takes else result.text
            changes["tool_output"] = made
        changes |= _hidden(answer, shown, asked, source, target)
    if answer.tail_tool_call is not None:
        made = source.vocabulary.call(answer.tail_tool_call["name"], answer.tail_tool_call["args"])
        changes["tail_tool_call"] = {
            **answer.tail_tool_call,
            "name": target.vocabulary.name(made.tool) or made.tool,
            "args": target.vocabulary.arguments(made.tool, made.arguments),
        }
    if answer.tool_config and answer.tool_config.get("allowedFunctionNames"):
        names = [
            target.vocabulary.name(source.vocabulary.tool(name)) or name
            for name in answer.tool_config["allowedFunctionNames"]
        ]
        changes["tool_config"] = {**answer.tool_config, "allowedFunctionNames": names}
    spec = target.by_canonical.get(asked.name)
    effective_fields = spec.effective_fields if spec is not None else frozenset()
    lost = [name for name in answer.extra or {} if f"extra.{name}" not in effective_fields]
    notes += [f"{target.title} has no {name.replace('_', ' ')} here" for name in lost]
    return (answer.replace(**changes) if changes else answer), notes


def call_of(event: ToolEvent, agent: AgentSpec) -> ToolCall:
    """Return the call of an event in canonical words; of MCP tools the best guess at the server."""
    call = agent.vocabulary.call(event.tool_name, event.tool_input, event.mcp_context)
    if call.tool != event.tool_name or call.tool in agent.vocabulary.canonical:
        return call
    guess = _mcp_name(event.tool_name, agent)
    return call if guess is None else ToolCall(tool=guess, arguments=call.arguments)


def translate_subject(value: Any, old: Mapping[str, str], new: Mapping[str, str]) -> Any:
    """Put the word that matchers see in another agent's words; unknown ones stay.

    Args:
        value: The word.
        old: The words of the agent that it comes from, with the usual ones.
        new: The same of the agent that it goes to.
    """
    if not isinstance(value, str):
        return value
    usual = old.get(value, value)
    return next((word for word, meaning in new.items() if meaning == usual), usual)


# -- tools


def _differ(source: AgentSpec, target: AgentSpec) -> bool:
    """Tell whether what tools take and return has to be written anew."""
    forms = {source.tool_result_form, target.tool_result_form}
    return len(forms) == 2 and RAW not in forms


def _mcp_name(name: str, agent: AgentSpec) -> str | None:
    """Guess at the server in the name of an MCP tool: it ends at the first separator."""
    head, _, rest = agent.vocabulary.mcp_name.partition("{server}")
    separator = rest.partition("{tool}")[0]
    if not name.startswith(head) or name.startswith(MCP_PREFIX) or name in agent.tools:
        return None
    server, found, tool = name.removeprefix(head).partition(separator)
    return f"{MCP_PREFIX}{server}__{tool}" if found and server and tool else None


def _as_told(event: ToolEvent, call: ToolCall, source: AgentSpec, target: AgentSpec) -> ToolCall:
    """Give a call the arguments that the other agent would tell."""
    arguments = dict(call.arguments)
    if target.absolute_paths and not source.absolute_paths:
        for key in PATHS & arguments.keys():
            arguments[key] = _absolute(arguments[key], event.cwd)
    if call.tool == "web_fetch" and "url" not in arguments and _differ(source, target):
        arguments |= _url_in(arguments.get("prompt"))
    return ToolCall(tool=call.tool, arguments=arguments)


def _tool_fields(event: ToolEvent, call: ToolCall, target: AgentSpec) -> dict[str, Any]:
    fields: dict[str, Any] = {
        "tool_name": target.vocabulary.name(call.tool) or event.tool_name,
        "tool_input": target.vocabulary.arguments(call.tool, call.arguments),
    }
    if event.mcp_context is None and call.tool.startswith(MCP_PREFIX):
        server, _, tool = call.tool.removeprefix(MCP_PREFIX).partition("__")
        if payload_key(target, target.by_canonical.get(event.name), "mcp_context"):
            fields["mcp_context"] = {"server_name": server, "tool_name": tool}
    return fields


def _absolute(path: Any, cwd: str) -> Any:
    is_relative = isinstance(path, str) and path and path[0] not in "/\\~" and path[1:2] != ":"
    if not is_relative or not cwd:
        return path
    import os

    return os.path.normpath(os.path.join(cwd, path))  # noqa: PTH118 - no pathlib in a hook


def _url_in(prompt: Any) -> dict[str, Any]:
    """Find the address in a prompt: some agents have no other place for it."""
    found = _urls_in(prompt)
    return {"url": found[0]} if found else {}


def _urls_in(prompt: Any) -> list[str]:
    words = prompt.split() if isinstance(prompt, str) else []
    found = (word.strip("\"'<>()[],;") for word in words)
    return list(dict.fromkeys(w for w in found if w.lower().startswith(("http://", "https://"))))


def _lacks(target: AgentSpec, tool: str, argument: str) -> bool:
    row = target.vocabulary.tools.get(tool)
    return row is not None and argument in row.without


def _result(event: ToolEvent, call: ToolCall, source: AgentSpec) -> ToolResult | None:
    """Read what a tool returned; `None` before it has run."""
    if isinstance(event, AfterTool):
        return read_tool_result(source, call, event.tool_response)
    if event.name == FAILED_TOOL:
        return read_tool_result(source, call, None, getattr(event, "error", ""))
    return None


def _event_of(event: ToolEvent, result: ToolResult | None, target: AgentSpec) -> str:
    if result is None or target.tool_failure_event is None:
        return event.name
    return AFTER_TOOL if result.error is None else target.tool_failure_event


def _outcome_fields(  # noqa: PLR0917 - one result, and who wants it
    event: ToolEvent,
    name: str,
    call: ToolCall,
    result: ToolResult,
    source: AgentSpec,
    target: AgentSpec,
) -> dict[str, Any]:
    if name == FAILED_TOOL:
        return {"error": result.error or "", "is_interrupt": result.interrupted}
    if name == event.name and not _differ(source, target):
        return {}
    return {"tool_response": write_tool_result(target, call, result)}


def _changed_input(
    wanted: Mapping[str, Any],
    shown: ToolEvent,
    asked: ToolEvent,
    source: AgentSpec,
    target: AgentSpec,
) -> tuple[dict[str, Any] | None, list[str]]:
    """Lay what a hook changed over the arguments that the agent sent."""
    nothing = object()
    before = shown.tool_input
    changed = {k: v for k, v in wanted.items() if before.get(k, nothing) != v}
    spec = source.by_canonical.get(shown.name)
    replaces = spec is not None and spec.field_policies.get("tool_input") == "replace"
    removed = [key for key in before if key not in wanted] if replaces else []
    if not changed:
        return None, removed
    tool = call_of(shown, source).tool
    canonical = source.vocabulary.call(shown.tool_name, changed).arguments
    return {**asked.tool_input, **target.vocabulary.arguments(tool, canonical)}, removed


def _hidden(
    answer: Answer, shown: ToolEvent, asked: ToolEvent, source: AgentSpec, target: AgentSpec
) -> dict[str, Any]:
    """Put the reason in place of a result that the hook wanted hidden, where a denial does not."""
    here, there = source.by_canonical.get(shown.name), target.by_canonical.get(asked.name)
    if answer.outcome is not Outcome.DENY or here is None or there is None:
        return {}
    if here.denial is not Denial.HIDES or there.denial is Denial.HIDES:
        return {}
    if "tool_output" not in there.effective_fields or answer.tool_output is not None:
        return {}
    reason = ToolResult(text=answer.reason or "", exit_code=None)
    return {"tool_output": write_tool_result(target, call_of(asked, target), reason)}


# -- what an agent always sends


def _call_id(own: Mapping[str, Any]) -> str:
    """Name a call so that what is told before it and after it has the same name."""
    import json

    call = [own.get("session_id"), own.get("tool_name"), own.get("tool_input")]
    text = json.dumps(call, default=str).encode()
    return f"toolu_{int.from_bytes(text, 'big') % _PRIME:016x}"


def _now(_own: Mapping[str, Any]) -> str:
    import time

    seconds = time.time()
    parts = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(seconds))
    return f"{parts}.{int(seconds * 1000) % 1000:03d}Z"


FILLS: dict[str, Callable[[Mapping[str, Any]], Any]] = {
    "call_id": _call_id,
    "now": _now,
    "default_mode": lambda _own: "default",
    "no_details": lambda _own: {},
}
"""What is filled in for what an agent always sends and the other one does not."""
