"""Events that only one or two agents have.

They are apart from `anyhook.model.further_events`, because each class costs a cold hook 0.03 ms.
"""

from __future__ import annotations

from anyhook.model.event import CallT_co, Event, ToolEvent, events_in

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class Interrupt(Event):
    """The user interrupted a running turn."""

    name = "interrupt"


class PromptTransformed(Event):
    """The agent has added its own texts to a prompt, and is about to send it.

    Attributes:
        prompt: The prompt as the user wrote it.
        transformed_prompt: The text that the model gets.
    """

    name = "prompt_transformed"

    prompt: str
    transformed_prompt: str


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


class AgentError(Event):
    """An error happened in the agent or in the model's API.

    Attributes:
        error: The error; its members depend on the agent.
        error_context: What the agent was doing: `model_call`, …
        recoverable: Whether the agent goes on.
    """

    name = "agent_error"

    error: dict[str, Any]
    error_context: str | None = None
    recoverable: bool | None = None


class SessionDelete(Event):
    """A stored session was deleted.

    Attributes:
        deleted_session_id: Identifier of that session.
    """

    name = "session_delete"

    deleted_session_id: str


class TodoCreated(Event):
    """An item was added to the list of things to do.

    Attributes:
        todo_id: Identifier of the item.
        todo_content: Its text.
        todo_status: `pending`, `in_progress` or `completed`.
        all_todos: The new list.
        phase: `validation`, before the list is written, or `postWrite`.
    """

    name = "todo_created"

    todo_id: str
    todo_content: str
    todo_status: str | None = None
    all_todos: list[Any] | None = None
    phase: str | None = None


class TodoCompleted(Event):
    """An item of the list of things to do was completed.

    Attributes:
        todo_id: Identifier of the item.
        todo_content: Its text.
        previous_status: Its status before.
        all_todos: The new list.
        phase: `validation`, before the list is written, or `postWrite`.
    """

    name = "todo_completed"

    todo_id: str
    todo_content: str
    previous_status: str | None = None
    all_todos: list[Any] | None = None
    phase: str | None = None


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


class AgentResponse(Event):
    """The model has written a message to the user.

    Attributes:
        response: Text of the message.
    """

    name = "agent_response"

    response: str


class AgentThought(Event):
    """The model has finished a block of reasoning.

    Attributes:
        thought: Text of the block.
        duration_ms: Duration in milliseconds.
    """

    name = "agent_thought"

    thought: str
    duration_ms: float | None = None


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


class WorkspaceOpen(Event):
    """The editor has opened a workspace.

    Attributes:
        workspace_roots: Directories of the workspace.
    """

    name = "workspace_open"

    workspace_roots: list[Any]


RARE_EVENTS = events_in(globals())
"""Canonical name to class."""
