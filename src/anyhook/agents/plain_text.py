"""Output that is not JSON, interpreted as the event defines it (`EventSpec.plain_text`)."""

from __future__ import annotations

import re

from anyhook.agents.printed import resembles_object
from anyhook.agents.spec import PlainText
from anyhook.model.answers import NO_OPINION, Answer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from anyhook.agents.output_context import OutputContext
    from anyhook.agents.printed import PrintedOutput
    from anyhook.agents.spec import AgentSpec

USES = {
    PlainText.SYSTEM_MESSAGE: "a message for the user",
    PlainText.TOOL_NAMES: "a message for the user",
    PlainText.CONTEXT: "text for the agent",
    PlainText.CLEAN_CONTEXT: "text for the agent",
    PlainText.PATH: "looked into for a path",
    PlainText.NOTHING: "written to the log",
}
_TOOL_NAMES = r"(?a)[\w.:-]+(?:\s*,\s*[\w.:-]+)*\Z"
_ANSI = r"\x1b\[[0-9;?]*[ -/]*[@-~]"
_CONTROLS = r"[\x00-\x09\x0b-\x1f\x7f-\x9f]"


def read_plain_text(
    context: OutputContext, output: PrintedOutput, tools: tuple[str, ...]
) -> Answer:
    """Return the answer that a text is, and report a text that resembles a JSON reply.

    Args:
        context: The context of the output.
        output: The output; its form is `text`.
        tools: Names of tools that the event itself has.
    """
    text, use = output.text, context.spec.plain_text
    if resembles_object(text) or _mentions_members(context.agent, text):
        context.report(
            "output-not-object",
            f"this looks like a JSON reply and is none{output.cause}, so it is only {USES[use]}. "
            "Print the JSON object alone on standard output, and logs on stderr",
        )
    match use:
        case PlainText.SYSTEM_MESSAGE:
            return Answer(system_message=text)
        case PlainText.TOOL_NAMES:
            return _read_tool_names(context, text, tools)
        case PlainText.CONTEXT:
            return Answer(context=text)
        case PlainText.CLEAN_CONTEXT:
            return Answer(context=_clean(text))
        case PlainText.PATH:
            return _read_path(text)
        case PlainText.NOTHING:
            return NO_OPINION


def _mentions_members(agent: AgentSpec, text: str) -> bool:
    if "{" not in text:
        return False
    names = {item.path[-1] for item in agent.output_fields}
    return any(f'"{name}"' in text or f"'{name}'" in text for name in names)


def _read_tool_names(context: OutputContext, text: str, tools: tuple[str, ...]) -> Answer:
    """Read text as names of tools, if all are: another word must not disable tools."""
    if not re.match(_TOOL_NAMES, text):
        return Answer(system_message=text)
    agent = context.agent
    names = [name.strip() for name in text.split(",")]
    unknown = [name for name in names if name not in tools and not _is_tool(agent, name)]
    if not unknown:
        return Answer(tool_config={"mode": "ANY", "allowedFunctionNames": names})
    context.report(
        "output-tools",
        f"{', '.join(unknown)} is not a tool of {agent.title}, so the output is only a message for "
        'the user; to choose tools, print {"hookSpecificOutput": {"toolConfig": {"mode": "ANY", '
        '"allowedFunctionNames": […]}}}',
    )
    return Answer(system_message=text)


def _is_tool(agent: AgentSpec, name: str) -> bool:
    return (
        name in agent.tools
        or name in agent.vocabulary.tools
        or name in agent.vocabulary.canonical
        or name.startswith(agent.tool_prefix)
    )


def _clean(text: str) -> str:
    return re.sub(_CONTROLS, "", re.sub(_ANSI, "", text))


def _read_path(text: str) -> Answer:
    """Return the last line that is not blank, without colours, as the path of a worktree."""
    for line in reversed(re.sub(_ANSI, "", text).splitlines()):
        if line.strip():
            return Answer(extra={"worktree_path": line.strip()})
    return NO_OPINION
