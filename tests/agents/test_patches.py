"""Patches as arguments of a tool: what hooks of other agents see of them, and the way back."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anyhook.agents import AGENTS, get_agent, recognize
from anyhook.agents.patches import read_patch, write_patch
from anyhook.agents.payloads import decode_event, encode_event
from anyhook.agents.translate import (
    decode_any_form,
    single_calls,
    translate_answer,
    translate_event,
)
from anyhook.authoring import Hooks, deny
from anyhook.model.answers import Answer, Outcome
from anyhook.testing import make_payload

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


@pytest.mark.slow
@settings(deadline=None)
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


# -- agents in which some models change files by patches, and others by calls


PATCH_TOOLS = [
    pytest.param(form, name, id=f"{form.name}{form.form_name}")
    for agent in map(get_agent, AGENTS)
    for form in (agent, *agent.forms.values())
    for name in form.tools
    if name == "apply_patch" or (form.form_name == "pascal" and name == "Edit")
]
DELETION = "*** Begin Patch\n*** Delete File: /etc/passwd\n*** End Patch"


def patch_event(form, name, patch):
    keys = {row.patch for row in form.vocabulary.tools.values() if row.patch}
    (key,) = keys
    payload = make_payload("before_tool", agent=form.name, tool="write_file", input={})
    event, _ = decode_event(get_agent(form.name), payload)
    return event.replace(
        raw=None, tool_name=name, tool_input={key: patch}, vocabulary=form.vocabulary
    )


def test_the_agents_with_a_tool_for_patches_are_known():
    assert {param.id for param in PATCH_TOOLS} >= {"codex", "opencode", "copilot", "copilotpascal"}


@pytest.mark.parametrize(("form", "name"), PATCH_TOOLS)
def test_a_patch_writes_and_deletes_files_in_every_agent(form, name):
    event = patch_event(form, name, PATCH)

    assert event.writes("new.txt").certain
    assert event.writes("src/b.py")
    assert event.deletes("src/a.py")
    assert event.deletes(".env")
    assert not event.writes(".env")
    assert patch_event(form, name, DELETION).deletes("/etc/**")
    assert patch_event(form, name, DELETION.replace("File: ", "File:")).deletes("/etc/**")


@pytest.mark.parametrize(("form", "name"), PATCH_TOOLS)
@pytest.mark.parametrize("tool", ["write_file", "edit_file"])
def test_a_function_for_files_runs_for_a_patch(form, name, tool):
    hooks = Hooks()
    hooks.before_tool(tool)(lambda _event: deny("no"))

    assert hooks.answer(patch_event(form, name, PATCH), form).outcome is Outcome.DENY


def test_a_function_for_new_files_does_not_run_for_an_edit():
    hooks = Hooks()
    hooks.before_tool("write_file")(lambda _event: deny("no"))
    for agent in map(get_agent, AGENTS):
        for form in (agent, *agent.forms.values()):
            edit, write = form.vocabulary.tools.get("edit_file"), form.vocabulary.name("write_file")
            if edit is None or edit.only_patches or edit.names[0] == write:
                continue
            event = patch_event(CODEX, edit.names[0], "").replace(
                tool_input=form.vocabulary.arguments(
                    "edit_file", {"file_path": "a", "old_string": "x", "new_string": "y"}
                ),
                vocabulary=form.vocabulary,
            )
            assert hooks.answer(event, form).outcome is Outcome.NONE, form


@pytest.mark.parametrize(("form", "name"), PATCH_TOOLS)
def test_a_hook_of_another_agent_sees_every_file_of_a_patch(form, name):
    calls = single_calls(patch_event(form, name, PATCH).replace(cwd="/p"), form)
    shown = [translate_event(call, form, CLAUDE) for call in calls]

    assert [call.tool_input["file_path"] for call in shown] == [
        "/p/new.txt",
        "/p/src/a.py",
        "/p/src/b.py",
        "/p/.env",
    ]


@pytest.mark.parametrize(("form", "name"), PATCH_TOOLS)
def test_a_hook_of_codex_sees_a_patch_as_it_is(form, name):
    event = translate_event(patch_event(form, name, PATCH), form, CODEX)

    assert (event.tool_name, event.tool_input) == ("apply_patch", {"command": PATCH})


def test_an_edit_of_one_file_is_rewritten_where_patches_are_known_too():
    opencode = get_agent("opencode")
    payload = make_payload(
        "before_tool",
        agent="opencode",
        tool="write_file",
        input={"file_path": "/p/a", "content": "x"},
    )
    asked, _ = decode_event(opencode, payload)
    shown = translate_event(asked, opencode, CLAUDE)
    wanted = Answer(tool_input={**shown.tool_input, "content": "y"})

    answer, notes = translate_answer(wanted, shown, asked, CLAUDE, opencode)

    assert (answer.tool_input, notes) == ({"filePath": "/p/a", "content": "y"}, [])


# -- Copilot sends a patch as the text of all arguments


CAMEL = {"sessionId": "s", "timestamp": 1, "cwd": "/p", "toolName": "apply_patch"}
PASCAL = {
    "hook_event_name": "PreToolUse",
    "session_id": "s",
    "timestamp": "2026-11-27T10:00:00.000Z",
    "cwd": "/p",
    "tool_name": "Edit",
}
ARGUMENTS = [PATCH, {"input": PATCH}, json.dumps({"input": PATCH})]


@pytest.mark.parametrize("arguments", ARGUMENTS, ids=["text", "object", "JSON"])
@pytest.mark.parametrize(
    ("members", "key"), [(CAMEL, "toolArgs"), (PASCAL, "tool_input")], ids=["camel", "pascal"]
)
def test_a_patch_without_a_name_is_the_input(members, key, arguments):
    copilot = get_agent("copilot")
    payload = {**members, key: arguments}
    form = copilot.form_of(payload)

    event, problems = decode_event(form, payload)
    same, _ = decode_any_form(copilot, payload)

    assert problems == ()
    assert event.tool_input == {"input": PATCH}
    assert event.deletes(".env")
    assert "+z" in event.text
    assert encode_event(form, event) == payload
    assert (same.tool_name, same.tool_input) == ("apply_patch", {"input": PATCH})


def test_a_text_in_place_of_arguments_is_seen_for_any_tool():
    event, problems = decode_event(
        get_agent("copilot"), {**CAMEL, "toolName": "other", "toolArgs": "secret"}
    )

    assert (event.text, problems) == ("secret", ())
