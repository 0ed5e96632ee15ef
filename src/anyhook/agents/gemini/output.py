"""What commands print, as the engine of Gemini CLI reads it."""

from __future__ import annotations

from anyhook.agents.printed import PrintedOutput
from anyhook.agents.printed import classify as classify_json


def classify(printed: str) -> PrintedOutput:
    """Return the form of a stream of which a JSON string is plain text, with its quotes."""
    output = classify_json(printed)
    if isinstance(output.value, str) and not output.is_encoded_twice:
        return PrintedOutput("text", output.text, output.value)
    return output
