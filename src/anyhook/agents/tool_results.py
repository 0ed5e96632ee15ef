"""What tools return, from one agent's form into another's.

There are two forms in the field. `content`: every tool returns the text for the model and something
to show, `{llmContent, returnDisplay, error?}`. `structured`: each tool returns an object of its
own, and of a tool that failed the agent tells in another event.

Sources: what Gemini CLI 0.61.0 and Claude Code 2.1.197 sent, and the schemas of Claude Code.
"""

from __future__ import annotations

from anyhook.model.tools import MCP_PREFIX, ToolCall, ToolResult, all_texts, read_result, text_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from anyhook.agents.spec import AgentSpec

WRAPPERS = ("<untrusted_context>", "</untrusted_context>")
"""Lines that Gemini CLI puts around what came from outside."""
SHELL_LINES = (
    "Command: ",
    "Directory: ",
    "Output: ",
    "Stdout: ",
    "Stderr: ",
    "Error: ",
    "Exit Code: ",
    "Signal: ",
    "Background PIDs: ",
    "Process Group PGID: ",
)
"""What the lines start with in which Gemini CLI reports a shell command."""
NOTHING_SAID = ("(empty)", "(none)", "(no output)")
OUTPUTS = ("Output: ", "Stdout: ")


def read_tool_result(
    source: AgentSpec, call: ToolCall, response: Any, error: str | None = None
) -> ToolResult:
    """Read what a tool returned.

    Args:
        source: The agent that sent it.
        call: The call, in canonical words.
        response: The agent's JSON; of a failed tool there may be none.
        error: What went wrong, where the agent tells that apart.
    """
    return READERS[source.tool_result_form](call, response, error)


def write_tool_result(target: AgentSpec, call: ToolCall, result: ToolResult) -> Any:
    """Write what a tool returned in an agent's form.

    Args:
        target: The agent that is to read it.
        call: The call, in canonical words.
        result: What the tool returned.
    """
    return WRITERS[target.tool_result_form](call, result)


# -- content


def _read_content(call: ToolCall, response: Any, error: str | None) -> ToolResult:
    plain = read_result(response, error)
    said = response.get("error") if isinstance(response, dict) else None
    if isinstance(said, dict) and isinstance(said.get("message"), str):
        plain = plain.replace(error=said["message"])
    text = _unwrapped(plain.text)
    if call.tool == "shell":
        return _read_shell(plain, text)
    shown = response.get("returnDisplay") if isinstance(response, dict) else None
    path = shown.get("filePath") if isinstance(shown, dict) else None
    return plain.replace(text=text, file_path=path if isinstance(path, str) else plain.file_path)


def _unwrapped(text: str) -> str:
    lines = text.split("\n")
    if lines and lines[0] == WRAPPERS[0]:
        lines = lines[1:]
        if lines and lines[-1] == WRAPPERS[1]:
            lines = lines[:-1]
    return "\n".join(lines)


def _read_shell(plain: ToolResult, text: str) -> ToolResult:
    """Take apart the lines that report a command; other text is its output."""
    lines = text.split("\n")
    if not any(lines[0].startswith(head) for head in SHELL_LINES):
        return plain.replace(text=text, stdout=text, stderr="")
    parts: dict[str, str] = {}
    at = 0
    while at < len(lines):
        head = next((h for h in SHELL_LINES if lines[at].startswith(h) and h not in parts), None)
        if head is None:  # another line of the part before
            key = next(reversed(parts))
            parts[key] += "\n" + lines[at]
        else:
            parts[head] = lines[at].removeprefix(head)
        at += 1
    stdout = next((_said(parts[head]) for head in OUTPUTS if head in parts), "")
    stderr = _said(parts.get("Stderr: ", ""))
    code = parts.get("Exit Code: ", "0").strip()
    number = int(code) if code.removeprefix("-").isdigit() else None
    failure = _said(parts.get("Error: ", ""))
    return plain.replace(
        text="\n".join(filter(None, (stdout, stderr))),
        stdout=stdout,
        stderr=stderr,
        exit_code=number,
        error=plain.error or failure or _failure(number, stdout, stderr),
    )


def _said(text: str) -> str:
    return "" if text in NOTHING_SAID else text


def _failure(code: int | None, stdout: str, stderr: str) -> str | None:
    """Say as Claude Code does how a command failed; `None` if it did not."""
    if not code:
        return None
    return "\n".join((f"Exit code {code}", *filter(None, (stderr, stdout))))


