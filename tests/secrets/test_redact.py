"""Secrets in texts: what is replaced, what is kept, and that JSON stays JSON."""

from __future__ import annotations

import json
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anyhook.secrets.kinds import KINDS
from anyhook.secrets.redact import (
    Redactor,
    compiled,
    find_at_once,
    find_mark_by_mark,
    find_secrets,
    redact_text,
)
from tests.tables import each

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
    ("ASIAIOSFODNN7EXAMPLE", "ASIAIOSFODNN7EXAMPLE"),
    (f"sk-ant-api03-{KEY}", KEY),
    (f"sk-proj-{KEY}", KEY),
    (f"sk_live_{KEY}", KEY),
    (f"rk_live_{KEY}", KEY),
    *[(f"gh{kind}_{KEY}", KEY) for kind in "pousr"],
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


@each("before", ["", "\n", "\r\n", "\t", "\x1b[32m"])
@each("text, secret", SECRETS)
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


@each("rest", [0, 100, 100_000])
@each("kept", [4, 7, 12])
@each("text, secret", SECRETS)
def test_no_beginning_of_a_secret_is_left_where_a_text_is_cut(text, secret, kept, rest):
    limit = 4096
    beginning = secret[: min(kept, len(secret) - 1)]
    before = ("line of output\n" * limit)[: limit - text.index(secret) - len(beginning) - 1]
    for start in ("", '{"log": "'):
        whole = f"{start}{before[len(start) :]}\n{text}\n{'more output ' * (rest // 12)}"
        assert whole[:limit].endswith(beginning)

        found = Redactor(ENVIRON).redact_start(whole, limit)

        assert len(found) <= limit
        assert beginning not in found
        assert "BEGIN" in text or found.startswith(whole[: limit - 300])


def test_a_secret_that_ends_far_behind_a_cut_leaves_nothing():
    key = "-----BEGIN RSA PRIVATE KEY-----\n" + "MIIEow\n" * 20_000
    found = Redactor({}).redact_start(f"a\n{key} b", 100)
    assert "MIIE" not in found
    token = "a1B2" * 3000
    found = Redactor({}).redact_start(f"{token} {'x ' * 20} ghp_{KEY} {'x' * 40_000}", 12_060)
    assert "ghp_" not in found


def shape(value):
    """Return a value with its strings left out."""
    if isinstance(value, dict):
        return [shape(item) for item in value.values()]
    if isinstance(value, list):
        return [shape(item) for item in value]
    return "" if isinstance(value, str) else value


ENVIRON = {"MY_TOKEN": 'per"sonal-1', "DEPLOY_KEY": 'first "line"\nsecond line'}
LINES = st.lists(
    st.sampled_from(
        [
            *[mark for kind in KINDS for mark in kind.marks],
            *[text for text, _ in SECRETS],
            *[secret for _, secret in SECRETS],
            *HARMLESS,
            *ENVIRON.values(),
            *"-_:=\"' \\\n\tİKé9Aa",
            "Authorization: Bearer ",
            "api_",
            "--access-",
            "://user:",
            "@host",
            "-----END RSA PRIVATE KEY-----",
            "[redacted:$API_KEY]",
            "a1B2" * 5,
        ]
    ),
    max_size=12,
).map("".join)


def find_exhaustively(text):
    """Return the positions of all secrets by looking for each mark of each kind everywhere."""
    positions = set()
    for kind in KINDS:
        searched = text.replace("İ", "I").lower() if kind.any_case else text
        starts = sorted(
            match.start() for mark in kind.marks for match in re.finditer(re.escape(mark), searched)
        )
        end = 0
        for start in starts:
            marks = [mark for mark in kind.marks if searched.startswith(mark, start)]
            follows = [compiled(kind.follows).match(searched, start + len(mark)) for mark in marks]
            for pattern in kind.patterns if start >= end and any(follows) else ():
                match = compiled(pattern, kind.before).match(text, max(0, start - kind.before))
                if match is not None:
                    end = match.end()
                    positions |= set(
                        range(*match.span("secret" if "secret" in match.groupdict() else 0))
                    )
                    break
    return positions


def escape(text, how):
    """Return a text as it is in a JSON text, also with letters as escapes."""
    if how == "hex":
        return "".join(f"\\u{ord(letter):04x}" if letter in "kAs" else letter for letter in text)
    return text if how == "plain" else json.dumps({"a": [text]}, ensure_ascii=how == "ascii")


