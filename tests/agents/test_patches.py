"""Patches as arguments of a tool: what hooks of other agents see of them, and the way back."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anyhook.agents import get_agent, recognize
from anyhook.agents.patches import read_patch, write_patch
from anyhook.agents.payloads import decode_event, encode_event
from anyhook.agents.translate import single_calls, translate_answer, translate_event
from anyhook.model.answers import Answer, Outcome

CODEX, CLAUDE = get_agent("codex"), get_agent("claude")
PATCH = """*** Begin Patch
*** Add File: new.txt
+hello
+there
*** Update File: src/a.py
*** Move to: src/b.py
@@ def f
 x
-y
+z
  *** Delete File: .env
*** End Patch
"""
WORDS = st.text(st.characters(codec="utf-8", exclude_characters="\r\n"), min_size=1)
TEXTS = st.lists(WORDS, min_size=1).map(lambda lines: "".join(f"{line}\n" for line in lines))


def codex_event(patch):
    payload = {
        "session_id": "s",
        "turn_id": "t",
        "transcript_path": None,
        "cwd": "/p",
        "hook_event_name": "PreToolUse",
        "tool_name": "apply_patch",
        "tool_input": {"command": patch},
        "tool_use_id": "x",
    }
    return decode_event(CODEX, payload)[0]


def claude_calls(patch):
    calls = [
        translate_event(call, CODEX, CLAUDE) for call in single_calls(codex_event(patch), CODEX)
    ]
    return [(call.tool_name, call.tool_input) for call in calls]


def test_a_hook_of_another_agent_sees_one_call_for_each_file_of_a_patch():
    assert claude_calls(PATCH) == [
        ("Write", {"file_path": "/p/new.txt", "content": "hello\nthere\n"}),
        ("Edit", {"file_path": "/p/src/a.py", "old_string": "x\ny", "new_string": "x\nz"}),
        ("Write", {"file_path": "/p/src/b.py", "content": "x\nz\n"}),
        ("Edit", {"file_path": "/p/.env", "old_string": "", "new_string": ""}),
    ]


@pytest.mark.parametrize("text", ["", "rm -rf /", "*** Begin Patch", "*** End Patch\n", "+a\n-b"])
def test_a_text_that_is_no_patch_stays_as_it_is(text):
    assert read_patch(text) == []
    assert claude_calls(text) == [("Edit", {"command": text})]


@given(content=TEXTS)
def test_a_file_that_is_written_is_the_same_after_the_way_there_and_back(content):
    patch = write_patch("write_file", {"file_path": "/p/a b.txt", "content": content}, "/p")

    (change,) = read_patch(patch)

    assert (change.path, change.tool) == ("a b.txt", "write_file")
    assert change.arguments["content"] == content


def test_several_edits_of_one_call_are_hunks_of_one_file():
    edits = [{"old_string": "a", "new_string": "b"}, {"old_string": "c", "new_string": "d\ne"}]

    patch = write_patch("edit_file", {"file_path": "f", "edits": edits}, "/p")

    (change,) = read_patch(patch)
    assert change.lines == ("@@", "-a", "+b", "@@", "-c", "+d", "+e")


def test_arguments_that_a_hook_changes_become_a_denial_as_a_patch_cannot_take_them():
    asked = codex_event("*** Begin Patch\n*** Add File: a\n+x\n*** End Patch\n")
    shown = translate_event(asked, CODEX, CLAUDE)
    wanted = Answer(tool_input={**shown.tool_input, "content": "y\n"}, outcome=Outcome.ALLOW)

    answer, notes = translate_answer(wanted, shown, asked, CLAUDE, CODEX)

    assert (answer.outcome, answer.tool_input) == (Outcome.DENY, None)
    assert answer.reason == 'call it with these arguments instead: {"content": "y\\n"}'
    assert notes == ["Codex CLI cannot take changed arguments of a patch; it is denied"]


def test_an_event_that_becomes_one_of_codex_is_recognized_as_such():
    event, _ = decode_event(
        CLAUDE,
        {
            "hook_event_name": "PreToolUse",
            "session_id": "s",
            "transcript_path": "/t.jsonl",
            "cwd": "/p",
            "tool_name": "Bash",
            "tool_input": {"command": "ls"},
        },
    )

    payload = encode_event(CODEX, translate_event(event, CLAUDE, CODEX))

    assert recognize(payload, {}) == "codex"
