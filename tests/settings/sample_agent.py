"""An agent that has what no released agent needs together, for tests of settings."""

from __future__ import annotations

from anyhook.agents import get_agent
from anyhook.agents.entry import AgentEntry
from anyhook.agents.spec import HandlerField, HandlerType, SettingsFile
from anyhook.model.layers import Layer

FIELDS = {
    "failClosed": HandlerField("on_failure", "boolean", values={True: "block", False: "continue"}),
    "limit": HandlerField("limit", "number", nullable=True),
}
SPEC = get_agent("claude").replace(
    name="sample",
    title="Sample",
    settings=(
        SettingsFile(Layer.PROJECT, {"*": "{project}/.sample/settings.json"}),
        SettingsFile(Layer.USER, {"*": "{home}/.sample/settings.json"}),
    ),
    settings_members={"version": 1},
    packages=None,
    handler_types={"command": HandlerType("command", 60.0, FIELDS)},
)
ENTRY = AgentEntry(
    name="sample",
    spec="tests.settings.sample_agent:SPEC",
    events=frozenset(spec.wire for spec in SPEC.events),
    transcript_part="/.sample/",
    variables=(),
)
