"""What commands print, as GitHub Copilot CLI reads it."""

from __future__ import annotations

from anyhook.agents.printed import PrintedOutput, classify_object, parse_object


def classify(printed: str) -> PrintedOutput:
    """Return the form of a stream without the lines that report progress to the user."""
    if '"progress"' in printed:
        printed = "\n".join([line for line in printed.splitlines() if not _is_progress(line)])
    return classify_object(printed)


def _is_progress(line: str) -> bool:
    """Return whether a line is an object with `"type": "progress"`."""
    value = parse_object(line) if '"progress"' in line else None
    return value is not None and value.get("type") == "progress"
