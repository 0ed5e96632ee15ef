"""An agent that has what no released agent needs together, for tests of settings."""

from __future__ import annotations

from anyhook.agents import get_agent
from anyhook.agents.entry import AgentEntry
from anyhook.agents.spec.settings import HandlerField, HandlerType, SettingsFile
from anyhook.model.layers import Layer

FIELDS = {
    "failClosed": HandlerField("on_failure", "boolean", values={True: "block", False: "continue"}),
    "limit": HandlerField("limit", "number", nullable=True),
}
CLAUDE = get_agent("claude")
VERSION = {"version": 1}
SETTINGS = SettingsFile(
    Layer.USER,
    {"*": "{home}/.sample/settings.json"},
    expected_members=VERSION,
    required_members=frozenset(VERSION),
)
FORMAT = CLAUDE.settings.replace(
    files=(
        SETTINGS.replace(layer=Layer.PROJECT, paths={"*": "{project}/.sample/settings.json"}),
        SETTINGS,
    ),
    members=VERSION,
    packages=None,
    handler_types={"command": HandlerType("command", 60.0, FIELDS)},
)
SPEC = CLAUDE.replace(
    name="sample", title="Sample", settings_format="tests.settings.sample_agent:FORMAT"
)
ENTRY = AgentEntry(
    name="sample",
    spec="tests.settings.sample_agent:SPEC",
    events=frozenset(spec.wire for spec in SPEC.events),
    transcript_part="/.sample/",
    variables=(),
)
