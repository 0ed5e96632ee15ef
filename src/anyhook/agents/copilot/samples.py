"""What Copilot CLI sends besides the fields that an event requires. Recorded with 1.0.102."""

from __future__ import annotations

from anyhook.agents.samples import Samples

SUBAGENT = {
    "agentId": "65cfd6a5-bb91-488d-8a0e-f5969b327b7a",
    "agentType": "explore",
    "parentAgentId": "fa409d11-03ea-4077-885b-fc2f31ed93fd",
}

SAMPLES = Samples(
    events={
        "errorOccurred": {"errorContext": "model_call", "recoverable": True},
        "notification": {"title": "Permission needed"},
        "permissionRequest": {"permissionSuggestions": []},
        "preCompact": {"customInstructions": ""},
        "sessionStart": {"initialPrompt": "Write the tests"},
        "subagentStart": SUBAGENT,
        "subagentStop": SUBAGENT,
    },
    results={"*": {"resultType": "success", "textResultForLlm": "one\n"}},
)
