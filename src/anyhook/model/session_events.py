"""Further events of a session and its project, which not every agent has.

Names are made as in `anyhook.model.tool_events`.
"""

from __future__ import annotations

import re

from anyhook.model.event import Event, events_in

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


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


class SessionDelete(Event):
    """A stored session was deleted.

    Attributes:
        deleted_session_id: Identifier of that session.
    """

    name = "session_delete"

    deleted_session_id: str


class WorkspaceOpen(Event):
    """The editor has opened a workspace.

    Attributes:
        workspace_roots: Directories of the workspace.
    """

    name = "workspace_open"

    workspace_roots: list[Any]


SESSION_EVENTS = events_in(globals())
"""Canonical name to class."""
