"""TOML settings: every value has its line and column, and edits keep the rest of the text."""

from __future__ import annotations

import tomllib

import pytest

from anyhook.errors import SettingsError
from anyhook.settings.edit import (
    add_item,
    prune,
    read_settings,
    remove_item,
    remove_member,
    set_member,
)
from anyhook.settings.jsonc import SettingsSyntaxError
from anyhook.settings.toml import parse_toml

FILE = "config.toml"
HOOKS = """\
# my settings
model = "gpt"   # the best

[[hooks.PreToolUse]]
matcher = "^Bash$"

# the guard
[[hooks.PreToolUse.hooks]]
type = "command"
command = '''guard "x"'''  # keep

[[hooks.PreToolUse.hooks]]
type = "command"
command = "second"

[[hooks.Stop]]
hooks = [
  { type = "command", command = "stop", timeout = 5 },  # inline
]

# the state
[hooks.state."/a/b:pre_tool_use:0:0"]
enabled = false
"""


def place(text, *path):
    found = parse_toml(text, FILE).place(path)
    return found.line, found.column


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        (("model",), (2, 9)),
        (("hooks", "PreToolUse"), (4, 1)),
        (("hooks", "PreToolUse", 0), (4, 1)),
        (("hooks", "PreToolUse", 0, "matcher"), (5, 11)),
        (("hooks", "PreToolUse", 0, "hooks", 0), (8, 1)),
        (("hooks", "PreToolUse", 0, "hooks", 0, "command"), (10, 11)),
        (("hooks", "PreToolUse", 0, "hooks", 1), (12, 1)),
        (("hooks", "Stop", 0, "hooks", 0), (18, 3)),
        (("hooks", "Stop", 0, "hooks", 0, "timeout"), (18, 51)),
        (("hooks", "state", "/a/b:pre_tool_use:0:0", "enabled"), (23, 11)),
        (("hooks", "Stop", 0, "hooks", 7), (17, 9)),
        (("nothing",), (1, 1)),
    ],
)
def test_a_value_has_its_line_and_column(path, expected):
    assert place(HOOKS, *path) == expected


@pytest.mark.parametrize(
    "text",
    [
        'a = """\n[x]\nb = 1\n"""\n[c]\nd = 1\n',
        "a = '''\n[x]\n'''\n[c]\nd = 1\n",
        'a = "\\"[x]"\n[c]\nd = 1\n',
        "a = [ # ]\n 1, [2, 3], # x = 1\n]\n[c]\nd = 1\n",
        'a = { b = "}", c = [1, { e = 2 }] }\n[c]\nd = 1\n',
        "a.b . c = 1\n[c]\nd = 1\n",
        "a = 1979-05-27T07:32:00Z\n[c]\nd = 1\n",
        'a = """a\\"""b""""\n[c]\nd = 1\n',
        "[ x . 'y z' ]\na = 1\n[c]\nd = 1\n",
        "a = 1\r\n[c]\r\nd = 1\r\n",
    ],
)
def test_what_comes_before_does_not_move_a_place(text):
    line, column = place(text, "c", "d")

    assert text.splitlines()[line - 1] == "d = 1"
    assert column == 5


def test_every_value_of_a_file_has_its_text_at_its_span():
    document = parse_toml(HOOKS, FILE)
    for path, span in document.spans.items():
        if not span.has_header:
            written = tomllib.loads(f"x = {HOOKS[span.start : span.end]}")["x"]
            value = document.value
            for step in path:
                value = value[step]
            assert written == value, path


def test_dates_and_infinite_numbers_become_objects():
    value = parse_toml("a = 1979-05-27\nb = [07:32:00, inf]", FILE).value

    assert value == {"a": {"date": "1979-05-27"}, "b": [{"date": "07:32:00"}, {"float": "inf"}]}


