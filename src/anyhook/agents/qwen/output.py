"""What commands print, as Qwen Code reads it."""

from __future__ import annotations

from anyhook.agents.printed import PrintedOutput
from anyhook.agents.printed import classify as classify_json


def classify(printed: str) -> PrintedOutput:
    """Return the form of a stream of which only objects are JSON, and broken ones are malformed."""
    output = classify_json(printed)
    if output.form == "json" and not isinstance(output.value, dict):
        return PrintedOutput("text", output.text)
    if output.form == "text" and output.text.startswith("{"):
        return output.replace(form="malformed")
    return output
