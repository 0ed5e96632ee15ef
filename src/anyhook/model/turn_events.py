"""Further events of a turn, which not every agent has: texts, subagents, tasks and errors.

Names are made as in `anyhook.model.tool_events`.
"""

from __future__ import annotations

from anyhook.model.event import Event, events_in

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class UserPromptExpansion(Event):
    """A command of the user is expanded to a prompt.

    Attributes:
        expansion_type: `slash_command` or `mcp_prompt`.
        command_name: Name of the command.
        command_args: Text after the name.
        command_source: Origin of the command.
        prompt: The text that the user typed.
    """

    name = "user_prompt_expansion"

    expansion_type: str
    command_name: str
    command_args: str | None = None
    command_source: str | None = None
    prompt: str | None = None


class MessageDisplay(Event):
    """A piece of the model's text is about to be shown.

    Attributes:
        delta: Text of the piece.
        turn_id: Identifier of the turn.
        message_id: Identifier of the message.
        index: 0-based number of the piece.
        final: Whether it is the last piece.
    """

    name = "message_display"

    delta: str
    turn_id: str | None = None
    message_id: str | None = None
    index: float | None = None
    final: bool | None = None


class SubagentStart(Event):
    """A subagent starts.

    Attributes:
        agent_type: Type of the subagent.
    """

    name = "subagent_start"

    agent_type: str


class SubagentStop(Event):
    """A subagent is about to end. A denial continues it with the reason as its next prompt.

    Attributes:
        agent_type: Type of the subagent; empty for built-in ones.
        prompt_response: The final text of the subagent.
        stop_hook_active: Whether a hook has already continued it.
        agent_transcript_path: Path of its transcript.
        background_tasks: Tasks that are still running.
        session_crons: Timers of the session.
    """

    name = "subagent_stop"

    agent_type: str
    prompt_response: str = ""
    stop_hook_active: bool = False
    agent_transcript_path: str | None = None
    background_tasks: list[Any] | None = None
    session_crons: list[Any] | None = None


class TaskCreated(Event):
    """A task was added to the task list.

    Attributes:
        task_id: Identifier of the task.
        task_subject: Title of the task.
        task_description: Text of the task.
        teammate_name: Name of the agent that created it.
        team_name: Name of its team.
    """

    name = "task_created"

    task_id: str
    task_subject: str
    task_description: str | None = None
    teammate_name: str | None = None
    team_name: str | None = None


class TaskCompleted(Event):
    """A task is about to be marked as completed.

    Attributes:
        task_id: Identifier of the task.
        task_subject: Title of the task.
        task_description: Text of the task.
        teammate_name: Name of the agent that did it.
        team_name: Name of its team.
    """

    name = "task_completed"

    task_id: str
    task_subject: str
    task_description: str | None = None
    teammate_name: str | None = None
    team_name: str | None = None


class StopFailure(Event):
    """A turn ended with an error of the model's API.

    Attributes:
        error: `rate_limit`, `overloaded`, `authentication_failed`, …
        error_details: Details of the error.
        last_assistant_message: The last text that the user saw.
    """

    name = "stop_failure"

    error: str
    error_details: str | None = None
    last_assistant_message: str | None = None


class TeammateIdle(Event):
    """An agent of a team is about to become idle.

    Attributes:
        teammate_name: Name of the agent.
        team_name: Name of its team.
    """

    name = "teammate_idle"

    teammate_name: str
    team_name: str | None = None


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


TURN_EVENTS = events_in(globals())
"""Canonical name to class."""
