"""Hooks of any agent's settings in the Claude Agent SDK.

    ClaudeAgentOptions(hooks=anyhook_hooks(".", agent="gemini"))

The SDK drives the program Claude Code, which owns the loop: it calls these callbacks, and does what
they answer. So what a decision means in a session (continuing a turn, what a stop ends, who answers
a question) is decided by the program. A hook that ends the agent (`continue: false`) ends its turn
with a `ResultMessage`; nothing is raised. A message of a hook arrives as a `SystemMessage`; one
that the program would drop goes to `on_message`.

Sources: `claude_agent_sdk.types` of release 0.2.186, and the observed behavior of its program,
2.1.329.
"""

from __future__ import annotations

from anyhook.extras import needs_extra

with needs_extra("anyhook.integrations.claude_sdk", "the Claude Agent SDK", "claude-agent-sdk"):
    from anyhook.integrations.claude_sdk.hooks import CLAUDE_SDK as CLAUDE_SDK
    from anyhook.integrations.claude_sdk.hooks import anyhook_hooks as anyhook_hooks
    from anyhook.integrations.claude_sdk.hooks import hooks_of as hooks_of

__all__ = ["CLAUDE_SDK", "anyhook_hooks", "hooks_of"]
