"""TerminaI: a fork of Gemini CLI with settings files, variables and tool names of its own."""

from __future__ import annotations

from anyhook.agents.gemini.spec import GEMINI
from anyhook.agents.terminai.observed import DOCUMENTED, OBSERVED
from anyhook.agents.terminai.tools import RENAMED_TOOLS, TOOLS, VOCABULARY

TERMINAI = GEMINI.replace(
    name="terminai",
    title="TerminaI",
    documented=DOCUMENTED,
    observed=OBSERVED,
    tools=TOOLS,
    vocabulary=VOCABULARY,
    tool_prefix="",
    foreign_tool_prefixes={"mcp__": "SERVER__TOOL"},
    renamed_tools=RENAMED_TOOLS,
    hook_environment={
        "TERMINAI_PROJECT_DIR": "project_dir",
        "GEMINI_PROJECT_DIR": "project_dir",
        "CLAUDE_PROJECT_DIR": "project_dir",
    },
    settings_format="anyhook.agents.terminai.settings:FORMAT",
)
