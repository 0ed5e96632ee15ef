"""The events that only Claude Code has, typed.

They keep the agent's own names in snake_case. Source: Claude Code's hooks reference (2026-10).
"""

from __future__ import annotations

import re

from anyhook.model.events import CallT_co, Event, ToolEvent

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from anyhook.model.tools import ToolResult


class PermissionRequest(ToolEvent[CallT_co]):
    """The user is about to be asked whether a tool may run.

    Attributes:
        permission_suggestions: Changes of the rules that would answer it for ever.
    """

    name = "permission_request"

    permission_suggestions: list[Any] | None = None


class PermissionDenied(ToolEvent[CallT_co]):
    """A tool call was denied without asking the user.

    Attributes:
        reason: Why.
    """

    name = "permission_denied"

    reason: str


class PostToolUseFailure(ToolEvent[CallT_co]):
    """A tool has run and failed.

    Attributes:
        error: What went wrong; of a shell command, `Exit code N` in the first line.
        is_interrupt: Whether the user interrupted it.
        duration_ms: Milliseconds that it took.
    """

    name = "post_tool_use_failure"

    error: str
    is_interrupt: bool | None = None
    duration_ms: float | None = None

    @property
    def result(self) -> ToolResult:
        """What came back: `error`, `exit_code`, `text`."""
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
    """All tool calls of one answer of the model have ended.

    Attributes:
        tool_calls: Each with `tool_name`, `tool_input`, `tool_use_id` and, as the model sees it,
            `tool_response`.
    """

    name = "post_tool_batch"

    tool_calls: list[Any]


class SubagentStop(Event):
    """A subagent believes it is done. A denial sends it round again.

    Attributes:
        agent_type: Its type; empty for agents of the host's own.
        prompt_response: The final text of the subagent.
        stop_hook_active: A hook has already sent it round.
        agent_transcript_path: File that holds its transcript.
        background_tasks: Tasks that still run.
        session_crons: Timers of the session.
    """

    name = "subagent_stop"

    agent_type: str
    prompt_response: str = ""
    stop_hook_active: bool = False
    agent_transcript_path: str | None = None
    background_tasks: list[Any] | None = None
    session_crons: list[Any] | None = None


class FileChanged(Event):
    """A watched file changed.

    Attributes:
        file_path: The file.
        change: `change`, `add` or `unlink` (`event` in the payload).
    """

    name = "file_changed"

    file_path: str
    change: str

    @property
    def file_name(self) -> str:
        """The file without its directories, which matchers see."""
        return re.split(r"[/\\]", self.file_path)[-1]


class ModelSwitch(Event):
    """What the two events of a change of the model share.

    Attributes:
        from_model: The model so far.
        to_model: The model that is wanted.
        requested_model: As the user named it.
        source: `command`, `picker`, `sdk`; after the switch also `auto` and `resume`.
        context_tokens: Size of the context.
        prompt_cache_warm: Whether the switch throws a paid cache away.
        cache_ttl: How long the cache lives, `5m` or `1h`.
        estimated_cache_write_usd: What the switch costs, in US dollars.
        pricing: Where the price comes from.
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
        """The canonical name of the wanted model, which matchers see; `None` for an alias."""
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
        file_path: The file.
        memory_type: `User`, `Project`, `Local` or `Managed`.
        load_reason: `session_start`, `nested_traversal`, `path_glob_match`, `include` or `compact`.
        globs: Patterns that it was loaded for.
        trigger_file_path: The file that made it load.
        parent_file_path: The file that includes it.
    """

    name = "instructions_loaded"

    file_path: str
    memory_type: str
    load_reason: str
    globs: list[Any] | None = None
    trigger_file_path: str | None = None
    parent_file_path: str | None = None


class UserPromptExpansion(Event):
    """A command that the user typed expands to a prompt.

    Attributes:
        expansion_type: `slash_command` or `mcp_prompt`.
        command_name: The command.
        command_args: What follows it.
        command_source: Where it comes from.
        prompt: What the user typed.
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
        delta: The piece.
        turn_id: The turn.
        message_id: The message.
        index: Number of the piece, from 0.
        final: Whether it is the last one.
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
        agent_type: Its type.
    """

    name = "subagent_start"

    agent_type: str


