"""Results of tools in the form of Cursor: a JSON text with an object that depends on the tool.

Of a shell command the reference shows `exitCode` and `stdout`, and 3.9.16 sent `exitCode` and
`output`. Both are read; what the reference shows is written.
"""

from __future__ import annotations

from anyhook.agents.tool_results import ToolResultForm
from anyhook.model.tools import ToolResult, read_result, text_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from anyhook.model.tools import ToolCall


def read(_call: ToolCall, response: Any, error: str | None) -> ToolResult:
    """Return the result of a tool."""
    if error is not None and response is None:
        return ToolResult(text=error, error=error, raw=error)
    result = read_result(response, error)
    if not isinstance(response, dict) or result.text:
        return result
    output = response.get("output")
    text = text_of(response) if output is None else text_of(output)
    return result.replace(text=text)


def write(call: ToolCall, result: ToolResult) -> Any:
    """Return the result of a tool in the form of Cursor."""
    if call.tool == "shell":
        stdout = result.text if result.stdout is None else result.stdout
        return {"exitCode": result.exit_code or 0, "stdout": stdout}
    return {"output": result.text}


FORM = ToolResultForm(read=read, write=write)
