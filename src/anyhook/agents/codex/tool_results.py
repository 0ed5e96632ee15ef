"""Results of tools in the form of Codex CLI.

A shell command returns its output as one text, standard error included and without an exit code.
A patch returns a report in lines, tools of MCP servers return `{content: [{type, text}]}`, and most
other tools a text. Source: what Codex CLI 0.169.0 sent.
"""

from __future__ import annotations

import re

from anyhook.agents.tool_results import ToolResultForm
from anyhook.model.tools import MCP_PREFIX, ToolResult, all_texts, read_result

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from anyhook.model.tools import ToolCall

PATCH_TOOLS = frozenset({"write_file", "edit_file"})
_PATCH_REPORT = re.compile(r"Exit code: (-?\d+)\nWall time: [^\n]*\nOutput:\n")


def read(call: ToolCall, response: Any, error: str | None) -> ToolResult:
    """Return the result of a tool."""
    result = read_result(response, error)
    if not result.text:
        # Objects of tools that only Codex CLI has: a guard of results has to see their texts.
        result = result.replace(text="\n".join(all_texts(response)))
    if not isinstance(response, str):
        return result
    if call.tool == "shell":
        return result.replace(stdout=response, stderr="")
    report = _PATCH_REPORT.match(response) if call.tool in PATCH_TOOLS else None
    if report is None:
        return result
    text, exit_code = response[report.end() :], int(report[1])
    return result.replace(
        text=text, exit_code=exit_code, error=text if exit_code and not error else error
    )


def write(call: ToolCall, result: ToolResult) -> Any:
    """Return the result of a tool in the form of Codex CLI."""
    text = result.text or result.error or ""
    if call.tool.startswith(MCP_PREFIX):
        return {"content": [{"type": "text", "text": text}]}
    if call.tool not in PATCH_TOOLS:
        return text
    exit_code = 0 if result.error is None else result.exit_code or 1
    output = text
    if not exit_code:
        from anyhook.agents.patches import ADD, DELETE, read_patch

        letters = {ADD: "A", DELETE: "D"}
        output = "Success. Updated the following files:\n"
        for change in read_patch(str(call.arguments.get("command", ""))):
            output += f"{letters.get(change.header, 'M')} {change.path}\n"
    return f"Exit code: {exit_code}\nWall time: 0 seconds\nOutput:\n{output}"


def write_output(_call: ToolCall, result: ToolResult) -> str:
    """Return the output of a program's tool without the words that Codex CLI's tool adds."""
    return result.text


FORM = ToolResultForm(read=read, write=write, write_output=write_output)
