"""The rule sets of OpenCode: the documentation of its plugins, and the release that was observed.

What a reply does is decided by the plugin of anyhook, so the rule sets differ only where OpenCode
itself differs from its documentation.
"""

from __future__ import annotations

from anyhook.agents.opencode.events import ALLOWS, EVENTS
from anyhook.agents.opencode.replies import EXITS
from anyhook.agents.spec import Differences, RuleSet
from anyhook.model.answers import Audience

DOCUMENTED = RuleSet(
    name="documented",
    release="plugin documentation and types of 1.18",
    events=EVENTS,
    exit_rules={"*": EXITS},
    warning_audience=Audience.USER,
    default_reason="blocked by hook '{label}'",
)

OBSERVED = Differences(
    rules={
        "name": "observed",
        "release": "1.18.33",
    },
    events={
        # The types have a hook `permission.ask`, which may answer `ask`. Nothing calls it: the
        # plugin answers requests that the user already sees.
        "permission_request": {"outcomes": ALLOWS},
    },
)
"""What release 1.18.33 does differently from the documentation."""
