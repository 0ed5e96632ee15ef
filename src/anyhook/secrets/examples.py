"""An example of each kind of secret.

They are put together from pieces, so that programs that look for secrets in files do not find them.
"""

from __future__ import annotations

import re

from anyhook.secrets.kinds import KINDS

_PIECE = re.compile(r"\{(\d+):([^}]+)\}")
_OF_PLACES = {
    "http-authorization": "EXAMPLE-CREDENTIALS-0000",
    "url-password": "EXAMPLE-PASSWORD-0000",
    "url-signature": "EXAMPLE0SIGNATURE0000000",
    "command-password": "EXAMPLE-ARGUMENT-0000",
    "cookie": "session=EXAMPLE-COOKIE-0000",
    "putty-key": "EXAMPLE0PRIVATE0LINES000",
    "secret": "EXAMPLE-SECRET-VALUE-0000",
}
"""Kinds that are recognized by what stands before them."""


EXAMPLES = {
    kind.label: _PIECE.sub(lambda piece: (piece[2] * int(piece[1]))[: int(piece[1])], kind.example)
    for kind in KINDS
    if kind.example
} | _OF_PLACES
"""Label of a kind to an example that needs no escape in JSON."""
