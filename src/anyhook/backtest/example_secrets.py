"""Examples of secrets, for events whose secrets were replaced when they were stored.

A guard that looks for keys would deny nothing of a history in which `[redacted:aws-key]` stands in
their place. So hooks see an example of the same kind, and a decision that depends on it is marked.
"""

from __future__ import annotations

import re

from anyhook.secrets.examples import EXAMPLES

_PLACEHOLDER = re.compile(r"\[redacted:([a-z0-9-]+)\]")


def insert_examples(text: str) -> str:
    """Return a text with an example in the place of each secret that was replaced."""
    return _PLACEHOLDER.sub(lambda match: EXAMPLES.get(match[1], match[0]), text)


def remove_examples(text: str) -> str:
    """Return a text with the placeholders in the place of the examples."""
    for kind, example in EXAMPLES.items():
        text = text.replace(example, f"[redacted:{kind}]")
    return text
