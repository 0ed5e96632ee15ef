"""One file per agent, as data first.

The rows here say where each agent's tables are and how a payload of it is recognised without
loading any of them.
"""

from __future__ import annotations

from anyhook.errors import UnknownNameError
from anyhook.model.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from anyhook.dialects.base import Dialect


class Known(Record):
    """Where an agent's tables are, and its marks.

    Attributes:
        home: `module:NAME` of its tables.
        event_key: Member of a payload that holds the event's name.
        events: Its events on the wire.
        has: Members that its payloads have.
        lacks: Members that they do not have.
        path: A piece of the path of its transcripts.
        tools: Tool names in its payloads that payloads of agents with the same events lack.
        variables: Environment variables that it sets for hooks.
    """

    home: str
    event_key: str = "hook_event_name"
    events: frozenset[str]
    has: frozenset[str] = frozenset()
    lacks: frozenset[str] = frozenset()
    path: str
    tools: frozenset[str] = frozenset()
    variables: tuple[str, ...]


_GEMINI_EVENTS = frozenset(
    "SessionStart SessionEnd BeforeAgent AfterAgent BeforeModel AfterModel BeforeToolSelection "
    "BeforeTool AfterTool PreCompress Notification".split()
)
_CLAUDE_EVENTS = frozenset(
    "SessionStart Setup InstructionsLoaded UserPromptSubmit UserPromptExpansion MessageDisplay "
    "PreToolUse PermissionRequest PermissionDenied PostToolUse PostToolUseFailure PostToolBatch "
    "Notification SubagentStart SubagentStop TaskCreated TaskCompleted Stop StopFailure "
    "TeammateIdle ConfigChange CwdChanged DirectoryAdded FileChanged WorktreeCreate "
    "WorktreeRemove PreCompact PostCompact PreModelSwitch PostModelSwitch SessionEnd Elicitation "
    "ElicitationResult".split()
)
_GENERIC_EVENTS = frozenset(
    "session_start session_end before_prompt after_agent before_model after_model "
    "before_tool_selection before_tool after_tool before_compress notification setup "
    "instructions_loaded user_prompt_expansion message_display permission_request "
    "permission_denied post_tool_use_failure post_tool_batch subagent_start subagent_stop "
    "task_created task_completed stop_failure teammate_idle config_change cwd_changed "
    "directory_added file_changed worktree_create worktree_remove post_compact pre_model_switch "
    "post_model_switch elicitation elicitation_result".split()
)

KNOWN = {
    "terminai": Known(
        home="anyhook.dialects.terminai:TERMINAI",
        events=_GEMINI_EVENTS,
        has=frozenset({"timestamp"}),
        path="/.terminai/",
        tools=frozenset(
            "run_terminal_command write_to_file list_files glob_files search_web manage_todos "
            "execute_repl manage_processes file_operations agent_control".split()
        ),
        variables=("TERMINAI_PROJECT_DIR",),
    ),
    "gemini": Known(
        home="anyhook.dialects.gemini:GEMINI",
        events=_GEMINI_EVENTS,
        has=frozenset({"timestamp"}),
        path="/.gemini/",
        tools=frozenset(
            "run_shell_command write_file replace list_directory glob google_web_search "
            "write_todos".split()
        ),
        variables=("GEMINI_SESSION_ID", "GEMINI_CWD", "GEMINI_PROJECT_DIR"),
    ),
    "claude": Known(
        home="anyhook.dialects.claude:CLAUDE",
        events=_CLAUDE_EVENTS,
        lacks=frozenset({"timestamp"}),
        path="/.claude/",
        variables=("CLAUDE_CODE_SESSION_ID", "CLAUDECODE", "CLAUDE_PROJECT_DIR"),
    ),
    "generic": Known(
        home="anyhook.dialects.generic:GENERIC",
        event_key="event",
        events=_GENERIC_EVENTS,
        path="/.anyhook/",
        variables=("ANYHOOK_PROJECT_DIR",),
    ),
}
"""Name to where its tables are; of those whose variables are set the first one is taken."""

EVENT_KEYS = tuple(dict.fromkeys(known.event_key for known in KNOWN.values()))
"""Where payloads name their event."""
DIALECTS = {name: KNOWN[name].home for name in ("gemini", "claude", "terminai", "generic")}
"""Name to where its tables are; a dialect is imported when it is asked for.

Of agents that nothing distinguishes the first one is taken.
"""
AGENTS = ("gemini", "claude", "terminai")
"""The dialects of programs; the generic one belongs to none."""


def get_dialect(name: str) -> Dialect:
    """Return the dialect of that name.

    Raises:
        UnknownNameError: If there is none.
    """
    if name not in DIALECTS:
        raise UnknownNameError("dialect", name, DIALECTS)
    module, _, attribute = DIALECTS[name].partition(":")
    dialect: Dialect = getattr(__import__(module, fromlist=[attribute]), attribute)
    return dialect


def agents_of_event(name: str) -> tuple[str, ...]:
    """Return the agents that have an event of that name, as they write it.

    Args:
        name: Like `PreToolUse` (Claude Code alone) or `SessionStart` (several agents).
    """
    return tuple(agent for agent in AGENTS if name in KNOWN[agent].events)


def recognise(payload: Mapping[str, Any], environ: Mapping[str, str]) -> str | None:
    """Tell which agent sent a payload: from the payload itself, then from the environment.

    Args:
        payload: What stood on standard input.
        environ: The environment that the agent gave the hook.

    Returns:
        The name of a dialect; `None` if nothing tells.
    """
    found = _named(payload)
    for test in (_by_members, _by_path, _by_tool, _by_variable):
        if len(found) < 2:
            break
        found = {n: known for n, known in found.items() if test(known, payload, environ)} or found
    if not found:
        found = {n: known for n, known in KNOWN.items() if _by_variable(known, payload, environ)}
    fitting = [n for n, known in found.items() if _by_variable(known, payload, environ)]
    return next(iter(fitting), None) or next((name for name in DIALECTS if name in found), None)


def _named(payload: Mapping[str, Any]) -> dict[str, Known]:
    """Return the dialects that have the event that a payload names."""
    names: dict[str, str] = {}
    for key in EVENT_KEYS:
        if isinstance(payload.get(key), str):
            names[key] = payload[key]
    if len(names) != 1:
        return {
            n: known for n, known in KNOWN.items() if names.get(known.event_key) in known.events
        }
    ((key, name),) = names.items()
    found = _naming.get((key, name))
    if found is None:
        found = {n: k for n, k in KNOWN.items() if k.event_key == key and name in k.events}
        if found:  # there are only so many of these
            _naming[key, name] = found
    return found


_naming: dict[tuple[str, str], dict[str, Known]] = {}


def _by_members(known: Known, payload: Mapping[str, Any], _environ: Mapping[str, str]) -> bool:
    return known.has <= payload.keys() and known.lacks.isdisjoint(payload)


def _by_tool(known: Known, payload: Mapping[str, Any], _environ: Mapping[str, str]) -> bool:
    tool = payload.get("tool_name")
    return isinstance(tool, str) and tool in known.tools


def _by_path(known: Known, payload: Mapping[str, Any], _environ: Mapping[str, str]) -> bool:
    path = payload.get("transcript_path")
    return isinstance(path, str) and known.path in path.replace("\\", "/")


def _by_variable(known: Known, _payload: Mapping[str, Any], environ: Mapping[str, str]) -> bool:
    return any(name in environ for name in known.variables)
