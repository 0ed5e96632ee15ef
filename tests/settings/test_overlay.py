"""Values of settings files are replaced, and what is kept of them stays as it is written."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anyhook.settings.jsonc import parse
from anyhook.settings.overlay import replace_values
from anyhook.settings.toml import parse_toml

TEXTS = [
    '{ "command": "./wächter.py" } // here',
    r'{ "command": "./w\u00e4chter.py \" \\ \n \ud83d\ude00 \ud83d" } // here',
    '{ "command": "e" }',
    '{ "command": "" } // ö',
]


def replace(text, value):
    return replace_values(parse(text), {("command",): value})


@pytest.mark.parametrize("text", TEXTS)
def test_a_string_is_as_it_was_when_it_is_wrapped_and_unwrapped(text):
    value = parse(text).value["command"]

    wrapped = replace(text, f"exec 'ß' <<E\n{value}\nE\n")

    assert parse(wrapped).value == {"command": f"exec 'ß' <<E\n{value}\nE\n"}
    wrapped.encode()
    assert replace(wrapped, value) == text


@pytest.mark.parametrize(
    ("text", "escaped"), [('{"command": "a"}', r"\u00e4"), ('{"command": "a"} // ö', "ä")]
)
def test_new_characters_are_escapes_in_a_file_of_ascii(text, escaped):
    assert f'"command": "{escaped}"' in replace(text, "ä")


@pytest.mark.parametrize(
    "literal",
    ['["a", "ü"]', '[\n  "a", // first\n  "\\u00fc",\n]', '[ "a" ]', "[\n  1,\n  [2, 3]\n]"],
)
def test_a_list_keeps_its_lines_when_it_is_wrapped_and_unwrapped(literal):
    text = f'{{"command": {literal}}}'
    value = parse(text).value["command"]

    wrapped = replace(text, ["-I", "ä", *value])

    assert parse(wrapped).value == {"command": ["-I", "ä", *value]}
    assert replace(wrapped, value) == text


TOML = """# mine
[[hooks.Stop]]
[[hooks.Stop.hooks]]
type = "command"
command = LITERAL # here
timeout = 5
"""


@pytest.mark.parametrize("literal", ["'./wächter.sh \"a\"'", '"./wächter.sh \\"a\\""', "''"])
def test_a_member_of_toml_stays_in_its_place(literal):
    text = TOML.replace("LITERAL", literal)
    path = ("hooks", "Stop", 0, "hooks", 0, "command")
    value = parse_toml(text).value["hooks"]["Stop"][0]["hooks"][0]["command"]

    wrapped = replace_values(parse_toml(text), {path: f"exec 'a' <<E\n{value}\nE\n"})

    lines = wrapped.splitlines()
    assert [lines[0], lines[-1]] == ["# mine", "timeout = 5"]
    assert replace_values(parse_toml(wrapped), {path: value}) == text


@pytest.mark.slow
@settings(deadline=None)
@given(st.text(), st.text(), st.booleans())
def test_any_string_can_be_replaced_by_any_other(former, value, is_ascii):
    text = json.dumps({"command": former}, ensure_ascii=is_ascii)

    assert parse(replace(text, value)).value == {"command": value}