@pytest.mark.parametrize(
    ("text", "line"), [("a = 1\nb = \n", 2), ("a = 1\na = 2\n", 2), ("[x", 1), ("a = [1,\n", 2)]
)
def test_a_syntax_error_has_its_line(text, line):
    with pytest.raises(SettingsSyntaxError) as error:
        parse_toml(text, FILE)

    assert error.value.line == line


def test_deep_nesting_is_a_syntax_error():
    with pytest.raises(SettingsSyntaxError):
        parse_toml(f"a = {'[' * 50_000}{']' * 50_000}", FILE)


# -- edits

GUARD = {"matcher": "Edit", "hooks": [{"type": "command", "command": 'a "b" \\ c', "timeout": 30}]}
GUARD_TEXT = """\
[[hooks.PreToolUse]]
matcher = "Edit"

[[hooks.PreToolUse.hooks]]
type = "command"
command = "a \\"b\\" \\\\ c"
timeout = 30
"""


def test_a_definition_becomes_tables_at_the_end_of_a_file():
    text = "# mine\nmodel = 'x'\n"

    assert add_item(text, ("hooks", "PreToolUse"), GUARD, file=FILE) == f"{text}\n{GUARD_TEXT}"
    assert add_item("", ("hooks", "PreToolUse"), GUARD, file=FILE) == GUARD_TEXT


def test_a_definition_follows_the_last_one_of_its_event():
    text = add_item(HOOKS, ("hooks", "PreToolUse"), GUARD, file=FILE)

    before, after = HOOKS.split("[[hooks.Stop]]")
    assert text == f"{before}{GUARD_TEXT}\n[[hooks.Stop]]{after}"
    assert add_item(text, ("hooks", "PreToolUse"), GUARD, file=FILE) == text


def test_a_handler_follows_the_last_one_of_its_definition():
    text = add_item(HOOKS, ("hooks", "PreToolUse"), GUARD, file=FILE)
    handler = {"type": "command", "command": "third"}

    text = add_item(text, ("hooks", "PreToolUse", 0, "hooks"), handler, file=FILE)

    handlers = tomllib.loads(text)["hooks"]["PreToolUse"][0]["hooks"]
    assert [item["command"] for item in handlers] == ['guard "x"', "second", "third"]
    assert "# the guard" in text
    assert "# keep" in text


def test_a_handler_is_added_to_a_definition_without_any():
    text = '[[hooks.Stop]]\nmatcher = "a"\n\n[[hooks.Stop]]\nmatcher = "b"\n'

    text = add_item(text, ("hooks", "Stop", 0, "hooks"), {"command": "x"}, file=FILE)

    first, second = tomllib.loads(text)["hooks"]["Stop"]
    assert first["hooks"] == [{"command": "x"}]
    assert "hooks" not in second


def test_an_item_of_a_list_in_brackets_goes_into_the_brackets():
    handler = {"type": "command", "command": "more"}

    text = add_item(HOOKS, ("hooks", "Stop", 0, "hooks"), handler, file=FILE)

    assert "# inline" in text
    assert '{type = "command", command = "more"}' in text
    inline = "hooks = { PreToolUse = [ { hooks = [] } ] } # x\n"
    text = add_item(inline, ("hooks", "PreToolUse"), GUARD, file=FILE)
    assert text.endswith("# x\n")
    assert tomllib.loads(text)["hooks"]["PreToolUse"] == [{"hooks": []}, GUARD]


def test_null_is_left_out():
    text = add_item("", ("a",), {"b": None, "c": [None, 1], "d": {"e": None}}, file=FILE)

    assert tomllib.loads(text) == {"a": [{"c": [1], "d": {}}]}


def test_removing_what_was_added_gives_the_former_value_and_comments():
    text = add_item(HOOKS, ("hooks", "PreToolUse"), GUARD, file=FILE)
    text = add_item(text, ("hooks", "SessionStart"), GUARD, file=FILE)

    for event in ("SessionStart", "PreToolUse"):
        text = remove_item(text, ("hooks", event), GUARD, file=FILE)
        text = prune(text, ("hooks", event), file=FILE)

    assert tomllib.loads(text) == tomllib.loads(HOOKS)
    assert [line for line in text.splitlines() if line] == [
        line for line in HOOKS.splitlines() if line
    ]


