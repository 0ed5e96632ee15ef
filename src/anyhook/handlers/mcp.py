"""Handlers that are tools of MCP servers: called with the event's values, read like a command.

Claude Code, hooks reference, "MCP tool hook fields". The client is the host's:
`Engine.load(mcp=…)`, for example `anyhook.handlers.mcp_client.SdkClient`.
"""

from __future__ import annotations

import json
import re
import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from anyhook.agents.output import TOO_LONG, ProcessExit, decode_exit, event_tools
from anyhook.handlers.services import ToolText
from anyhook.handlers.results import failed_result
from anyhook.handlers.network import ask_service, cut_notes, payload_notes, report
from anyhook.model.decisions import HandlerResult, Status
from anyhook.model.json import parse_json
from anyhook.processes.result import REPLY_LIMIT, KeptOutput

if TYPE_CHECKING:
    from anyhook.handlers.context import HookContext
    from anyhook.model.definitions import HandlerSpec

NO_CLIENT = "there is no client for MCP servers; pass mcp=… to Engine.load"
_PATH = re.compile(r"\$\{([^{}]+)\}")


async def run_mcp_tool(context: HookContext, handler: HandlerSpec) -> HandlerResult:
    """Call a tool, and read its text like the output of a command that succeeded.

    A tool that fails, or whose server is not there, has no opinion.
    """
    client = context.services.mcp
    if client is None:
        return report("service-missing", context, handler, NO_CLIENT)
    started = time.perf_counter()
    call_tool = client.call_tool
    server, tool = handler.options["server"], handler.options["tool"]
    arguments = fill(handler.options.get("input", {}), parse_json(context.payload.decode()))
    said = await ask_service(
        context, handler, ToolText, f"{server}: {tool}", lambda: call_tool(server, tool, arguments)
    )
    return said if isinstance(said, HandlerResult) else _read(context, handler, said, started)


def fill(value: Any, event: Any) -> Any:
    """Put the event's values into arguments: `${tool_input.file_path}` in a string is that text.

    Args:
        value: The arguments, of any depth; keys stay as they are.
        event: The event's payload. Nothing is looked for in it.

    Returns:
        New arguments. What the event does not have is empty; what is no text is its JSON.
    """
    if isinstance(value, str):
        return _PATH.sub(lambda match: _text_at(event, match[1]), value)
    if isinstance(value, dict):
        return {key: fill(item, event) for key, item in value.items()}
    if isinstance(value, list):
        return [fill(item, event) for item in value]
    return value


def _text_at(event: Any, path: str) -> str:
    found = event
    for key in path.strip().split("."):
        if isinstance(found, dict):
            found = found.get(key)
        elif isinstance(found, list) and key.isdecimal() and int(key) < len(found):
            found = found[int(key)]
        else:
            return ""
    if found is None or isinstance(found, str):
        return found or ""
    return json.dumps(found, ensure_ascii=False)


def _read(
    context: HookContext, handler: HandlerSpec, said: ToolText, started: float
) -> HandlerResult:
    kept = KeptOutput(context.output_limit, REPLY_LIMIT)
    kept.add(said.text.encode("utf-8", "replace"))
    text, cut = kept.text(), kept.truncated
    notes = (*payload_notes(context, handler), *cut_notes(context, handler, cut))
    if said.is_error:
        lines = text.strip().splitlines() or ["it says nothing"]
        base = failed(
            context,
            handler,
            f"the tool failed: {lines[0][:200]}",
            status=Status.WARNED,
            started=started,
            notes=notes,
        )
        return replace(base, stderr=text, truncated=cut)
    end = ProcessExit(0, stdout=text, truncated=cut)
    tools = event_tools(context.spec, context.given)
    read = decode_exit(context.agent, context.rules, context.spec, handler, end, tools=tools)
    return HandlerResult(
        handler,
        read.status,
        read.answer,
        started=started - context.epoch,
        duration=time.perf_counter() - started,
        stdout=text,
        truncated=cut,
        error=TOO_LONG if read.status is Status.FAILED else None,
        diagnostics=(*notes, *read.diagnostics),
        failed=read.failed,
    )
