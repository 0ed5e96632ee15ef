"""Secrets in texts, for guards. A hook imports this module when it calls one of the functions."""

from __future__ import annotations


def find_secrets(text: str) -> list[str]:
    """Return the kinds of the secrets in a text, like `aws-access-key`, each once.

    Source: the rules of gitleaks, and forms that they lack (`anyhook.secrets.kinds`).
    """
    from anyhook.secrets.redact import find_secrets as find

    return list(dict.fromkeys(secret.kind for secret in find(text)))


def hide_secrets(text: str) -> str:
    """Return a text in which secrets are replaced by their kind, like `[redacted:github-token]`."""
    from anyhook.secrets.redact import redact_text

    return redact_text(text)
