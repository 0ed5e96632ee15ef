"""Events and answers from one agent's names and forms to another's.

It is one module because the shim loads all of it on every event, and each further module costs
0.1 ms.
"""

from __future__ import annotations

from anyhook.agents.payloads import NOT_IN_PAYLOAD, decode_event, encode_event, payload_key
from anyhook.agents.spec import Denial
from anyhook.agents.tool_results import have_same_form, read_tool_result, write_tool_result
from anyhook.model.answers import Answer, Outcome
from anyhook.model.events import AfterTool, ToolEvent, event_class
from anyhook.model.tools import MCP_PREFIX, PATHS, ToolCall, ToolResult, all_texts

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from anyhook.agents.patches import FileChange
    from anyhook.agents.spec import AgentSpec
    from anyhook.model.diagnostics import Diagnostic
    from anyhook.model.events import Event
    from anyhook.model.tools import Tool

    Fields = dict[str, Any]

AFTER_TOOL = "after_tool"
FAILED_TOOL = "post_tool_use_failure"
DIRECTORY = "directory"
_ID_MODULUS = 2**61 - 1
"""A prime: calls that differ get other IDs. `hashlib` would take 5 ms of a cold hook."""
_MISSING = object()


# -- events


def counterparts(source: AgentSpec, event: str, target: AgentSpec) -> tuple[str, ...]:
    """Return the events of another agent that an event can become.

    Some agents report a tool that failed in the event of all tools, others in one of its own. None
    is returned if the other agent has no such event. All names are canonical.
    """
    if event == FAILED_TOOL and target.tool_failure_event == AFTER_TOOL:
        return (AFTER_TOOL,)
    if event not in target.by_canonical:
        return ()
    holds_failures = event == AFTER_TOOL and source.tool_failure_event == AFTER_TOOL
    if holds_failures and target.tool_failure_event == FAILED_TOOL:
        return (AFTER_TOOL, FAILED_TOOL)
    return (event,)


def decode_any_form(
    agent: AgentSpec, payload: Mapping[str, Any]
) -> tuple[Event, tuple[Diagnostic, ...]]:
    """Return the event of a payload in any form of an agent, as the agent itself names it.

    The second value is what is wrong with the payload.
    """
    form = agent.form_of(payload)
    event, problems = decode_event(form, payload)
    if form is not agent:
        event = translate_event(event, form, agent)
    return event, problems


def translate_event(event: Event, source: AgentSpec, target: AgentSpec) -> Event:
    """Return an event in another agent's names and forms.

    Tools, their arguments and their results are translated, and so are words like the type of a
    notification. A tool that failed becomes the event that the target has for it. Fields that the
    target always sends are filled in. A tool outside the vocabulary keeps its name, and so does an
    event that the target does not have.
    """
    fields = {f: getattr(event, f) for f in event.record_fields if f not in NOT_IN_PAYLOAD}
    name = event.name
    if isinstance(event, ToolEvent):
        name, changes = _translate_tool_event(event, source, target)
        fields |= changes
    cls = type(event) if name == event.name else event_class(name)
    fields = {field: value for field, value in fields.items() if field in cls.record_names}
    old, new = source.by_canonical.get(name), target.by_canonical.get(name)
    subject = None if new is None else new.subject
    if old is not None and new is not None and old.subject == subject and subject in fields:
        fields[subject] = translate_subject(
            fields[subject], old.subject_aliases, new.subject_aliases
        )
    for field, default in target.field_defaults.items():
        if field in cls.record_names and fields.get(field) in (None, ""):
            fields[field] = DEFAULTS[default](fields)
    wire_name = event.wire_name if new is None else new.wire
    return cls(**fields, wire_name=wire_name, vocabulary=target.vocabulary)


