"""The rule sets of OpenCode: the documentation of its plugins, and the release that was observed.

What a reply does is decided by the plugin of anyhook, which uses nothing that release 1.18.33 does
not have. So the rule sets do not differ. The types name one hook more, `permission.ask`: nothing
calls it, and the plugin answers the event `permission.asked` instead.
"""

from __future__ import annotations

from anyhook.agents.opencode.events import EVENTS
from anyhook.agents.opencode.replies import EXITS
from anyhook.agents.spec import Differences, RuleSet
from anyhook.model.answers import Audience

DOCUMENTED = RuleSet(
    name="documented",
    release="plugin documentation and types of 1.18",
    events=EVENTS,
    exit_rules={"*": EXITS},
    warning_audience=Audience.USER,
)

OBSERVED = Differences(
    rules={"name": "observed", "release": "1.18.33"},
    events={
        "before_tool": {
            "input_refusal": "The {tool} tool was called with invalid arguments: "
            "`{argument}` is not a string"
        }
    },
)
"""What release 1.18.33 does differently from the documentation."""
