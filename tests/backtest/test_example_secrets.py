"""Guards that look for secrets, on events whose secrets were replaced when they were stored."""

from __future__ import annotations

import json
import re

import pytest

from anyhook.backtest.example_secrets import EXAMPLES, insert_examples, remove_examples
from anyhook.history.redact import KINDS, redact_json
from tests.backtest.test_backtest import Recorded, shell

NAMED = {"http-authorization", "url-password", "secret"}
"""Kinds that are recognized by the words before them."""
KEY = "AKIA" + "Q7RT5XW2ZPL8MN3K"
GUARD = """
import re
from anyhook.authoring import Hooks, deny
hooks = Hooks()

@hooks.before_tool("shell")
def guard(event):
    found = re.search(r"AKIA[0-9A-Z]{16}", event.text)
    if found:
        return deny(f"remove {found[0]}")
"""


@pytest.fixture
def recorded(tmp_path):
    return Recorded(tmp_path)


def test_every_kind_of_secret_has_an_example():
    assert EXAMPLES.keys() == {kind.label for kind in KINDS}


@pytest.mark.parametrize(
    "kind", sorted(EXAMPLES.keys() - {"http-authorization", "url-password", "secret"})
)
def test_an_example_is_recognized_as_a_secret_of_its_kind(kind):
    text = json.dumps({"command": f"echo {EXAMPLES[kind]} end"})

    redacted, count = redact_json(text)

    assert redacted == json.dumps({"command": f"echo [redacted:{kind}] end"})
    assert count == 1


def test_examples_are_replaced_by_the_same_placeholders():
    text = " ".join(f"a[redacted:{kind}]b" for kind in EXAMPLES) + " [redacted:$TOKEN] [redacted:x]"

    with_examples = insert_examples(text)

    assert "[redacted:x]" in with_examples
    assert "[redacted:$TOKEN]" in with_examples
    assert not re.search("redacted:[a-z]+-", with_examples)
    assert remove_examples(with_examples) == text


def test_a_guard_for_keys_denies_what_it_denied_when_it_was_recorded(recorded):
    decision = {"outcome": "deny", "reason": f"remove {KEY}"}
    recorded.add(shell(1, f"echo {KEY}")._replace(decision=decision), shell(2, "ls"))

    (decided,) = recorded.run(recorded.hook(GUARD)).result.decided

    assert decided.decision["reason"] == "remove [redacted:aws-key]"
    assert decided.reconstructed == ("secrets",)
    assert decided.text == "echo [redacted:aws-key]"