def _translate_tool_event(
    event: ToolEvent, source: AgentSpec, target: AgentSpec
) -> tuple[str, Fields]:
    """Return the canonical name of the event in the target, and the fields that differ."""
    call = call_of(event, source)
    patch_key = _patch_key(call.tool, source)
    changes = _read_changes(call, patch_key)
    patch_tool = _patch_tool(changes[0].tool, source, target) if changes else None
    if patch_tool is not None:
        call = ToolCall(tool=call.tool, arguments={patch_tool.patch: call.arguments[patch_key]})
    elif changes:
        # The first file of a patch. Its path becomes absolute: those of patches are relative to the
        # working directory, those of other tools are usually absolute.
        arguments = {name: value for name, value in call.arguments.items() if name != patch_key}
        arguments |= changes[0].arguments
        arguments["file_path"] = _make_absolute(changes[0].path, event.cwd)
        call = ToolCall(tool=changes[0].tool, arguments=arguments)
    result = None
    if isinstance(event, AfterTool):
        result = read_tool_result(source, call, event.tool_response)
    elif event.name == FAILED_TOOL:
        result = read_tool_result(source, call, None, getattr(event, "error", ""))
    translated = _translate_arguments(event, call, source, target)
    own_name = (
        target.vocabulary.name(translated.tool) if patch_tool is None else patch_tool.names[-1]
    )
    fields: Fields = {
        "tool_name": own_name or event.tool_name,
        "tool_input": target.vocabulary.arguments(translated.tool, translated.arguments),
    }
    spec = target.by_canonical.get(event.name)
    is_mcp_tool = event.mcp_context is None and translated.tool.startswith(MCP_PREFIX)
    if is_mcp_tool and payload_key(target, spec, "mcp_context"):
        server, _, bare_name = translated.tool.removeprefix(MCP_PREFIX).partition("__")
        fields["mcp_context"] = {"server_name": server, "tool_name": bare_name}
    tool = target.vocabulary.tools.get(translated.tool)
    has_no_directory = tool is not None and DIRECTORY in tool.without
    if DIRECTORY in translated.arguments and has_no_directory:
        # A tool without this argument runs in the working directory of the event.
        fields["tool_input"].pop(DIRECTORY)
        fields["cwd"] = _make_absolute(translated.arguments[DIRECTORY], event.cwd)
    if result is None:
        return event.name, fields
    name = event.name
    if target.tool_failure_event is not None:
        name = AFTER_TOOL if result.error is None else target.tool_failure_event
    if name == FAILED_TOOL:
        fields |= {"error": result.error or "", "is_interrupt": result.interrupted}
    elif name != event.name or not have_same_form(source, target):
        fields["tool_response"] = write_tool_result(target, translated, result)
    return name, fields


def single_calls(event: Event, agent: AgentSpec) -> list[Event]:
    """Return the events of calls that each change one file, where a tool takes a patch.

    It is the event itself if that is about one file, or has no patch.
    """
    if not isinstance(event, ToolEvent):
        return [event]
    call = call_of(event, agent)
    key = _patch_key(call.tool, agent)
    changes = _read_changes(call, key)
    if len(changes) < 2:
        return [event]
    inputs = [{**event.tool_input, key: change.patch} for change in changes]
    return [event.replace(raw=None, tool_input=tool_input) for tool_input in inputs]


def _patch_tool(tool: str, source: AgentSpec, target: AgentSpec) -> Tool | None:
    """Return the row of the tool that takes a patch of the source whole, if there is one.

    Hooks of an agent that also changes one file in each call see these calls.
    """
    row = target.vocabulary.tools.get(tool)
    if row is None or not row.patch:
        return None
    return row if row.only_patches or source.name == target.name else None


def _patch_key(tool: str, agent: AgentSpec) -> str:
    """Return the argument in which an agent's tool takes a patch; empty if it takes none."""
    row = agent.vocabulary.tools.get(tool)
    return "" if row is None else row.patch


def _read_changes(call: ToolCall, key: str) -> list[FileChange]:
    text = call.arguments.get(key) if key else None
    if not isinstance(text, str):
        return []
    from anyhook.agents.patches import read_patch

    return read_patch(text)


def views(event: Event, source: AgentSpec) -> list[Event]:
    """Return the events that show a hook each part of an event that it could see only one of.

    A prompt may name several addresses where a hook reads one, and a tool may make several edits in
    one call: a guard has to see each of them. An event without parts is returned as it is.
    """
    if not isinstance(event, ToolEvent):
        return [event]
    call = call_of(event, source)
    edits = call.arguments.get("edits")
    parts: list[Fields] = []
    if call.tool == "web_fetch" and "url" in call.arguments:
        parts = [{"url": url} for url in _urls_in(call.arguments.get("prompt"))]
    if call.tool == "edit_file" and isinstance(edits, list):
        parts = [edit for edit in edits if isinstance(edit, dict)]
    # A single edit in a list is shown as an edit; a single address is there already.
    fewest_parts = 1 if edits else 2
    if len(parts) < fewest_parts:
        return [event]
    shared = {key: value for key, value in call.arguments.items() if key != "edits"}
    events: list[Event] = []
    for part in parts:
        arguments = source.vocabulary.arguments(call.tool, {**shared, **part})
        events.append(event.replace(raw=None, tool_input=arguments))
    return events


def translate_payload(
    payload: Mapping[str, Any], source: AgentSpec, target: AgentSpec
) -> tuple[dict[str, Any], tuple[Diagnostic, ...]]:
    """Return one agent's payload as another one's.

    The second value is what is wrong with the original. The generic form also has the original and
    the name of its agent. An event that the target does not have keeps its name.
    """
    event, problems = decode_event(source, payload)
    translated = encode_event(target, translate_event(event, source, target))
    if target.add_origin is not None:
        target.add_origin(translated, source.name, payload)
    return translated, problems