class TaskCreated(Event):
    """A task was put on the list.

    Attributes:
        task_id: The task.
        task_subject: What it is about.
        task_description: The whole text.
        teammate_name: Who made it.
        team_name: Whose team.
    """

    name = "task_created"

    task_id: str
    task_subject: str
    task_description: str | None = None
    teammate_name: str | None = None
    team_name: str | None = None


class TaskCompleted(Event):
    """A task is about to be ticked off.

    Attributes:
        task_id: The task.
        task_subject: What it is about.
        task_description: The whole text.
        teammate_name: Who did it.
        team_name: Whose team.
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
        error_details: More about it.
        last_assistant_message: What the user was shown.
    """

    name = "stop_failure"

    error: str
    error_details: str | None = None
    last_assistant_message: str | None = None


class TeammateIdle(Event):
    """A teammate is about to idle.

    Attributes:
        teammate_name: Who.
        team_name: Whose team.
    """

    name = "teammate_idle"

    teammate_name: str
    team_name: str | None = None


class ConfigChange(Event):
    """A settings file changed.

    Attributes:
        source: `user_settings`, `project_settings`, `local_settings`, `policy_settings` or
            `skills`.
        file_path: The file.
    """

    name = "config_change"

    source: str
    file_path: str | None = None


class CwdChanged(Event):
    """The working directory changed.

    Attributes:
        old_cwd: From here.
        new_cwd: To here.
    """

    name = "cwd_changed"

    old_cwd: str
    new_cwd: str


class DirectoryAdded(Event):
    """A directory was added to the session.

    Attributes:
        directory: The directory.
        source: `slash_command` or `register_repo_root`.
    """

    name = "directory_added"

    directory: str
    source: str


class WorktreeCreate(Event):
    """A worktree is wanted; the hook makes it and prints its path.

    Attributes:
        worktree_name: Its short name (`name` in the payload).
    """

    name = "worktree_create"

    worktree_name: str


class WorktreeRemove(Event):
    """A worktree that a hook made is to be removed.

    Attributes:
        worktree_path: Where it is.
    """

    name = "worktree_remove"

    worktree_path: str


class PostCompact(Event):
    """The context was compressed.

    Attributes:
        trigger: `manual` or `auto`.
        compact_summary: What is left of it.
    """

    name = "post_compact"

    trigger: str
    compact_summary: str | None = None


class Elicitation(Event):
    """An MCP server asks the user for something.

    Attributes:
        mcp_server_name: The server.
        message: The question.
        mode: `form` or `url`.
        url: Where the user is sent.
        elicitation_id: Identifier of the question.
        requested_schema: JSON Schema of the answer.
    """

    name = "elicitation"

    mcp_server_name: str
    message: str
    mode: str | None = None
    url: str | None = None
    elicitation_id: str | None = None
    requested_schema: dict[str, Any] | None = None


class ElicitationResult(Event):
    """The user answered an MCP server.

    Attributes:
        mcp_server_name: The server.
        action: `accept`, `decline` or `cancel`.
        mode: `form` or `url`.
        elicitation_id: Identifier of the question.
        content: What the user entered.
    """

    name = "elicitation_result"

    mcp_server_name: str
    action: str
    mode: str | None = None
    elicitation_id: str | None = None
    content: dict[str, Any] | None = None


FURTHER_EVENTS: dict[str, type[Event]] = {
    cls.name: cls
    for cls in (
        Setup,
        InstructionsLoaded,
        UserPromptExpansion,
        MessageDisplay,
        PermissionRequest,
        PermissionDenied,
        PostToolUseFailure,
        PostToolBatch,
        SubagentStart,
        SubagentStop,
        TaskCreated,
        TaskCompleted,
        StopFailure,
        TeammateIdle,
        ConfigChange,
        CwdChanged,
        DirectoryAdded,
        FileChanged,
        WorktreeCreate,
        WorktreeRemove,
        PostCompact,
        PreModelSwitch,
        PostModelSwitch,
        Elicitation,
        ElicitationResult,
    )
}
"""Canonical name to class."""
