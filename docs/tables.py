"""Writes the tables of pages that follow from the code (`make docs`)."""

from __future__ import annotations

from pathlib import Path

from anyhook.agents import CODING_AGENTS, get_agent
from anyhook.agents.capabilities import Support, support
from anyhook.cli.capabilities import markdown_tables
from anyhook.cli.verdict import effect_of_denial
from anyhook.integrations.adk import ADK
from anyhook.integrations.claude_sdk import CLAUDE_SDK
from anyhook.integrations.langchain import LANGCHAIN
from anyhook.integrations.openai_agents import OPENAI_AGENTS
from anyhook.integrations.pydantic_ai import PYDANTIC_AI
from anyhook.model.diagnostics import CODES
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


def write_between(path: Path, name: str, table: str) -> None:
    """Replace what a page has between the marks of a name."""
    start, end = f"<!-- {name} -->\n", f"<!-- /{name} -->"
    before, _, rest = path.read_text(encoding="utf-8").partition(start)
    _, _, after = rest.partition(end)
    path.write_text(f"{before}{start}\n{table}\n\n{end}{after}", encoding="utf-8")


def event_names(event: str) -> str:
    """Return what Gemini CLI and Claude Code call an event."""
    specs = [get_agent(name).by_canonical.get(event) for name in ("gemini", "claude")]
    return ", ".join(dict.fromkeys(f"`{spec.wire}`" for spec in specs if spec is not None))


write_between(INTEGRATIONS, "frameworks", "\n".join(rows))
for page, (row, _) in FRAMEWORKS.items():
    limits = ["| hooks on | what they lack | what happens |", "| --- | --- | --- |"]
    for key, instead in row.missing.items():
        event, _, ability = key.partition(".")
        lack = ability.replace("_", " ") or "everything: the event does not fire"
        limits.append(f"| {event_names(event)} | {lack} | {instead} |")
    if row.missing:
        write_between(Path(__file__).with_name(page), "limits", "\n".join(limits))

TELEMETRY = Path(__file__).with_name("telemetry.md")
write_between(TELEMETRY, "telemetry", telemetry_tables())

DIAGNOSTICS = Path(__file__).with_name("diagnostics.md")
head, *sections = DIAGNOSTICS.read_text(encoding="utf-8").split("\n## ")
remedies = {code: rest[1] for code, *rest in (part.split("\n\n", 2) for part in sections)}
sections = [
    f"{code}\n\n*{severity}*: {meaning}.\n\n{remedies.get(code) or 'What to write instead.'}"
    for code, (severity, meaning) in CODES.items()
]
DIAGNOSTICS.write_text("\n## ".join([head, *sections]), encoding="utf-8")

gemini = get_agent("gemini")
observed = gemini.rule_sets["observed"].by_canonical
rows = ["| event | by the reference, the agent … | the program … |", "| --- | --- | --- |"]
for spec in gemini.documented.events:
    has_verdict = observed[spec.canonical].verdict_policy != "none"
    seen = effect_of_denial(observed[spec.canonical]) if has_verdict else "goes on"
    rows.append(f"| `{spec.wire}` | {effect_of_denial(spec)} | {seen} |")
write_between(Path(__file__).with_name("rules.md"), "denials", "\n".join(rows))

QUESTIONS = {
    "deny a call": ("before_tool", "deny"),
    "ask about a call": ("before_tool", "ask"),
    "change a call": ("before_tool", "rewrite"),
    "hide a result": ("after_tool", "replace_result"),
    "deny a prompt": ("before_prompt", "deny"),
    "deny a model request": ("before_model", "deny"),
    "continue a turn": ("after_agent", "deny"),
    "tell the user": ("before_tool", "message"),
}
"""What guards are about: a heading, to the event and the ability."""
WORDS = {Support.YES: "yes", Support.UNDOCUMENTED: "yes", Support.PROMISED: "**no**"}
rows = [f"| agent | {' | '.join(QUESTIONS)} |", f"| --- |{' --- |' * len(QUESTIONS)}"]
for name in CODING_AGENTS:
    agent = get_agent(name)
    cells = []
    for event, ability in QUESTIONS.values():
        has_event = event in agent.by_canonical
        cells.append(WORDS.get(support(agent, event, ability), "no") if has_event else "-")
    rows.append(f"| {agent.title} | {' | '.join(cells)} |")
note = "**no**: its reference promises it, and the observed release does not do it."
write_between(Path(__file__).with_name("limits.md"), "abilities", "\n".join([*rows, "", note]))