@pytest.mark.slow
@settings(max_examples=500, deadline=None)
@given(LINES, st.sampled_from(["plain", "ascii", "utf-8", "hex"]), st.integers(0, 2))
def test_the_search_for_marks_finds_every_secret_that_the_patterns_find(text, how, depth):
    for _ in range(depth):
        text = json.dumps({"stdout": text, "b": "c"})
    line = escape(text, how)

    secrets = find_secrets(line)

    found = {position for secret in secrets for position in range(secret.start, secret.end)}
    missing = find_exhaustively(line) - found
    kept = {position for position in missing if not part_of_placeholder_or_escape(line, position)}
    assert kept == set()


@pytest.mark.slow
@settings(max_examples=500, deadline=None)
@given(LINES, st.sampled_from(["plain", "ascii", "utf-8", "hex"]))
def test_both_searches_find_the_same(text, how):
    line = escape(text, how)
    lower = line.replace("İ", "I").lower()

    assert positions(find_mark_by_mark(line, lower)) == positions(find_at_once(line, lower))


def positions(matches):
    """Return the positions that matches cover, and their kinds."""
    return {(place, kind) for start, end, kind in matches for place in range(start, end)}


def part_of_placeholder_or_escape(line, position):
    """Return whether a character is left where it is, though it belongs to a match."""
    placeholders = [match.span() for match in re.finditer(r"\[redacted:[^]]*\]?\S*", line)]
    is_escape = line[position] == "\\" or line[position - 1 : position] == "\\"
    return is_escape or any(start <= position < end for start, end in placeholders)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("\npm_" + "a1B2" * 10, "\\n"),
        ("\rk_live_" + "a1B2" * 10, "\\r"),
        ("\\npm_" + "a1B2" * 10, "\\\\"),
    ],
)
def test_an_escape_in_front_of_a_secret_stays_whole(text, expected):
    line = json.dumps({"text": text})

    redacted, _ = Redactor({}).redact(line)

    assert json.loads(redacted)["text"].startswith(json.loads(f'"{expected}"'))


def test_secrets_that_overlap_become_one_of_the_kind_that_says_more():
    line = json.dumps({"command": f"export GITHUB_TOKEN='ghp_{KEY} and more'"})

    assert [secret.kind for secret in find_secrets(line)] == ["github-token"]
    assert Redactor({}).redact(line)[0] == json.dumps(
        {"command": "export GITHUB_TOKEN='[redacted:github-token]'"}
    )


@pytest.mark.slow
@settings(deadline=None)
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


@pytest.mark.parametrize(
    ("value", "document"),
    [
        ("12345678", {"time": 1234567890, "text": "pin 12345678"}),
        ("12345678", {"pin": 12345678}),
        ("nabcdefgh", {"text": "a line\nabcdefgh"}),
        ("null,null", [None, None, None]),
        ("1,2,3,4,5", [1, 2, 3, 4, 5]),
    ],
)
def test_the_value_of_a_variable_is_replaced_and_the_text_stays_json(value, document):
    redactor = Redactor({"MY_KEY": value})
    text, _ = redactor.redact(json.dumps([document, f"the {value}"], separators=(",", ":")))
    assert json.loads(text)[1] == "the [redacted:$MY_KEY]"
    assert "12345678," not in text.replace("1234567890", "")
    assert '"pin":12345678' not in text


def test_a_variable_of_several_lines_is_replaced_in_plain_and_in_nested_texts():
    redactor = Redactor({"DEPLOY_KEY": 'first "line"\nsecond line'})
    text = 'a first "line"\nsecond line b'
    for _ in range(3):
        assert "second line" not in redactor.redact(text)[0]
        text = json.dumps({"text": text})


@pytest.mark.parametrize("depth", [1, 2, 3])
def test_a_secret_in_json_within_json_is_replaced(depth):
    text = json.dumps({"password": "hunter2-long", "a": 1})
    for _ in range(depth):
        text = json.dumps({"stdout": text, "b": "c"})
    found, count = Redactor({}).redact(text)
    assert count == 1
    assert "hunter2" not in found
    for _ in range(depth):
        found = json.loads(found)["stdout"]
    assert json.loads(found) == {"password": "[redacted:secret]", "a": 1}


def test_a_password_with_an_at_sign_in_a_url_is_replaced_whole():
    text, _ = Redactor({}).redact("psql postgres://user:hunter2@tail@host/db")
    assert text == "psql postgres://user:[redacted:url-password]@host/db"


@pytest.mark.parametrize("template", ["[INFO] deploy with {}", "{{ deploy {}", "deploy {}"])
def test_the_value_of_a_secret_variable_is_replaced_in_every_text(monkeypatch, template):
    monkeypatch.setenv("DEPLOY_TOKEN", "not-a-form-of-any-service")
    monkeypatch.setattr("anyhook.secrets.redact._own_redactor", Redactor)

    assert "not-a-form" not in redact_text(template.format("not-a-form-of-any-service"))
