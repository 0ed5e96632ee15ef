"""Hooks in agents that are written in Python.

`Session` owns what decisions mean over an agent's life. The modules beside it put one into a
framework, each in a line: `anyhook.agents.adk`, `.langchain`, `.openai_agents`, `.pydantic_ai`,
`.claude_sdk`; importing one needs its framework.
"""

from __future__ import annotations

from anyhook.agents.frameworks import Framework as Framework
from anyhook.agents.session import ModelCall as ModelCall
from anyhook.agents.session import ModelReply as ModelReply
from anyhook.agents.session import Prompt as Prompt
from anyhook.agents.session import Question as Question
from anyhook.agents.session import Session as Session
from anyhook.agents.session import ToolReturn as ToolReturn
from anyhook.agents.session import ToolRun as ToolRun
from anyhook.agents.session import TurnEnd as TurnEnd
from anyhook.agents.words import HostTool as HostTool
from anyhook.agents.words import HostTools as HostTools
from anyhook.errors import StoppedError as StoppedError

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
