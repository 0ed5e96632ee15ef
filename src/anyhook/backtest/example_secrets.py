"""Examples of secrets, for events whose secrets were replaced when they were stored.

A guard that looks for keys would deny nothing of a history in which `[redacted:aws-key]` stands in
their place. So hooks see an example of the same kind, and a decision that depends on it is marked.
"""

from __future__ import annotations

import re

_FILLER = "EXAMPLE0" * 8
EXAMPLES = {
    "private-key": f"-----BEGIN PRIVATE KEY-----{_FILLER}-----END PRIVATE KEY-----",
    "anthropic-key": f"sk-ant-api03-{_FILLER}",
    "api-key": f"sk-{_FILLER[:48]}",
    "github-token": f"ghp_{_FILLER[:36]}",
    "gitlab-token": f"glpat-{_FILLER[:20]}",
    "slack-token": f"xoxb-{'0' * 12}-{'0' * 12}-{_FILLER[:24]}",
    "slack-webhook": f"hooks.slack.com/services/T{'0' * 8}/B{'0' * 8}/{_FILLER[:24]}",
    "aws-key": "AKIAIOSFODNN7EXAMPLE",
    "google-key": f"AIza{_FILLER[:35]}",
    "google-token": f"ya29.{_FILLER}",
    "huggingface-token": f"hf_{_FILLER[:34]}",
    "npm-token": f"npm_{_FILLER[:36]}",
    "pypi-token": f"pypi-{_FILLER}",
    "sendgrid-key": f"SG.{_FILLER[:22]}.{_FILLER[:43]}",
    "age-key": f"AGE-SECRET-KEY-1{_FILLER[:58]}",
    "json-web-token": f"eyJ{_FILLER[:20]}.{_FILLER[:40]}.{_FILLER[:43]}",
    "http-authorization": "EXAMPLE-CREDENTIALS-0000",
    "url-password": "EXAMPLE-PASSWORD-0000",
    "secret": "EXAMPLE-SECRET-VALUE-0000",
}
"""Kind of a secret (`anyhook.history.redact.KINDS`) to an example that needs no escape in JSON."""
_PLACEHOLDER = re.compile(r"\[redacted:([a-z-]+)\]")


def insert_examples(text: str) -> str:
    """Return a text with an example in the place of each secret that was replaced."""
    return _PLACEHOLDER.sub(_example_of, text)


def _example_of(match: re.Match[str]) -> str:
    return EXAMPLES.get(match[1], match[0])


def remove_examples(text: str) -> str:
    """Return a text with the placeholders in the place of the examples."""
    for kind, example in EXAMPLES.items():
        text = text.replace(example, f"[redacted:{kind}]")
    return text
