"""Results of tools in the form of OpenCode.

Built-in tools return `{title, output, metadata}`, where `output` is the text for the model; tools
of MCP servers return `{content: [{type, text}]}`. A shell command has its exit code in
`metadata.exit`. Source: what OpenCode 1.18.33 sent.
"""

from __future__ import annotations

from anyhook.agents.tool_results import ToolResultForm
from anyhook.model.tools import MCP_PREFIX, read_result

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from anyhook.model.tools import ToolCall, ToolResult

NO_OUTPUT = "(no output)"
"""What the shell tool returns for a command without output."""


def read(call: ToolCall, response: Any, error: str | None) -> ToolResult:
    """Return the result of a tool."""
    result = read_result(response, error)
    if not isinstance(response, dict) or not isinstance(response.get("output"), str):
        return result
    text = response["output"]
    metadata = response.get("metadata")
    metadata = metadata if isinstance(metadata, dict) else {}
    truncated = metadata.get("truncated")
    result = result.replace(text=text, truncated=truncated if isinstance(truncated, bool) else None)
    path = metadata.get("filepath") or call.arguments.get("file_path")
    if isinstance(path, str):
        result = result.replace(file_path=path)
    if call.tool != "shell":
        return result
    text = "" if text == NO_OUTPUT else text
    code = metadata.get("exit")
    exit_code = code if isinstance(code, int) and not isinstance(code, bool) else None
    error = result.error
    if error is None and exit_code:
        # As Claude Code describes a command that failed.
        error = "\n".join(filter(None, (f"Exit code {exit_code}", text)))
    return result.replace(text=text, stdout=text, stderr="", exit_code=exit_code, error=error)


def write(call: ToolCall, result: ToolResult) -> Any:
    """Return the result of a tool in the form of OpenCode."""
    text = result.text or result.error or ""
    if call.tool.startswith(MCP_PREFIX):
        return {"content": [{"type": "text", "text": text}]}
    metadata: dict[str, Any] = {"truncated": bool(result.truncated)}
    if call.tool == "shell":
        text = text or NO_OUTPUT
        metadata["output"] = text
        metadata["exit"] = result.exit_code or 0
    if result.file_path is not None and call.tool in ("write_file", "edit_file"):
        metadata["filepath"] = result.file_path
    names = ("command", "file_path", "description", "pattern", "url", "name")
    values = [call.arguments.get(name) for name in names]
    titles = [value for value in values if isinstance(value, str)]
    title = titles[0] if titles else call.tool
    return {"title": title, "output": text, "metadata": metadata}


FORM = ToolResultForm(read=read, write=write)
