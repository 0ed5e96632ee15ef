"""Hooks in agents that are built with LangChain.

agent = create_agent(model, tools, middleware=[AnyhookMiddleware.load("."), ...])
"""

from __future__ import annotations

from anyhook.extras import needs_extra

with needs_extra("anyhook.integrations.langchain", "LangChain", "langchain"):
    from anyhook.integrations.langchain.middleware import LANGCHAIN as LANGCHAIN
    from anyhook.integrations.langchain.middleware import AnyhookMiddleware as AnyhookMiddleware
    from anyhook.integrations.langchain.middleware import AnyhookState as AnyhookState

__all__ = ["LANGCHAIN", "AnyhookMiddleware", "AnyhookState"]
