"""What Gemini CLI sends besides the fields that an event requires. Recorded with 0.61.0."""

from __future__ import annotations

from anyhook.agents.samples import Samples

SAMPLES = Samples(
    events={
        "Notification": {
            "details": {
                "type": "exec",
                "title": "Confirm Shell Command",
                "command": "touch a.txt",
                "rootCommand": "touch",
            }
        },
    },
    results={"*": {"llmContent": "one\n", "returnDisplay": "one"}},
)