def _write_content(call: ToolCall, result: ToolResult) -> dict[str, Any]:
    failed = result.error is not None
    text = result.error if failed and not result.text else result.text
    if call.tool == "shell":
        text = _written_shell(result)
    made: dict[str, Any] = {"llmContent": text, "returnDisplay": result.text or text}
    if call.tool.startswith(MCP_PREFIX):
        made["llmContent"] = [{"text": text}]
    if call.tool in FILE_TOOLS and result.file_path and not failed:
        made["returnDisplay"] = {
            "fileName": result.file_path.replace("\\", "/").rpartition("/")[2],
            "filePath": result.file_path,
            "newContent": call.arguments.get("content", call.arguments.get("new_string", "")),
        }
    if failed and not (call.tool == "shell" and result.exit_code):
        made["error"] = {"message": result.error, "type": "execution_failed"}
    return made


def _written_shell(result: ToolResult) -> str:
    stdout, stderr = result.stdout, result.stderr
    if stdout is None:
        head, _, rest = (result.error or "").partition("\n")
        stdout = result.text or (rest if head.startswith("Exit code ") else result.error or "")
    output = "\n".join(filter(None, (stdout, stderr)))
    lines = [f"Output: {output or '(empty)'}"]
    if result.exit_code:
        lines.append(f"Exit Code: {result.exit_code}")
    return "\n".join(lines)


# -- structured


def _read_structured(call: ToolCall, response: Any, error: str | None) -> ToolResult:
    if error is not None and response is None:
        head, _, rest = error.partition("\n")
        code = head.removeprefix("Exit code ")
        number = int(code) if head != code and code.removeprefix("-").isdigit() else None
        return ToolResult(
            text=rest if number is not None else error, exit_code=number, error=error, raw=error
        )
    result = read_result(response, error)
    if not isinstance(response, dict):
        return result
    reader = STRUCTURED_TEXTS.get(call.tool)
    return result.replace(text=reader(call, response)) if reader else result


def _texts_at(*keys: str) -> Callable[[ToolCall, dict[str, Any]], str]:
    def read(_call: ToolCall, response: dict[str, Any]) -> str:
        return "\n".join(filter(None, (text_of(response.get(key)) for key in keys)))

    return read


def _read_grep(_call: ToolCall, response: dict[str, Any]) -> str:
    content = response.get("content")
    return content if isinstance(content, str) else "\n".join(all_texts(response.get("filenames")))


def _read_write(call: ToolCall, response: dict[str, Any]) -> str:
    path = response.get("filePath") or call.arguments.get("file_path")
    verb = "overwrote" if response.get("type") == "update" else "created and wrote to new"
    return f"Successfully {verb} file: {path}."


def _read_edit(call: ToolCall, response: dict[str, Any]) -> str:
    path = response.get("filePath") or call.arguments.get("file_path")
    return f"Successfully modified file: {path}."


def _read_todos(_call: ToolCall, _response: dict[str, Any]) -> str:
    return "Successfully updated the todo list."


def _read_skill(call: ToolCall, response: dict[str, Any]) -> str:
    name = response.get("commandName") or call.arguments.get("name")
    return f"Skill {name} is active."


STRUCTURED_TEXTS: dict[str, Callable[[ToolCall, dict[str, Any]], str]] = {
    "glob": _texts_at("filenames"),
    "grep": _read_grep,
    "web_search": _texts_at("results"),
    "agent": _texts_at("content"),
    "write_file": _read_write,
    "edit_file": _read_edit,
    "write_todos": _read_todos,
    "skill": _read_skill,
}
"""Canonical tool to the text for the model in its object, where that has no usual name."""


def _path(call: ToolCall, result: ToolResult) -> Any:
    return result.file_path or call.arguments.get("file_path", "")


def _shell(_call: ToolCall, result: ToolResult) -> dict[str, Any]:
    made: dict[str, Any] = {
        "stdout": result.text if result.stdout is None else result.stdout,
        "stderr": result.stderr or "",
        "interrupted": result.interrupted,
        "isImage": False,
    }
    return made if result.exit_code is None else {**made, "exitCode": result.exit_code}


def _write_file(call: ToolCall, result: ToolResult) -> dict[str, Any]:
    shown = result.raw.get("returnDisplay") if isinstance(result.raw, dict) else None
    before = shown.get("originalContent") if isinstance(shown, dict) else None
    return {
        "type": "update" if before else "create",
        "filePath": _path(call, result),
        "content": call.arguments.get("content", ""),
        "structuredPatch": [],
        "originalFile": before or None,
        "userModified": False,
    }


