"""Writes the tables of pages that follow from the code (`make docs`)."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from anyhook.agents import CODING_AGENTS, get_agent
from anyhook.agents.capabilities import Support, support
from anyhook.agents.program import get_program
from anyhook.integrations.adk import ADK
from anyhook.integrations.claude_sdk import CLAUDE_SDK
from anyhook.integrations.langchain import LANGCHAIN
from anyhook.integrations.openai_agents import OPENAI_AGENTS
from anyhook.integrations.pydantic_ai import PYDANTIC_AI
from anyhook.manage.agent_effect import effects_of
from anyhook.model.diagnostics import CODES
from anyhook.model.events import EVENTS, Event
from anyhook.redteam.labelled import FAMILIES

if TYPE_CHECKING:
    from anyhook.agents.spec.settings import SettingsFormat

INTEGRATIONS = Path(__file__).with_name("integrations.md")
FRAMEWORKS = {
    "integration-adk.md": (
        ADK,
        "adk",
        "App(…, plugins=[AnyhookPlugin.load(project)])",
    ),
    "integration-langchain.md": (
        LANGCHAIN,
        "langchain",
        "create_agent(…, middleware=[AnyhookMiddleware.load(project)])",
    ),
    "integration-openai.md": (
        OPENAI_AGENTS,
        "openai-agents",
        "await AnyhookRunner.load(project).run(agent, …)",
    ),
    "integration-pydantic-ai.md": (
        PYDANTIC_AI,
        "pydantic-ai",
        "Agent(model, capabilities=[AnyhookHooks.load(project)])",
    ),
    "integration-claude-sdk.md": (
        CLAUDE_SDK,
        "claude-agent-sdk",
        "ClaudeAgentOptions(hooks=anyhook_hooks(project))",
    ),
}
"""Page to the row of a framework, its extra, and the line that puts hooks into it."""

rows = ["|framework|extra|the line|", "|---|---|---|"]
rows += [
    f"|[{row.title}]({page})|`{extra}`|`{line}`|" for page, (row, extra, line) in FRAMEWORKS.items()
]


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
for page, (row, *_) in FRAMEWORKS.items():
    events_of: dict[tuple[str, str], list[str]] = {}
    for key, instead in row.missing.items():
        event, _, ability = key.partition(".")
        lack = ability.replace("_", " ") or "everything: the event does not fire"
        events_of.setdefault((lack, instead), []).append(event_names(event))
    limits = ["|hooks on|what they lack|what happens|", "|---|---|---|"]
    for (lack, instead), events in events_of.items():
        limits.append(f"|{', '.join(events)}|{lack}|{instead}|")
    if row.missing:
        write_between(Path(__file__).with_name(page), "limits", "\n".join(limits))

rows = ["|class|Gemini CLI|fields|", "|---|---|---|"]
for spec in get_agent("gemini").events:
    event_type = EVENTS[spec.canonical]
    own = event_type.__mro__[: event_type.__mro__.index(Event)]
    fields = [name for base in reversed(own) for name in base.__annotations__ if name[0] != "_"]
    texts = ", ".join(f"`{name}`" for name in fields if name != "name")
    rows.append(f"|`{event_type.__name__}`|`{spec.wire}`|{texts}|")
write_between(Path(__file__).with_name("embedding.md"), "events", "\n".join(rows))

rows = ["|family|a dangerous call|", "|---|---|"]
rows += [f"|`{name}`|{text}|" for name, text in FAMILIES.items()]
write_between(Path(__file__).with_name("score.md"), "families", "\n".join(rows))

PAGES = {
    "claude": "claude-code.md",
    "codex": "codex.md",
    "copilot": "copilot.md",
    "cursor": "cursor.md",
    "gemini": "gemini-cli.md",
    "opencode": "opencode.md",
    "qwen": "qwen.md",
}
SYSTEMS = {"*": "", "darwin": "; macOS: ", "win32": "; Windows: "}


def settings_table(agent: SettingsFormat) -> str:
    """Return the table of the settings files of an agent."""
    system = next((file.paths["*"] for file in agent.files if "/etc/" in file.paths["*"]), "")
    places = {"config": agent.config_dir, "system_dir": str(Path(system).parent)}
    names = {"{project}/": "", "{root}/": "", "{directory}/": "", "{home}": "~"}
    rows = ["|layer|file|another place|", "|---|---|---|"]
    for file in agent.files:
        text = "".join(f"{SYSTEMS[name]}`{path}`" for name, path in file.paths.items())
        variable = f"`{file.variable}`" if file.variable else ""
        if "{config}" in text and agent.config_variable:
            variable = f"`{agent.config_variable}`: the directory"
        for key, place in places.items():
            text = text.replace(f"{{{key}}}", place)
        for key, name in {**names, "{config_home}": "~/.config"}.items():
            text = text.replace(key, name)
        rows.append(f"|`{file.layer}`|{text}|{variable}|")
    return "\n".join(rows)


for name, page in PAGES.items():
    write_between(
        Path(__file__).with_name(page), "settings", settings_table(get_agent(name).settings)
    )

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
rows = ["|event|by the reference, the agent …|the program …|", "|---|---|---|"]
for spec in gemini.documented.events:
    has_verdict = observed[spec.canonical].verdict_policy != "none"
    seen = effects_of(observed[spec.canonical])[0] if has_verdict else "goes on"
    rows.append(f"|`{spec.wire}`|{effects_of(spec)[0]}|{seen}|")
write_between(Path(__file__).with_name("rules.md"), "denials", "\n".join(rows))

QUESTIONS = {
    "deny a call": ("before_tool", "deny"),
    "ask about a call": ("before_tool", "ask"),
    "change a call": ("before_tool", "rewrite"),
    "hide a result": ("after_tool", "replace_result"),
    "deny a prompt": ("before_prompt", "deny"),
    "deny a model request": ("before_model", "deny"),
    "continue a turn": ("after_agent", "deny"),
    "show the user a message": ("before_tool", "message"),
}
"""What guards are about: a heading, to the event and the ability."""
WORDS = {Support.YES: "yes", Support.UNDOCUMENTED: "yes", Support.PROMISED: "**no**"}
headings = [*QUESTIONS, "also in a subagent"]
rows = [f"|agent|{'|'.join(headings)}|", f"|---|{'---|' * len(headings)}"]
for name in CODING_AGENTS:
    agent = get_agent(name)
    cells = []
    for event, ability in QUESTIONS.values():
        has_event = event in agent.by_canonical
        cells.append(WORDS.get(support(agent, event, ability), "no") if has_event else "-")
    program = get_program(name)
    cells.append("not tried" if program is None or program.subagent_call is None else "yes")
    rows.append(f"|{agent.title}|{'|'.join(cells)}|")
note = (
    "**no**: its reference promises it, and the observed release does not do it. Whether a guard\n"
    "of tools also runs in a subagent was tried with the real program;\n"
    "[`anyhook probe`](probe.md) tries it with yours."
)
write_between(Path(__file__).with_name("limits.md"), "abilities", "\n".join([*rows, "", note]))
