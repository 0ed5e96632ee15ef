"""Further events around the call of a tool, which not every agent has.

An event that several agents have keeps the name of the one that documented it first, in
snake_case. Sources: the references of the agents, see `anyhook.agents`.
"""

from __future__ import annotations

import re

from anyhook.model.event import CallT_co, Event, ToolEvent, events_in

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from anyhook.model.tools import ToolResult


class PermissionRequest(ToolEvent[CallT_co]):
    """The user is about to be asked whether a tool may run.

    Attributes:
        permission_suggestions: Changes of the permission rules that would avoid the question.
    """

    name = "permission_request"

    permission_suggestions: list[Any] | None = None


class PermissionDenied(ToolEvent[CallT_co]):
    """A tool call was denied without asking the user.

    Attributes:
        reason: Why it was denied.
    """

    name = "permission_denied"

    reason: str


class PreSkillShellCommand(ToolEvent[CallT_co]):
    """The text of a skill or command holds a shell command, which is about to run.

    No `before_tool` happens for it.

    Attributes:
        command_name: The skill or command.
        command_source: Where it is from: `projectSettings`, a plugin, …
        invoked_by: Who started it: `user`, `claude`, `other`.
    """

    name = "pre_skill_shell_command"

    command_name: str = ""
    command_source: str | None = None
    invoked_by: str | None = None


class PostToolUseFailure(ToolEvent[CallT_co]):
    """A tool has run and failed. Agents without this event send `after_tool`.

    Attributes:
        error: Text of the error; for a shell command its first line is `Exit code N`.
        is_interrupt: Whether the user interrupted it.
        duration_ms: Run time of the tool in milliseconds.
    """

    name = "post_tool_use_failure"

    error: str
    is_interrupt: bool | None = None
    duration_ms: float | None = None

    @property
    def result(self) -> ToolResult:
        """The failure in a form that does not depend on the agent: `error`, `exit_code`, `text`."""
        from anyhook.model.tools import ToolResult

        head, _, rest = self.error.partition("\n")
        code = re.fullmatch(r"Exit code (-?\d+)", head)
        return ToolResult(
            text=rest if code else self.error,
            exit_code=int(code[1]) if code else None,
            interrupted=bool(self.is_interrupt),
            error=self.error,
            raw=self.error,
        )


class PostToolBatch(Event):
    """All tool calls of one response of the model have ended.

    Attributes:
        tool_calls: Objects with `tool_name`, `tool_input`, `tool_use_id` and `tool_response`, the
            result as the model receives it.
    """

    name = "post_tool_batch"

    tool_calls: list[Any]


class Elicitation(Event):
    """An MCP server requests input from the user.

    Attributes:
        mcp_server_name: Name of the server.
        message: Text of the request.
        mode: `form` or `url`.
        url: URL that the user is sent to.
        elicitation_id: Identifier of the request.
        requested_schema: JSON Schema of the input.
    """

    name = "elicitation"

    mcp_server_name: str
    message: str
    mode: str | None = None
    url: str | None = None
    elicitation_id: str | None = None
    requested_schema: dict[str, Any] | None = None


class ElicitationResult(Event):
    """The user answered the request of an MCP server.

    Attributes:
        mcp_server_name: Name of the server.
        action: `accept`, `decline` or `cancel`.
        mode: `form` or `url`.
        elicitation_id: Identifier of the request.
        content: Input of the user.
    """

    name = "elicitation_result"

    mcp_server_name: str
    action: str
    mode: str | None = None
    elicitation_id: str | None = None
    content: dict[str, Any] | None = None


class BeforeMcpCall(ToolEvent[CallT_co]):
    """A tool of an MCP server is about to be called, after the event of all tools.

    Attributes:
        mcp_server_name: Name of the server.
        url: URL of a server that is reached over HTTP.
        command: Command line of a server that is a process.
    """

    name = "before_mcp_call"

    mcp_server_name: str | None = None
    url: str | None = None
    command: str | None = None


class AfterMcpCall(ToolEvent[CallT_co]):
    """A tool of an MCP server was called.

    Attributes:
        mcp_server_name: Name of the server.
        result_json: The result as a JSON text.
        duration_ms: Run time of the call in milliseconds.
    """

    name = "after_mcp_call"

    mcp_server_name: str | None = None
    result_json: str | None = None
    duration_ms: float | None = None


class BeforeShell(Event):
    """A command line is about to run, after the event of all tools.

    Attributes:
        command: The command line.
        sandbox: Whether it runs in a sandbox.
    """

    name = "before_shell"

    command: str
    sandbox: bool | None = None


class AfterShell(Event):
    """A command line has run.

    Attributes:
        command: The command line.
        output: What it printed.
        duration_ms: Run time in milliseconds, without the time of an approval.
        sandbox: Whether it ran in a sandbox.
    """

    name = "after_shell"

    command: str
    output: str = ""
    duration_ms: float | None = None
    sandbox: bool | None = None


class BeforeFileRead(Event):
    """A file is about to be read by the agent.

    Attributes:
        file_path: Path of the file.
        content: Its content.
        attachments: Files and rules that the user attached to the prompt.
    """

    name = "before_file_read"

    file_path: str
    content: str = ""
    attachments: list[Any] | None = None


class AfterFileEdit(Event):
    """The agent has changed a file.

    Attributes:
        file_path: Path of the file.
        edits: The changes, each with `old_string` and `new_string`.
    """

    name = "after_file_edit"

    file_path: str
    edits: list[Any]


class BeforeTabRead(Event):
    """A file is about to be read for an inline completion.

    Attributes:
        file_path: Path of the file.
        content: Its content.
    """

    name = "before_tab_read"

    file_path: str
    content: str = ""


class AfterTabEdit(Event):
    """An inline completion has changed a file.

    Attributes:
        file_path: Path of the file.
        edits: The changes, each with `old_string`, `new_string` and `range`.
    """

    name = "after_tab_edit"

    file_path: str
    edits: list[Any]


TOOL_EVENTS = events_in(globals())
"""Canonical name to class."""
