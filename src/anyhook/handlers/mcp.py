"""Handlers that are tools of MCP servers: called with the event's values, decoded like a command.

Claude Code, hooks reference, "MCP tool hook fields". The client is the host's:
`Engine.load(mcp=…)`, for example `anyhook.handlers.mcp_client.SdkClient`.
"""

from __future__ import annotations

import json
import re
import time
from typing import TYPE_CHECKING, Any

from anyhook.agents.output import TOO_LONG, ProcessExit, decode_exit, event_tools
from anyhook.handlers.results import (
    call_service,
    failed_result,
    payload_notes,
    truncation_notes,
)
from anyhook.handlers.services import ToolText
from anyhook.model.decisions import HandlerResult, Status
from anyhook.model.json import parse_json
from anyhook.model.record import replace
from anyhook.processes.result import REPLY_LIMIT, KeptOutput

if TYPE_CHECKING:
    from anyhook.handlers.context import HookContext
    from anyhook.model.definitions import HandlerSpec

NO_CLIENT = "there is no client for MCP servers; pass mcp=… to Engine.load"
_MISSING = object()
_PATH = re.compile(r"\$\{([^{}]+)\}")


async def run_mcp_tool(context: HookContext, handler: HandlerSpec) -> HandlerResult:
    """Call a tool, and decode its text like the output of a command.

    A tool that fails, or whose server is missing, has no opinion.
    """
    client = context.services.mcp
    if client is None:
        return failed_result(context, handler, NO_CLIENT, code="service-missing")
    started = time.perf_counter()
    call_tool = client.call_tool
    server, tool = handler.options["server"], handler.options["tool"]
    event = parse_json(context.payload.decode())
    is_typed = bool(handler.options.get("typed_input"))
    try:
        arguments = fill_arguments(handler.options.get("input", {}), event, is_typed=is_typed)
    except MissingValueError as error:
        return failed_result(context, handler, f"the event has no {error}")
    result = await call_service(
        context,
        handler,
        f"{server}: {tool}",
        lambda: call_tool(server, tool, arguments),
        ToolText,
    )
    if isinstance(result, HandlerResult):
        return result
    return _make_result(context, handler, result, started)


class MissingValueError(LookupError):
    """A placeholder names a value that the event does not have."""


def fill_arguments(value: Any, event: Any, *, is_typed: bool = False) -> Any:
    """Replace `${tool_input.file_path}` and the like in arguments by values of the event.

    The arguments have any depth; keys stay as they are. Nothing is replaced in the event's payload.
    With `is_typed`, a text that is nothing but a placeholder becomes the value with its type, and a
    value that the event does not have is an error; otherwise what the event does not have is empty,
    and other values than strings are JSON.

    Raises:
        MissingValueError: If `is_typed` is set and the event lacks a value.
    """
    if isinstance(value, dict):
        return {key: fill_arguments(item, event, is_typed=is_typed) for key, item in value.items()}
    if isinstance(value, list):
        return [fill_arguments(item, event, is_typed=is_typed) for item in value]
    if not isinstance(value, str):
        return value
    if is_typed:
        for path in _PATH.findall(value):
            if _find(event, path) is _MISSING:
                raise MissingValueError(path)
        whole = _PATH.fullmatch(value)
        if whole:
            return _find(event, whole[1])

    def find_text(match: re.Match[str]) -> str:
        content = _find(event, match[1])
        if content is None or content is _MISSING:
            return ""
        return content if isinstance(content, str) else json.dumps(content, ensure_ascii=False)

    return _PATH.sub(find_text, value)


def _find(event: Any, path: str) -> Any:
    value = event
    for key in path.strip().split("."):
        if isinstance(value, dict) and key in value:
            value = value[key]
        elif isinstance(value, list) and key.isdecimal() and int(key) < len(value):
            value = value[int(key)]
        else:
            return _MISSING
    return value


def _make_result(
    context: HookContext, handler: HandlerSpec, result: ToolText, started: float
) -> HandlerResult:
    kept = KeptOutput(context.output_limit, REPLY_LIMIT)
    kept.add(result.text.encode("utf-8", "replace"))
    text, truncated = kept.text(), kept.truncated
    notes = payload_notes(context, handler) + truncation_notes(context, handler, truncated)
    if result.is_error:
        lines = text.strip().splitlines() or ["without a message"]
        failure = failed_result(
            context,
            handler,
            f"the tool failed: {lines[0][:200]}",
            status=Status.WARNED,
            started=started,
            notes=notes,
            subject="the tool failed",
        )
        return replace(failure, stderr=text, truncated=truncated)
    end = ProcessExit(0, stdout=text, truncated=truncated)
    tools = event_tools(context.spec, context.event)
    output = decode_exit(context.agent, context.rules, context.spec, handler, end, tools=tools)
    return HandlerResult(
        handler,
        output.status,
        output.answer,
        started=started - context.epoch,
        duration=time.perf_counter() - started,
        stdout=text,
        truncated=truncated,
        error=TOO_LONG if output.status is Status.FAILED else None,
        diagnostics=(*notes, *output.diagnostics),
        failed=output.failed,
    )
