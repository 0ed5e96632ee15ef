"""Events that few agents have, typed; most are Claude Code's.

They keep the agent's own names in snake_case. Source: Claude Code's hooks reference (2026-10).
It is one module because it is one list of classes without logic.
"""

from __future__ import annotations

import re

from anyhook.model.event import CallT_co, Event, ToolEvent, events_in

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from anyhook.model.tools import ToolResult


class Setup(Event):
    """The agent is being set up for a project.

    Attributes:
        trigger: `init` or `maintenance`.
    """

    name = "setup"

    trigger: str


class InstructionsLoaded(Event):
    """A file of instructions was loaded.

    Attributes:
        file_path: Path of the file.
        memory_type: `User`, `Project`, `Local` or `Managed`.
        load_reason: `session_start`, `nested_traversal`, `path_glob_match`, `include` or `compact`.
        globs: Path patterns for which it was loaded.
        trigger_file_path: Path of the file whose use led to loading it.
        parent_file_path: Path of the file that includes it.
    """

    name = "instructions_loaded"

    file_path: str
    memory_type: str
    load_reason: str
    globs: list[Any] | None = None
    trigger_file_path: str | None = None
    parent_file_path: str | None = None


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


class ConfigChange(Event):
    """A settings file changed.

    Attributes:
        source: `user_settings`, `project_settings`, `local_settings`, `policy_settings` or
            `skills`.
        file_path: Path of the file.
    """

    name = "config_change"

    source: str
    file_path: str | None = None


class CwdChanged(Event):
    """The working directory changed.

    Attributes:
        old_cwd: The previous directory.
        new_cwd: The new directory.
    """

    name = "cwd_changed"

    old_cwd: str
    new_cwd: str


class DirectoryAdded(Event):
    """A directory was added to the session.

    Attributes:
        directory: Path of the directory.
        source: `slash_command` or `register_repo_root`.
    """

    name = "directory_added"

    directory: str
    source: str


class FileChanged(Event):
    """A watched file changed.

    Attributes:
        file_path: Path of the file.
        change: `change`, `add` or `unlink` (`event` in the payload).
    """

    name = "file_changed"

    file_path: str
    change: str

    @property
    def file_name(self) -> str:
        """The base name of the file, which matchers see."""
        return re.split(r"[/\\]", self.file_path)[-1]


class WorktreeCreate(Event):
    """A worktree is needed. The hook creates it and prints its path.

    Attributes:
        worktree_name: Short name of the worktree (`name` in the payload).
    """

    name = "worktree_create"

    worktree_name: str


class WorktreeRemove(Event):
    """A worktree that a hook created is about to be removed.

    Attributes:
        worktree_path: Path of the worktree.
    """

    name = "worktree_remove"

    worktree_path: str


class PostCompact(Event):
    """The context was compressed.

    Attributes:
        trigger: `manual` or `auto`.
        compact_summary: The summary that replaces the context.
    """

    name = "post_compact"

    trigger: str
    compact_summary: str | None = None


class ModelSwitch(Event):
    """The fields of the two events of a change of the model.

    Attributes:
        to_model: The new model.
        from_model: The previous model.
        requested_model: The new model, as the user named it.
        source: `command`, `picker`, `sdk`; after the switch also `auto` and `resume`.
        context_tokens: Tokens in the context.
        prompt_cache_warm: Whether the switch discards a prompt cache that is still valid.
        cache_ttl: Lifetime of the prompt cache, `5m` or `1h`.
        estimated_cache_write_usd: Estimated price of the switch in US dollars.
        pricing: Source of the price.
    """

    to_model: str
    from_model: str | None = None
    requested_model: str | None = None
    source: str | None = None
    context_tokens: float | None = None
    prompt_cache_warm: bool | None = None
    cache_ttl: str | None = None
    estimated_cache_write_usd: float | None = None
    pricing: str | None = None

    @property
    def model_name(self) -> str | None:
        """The canonical name of the new model, which matchers see; `None` for an alias."""
        bare = re.sub(r"\[.*\]$", "", self.to_model).rpartition("/")[2]
        bare = re.sub(r"^(?:[a-z]+\.)*anthropic\.", "", bare)
        bare = re.sub(r"(?:[@-]\d{8})?(?:-v\d+(?::\d+)?)?$", "", bare)
        return bare if "-" in bare else None


class PreModelSwitch(ModelSwitch):
    """The model is about to be changed."""

    name = "pre_model_switch"


class PostModelSwitch(ModelSwitch):
    """The model was changed."""

    name = "post_model_switch"


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


FURTHER_EVENTS = events_in(globals())
"""Canonical name to class."""
