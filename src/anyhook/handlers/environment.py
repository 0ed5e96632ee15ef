"""The environment of a command: what it inherits, what it is told, and which secrets it never sees.

Redaction follows the agent's own rules (Gemini CLI: `security.environmentVariableRedaction`): it is
off unless the settings turn it on, and strict in continuous integration.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

_VARIABLE = re.compile(r"\$(?:\{(\w+)(?::-([^}]*))?\}|(\w+))")

SECRET_VALUES = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        r"-----BEGIN (?:RSA|OPENSSH|EC|PGP) PRIVATE KEY-----",
        r"-----BEGIN CERTIFICATE-----",
        r"(?:https?|ftp|smtp)://[^:\s]+:[^@\s]+@",
        r"(?:gh[pousr]|github_pat)_[a-z0-9_]{36,}",
        r"AIzaSy[a-z0-9_\\-]{33}",
        r"AKIA[A-Z0-9]{16}",
        r"eyJ[a-z0-9_-]+\.[a-z0-9_-]+\.[a-z0-9_-]+",
        r"(?:s|r)k_(?:live|test)_[0-9a-z]{24}",
        r"xox[abpr]-[a-z0-9-]+",
    )
)
"""A variable whose value looks like one of these is dropped whatever its name."""

KEPT_PREFIXES = ("GEMINI_CLI_",)
"""Names that are kept even if the value looks like a secret."""
CONFIG_PREFIXES = ("GIT_CONFIG_",)
"""Names that are kept if the value does not."""

ALWAYS_ALLOWED = frozenset(
    "PATH SYSTEMROOT COMSPEC PATHEXT WINDIR TEMP TMP USERPROFILE SYSTEMDRIVE HOME LANG SHELL "
    "TMPDIR USER LOGNAME TERM COLORTERM ADDITIONAL_CONTEXT AVAILABLE_LABELS BRANCH_NAME "
    "DESCRIPTION "
    "EVENT_NAME GITHUB_ENV IS_PULL_REQUEST ISSUES_TO_TRIAGE ISSUE_BODY ISSUE_NUMBER ISSUE_TITLE "
    "PULL_REQUEST_NUMBER REPOSITORY TITLE TRIGGERING_ACTOR".split()
)
NEVER_ALLOWED = frozenset(
    "CLIENT_ID DB_URI CONNECTION_STRING AWS_DEFAULT_REGION AZURE_CLIENT_ID AZURE_TENANT_ID "
    "SLACK_WEBHOOK_URL TWILIO_ACCOUNT_SID DATABASE_URL GOOGLE_CLOUD_PROJECT GOOGLE_CLOUD_ACCOUNT "
    "FIREBASE_PROJECT_ID".split()
)
SECRET_NAMES = re.compile(
    "TOKEN|SECRET|PASSWORD|PASSWD|KEY|AUTH|CREDENTIAL|CREDS|PRIVATE|CERT", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class Redaction:
    """Which variables a command does not inherit.

    Attributes:
        enabled: Whether anything is dropped at all.
        strict: Keep only what is known to be harmless.
        allowed: Names to keep, in any case; a value that looks like a secret is dropped anyway.
        blocked: Names to drop.
    """

    enabled: bool = False
    strict: bool = False
    allowed: frozenset[str] = frozenset()
    blocked: frozenset[str] = frozenset()

    @classmethod
    def from_settings(cls, settings: Mapping[str, Any], environ: Mapping[str, str]) -> Redaction:
        """Read the merged settings; a run inside a GitHub action is strict."""
        strict = bool(environ.get("GITHUB_SHA")) or environ.get("SURFACE") == "Github"
        return cls(
            enabled=bool(settings.get("enabled")) or strict,
            strict=strict,
            allowed=frozenset(name.upper() for name in settings.get("allowed", ())),
            blocked=frozenset(name.upper() for name in settings.get("blocked", ())),
        )

    def apply(self, environ: Mapping[str, str]) -> dict[str, str]:
        """Return what is left of an environment."""
        if not self.enabled:
            return dict(environ)
        return {name: value for name, value in environ.items() if self.keeps(name, value)}

    def keeps(self, name: str, value: str) -> bool:
        """Tell whether a variable is passed on. The first rule that applies decides."""
        upper = name.upper()
        rules = (
            (upper.startswith(KEPT_PREFIXES), True),
            (any(pattern.search(value) for pattern in SECRET_VALUES), False),
            (upper.startswith(CONFIG_PREFIXES), True),
            (upper in self.allowed, True),
            (upper in self.blocked, False),
            (upper in ALWAYS_ALLOWED, True),
            (upper in NEVER_ALLOWED or self.strict, False),
            (SECRET_NAMES.search(upper) is not None, False),
        )
        return next((keep for applies, keep in rules if applies), True)


def expand(text: str, variables: Mapping[str, str]) -> str:
    """Resolve `$NAME`, `${NAME}` and `${NAME:-default}`; unknown names stay as they are."""

    def value(match: re.Match[str]) -> str:
        name, default = match[1] or match[3], match[2]
        found = variables.get(name)
        if default is not None:
            return found or default
        return match[0] if found is None else found

    return _VARIABLE.sub(value, text)
