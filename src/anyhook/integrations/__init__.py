"""Hooks in agents that are written in Python.

`Session` owns what decisions mean over an agent's life. The modules beside it put one into a
framework: `anyhook.integrations.adk`, `.langchain`, `.openai_agents`, `.pydantic_ai` and
`.claude_sdk`. Importing one needs its framework.
"""

from __future__ import annotations

from anyhook.errors import StoppedError as StoppedError
from anyhook.integrations.frameworks import Framework as Framework
from anyhook.integrations.host_tools import HostTool as HostTool
from anyhook.integrations.host_tools import HostTools as HostTools
from anyhook.integrations.session import ModelCall as ModelCall
from anyhook.integrations.session import ModelReply as ModelReply
from anyhook.integrations.session import Prompt as Prompt
from anyhook.integrations.session import Question as Question
from anyhook.integrations.session import Session as Session
from anyhook.integrations.session import ToolReturn as ToolReturn
from anyhook.integrations.session import ToolRun as ToolRun
from anyhook.integrations.session import TurnEnd as TurnEnd

__all__ = [
    "Framework",
    "HostTool",
    "HostTools",
    "ModelCall",
    "ModelReply",
    "Prompt",
    "Question",
    "Session",
    "StoppedError",
    "ToolReturn",
    "ToolRun",
    "TurnEnd",
]
