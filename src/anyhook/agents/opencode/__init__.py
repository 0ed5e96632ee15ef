"""OpenCode."""

from __future__ import annotations

from anyhook.agents.entry import AgentEntry

ENTRY = AgentEntry(
    name="opencode",
    spec="anyhook.agents.opencode.spec:OPENCODE",
    program="anyhook.agents.opencode.program:PROGRAM",
    event_key="hook",
    events=frozenset(
        "session.created chat.message command.execute.before tool.execute.before "
        "permission.asked tool.execute.after tool.execute.error experimental.text.complete "
        "file.edited file.watcher.updated subagent.created subagent.idle "
        "experimental.session.compacting session.compacted session.idle session.error "
        "session.deleted dispose".split()
    ),
    required_members=frozenset({"hook", "directory"}),
    transcript_part="/opencode/",
    tools=frozenset("bash read write edit glob grep webfetch todowrite task skill".split()),
    variables=("OPENCODE_PROJECT_DIR",),
    child_variables=("OPENCODE",),
)
