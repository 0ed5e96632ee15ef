"""What commands print and how they end, as GitHub Copilot CLI reads it."""

from __future__ import annotations

from anyhook.agents.output import ExitReader
from anyhook.agents.printed import PrintedOutput, classify_object, parse_object


def classify(printed: str) -> PrintedOutput:
    """Return the form of a stream without the lines that report progress to the user."""
    if '"progress"' not in printed:
        return classify_object(printed)
    lines: list[str] = []
    for line in printed.splitlines():
        value = parse_object(line) if '"progress"' in line else None
        if value is None or value.get("type") != "progress":
            lines.append(line)
    return classify_object("\n".join(lines))


class CopilotExitReader(ExitReader):
    """Has reasons of its own for exit code 2."""

    def default_reason(self) -> str:
        """Return the reason of a denial that has no other one."""
        if self.context.spec.canonical == "permission_request":
            return "Permission denied by hook."
        return "hook exited with code 2"
