"""Writes the tables of pages that follow from the code (`make docs`)."""

from __future__ import annotations

from pathlib import Path

from anyhook.agents import CODING_AGENTS, get_agent
from anyhook.cli.capabilities import markdown_tables
from anyhook.cli.verdict import effect_of_denial
from anyhook.integrations.adk import ADK
from anyhook.integrations.claude_sdk import CLAUDE_SDK
from anyhook.integrations.langchain import LANGCHAIN
from anyhook.integrations.openai_agents import OPENAI_AGENTS
from anyhook.integrations.pydantic_ai import PYDANTIC_AI
from anyhook.telemetry.names import markdown_tables as telemetry_tables

PAGE = Path(__file__).with_name("capabilities.md")
FIRST = "### "

agents = [get_agent(name) for name in CODING_AGENTS]
events = list(dict.fromkeys(spec.canonical for d in agents for spec in d.events))
head = PAGE.read_text(encoding="utf-8").partition(FIRST)[0]
tables = "\n".join(markdown_tables(agents, events)).rstrip("\n")
PAGE.write_text(f"{head}{tables}\n", encoding="utf-8")

INTEGRATIONS = Path(__file__).with_name("integrations.md")
FRAMEWORKS = {
    "integration-adk.md": (ADK, "App(…, plugins=[AnyhookPlugin.load(project)])"),
    "integration-langchain.md": (
        LANGCHAIN,
        "create_agent(…, middleware=[AnyhookMiddleware.load(project)])",
    ),
    "integration-openai.md": (OPENAI_AGENTS, "await AnyhookRunner.load(project).run(agent, …)"),
    "integration-pydantic-ai.md": (
        PYDANTIC_AI,
        "Agent(model, capabilities=[AnyhookHooks.load(project)])",
    ),
    "integration-claude-sdk.md": (CLAUDE_SDK, "ClaudeAgentOptions(hooks=anyhook_hooks(project))"),
}
"""Page to the row of a framework and the line that puts hooks into it."""

rows = ["| framework | extra | the line | what it cannot do |", "| --- | --- | --- | --- |"]
for page, (row, line) in FRAMEWORKS.items():
    missing = "; ".join(f"`{key}`: {instead}" for key, instead in row.missing.items()) or "nothing"
    rows.append(f"| [{row.title}]({page}) | `{row.package}` | `{line}` | {missing} |")
START, END = "<!-- frameworks -->\n", "<!-- /frameworks -->"
before, _, rest = INTEGRATIONS.read_text(encoding="utf-8").partition(START)
_, _, after = rest.partition(END)
table = "\n".join(rows)
INTEGRATIONS.write_text(f"{before}{START}\n{table}\n\n{END}{after}", encoding="utf-8")

TELEMETRY = Path(__file__).with_name("telemetry.md")
START, END = "<!-- telemetry -->\n", "<!-- /telemetry -->"
before, _, rest = TELEMETRY.read_text(encoding="utf-8").partition(START)
_, _, after = rest.partition(END)
table = telemetry_tables()
TELEMETRY.write_text(f"{before}{START}\n{table}\n\n{END}{after}", encoding="utf-8")

RULES = Path(__file__).with_name("rules.md")
START, END = "<!-- denials -->\n", "<!-- /denials -->"
gemini = get_agent("gemini")
observed = gemini.rule_sets["observed"].by_canonical
rows = ["| event | by the reference, the agent … | the program … |", "| --- | --- | --- |"]
for spec in gemini.documented.events:
    has_verdict = observed[spec.canonical].verdict_policy != "none"
    seen = effect_of_denial(observed[spec.canonical]) if has_verdict else "goes on"
    rows.append(f"| `{spec.wire}` | {effect_of_denial(spec)} | {seen} |")
before, _, rest = RULES.read_text(encoding="utf-8").partition(START)
_, _, after = rest.partition(END)
table = "\n".join(rows)
RULES.write_text(f"{before}{START}\n{table}\n\n{END}{after}", encoding="utf-8")
