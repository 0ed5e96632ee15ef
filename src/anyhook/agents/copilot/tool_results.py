"""Results of tools in the form of GitHub Copilot CLI: one text for the model, and how it ended.

The result of a shell command ends with a line that holds its exit code. Source: what release
1.0.102 sent. In payloads of PascalCase events the members have snake_case names.
"""

from __future__ import annotations

import re
from functools import partial

from anyhook.agents.tool_results import ToolResultForm
from anyhook.model.tools import ToolResult, read_result

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from anyhook.model.tools import ToolCall

_SHELL_END = r"\n?<shellId: \S+ completed with exit code (-?\d+)>\s*\Z"
CAMEL = ("resultType", "textResultForLlm")
SNAKE = ("result_type", "text_result_for_llm")


def read(call: ToolCall, response: Any, error: str | None) -> ToolResult:
    """Return the result of a tool."""
    for kind, text_key in (CAMEL, SNAKE):
        text = response.get(text_key) if isinstance(response, dict) else None
        if isinstance(text, str):
            if response.get(kind) == "failure":
                error = error or text
            result = ToolResult(text=text, error=error, raw=response)
            end = re.search(_SHELL_END, text) if call.tool == "shell" else None
            if end is None:
                return result
            output = text[: end.start()]
            return result.replace(text=output, stdout=output, stderr="", exit_code=int(end[1]))
    if error is not None and response is None:
        return ToolResult(text=error, error=error, raw=error)
    return read_result(response, error)


def _write(keys: tuple[str, str], call: ToolCall, result: ToolResult) -> dict[str, str]:
    kind, text_key = keys
    text = result.text or result.error or ""
    if call.tool == "shell" and result.exit_code is not None:
        text += f"\n<shellId: 0 completed with exit code {result.exit_code}>"
    return {kind: "success", text_key: text}


FORM = ToolResultForm(read=read, write=partial(_write, CAMEL))
"""The form in payloads of camelCase events, and in replies."""
PASCAL_FORM = ToolResultForm(read=read, write=partial(_write, SNAKE))