def translate_subject(value: Any, old: Mapping[str, str], new: Mapping[str, str]) -> Any:
    """Return a subject in another agent's word; a word without a translation stays.

    `old` and `new` are `EventSpec.subject_aliases` of the two agents.
    """
    if not isinstance(value, str):
        return value
    canonical = old.get(value, value)
    for word, meaning in new.items():
        if meaning == canonical:
            return word
    return canonical


def translate_subject_name(subject: str, event: str, source: AgentSpec, target: AgentSpec) -> str:
    """Return the subject of an event as another agent names it."""
    old, new = source.by_canonical.get(event), target.by_canonical.get(event)
    if old is None or new is None:
        return subject
    if old.subject == "tool_name":
        return _translate_tool_name(subject, source, target)
    return str(translate_subject(subject, old.subject_aliases, new.subject_aliases))


# -- answers


def translate_answer(
    answer: Answer, hook_event: Event, host_event: Event, source: AgentSpec, target: AgentSpec
) -> tuple[Answer, list[str]]:
    """Return the answer of a hook in another agent's names and forms.

    `hook_event` is the event of `source` that the hook got, and `host_event` the one that `target`
    sent. The notes are about what is lost. Fields that have no effect in `target` are kept:
    `anyhook.authoring.degrade.fit` replaces them.
    """
    notes: list[str] = []
    changes: Fields = {}
    if answer.outcome is Outcome.DENY and not denial_has_effect(hook_event, source):
        answer = answer.replace(outcome=Outcome.NONE, reason=None)
    if isinstance(hook_event, ToolEvent) and isinstance(host_event, ToolEvent):
        has_patch = _has_patch(hook_event, source) or _has_patch(host_event, target)
        if answer.tool_input is not None and has_patch and source.name != target.name:
            from anyhook.agents.patches import deny_changed_patch

            answer = deny_changed_patch(answer, hook_event)
            notes.append(f"{target.title} cannot take changed arguments of a patch; it is denied")
        elif answer.tool_input is not None:
            changes["tool_input"] = _translate_tool_input(
                answer.tool_input, hook_event, host_event, source, target
            )
            spec = source.by_canonical.get(hook_event.name)
            removed = [key for key in hook_event.tool_input if key not in answer.tool_input]
            if removed and spec is not None and spec.replaces_whole_input:
                notes.append(f"{target.title} cannot take arguments away: {', '.join(removed)}")
        changes |= _translate_tool_output(answer, hook_event, host_event, source, target)
    if answer.tail_tool_call is not None:
        tail_call = answer.tail_tool_call
        call = source.vocabulary.call(tail_call["name"], tail_call["args"])
        changes["tail_tool_call"] = {
            **tail_call,
            "name": target.vocabulary.name(call.tool) or call.tool,
            "args": target.vocabulary.arguments(call.tool, call.arguments),
        }
    if answer.tool_config and answer.tool_config.get("allowedFunctionNames"):
        names = answer.tool_config["allowedFunctionNames"]
        translated = [_translate_tool_name(name, source, target) for name in names]
        changes["tool_config"] = {**answer.tool_config, "allowedFunctionNames": translated}
    effective_fields = _effective_fields(host_event, target)
    lost = [name for name in answer.extra or {} if f"extra.{name}" not in effective_fields]
    notes += [f"{target.title} has no {name.replace('_', ' ')} here" for name in lost]
    if changes:
        answer = answer.replace(**changes)
    return answer, notes


def denial_has_effect(event: Event, agent: AgentSpec) -> bool:
    """Return whether a denial of an event does anything, by the agent's reference or a release."""
    specs = [rules.by_canonical.get(event.name) for rules in agent.rule_sets.values()]
    return any(spec is None or spec.denial is not Denial.NOTHING for spec in specs)


def _effective_fields(event: Event, agent: AgentSpec) -> frozenset[str]:
    spec = agent.by_canonical.get(event.name)
    return frozenset() if spec is None else spec.effective_fields


def _translate_tool_input(
    new_input: Mapping[str, Any],
    hook_event: ToolEvent,
    host_event: ToolEvent,
    source: AgentSpec,
    target: AgentSpec,
) -> Fields | None:
    """Merge the arguments that a hook changed with those that the agent sent."""
    before = hook_event.tool_input
    changed = {key: value for key, value in new_input.items() if before.get(key, _MISSING) != value}
    if not changed:
        return None
    canonical = source.vocabulary.call(hook_event.tool_name, changed).arguments
    tool = call_of(hook_event, source).tool
    return {**host_event.tool_input, **target.vocabulary.arguments(tool, canonical)}