def test_a_removed_table_takes_no_comment_of_its_neighbours():
    definition = tomllib.loads(HOOKS)["hooks"]["Stop"][0]

    text = remove_item(HOOKS, ("hooks", "Stop"), definition, file=FILE)

    before, after = HOOKS.split("[[hooks.Stop]]")
    assert text == before + after[after.index("# the state") :]


def test_a_handler_is_removed_alone():
    second = {"type": "command", "command": "second"}

    text = remove_item(HOOKS, ("hooks", "PreToolUse", 0, "hooks"), second, file=FILE)

    assert len(tomllib.loads(text)["hooks"]["PreToolUse"][0]["hooks"]) == 1
    assert "# the guard" in text
    assert remove_item(text, ("hooks", "None"), second, file=FILE) == text


def test_a_table_between_the_parts_of_a_removed_one_stays():
    text = (
        '[[hooks.Stop]]\nmatcher = "a"\n[other]\nx = 1\n'
        '[[hooks.Stop.hooks]]\ncommand = "c"\n[last]\ny = 1\n'
    )
    definition = {"matcher": "a", "hooks": [{"command": "c"}]}

    text = remove_item(text, ("hooks", "Stop"), definition, file=FILE)

    assert tomllib.loads(text) == {"other": {"x": 1}, "last": {"y": 1}}


def test_a_member_is_set_once():
    text = set_member("a = 1 # one\n", ("features", "hooks"), True, file=FILE)

    assert tomllib.loads(text) == {"a": 1, "features": {"hooks": True}}
    assert "# one" in text
    assert set_member(text, ("features", "hooks"), True, file=FILE) == text
    with pytest.raises(SettingsError, match="another value"):
        set_member(text, ("features", "hooks"), False, file=FILE)
    with pytest.raises(SettingsError, match="not an object"):
        set_member(text, ("a", "b"), False, file=FILE)


def test_a_member_is_removed_with_what_becomes_empty():
    text = "a = 1\n\n[features]\nhooks = true\n"

    text = remove_member(text, ("features", "hooks"), file=FILE)

    assert tomllib.loads(text) == {"a": 1, "features": {}}
    assert tomllib.loads(prune(text, ("features",), file=FILE)) == {"a": 1}
    assert remove_member(text, ("b",), file=FILE) == text


def test_an_empty_table_with_a_comment_stays():
    text = "[features]\n# nothing yet\nx = []\n"

    assert prune(text, ("features", "x"), file=FILE) == "[features]\n# nothing yet\n"


@pytest.mark.parametrize(
    ("text", "path"),
    [("hooks = 5\n", ("hooks", "Stop")), ("[hooks]\nStop = {}\n", ("hooks", "Stop")), ("a = ", ())],
)
def test_a_file_that_cannot_be_edited_is_an_error(text, path):
    with pytest.raises(SettingsError):
        add_item(text, path, {}, file=FILE)


def test_line_ends_of_windows_stay():
    text = HOOKS.replace("\n", "\r\n")

    changed = add_item(text, ("hooks", "PreToolUse"), GUARD, file=FILE)

    assert "\n" not in changed.replace("\r\n", "")
    assert read_settings(changed, FILE).value["hooks"]["PreToolUse"][1] == GUARD


def test_a_member_is_set_in_a_table_of_a_list():
    text = '[[hooks.Stop]] # one\n[[hooks.Stop.hooks]]\ntype = "command" # kept\n'
    path = ("hooks", "Stop", 0, "hooks", 0, "command")
    changed = set_member(text, path, "./a.sh", file=FILE)
    assert changed == text + 'command = "./a.sh"\n'
    with pytest.raises(SettingsError, match="inside a value that is not an object"):
        set_member(text, ("hooks", "Stop", 1, "command"), "./a.sh", file=FILE)
