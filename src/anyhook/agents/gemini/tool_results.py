"""Results of tools in the form of Gemini CLI.

Every tool returns the text for the model and something to show: `{llmContent, returnDisplay,
error?}`. The result of a shell command is a report in lines. Source: what Gemini CLI 0.61.0 sent.
"""

from __future__ import annotations

from anyhook.agents.tool_results import ToolResultForm
from anyhook.model.tools import MCP_PREFIX, ToolResult, read_result

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from anyhook.model.tools import ToolCall

UNTRUSTED_START = "<untrusted_context>"
UNTRUSTED_END = "</untrusted_context>"
"""Lines around text from outside the session."""
REPORT_LABELS = (
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
"""How the lines of the report of a shell command start."""
EMPTY_VALUES = ("(empty)", "(none)", "(no output)")
FILE_TOOLS = frozenset({"write_file", "edit_file"})


def read(call: ToolCall, response: Any, error: str | None) -> ToolResult:
    """Return the result of a tool."""
    result = read_result(response, error)
    response = response if isinstance(response, dict) else {}
    failure = response.get("error")
    if isinstance(failure, dict) and isinstance(failure.get("message"), str):
        result = result.replace(error=failure["message"])
    lines = result.text.split("\n")
    if lines[0] == UNTRUSTED_START:
        lines = lines[1:]
        if lines and lines[-1] == UNTRUSTED_END:
            lines = lines[:-1]
    text = "\n".join(lines)
    if call.tool == "shell":
        if error and not text and _split_report(error):
            # Qwen Code sends the report of a command that failed as its error.
            result, text = result.replace(error=None), error
        return _read_shell_report(result, text)
    display = response.get("returnDisplay")
    path = display.get("filePath") if isinstance(display, dict) else None
    if isinstance(path, str):
        result = result.replace(file_path=path)
    return result.replace(text=text)


def _read_shell_report(result: ToolResult, text: str) -> ToolResult:
    """Read the report of a shell command; any other text is its output."""
    parts = _split_report(text)
    if not parts:
        return result.replace(text=text, stdout=text, stderr="")
    values = {label: "" if part in EMPTY_VALUES else part for label, part in parts.items()}
    stdout = values.get("Output: ", values.get("Stdout: ", ""))
    stderr = values.get("Stderr: ", "")
    code = parts.get("Exit Code: ", "0").strip()
    exit_code = int(code) if code.removeprefix("-").isdigit() else None
    error = result.error or values.get("Error: ") or None
    if error is None and exit_code:
        # As Claude Code describes a command that failed.
        error = "\n".join([f"Exit code {exit_code}", *filter(None, (stderr, stdout))])
    return result.replace(
        text="\n".join(filter(None, (stdout, stderr))),
        stdout=stdout,
        stderr=stderr,
        exit_code=exit_code,
        error=error,
    )


def _split_report(text: str) -> dict[str, str]:
    """Return the parts of a report by label; empty if the text is not a report."""
    parts: dict[str, str] = {}
    current = ""
    for line in text.split("\n"):
        labels = [label for label in REPORT_LABELS if line.startswith(label)]
        if labels and labels[0] not in parts:  # a second one belongs to the text
            current = labels[0]
            parts[current] = line.removeprefix(current)
        elif not parts:
            return {}
        else:
            parts[current] += "\n" + line
    return parts


def write(call: ToolCall, result: ToolResult) -> dict[str, Any]:
    """Return the result of a tool in the form of Gemini CLI."""
    failed = result.error is not None
    text = result.error if failed and not result.text else result.text
    if call.tool == "shell":
        stdout = result.stdout
        if stdout is None:
            # An error of Claude Code starts with the exit code.
            first, _, rest = (result.error or "").partition("\n")
            error = rest if first.startswith("Exit code ") else result.error
            stdout = result.text or error
        output = "\n".join(filter(None, (stdout, result.stderr)))
        text = f"Output: {output or '(empty)'}"
        if result.exit_code:
            text += f"\nExit Code: {result.exit_code}"
    response: dict[str, Any] = {"llmContent": text, "returnDisplay": result.text or text}
    if call.tool.startswith(MCP_PREFIX):
        response["llmContent"] = [{"text": text}]
    if call.tool in FILE_TOOLS and result.file_path and not failed:
        response["returnDisplay"] = {
            "fileName": result.file_path.replace("\\", "/").rpartition("/")[2],
            "filePath": result.file_path,
            "newContent": call.arguments.get("content", call.arguments.get("new_string", "")),
        }
    # A command with an exit code has run, so its failure is not an error of the tool.
    if failed and not (call.tool == "shell" and result.exit_code):
        response["error"] = {"message": result.error, "type": "execution_failed"}
    return response


def write_output(call: ToolCall, result: ToolResult) -> dict[str, Any]:
    """Return the output of a program's tool without the words that Gemini CLI's tool adds."""
    return write(call.replace(tool=""), result)


FORM = ToolResultForm(read=read, write=write, write_output=write_output)
