"""Which environment variables Gemini CLI does not pass on to hooks."""

from __future__ import annotations

import re

from anyhook.expressions import expression

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from anyhook.agents.spec.settings import RedactionSettings

SECRET_VALUES = expression(
    r"-----BEGIN (?:RSA|OPENSSH|EC|PGP) PRIVATE KEY-----"
    r"|-----BEGIN CERTIFICATE-----"
    r"|(?:https?|ftp|smtp)://[^:\s]+:[^@\s]+@"
    r"|(?:gh[pousr]|github_pat)_[a-z0-9_]{36,}"
    r"|AIzaSy[a-z0-9_\\-]{33}"
    r"|AKIA[A-Z0-9]{16}"
    r"|eyJ[a-z0-9_-]+\.[a-z0-9_-]+\.[a-z0-9_-]+"
    r"|(?:s|r)k_(?:live|test)_[0-9a-z]{24}"
    r"|xox[abpr]-[a-z0-9-]+",
    re.IGNORECASE,
)
ALWAYS_ALLOWED = frozenset(
    "PATH SYSTEMROOT COMSPEC PATHEXT WINDIR TEMP TMP USERPROFILE SYSTEMDRIVE HOME LANG SHELL "
    "TMPDIR USER LOGNAME TERM COLORTERM ADDITIONAL_CONTEXT AVAILABLE_LABELS BRANCH_NAME "
    "DESCRIPTION EVENT_NAME GITHUB_ENV IS_PULL_REQUEST ISSUES_TO_TRIAGE ISSUE_BODY "
    "ISSUE_NUMBER ISSUE_TITLE PULL_REQUEST_NUMBER REPOSITORY TITLE TRIGGERING_ACTOR".split()
)
NEVER_ALLOWED = frozenset(
    "CLIENT_ID DB_URI CONNECTION_STRING AWS_DEFAULT_REGION AZURE_CLIENT_ID AZURE_TENANT_ID "
    "SLACK_WEBHOOK_URL TWILIO_ACCOUNT_SID DATABASE_URL GOOGLE_CLOUD_PROJECT "
    "GOOGLE_CLOUD_ACCOUNT FIREBASE_PROJECT_ID".split()
)
SECRET_NAMES = expression(
    "TOKEN|SECRET|PASSWORD|PASSWD|KEY|AUTH|CREDENTIAL|CREDS|PRIVATE|CERT", re.IGNORECASE
)


def is_strict(environ: Mapping[str, str]) -> bool:
    """Return whether redaction is strict by itself: on GitHub."""
    return bool(environ.get("GITHUB_SHA")) or environ.get("SURFACE") == "Github"


def keeps(settings: RedactionSettings, name: str, value: str) -> bool:
    """Return whether a variable is passed on. The first rule that applies decides."""
    if name.startswith("GEMINI_CLI_"):
        return True
    if SECRET_VALUES.search(value):
        return False
    if name.startswith("GIT_CONFIG_") or name in settings.allowed:
        return True
    if name in settings.blocked:
        return False
    if name in ALWAYS_ALLOWED:
        return True
    if name in NEVER_ALLOWED or settings.strict:
        return False
    return SECRET_NAMES.search(name) is None