def _translate_tool_output(
    answer: Answer,
    hook_event: ToolEvent,
    host_event: ToolEvent,
    source: AgentSpec,
    target: AgentSpec,
) -> Fields:
    takes_output = "tool_output" in _effective_fields(host_event, target)
    if answer.tool_output is not None:
        if have_same_form(source, target):
            return {}
        call = call_of(hook_event, source)
        result = read_tool_result(source, call, answer.tool_output)
        output = _write_output(target, call, result) if takes_output else result.text
        return {"tool_output": output}
    # A denial that hides the result in the source, but not in the target: the reason replaces it.
    old, new = source.by_canonical.get(hook_event.name), target.by_canonical.get(host_event.name)
    hides = old is not None and old.denial is Denial.HIDES
    hides_too = new is not None and new.denial is Denial.HIDES
    if answer.outcome is not Outcome.DENY or not hides or hides_too or not takes_output:
        return {}
    reason = ToolResult(text=answer.reason or "", exit_code=None)
    return {"tool_output": _write_output(target, call_of(host_event, target), reason)}


def _write_output(target: AgentSpec, call: ToolCall, result: ToolResult) -> Any:
    """Return a result in the target's form; the text alone if that form has no room for it."""
    output = write_tool_result(target, call, result)
    return output if result.text in "\n".join(all_texts(output)) else result.text


# -- tools


def call_of(event: ToolEvent, agent: AgentSpec) -> ToolCall:
    """Return the call of an event in canonical words."""
    return agent.vocabulary.call(event.tool_name, event.tool_input, event.mcp_context)


def _has_patch(event: ToolEvent, agent: AgentSpec) -> bool:
    call = call_of(event, agent)
    row = agent.vocabulary.tools.get(call.tool)
    return row is not None and (row.only_patches or row.patch in call.arguments)


def _translate_tool_name(name: str, source: AgentSpec, target: AgentSpec) -> str:
    """Return a tool as another agent names it; a tool that it does not have keeps its name."""
    return target.vocabulary.name(source.vocabulary.tool(name)) or name


def _translate_arguments(
    event: ToolEvent, call: ToolCall, source: AgentSpec, target: AgentSpec
) -> ToolCall:
    """Return the call with the arguments that the target would send."""
    arguments = dict(call.arguments)
    if target.absolute_paths and not source.absolute_paths:
        for key in PATHS & arguments.keys():
            arguments[key] = _make_absolute(arguments[key], event.cwd)
    is_fetch = call.tool == "web_fetch" and "url" not in arguments
    if is_fetch and not have_same_form(source, target):
        # Gemini CLI has the addresses only in the prompt.
        urls = _urls_in(arguments.get("prompt"))
        if urls:
            arguments["url"] = urls[0]
    return ToolCall(tool=call.tool, arguments=as_patch(call.tool, arguments, target, event.cwd))


def as_patch(
    tool: str, arguments: Mapping[str, Any], agent: AgentSpec, cwd: str
) -> Mapping[str, Any]:
    """Return the arguments of a call as a patch if the agent changes files by patches alone.

    The tool and its arguments have canonical names.
    """
    row = agent.vocabulary.tools.get(tool)
    if row is None or not row.only_patches or row.patch in arguments:
        return arguments
    from anyhook.agents.patches import write_patch

    patch = write_patch(tool, arguments, cwd)
    return arguments if patch is None else {row.patch: patch}


def _make_absolute(path: Any, cwd: str) -> Any:
    is_relative = isinstance(path, str) and path and path[0] not in "/\\~" and path[1:2] != ":"
    if not is_relative or not cwd:
        return path
    import os

    return os.path.normpath(os.path.join(cwd, path))


def _urls_in(prompt: Any) -> list[str]:
    """Return the addresses in a prompt, each once."""
    urls: dict[str, None] = {}
    for word in prompt.split() if isinstance(prompt, str) else ():
        url = word.strip("\"'<>()[],;")
        if url.lower().startswith(("http://", "https://")):
            urls[url] = None
    return list(urls)


# -- fields that an agent always sends


def _make_call_id(fields: Mapping[str, Any]) -> str:
    """Return an ID of a call that is the same before and after the call."""
    import json

    call = [fields.get("session_id"), fields.get("tool_name"), fields.get("tool_input")]
    text = json.dumps(call, default=str).encode()
    return f"toolu_{int.from_bytes(text, 'big') % _ID_MODULUS:016x}"


def _format_now(_fields: Mapping[str, Any]) -> str:
    import time

    seconds = time.time()
    date = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(seconds))
    return f"{date}.{int(seconds * 1000) % 1000:03d}Z"


DEFAULTS: dict[str, Callable[[Mapping[str, Any]], Any]] = {
    "call_id": _make_call_id,
    "now": _format_now,
    "default_mode": lambda _fields: "default",
    "no_details": lambda _fields: {},
    "turn_id": lambda _fields: "turn-1",
}
"""Name of a default (`AgentSpec.field_defaults`) to a function of the other fields."""
