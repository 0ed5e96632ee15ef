"""The table of secrets."""

from __future__ import annotations

from anyhook.secrets.places import PLACES
from anyhook.secrets.tokens import PRIVATE_KEYS, TOKENS, TOKENS_OF_RULES

KINDS = (*PRIVATE_KEYS, *TOKENS, *TOKENS_OF_RULES, *PLACES)
"""The first one that finds a secret names it."""