def _edit_file(call: ToolCall, result: ToolResult) -> dict[str, Any]:
    shown = result.raw.get("returnDisplay") if isinstance(result.raw, dict) else None
    return {
        "filePath": _path(call, result),
        "oldString": call.arguments.get("old_string", ""),
        "newString": call.arguments.get("new_string", ""),
        "originalFile": shown.get("originalContent") if isinstance(shown, dict) else None,
        "structuredPatch": [],
        "userModified": False,
        "replaceAll": call.arguments.get("replace_all") is True,
    }


def _read_file(call: ToolCall, result: ToolResult) -> dict[str, Any]:
    lines = result.text.count("\n") + 1
    start = call.arguments.get("offset")
    first = start if isinstance(start, int) and start > 0 else 1
    file = {
        "filePath": _path(call, result),
        "content": result.text,
        "numLines": lines,
        "startLine": first,
        "totalLines": first - 1 + lines,
    }
    return {"type": "text", "file": file}


def _files(text: str) -> list[str]:
    """Return the lines of a listing that are paths."""
    return [line for line in text.splitlines() if line.startswith("/")]


def _glob(_call: ToolCall, result: ToolResult) -> dict[str, Any]:
    found = _files(result.text)
    return {"filenames": found, "durationMs": 0, "numFiles": len(found), "truncated": False}


def _grep(_call: ToolCall, result: ToolResult) -> dict[str, Any]:
    lines = result.text.splitlines()
    files = [line.removeprefix("File: ") for line in lines if line.startswith("File: ")]
    found = list(dict.fromkeys(files))
    return {
        "mode": "content",
        "numFiles": len(found),
        "filenames": found,
        "content": result.text,
        "numLines": len(lines),
    }


def _fetch(call: ToolCall, result: ToolResult) -> dict[str, Any]:
    return {
        "bytes": len(result.text.encode("utf-8", "replace")),
        "code": 200,
        "codeText": "OK",
        "result": result.text,
        "durationMs": 0,
        "url": call.arguments.get("url", ""),
    }


def _search(call: ToolCall, result: ToolResult) -> dict[str, Any]:
    query = call.arguments.get("query", "")
    return {"query": query, "results": [result.text], "durationSeconds": 0}


def _agent(call: ToolCall, result: ToolResult) -> dict[str, Any]:
    return {
        "status": "completed",
        "prompt": call.arguments.get("prompt", ""),
        "agentId": "",
        "agentType": call.arguments.get("agent_type", ""),
        "content": _parts(call, result),
        "totalDurationMs": 0,
        "totalTokens": 0,
        "totalToolUseCount": 0,
    }


def _todos(call: ToolCall, _result: ToolResult) -> dict[str, Any]:
    return {"oldTodos": [], "newTodos": call.arguments.get("todos", [])}


def _skill(call: ToolCall, result: ToolResult) -> dict[str, Any]:
    return {"success": result.error is None, "commandName": call.arguments.get("name", "")}


def _parts(_call: ToolCall, result: ToolResult) -> list[Any]:
    return [{"type": "text", "text": result.text}]


def _plain(_call: ToolCall, result: ToolResult) -> str:
    return result.text


STRUCTURED: dict[str, Callable[[ToolCall, ToolResult], Any]] = {
    "shell": _shell,
    "write_file": _write_file,
    "edit_file": _edit_file,
    "read_file": _read_file,
    "list_directory": _plain,
    "glob": _glob,
    "grep": _grep,
    "web_fetch": _fetch,
    "web_search": _search,
    "agent": _agent,
    "write_todos": _todos,
    "skill": _skill,
}
"""Canonical tool to how its own object is written."""
FILE_TOOLS = frozenset({"write_file", "edit_file"})


def _write_structured(call: ToolCall, result: ToolResult) -> Any:
    if call.tool in STRUCTURED:
        return STRUCTURED[call.tool](call, result)
    if call.tool.startswith(MCP_PREFIX):
        return _parts(call, result)
    return result.text


# -- as it is


def _keep(_call: ToolCall, result: ToolResult) -> Any:
    return result.raw


def _read_any(_call: ToolCall, response: Any, error: str | None) -> ToolResult:
    return read_result(response, error)


READERS: dict[str, Callable[[ToolCall, Any, str | None], ToolResult]] = {
    "content": _read_content,
    "structured": _read_structured,
    "raw": _read_any,
}
"""Form to how it is read."""
WRITERS: dict[str, Callable[[ToolCall, ToolResult], Any]] = {
    "content": _write_content,
    "structured": _write_structured,
    "raw": _keep,
}
"""Form to how it is written."""
