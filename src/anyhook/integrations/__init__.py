"""Hooks in agents that are written in Python.

`Session` decides what the decisions of hooks mean for an agent. One package per framework connects
it: `anyhook.integrations.adk`, `.langchain`, `.openai_agents`, `.pydantic_ai` and `.claude_sdk`.
Importing one needs its framework.
"""

from __future__ import annotations

from anyhook.errors import StoppedError as StoppedError
from anyhook.integrations.framework import Framework as Framework
from anyhook.integrations.host_tools import HostTool as HostTool
from anyhook.integrations.host_tools import HostTools as HostTools
from anyhook.integrations.options import LoadOptions as LoadOptions
from anyhook.integrations.options import SessionOptions as SessionOptions
from anyhook.integrations.results import ModelCall as ModelCall
from anyhook.integrations.results import ModelReply as ModelReply
from anyhook.integrations.results import Prompt as Prompt
from anyhook.integrations.results import Question as Question
from anyhook.integrations.results import ToolReturn as ToolReturn
from anyhook.integrations.results import ToolRun as ToolRun
from anyhook.integrations.results import TurnEnd as TurnEnd
from anyhook.integrations.session import Session as Session

__all__ = [
    "Framework",
    "HostTool",
    "HostTools",
    "LoadOptions",
    "ModelCall",
    "ModelReply",
    "Prompt",
    "Question",
    "Session",
    "SessionOptions",
    "StoppedError",
    "ToolReturn",
    "ToolRun",
    "TurnEnd",
]
