"""Which secrets are recognized, in the forms in which tools, files and commands write them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from anyhook.secrets.examples import EXAMPLES
from anyhook.secrets.gitleaks import RULES
from anyhook.secrets.kinds import KINDS
from anyhook.secrets.redact import Redactor
from tests.secrets.forms import MEMBERS, PLACES, TOKENS, examples
from tests.tables import each

FORMS = examples()
ORDINARY = Path(__file__).parents[1] / "data" / "secrets" / "ordinary_commands.txt"
SERVICES = ("adafruit", "asana", "bitbucket", "datadog", "discord", "dropbox", "heroku", "twitter")
"""Services whose tokens have no form of their own."""
ASSIGNMENTS = (
    '{i}Token="{s}"',
    "{i}Token = {s}",
    '{{\n    "{i}_token": "{s}"\n}}',
    "{i}_API_KEY={s}\nBACKUP=true",
    "{i}_token: '{s}'",
    'String {i}Token = "{s}";',
    '{i}_TOKEN ?= "{s}"',
    'setProperty("{i}_TOKEN", "{s}")',
)


@pytest.fixture
def redactor():
    return Redactor({})


def in_json(text, depth):
    for _ in range(depth):
        text = json.dumps({"stdout": text}, ensure_ascii=False)
    return text


@each("depth", [0, 1, 2, 3])
@each("kind, text, secret", FORMS)
def test_a_secret_is_replaced_by_its_kind(redactor, kind, text, secret, depth):
    redacted, count = redactor.redact(in_json(text, depth))

    assert secret not in redacted
    assert f"[redacted:{kind}]" in redacted
    assert count >= 1
    for _ in range(depth):
        redacted = json.loads(redacted)["stdout"]


@each("depth", [0, 1, 2])
@each("name", MEMBERS)
def test_the_value_of_a_member_with_a_secret_name_is_replaced(redactor, name, depth):
    text = in_json(json.dumps({"a": [{name: "hello/world7"}, "kept"]}), depth)

    redacted, _ = redactor.redact(text)

    for _ in range(depth):
        redacted = json.loads(redacted)["stdout"]
    assert json.loads(redacted) == {"a": [{name: "[redacted:secret]"}, "kept"]}


def test_the_login_of_a_registry_is_replaced(redactor):
    text = json.dumps({"auths": {"example.org": {"auth": "bWU6aHVudGVyMmh1bnRlcjI="}}})

    redacted, _ = redactor.redact(json.dumps({"stdout": text}))

    assert json.loads(json.loads(redacted)["stdout"]) == {
        "auths": {"example.org": {"auth": "[redacted:secret]"}}
    }


@each("before", ["x", "my_", "1", "\n", "\t"])
@each(
    "kind, text, token",
    [row for row in FORMS if row[0] in {"aws-key", "github-token", "gitlab-token", "slack-token"}],
)
def test_a_token_behind_other_letters_is_replaced(redactor, before, kind, text, token):
    redacted, _ = redactor.redact(json.dumps({"command": before + token}))

    assert json.loads(redacted)["command"].startswith(f"{before}[redacted:{kind}]")


@each("kind", sorted({kind.label for kind in KINDS if kind.example}))
def test_an_example_is_recognized_as_a_secret_of_its_kind(redactor, kind):
    text = json.dumps({"command": f"echo {EXAMPLES[kind]} end"})

    redacted, count = redactor.redact(text)

    assert redacted.endswith(f'[redacted:{kind}] end"}}')
    assert count == 1


def test_every_kind_has_an_example_and_a_form():
    labels = {kind.label for kind in KINDS}

    assert labels == EXAMPLES.keys()
    assert {*TOKENS, *PLACES} <= labels


@each("service", SERVICES)
@each("assignment", ASSIGNMENTS)
def test_a_token_without_a_form_is_found_by_the_name_of_its_variable(redactor, service, assignment):
    token = "0a1b2c3d" * 4

    redacted, _ = redactor.redact(json.dumps({"content": assignment.format(i=service, s=token)}))

    assert "[redacted:secret]" in json.loads(redacted)["content"]
    assert token not in redacted


@each("command", ORDINARY.read_text("utf-8").splitlines())
def test_an_ordinary_command_is_kept(redactor, command):
    line = json.dumps({"tool_input": {"command": command}})

    assert redactor.redact(line) == (line, 0)
    assert redactor.redact(command) == (command, 0)


def test_the_rules_keep_the_license_that_they_came_with():
    import anyhook.secrets.gitleaks as module

    license_file = Path(module.__file__).with_name("gitleaks-license.txt")

    assert "MIT License" in license_file.read_text("utf-8")
    assert "gitleaks-license.txt" in module.__doc__
    assert len({row[0] for row in RULES}) == len(RULES) >= 50
