"""Results of tools in the form of Claude Code.

Each tool returns an object of its own; the error of a tool that failed comes in another event.
Sources: what Claude Code 2.1.197 sent, and its schemas.
"""

from __future__ import annotations

from anyhook.agents.tool_results import ToolResultForm
from anyhook.model.tools import MCP_PREFIX, ToolResult, all_texts, read_result, text_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from anyhook.model.tools import ToolCall

TEXT_MEMBERS = {"glob": "filenames", "web_search": "results", "agent": "content"}
"""Tool to the member of its result that holds the text for the model."""


def read(call: ToolCall, response: Any, error: str | None) -> ToolResult:
    """Return the result of a tool."""
    if error is not None and response is None:
        first, _, rest = error.partition("\n")
        code = first.removeprefix("Exit code ")
        if code == first or not code.removeprefix("-").isdigit():
            return ToolResult(text=error, error=error, raw=error)
        return ToolResult(text=rest, exit_code=int(code), error=error, raw=error)
    result = read_result(response, error)
    if not isinstance(response, dict):
        return result
    text = _read_text(call, response)
    return result if text is None else result.replace(text=text)


def _read_text(call: ToolCall, response: dict[str, Any]) -> str | None:
    """Return the text for the model; `None` if it is in a member of the usual name."""
    if isinstance(response.get("text"), str):  # of `write_output`: Claude Code sends no such member
        return None
    path = response.get("filePath") or call.arguments.get("file_path")
    match call.tool:
        case "glob" | "web_search" | "agent":
            return text_of(response.get(TEXT_MEMBERS[call.tool]))
        case "grep":
            content = response.get("content")
            if isinstance(content, str):
                return content
            return "\n".join(all_texts(response.get("filenames")))
        case "write_file":
            is_update = response.get("type") == "update"
            verb = "overwrote" if is_update else "created and wrote to new"
            return f"Successfully {verb} file: {path}."
        case "edit_file":
            return f"Successfully modified file: {path}."
        case "write_todos":
            return "Successfully updated the todo list."
        case "skill":
            name = response.get("commandName") or call.arguments.get("name")
            return f"Skill {name} is active."
        case _:
            return None


def write(call: ToolCall, result: ToolResult) -> Any:
    """Return the result of a tool in the form of Claude Code."""
    if call.tool in WRITERS:
        return WRITERS[call.tool](call, result)
    if call.tool.startswith(MCP_PREFIX):
        return _content_of(result)
    return result.text


def write_output(call: ToolCall, result: ToolResult) -> dict[str, Any]:
    """Return the output of a program's tool that the object of Claude Code's tool cannot hold."""
    path = _path_of(call, result)
    return {"filePath": path, "text": result.text} if path else {"text": result.text}


def _content_of(result: ToolResult) -> list[dict[str, str]]:
    return [{"type": "text", "text": result.text}]


def _path_of(call: ToolCall, result: ToolResult) -> Any:
    return result.file_path or call.arguments.get("file_path", "")


def _original_content(result: ToolResult) -> Any:
    """Return the content of a file before a change, which Gemini CLI shows to the user."""
    display = result.raw.get("returnDisplay") if isinstance(result.raw, dict) else None
    return display.get("originalContent") if isinstance(display, dict) else None


def _write_shell(_call: ToolCall, result: ToolResult) -> dict[str, Any]:
    response: dict[str, Any] = {
        "stdout": result.text if result.stdout is None else result.stdout,
        "stderr": result.stderr or "",
        "interrupted": result.interrupted,
        "isImage": False,
    }
    if result.exit_code is not None:
        response["exitCode"] = result.exit_code
    return response


def _write_new_file(call: ToolCall, result: ToolResult) -> dict[str, Any]:
    original = _original_content(result)
    return {
        "type": "update" if original else "create",
        "filePath": _path_of(call, result),
        "content": call.arguments.get("content", ""),
        "structuredPatch": [],
        "originalFile": original or None,
        "userModified": False,
    }


def _write_edit(call: ToolCall, result: ToolResult) -> dict[str, Any]:
    return {
        "filePath": _path_of(call, result),
        "oldString": call.arguments.get("old_string", ""),
        "newString": call.arguments.get("new_string", ""),
        "originalFile": _original_content(result),
        "structuredPatch": [],
        "userModified": False,
        "replaceAll": call.arguments.get("replace_all") is True,
    }


def _write_file_content(call: ToolCall, result: ToolResult) -> dict[str, Any]:
    line_count = result.text.count("\n") + 1
    offset = call.arguments.get("offset")
    first = offset if isinstance(offset, int) and offset > 0 else 1
    file = {
        "filePath": _path_of(call, result),
        "content": result.text,
        "numLines": line_count,
        "startLine": first,
        "totalLines": first - 1 + line_count,
    }
    return {"type": "text", "file": file}


def _write_glob(_call: ToolCall, result: ToolResult) -> dict[str, Any]:
    paths = [line for line in result.text.splitlines() if line.startswith("/")]
    return {"filenames": paths, "durationMs": 0, "numFiles": len(paths), "truncated": False}


def _write_grep(_call: ToolCall, result: ToolResult) -> dict[str, Any]:
    lines = result.text.splitlines()
    matches = [line.removeprefix("File: ") for line in lines if line.startswith("File: ")]
    paths = list(dict.fromkeys(matches))
    return {
        "mode": "content",
        "numFiles": len(paths),
        "filenames": paths,
        "content": result.text,
        "numLines": len(lines),
    }


def _write_web_fetch(call: ToolCall, result: ToolResult) -> dict[str, Any]:
    return {
        "bytes": len(result.text.encode("utf-8", "replace")),
        "code": 200,
        "codeText": "OK",
        "result": result.text,
        "durationMs": 0,
        "url": call.arguments.get("url", ""),
    }


def _write_agent(call: ToolCall, result: ToolResult) -> dict[str, Any]:
    return {
        "status": "completed",
        "prompt": call.arguments.get("prompt", ""),
        "agentId": "",
        "agentType": call.arguments.get("agent_type", ""),
        "content": _content_of(result),
        "totalDurationMs": 0,
        "totalTokens": 0,
        "totalToolUseCount": 0,
    }


WRITERS: dict[str, Callable[[ToolCall, ToolResult], Any]] = {
    "shell": _write_shell,
    "write_file": _write_new_file,
    "edit_file": _write_edit,
    "read_file": _write_file_content,
    "glob": _write_glob,
    "grep": _write_grep,
    "web_fetch": _write_web_fetch,
    "web_search": lambda call, result: {
        "query": call.arguments.get("query", ""),
        "results": [result.text],
        "durationSeconds": 0,
    },
    "agent": _write_agent,
    "write_todos": lambda call, _result: {
        "oldTodos": [],
        "newTodos": call.arguments.get("todos", []),
    },
    "skill": lambda call, result: {
        "success": result.error is None,
        "commandName": call.arguments.get("name", ""),
    },
}
"""Canonical tool to the function that writes its object."""

FORM = ToolResultForm(read=read, write=write, write_output=write_output)
