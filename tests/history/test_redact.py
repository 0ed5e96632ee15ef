"""No secret is stored: what is replaced, what is kept, and that JSON stays JSON."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anyhook.history.redact import Redactor

KEY = "a1B2" * 12
SECRETS = [
    ("export API_KEY=abcdef123456", "abcdef123456"),
    ("API_TOKEN='foo bar baz' make", "foo bar baz"),
    ('docker login -p "$X" --password hunter2hunter', "hunter2hunter"),
    ('curl -H "Authorization: Bearer abcdefghijklmnop123"', "abcdefghijklmnop123"),
    ('curl -H "X-Api-Key: abcdefghijkl"', "abcdefghijkl"),
    ("psql postgres://user:hunter2@host/db", "hunter2"),
    ('echo {"client_secret": "topsecret"} > x.json', "topsecret"),
    ("aws_secret_access_key = wJalrXUtnFEMI/K7MDENG", "wJalrXUtnFEMI/K7MDENG"),
    ("AKIAIOSFODNN7EXAMPLE", "AKIAIOSFODNN7EXAMPLE"),
    (f"sk-ant-api03-{KEY}", KEY),
    (f"sk-proj-{KEY}", KEY),
    (f"ghp_{KEY}", KEY),
    (f"github_pat_{KEY}", KEY),
    (f"glpat-{KEY}", KEY),
    (f"xoxb-{KEY}", KEY),
    (f"https://hooks.slack.com/services/T0/B0/{KEY}", KEY),
    (f"AIza{KEY[:35]}", KEY[:35]),
    (f"ya29.{KEY}", KEY),
    (f"hf_{KEY}", KEY),
    (f"npm_{KEY}", KEY),
    (f"pypi-{KEY}", KEY),
    (f"SG.{KEY}.{KEY}", KEY),
    (f"AGE-SECRET-KEY-1{KEY.upper()}", KEY.upper()),
    (f"eyJhbGciOiJIUzI1NiJ9.{KEY}.{KEY}", KEY),
    ("-----BEGIN RSA PRIVATE KEY-----\nMIIEow\n-----END RSA PRIVATE KEY-----", "MIIEow"),
    ("-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNz", "b3BlbnNz"),
    ('the "MY_TOKEN" is in the environment: per"sonal-1', 'per"sonal-1'),
]
HARMLESS = [
    "echo $GITHUB_TOKEN",
    "token = get_token(user)",
    "password=$PASS",
    "max_tokens: 400",
    "basic authentication is off",
    "https://example.com:8080/path",
    "def tokenize(text): return text.split()",
]


@pytest.fixture
def redactor():
    return Redactor({"MY_TOKEN": 'per"sonal-1', "HOME": "/home/user", "A_KEY": "short"})


@pytest.mark.parametrize("before", ["", "\n", "\r\n", "\t", "\x1b[32m"])
@pytest.mark.parametrize(("text", "secret"), SECRETS)
def test_a_secret_in_an_event_is_replaced(redactor, text, secret, before):
    text = f"first line:{before}{text}"
    line = json.dumps({"tool_input": {"command": text}}, ensure_ascii=False)

    redacted, count = redactor.redact(line)

    assert count >= 1
    assert secret not in json.loads(redacted)["tool_input"]["command"]
    assert "[redacted:" in redacted


@pytest.mark.parametrize("text", HARMLESS)
def test_other_text_is_kept(redactor, text):
    line = json.dumps({"tool_input": {"command": text}})

    assert redactor.redact(line) == (line, 0)


@pytest.mark.parametrize("name", ["password", "apiKey", "API_KEY", "x-access-token", "secret"])
def test_the_value_of_a_member_with_a_secret_name_is_replaced(redactor, name):
    line = json.dumps({"a": [{name: 'he"llo\\ world'}, "kept"]})

    redacted, count = redactor.redact(line)

    assert (json.loads(redacted), count) == ({"a": [{name: "[redacted:secret]"}, "kept"]}, 1)


def test_redacting_twice_changes_nothing_more(redactor):
    line, _ = redactor.redact(json.dumps([text for text, _ in SECRETS]))

    assert redactor.redact(line) == (line, 0)


WORDS = st.sampled_from(
    [text for text, _ in SECRETS] + ["token", '"', "'", "\\", ":", "=", " ", "password", "\n", "é"]
)
TEXTS = st.lists(WORDS | st.text(max_size=5), max_size=8).map("".join)
VALUES = st.recursive(
    TEXTS | st.integers() | st.booleans() | st.none(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=8,
)


def shape(value):
    """Return a value with its strings left out."""
    if isinstance(value, dict):
        return [shape(item) for item in value.values()]
    if isinstance(value, list):
        return [shape(item) for item in value]
    return "" if isinstance(value, str) else value


@given(VALUES)
def test_redacted_json_is_json_of_the_same_shape(value):
    redactor = Redactor({"MY_TOKEN": 'per"sonal-1'})
    line = json.dumps(value, ensure_ascii=False)

    redacted, _ = redactor.redact(line)

    # Two keys may have become equal, which leaves one of them.
    if "[redacted:" not in redacted or redacted.count('":') == 0:
        assert shape(json.loads(redacted)) == shape(value)
    else:
        json.loads(redacted)
