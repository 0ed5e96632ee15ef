"""The tables that describe an agent. Each agent's folder fills them in.

They are light values (`Record`), because a hook that an agent starts on every event loads them.
"""

from __future__ import annotations

from anyhook.agents.spec.agent import AgentSpec as AgentSpec
from anyhook.agents.spec.agent import OutputField as OutputField
from anyhook.agents.spec.events import Denial as Denial
from anyhook.agents.spec.events import EventSpec as EventSpec
from anyhook.agents.spec.events import PlainText as PlainText
from anyhook.agents.spec.exits import EXIT_1_HINT as EXIT_1_HINT
from anyhook.agents.spec.exits import ExitRule as ExitRule
from anyhook.agents.spec.exits import ExitRules as ExitRules
from anyhook.agents.spec.exits import OutputAction as OutputAction
from anyhook.agents.spec.rules import Coercions as Coercions
from anyhook.agents.spec.rules import Differences as Differences
from anyhook.agents.spec.rules import RuleSet as RuleSet
from anyhook.agents.spec.settings import MIN_TIMEOUT as MIN_TIMEOUT
from anyhook.agents.spec.settings import EnvFileRules as EnvFileRules
from anyhook.agents.spec.settings import Extensions as Extensions
from anyhook.agents.spec.settings import HandlerField as HandlerField
from anyhook.agents.spec.settings import HandlerType as HandlerType
from anyhook.agents.spec.settings import HookToggle as HookToggle
from anyhook.agents.spec.settings import Plugins as Plugins
from anyhook.agents.spec.settings import RedactionRules as RedactionRules
from anyhook.agents.spec.settings import SettingsFile as SettingsFile
from anyhook.agents.spec.settings import WebRules as WebRules
