"""What the user of Codex CLI has trusted: hashes of hooks in the user's `config.toml`.

Codex runs a hook of a user or a project only if `[hooks.state."KEY"]` holds the hash of its
definition. Key and hash are those of release 0.169.0.
"""

from __future__ import annotations

import hashlib
import json
import re

from anyhook.agents.codex.events import AT_MOST, SHORT
from anyhook.agents.codex.settings import HANDLER_TYPES
from anyhook.agents.spec.settings import NativeTrust
from anyhook.model.layers import Layer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

MANAGED = frozenset({Layer.SYSTEM, Layer.MANAGED})
"""Layers whose hooks need no trust."""
WITHOUT_MATCHER = frozenset(
    {"UserPromptSubmit", "Stop", "Interrupt", "PreModelRequest", "PostModelRequest"}
)
WITH_CONTEXT = frozenset(
    {"PreToolUse", "PostToolUse", "SessionStart", "SubagentStart", "UserPromptSubmit"}
)
"""Events on which `additionalContextLimit` counts."""
SHORT_EVENTS = frozenset({"SessionEnd", "Interrupt"})
NUMBER = "$serde_json::private::Number"
"""How the program writes a number inside the arguments of an MCP tool."""


def hash_of(event: str, definition: Mapping[str, Any], index: int) -> str:
    """Return the hash that Codex gives one handler of a definition.

    The index is that of the handler in the definition, which is as it is written.
    """
    handler = definition["hooks"][index]
    kind, timeout = handler["type"], handler.get("timeout")
    is_short = event in SHORT_EVENTS
    if timeout is None:
        seconds = int(SHORT[kind] if is_short else HANDLER_TYPES[kind].timeout)
    else:
        seconds = max(int(timeout), 1)
        if is_short:
            seconds = min(seconds, int(AT_MOST[Layer.USER]))
    hashed: dict[str, Any] = {"type": kind, "timeout": seconds}
    if kind == "command":
        hashed |= {"async": bool(handler.get("async")), "command": handler["command"]}
    else:
        hashed |= {
            "server": handler["server"],
            "tool": handler["tool"],
            "input": _with_numbers(handler.get("input") or {}),
        }
    if handler.get("statusMessage") is not None:
        hashed["statusMessage"] = handler["statusMessage"]
    limit = handler.get("additionalContextLimit")
    if limit is not None and event in WITH_CONTEXT:
        hashed["additionalContextLimit"] = limit
    value: dict[str, Any] = {"event_name": snake_case(event), "hooks": [hashed]}
    matcher = definition.get("matcher")
    if matcher is not None and event not in WITHOUT_MATCHER:
        value["matcher"] = matcher
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return f"sha256:{hashlib.sha256(text.encode()).hexdigest()}"


def _with_numbers(value: Any) -> Any:
    if isinstance(value, bool):
        return value
    if isinstance(value, int | float):
        return {NUMBER: json.dumps(value)}
    if isinstance(value, list):
        return [_with_numbers(item) for item in value]
    if isinstance(value, dict):
        return {key: _with_numbers(item) for key, item in value.items()}
    return value


def key_of(file: str, event: str, definition: int, handler: int) -> str:
    """Return the key of a hook in `[hooks.state]`.

    It has the index of the definition in the list of the event, and of the handler in it.
    """
    return f"{file}:{snake_case(event)}:{definition}:{handler}"


def snake_case(event: str) -> str:
    """Return the name of an event as keys and hashes have it: `pre_tool_use`."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", event).lower()


def state_of(states: Mapping[str, Any], key: str, digest: str, layer: Layer) -> str:
    """Return how far Codex trusts a hook.

    The states are `[hooks.state]` of the user's `config.toml`. The result is `managed`, `trusted`,
    `untrusted`, `modified` (another hash is trusted) or `disabled`.
    """
    if layer in MANAGED:
        return "managed"
    state = states.get(key)
    if not isinstance(state, dict):
        return "untrusted"
    if state.get("enabled") is False:
        return "disabled"
    trusted = state.get("trusted_hash")
    if not isinstance(trusted, str):
        return "untrusted"
    return "trusted" if trusted == digest else "modified"


TRUST = NativeTrust(
    layer=Layer.USER,
    path=("hooks", "state"),
    key_of=key_of,
    hash_of=hash_of,
    state_of=state_of,
    review="start `codex`, enter `/hooks` and trust them there",
)
