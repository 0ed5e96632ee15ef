"""Codex CLI: what release 0.169.0 was observed to do, in the engine with the rules `observed`."""

from __future__ import annotations

import asyncio
import json
import os
import shlex
from pathlib import Path

import pytest

from anyhook import Engine
from anyhook.agents import get_agent
from anyhook.agents.codex.trust import hash_of, key_of
from anyhook.agents.encode import reply_bytes
from anyhook.agents.output import decode_text
from anyhook.agents.payloads import decode_event
from anyhook.agents.spec.settings import SettingsFile
from anyhook.authoring.degrade import fit
from anyhook.matching.matchers import compile_matcher
from anyhook.model.answers import Answer, Outcome
from anyhook.model.layers import Layer
from anyhook.settings.changes import settings_file
from anyhook.settings.hookset import load_hook_set
from anyhook.settings.load import load_file
from anyhook.settings.sources import Location, Source
from tests.tables import each

CODEX = get_agent("codex")
OBSERVED = json.loads(
    (Path(__file__).parent / "observed" / "codex.json").read_text(encoding="utf-8")
)
COMMON = {
    "session_id": "01a1fb7f-8f5c-77b2-9721-9025a000f75a",
    "turn_id": "01a1fb7f-8f80-7533-909a-4b89f6f84bde",
    "transcript_path": "/home/dev/.codex/sessions/rollout.jsonl",
    "model": "fake-model",
    "permission_mode": "default",
}
MEMBERS = {
    "PreToolUse": {"tool_use_id": "call_1"},
    "PermissionRequest": {},
    "PostToolUse": {"tool_response": "ran-output\n", "tool_use_id": "call_1"},
    "UserPromptSubmit": {"prompt": "go"},
    "SessionStart": {"source": "startup"},
    "SessionEnd": {"reason": "other"},
    "Stop": {"stop_hook_active": False, "last_assistant_message": "after"},
    "SubagentStart": {"agent_id": "a", "agent_type": "default"},
    "SubagentStop": {
        "stop_hook_active": False,
        "agent_id": "a",
        "agent_type": "default",
        "last_assistant_message": "x",
    },
    "PreCompact": {"trigger": "auto"},
    "PostCompact": {"trigger": "auto"},
    "PreModelRequest": {},
    "PostModelRequest": {"status": "completed", "error": None, "token_usage": None},
    "Interrupt": {},
}
TOOL_EVENTS = ("PreToolUse", "PermissionRequest", "PostToolUse")


def load(tmp_path, hooks, **options):
    home, project = tmp_path / "home", tmp_path / "project"
    file = home / ".codex" / "hooks.json"
    file.parent.mkdir(parents=True, exist_ok=True)
    project.mkdir(exist_ok=True)
    file.write_text(json.dumps({"hooks": hooks}), encoding="utf-8")
    environ = {"PATH": os.environ["PATH"], "HOME": str(home), "ANYHOOK_WORKER": "off"}
    return Engine.load(
        project, home=home, environ=environ, agent="codex", rules="observed", **options
    )


def payload(row):
    members = dict(MEMBERS[row["event"]])
    if row["event"] in TOOL_EVENTS:
        members["tool_name"] = row.get("tool_name", "Bash")
        members["tool_input"] = row.get(
            "tool_input", {"command": "echo RAN > ran.txt; echo ran-output"}
        )
    members |= row.get("fields", {})
    return {**COMMON, "hook_event_name": row["event"], **members}


def definition(hook):
    """Return the definition of a hook that prints what a row says it prints."""
    parts = []
    for stream, redirect in (("stdout", ""), ("stderr", " >&2")):
        if stream in hook:
            parts.append(f"printf %s {shlex.quote(hook[stream])}{redirect}")
    parts.append(f"exit {hook.get('exit', 0)}")
    command = hook.get("command") or "; ".join(["cat >/dev/null", *parts])
    members = {key: hook[key] for key in ("timeout", "async") if key in hook}
    handler = {"type": "command", "command": command, "timeout": 20, **members}
    matcher = {"matcher": hook["matcher"]} if "matcher" in hook else {}
    return {**matcher, "hooks": [handler]}


def status(result):
    """Return the status that Codex gives a run."""
    if str(result.status) != "ran" or result.failed:
        return "failed"
    if result.answer.stop:
        return "stopped"
    return "blocked" if result.answer.outcome is Outcome.DENY else "completed"


def run_of(result):
    answer = result.answer
    run = {"status": status(result)}
    if answer.context is not None:
        run["context"] = answer.context
    if answer.outcome is Outcome.DENY and answer.reason and run["status"] == "blocked":
        run["feedback"] = answer.reason
    if answer.system_message is not None:
        run["warning"] = answer.system_message
    if answer.stop and answer.stop_reason:
        run["stop"] = answer.stop_reason
    return run


def observed_of(decision, event):
    """Return what the agent does with a decision, in the words of the table."""
    observed = {"runs": [run_of(result) for result in decision.results]}
    if event in ("PreToolUse", "PermissionRequest"):
        observed["tool"] = "ran"
        if decision.tool_input is not None:
            observed["tool"] = "rewritten"
        if decision.denied:
            observed["tool"] = "denied"
    return observed


@pytest.mark.slow
@pytest.mark.parametrize("row", OBSERVED["events"], ids=lambda row: f"{row['id']}-{row['name']}")
def test_the_engine_decides_as_was_observed(row, tmp_path):
    engine = load(tmp_path, {row["event"]: [definition(hook) for hook in row["hooks"]]})
    event, _ = engine.decode(payload(row))

    decision = asyncio.run(engine.dispatch(event))

    predicted = observed_of(decision, row["event"])
    if decision.tool_input == payload(row).get("tool_input"):
        predicted["tool"] = "ran"
    assert {key: predicted.get(key) for key in row["observed"]} == row["observed"]


@each("row", OBSERVED["matchers"])
def test_a_matcher_matches_as_was_observed(row):
    rules = CODEX.rules("observed")
    spec = rules.by_canonical[CODEX.event(row["event"]).canonical]

    matcher = compile_matcher(row["matcher"], spec.matcher_style)

    names = CODEX.match_names(spec, row["tool"])
    assert any(matcher.matches(name) for name in names) is row["runs"]
    assert (matcher.problem is not None) is row["warns"]


@pytest.mark.parametrize("row", OBSERVED["files"], ids=lambda row: f"{row['id']}-{row['name']}")
def test_a_settings_file_is_read_as_was_observed(row, tmp_path):
    path = tmp_path / row["file"]
    path.write_text(row["text"], encoding="utf-8")
    (place,) = [
        file for file in CODEX.settings.files if file.paths["*"] == f"{{config}}/{row['file']}"
    ]

    file = load_file(CODEX, Source(place.layer, path, file=place))

    events = {spec.canonical: spec for spec in CODEX.events}
    handlers = [
        handler
        for definition in file.definitions
        for handler in definition.handlers
        if handler.kind in (events[definition.event].handler_kinds or {handler.kind})
    ]
    assert len(handlers) == row["hooks"]
    assert file.is_broken is row["dropped"]
    if row["warns"]:
        assert file.diagnostics
    if "timeouts" in row:
        assert sorted(handler.timeout for handler in handlers) == sorted(row["timeouts"])


@each("row", OBSERVED["hashes"])
def test_a_hook_has_the_key_and_hash_that_codex_gives_it(row):
    file, _, _ = row["key"].partition(":")

    assert hash_of(row["event"], row["definition"], row["handler"]) == row["hash"]
    assert key_of(file, row["event"], 0, row["handler"]) == row["key"]


def is_about_directories(row):
    """Return whether all folders of a case are trusted; others are about the trust of Codex."""
    return "root, sub and sub/deep have trusted entries" in row["given"]


@pytest.mark.parametrize(
    "row", list(filter(is_about_directories, OBSERVED["nested"])), ids=lambda row: row["id"]
)
def test_hooks_of_directories_are_found_as_was_observed(row, tmp_path):
    top = tmp_path / "top"
    for name, directory in (("root", top), ("sub", top / "sub"), ("deep", top / "sub" / "deep")):
        hooks = {"Stop": [{"hooks": [{"type": "command", "command": name}]}]}
        file = directory / ".codex" / "hooks.json"
        file.parent.mkdir(parents=True)
        file.write_text(json.dumps({"hooks": hooks}))
    if row["given"].startswith("git repository"):
        (top / ".git").mkdir()
        (top / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    elif "empty folder" in row["given"]:
        (top / ".git").mkdir()
    location = Location(top / row["directory"].strip("/"), tmp_path, {})

    hooks = load_hook_set(CODEX, location)

    assert [h.command for d in hooks.definitions for h in d.handlers] == row["hooks"]


ANSWERS = [
    Answer(outcome=outcome, reason=reason, tool_input=tool_input, context=context, approve=approve)
    for outcome in Outcome
    for reason in (None, " ", "why")
    for tool_input in (None, {"command": "x"})
    for context in (None, "c")
    for approve in (False, True)
]


@pytest.mark.slow
@each("rules", ["documented", "observed"])
@each("wire", MEMBERS)
def test_no_reply_is_written_that_codex_drops(wire, rules):
    spec = CODEX.event(wire)
    event, _ = decoded(wire)
    for answer in ANSWERS:
        fitted, _ = fit(CODEX, event, answer)
        text = reply_bytes(CODEX, spec, fitted).decode()

        output = decode_text(CODEX, CODEX.rules(rules), spec, Handler(), text)

        codes = {problem.code for problem in output.diagnostics}
        assert not codes & {"reply-dropped", "ignored-output", "output-field"}, (answer, text)
        if answer.outcome is Outcome.DENY and "outcome" in spec.effective_fields:
            assert output.answer.outcome is Outcome.DENY, (answer, text)
        if answer.outcome is Outcome.NONE and answer.tool_input and wire == "PreToolUse":
            assert output.answer.tool_input == answer.tool_input


@pytest.mark.parametrize("rules", ["documented", "observed"])
@pytest.mark.parametrize(
    "older", [{"decision": "allow"}, {"decision": "deny"}, {"decision": 3}, {"reason": 3}], ids=str
)
def test_a_wrong_value_drops_a_reply_also_where_it_has_no_effect(older, rules):
    """Codex CLI 0.171.0 ran a tool that such a reply denies."""
    newer = {"permissionDecision": "deny", "permissionDecisionReason": "no"}
    reply = {**older, "hookSpecificOutput": {"hookEventName": "PreToolUse", **newer}}

    output = decode_text(
        CODEX, CODEX.rules(rules), CODEX.event("PreToolUse"), Handler(), json.dumps(reply)
    )

    assert output.answer.outcome is Outcome.NONE
    assert "ignored-output" in [problem.code for problem in output.diagnostics]


def decoded(wire):
    return decode_event(CODEX, payload({"event": wire}))


class Handler:
    label = "h"
    place = None
    layer = Layer.USER


HOOKS_TOML = '[[hooks.Stop]]\n[[hooks.Stop.hooks]]\ntype = "command"\ncommand = "true"\n'


def switched_off(tmp_path, text, name="config.toml"):
    """Return whether a user's hook is off with a file of the administrator or of the user."""
    config = tmp_path / ".codex"
    config.mkdir()
    own = config / "config.toml"
    own.write_text(f"{text if name == 'config.toml' else ''}\n{HOOKS_TOML}")
    admin = tmp_path / name
    admin.write_text(text if name != "config.toml" else "")
    layers = [file.layer for file in CODEX.settings.files if file.paths["*"].endswith(f"/{name}")]
    places = {
        own: next(
            file for file in CODEX.settings.files if file.paths["*"] == "{config}/config.toml"
        ),
        admin: SettingsFile(layers[0], {"*": str(admin)}),
    }
    files = tuple([place.replace(paths={"*": str(file)}) for file, place in places.items()])
    agent = CODEX.with_settings(files=files)
    hooks = load_hook_set(agent, Location(tmp_path / "project", tmp_path, {}))
    (handler,) = [handler for d in hooks.definitions for handler in d.handlers]
    return hooks.switched_off(handler) is not None


@pytest.mark.parametrize(
    ("text", "name", "is_off"),
    [
        ("", "config.toml", False),
        ("[features]\nhooks = false", "config.toml", True),
        ("[features]\ncodex_hooks = false", "config.toml", True),
        ("[features]\nhooks = true\nother = 5", "config.toml", False),
        ("allow_managed_hooks_only = true", "config.toml", False),
        ("allow_managed_hooks_only = true", "requirements.toml", True),
        ("[features]\nhooks = false", "requirements.toml", True),
    ],
)
def test_switches_count_in_the_files_that_codex_reads_them_from(
    monkeypatch, tmp_path, text, name, is_off
):
    assert switched_off(tmp_path, text, name) is is_off


def test_hooks_are_written_where_the_project_has_its_hooks(tmp_path):
    directory = tmp_path / ".codex"
    directory.mkdir()
    config, hooks = directory / "config.toml", directory / "hooks.json"
    config.write_text('model = "x"\n')
    assert settings_file(CODEX, tmp_path, "project") == hooks

    config.write_text(HOOKS_TOML)
    assert settings_file(CODEX, tmp_path, "project") == config

    hooks.write_text("{}")
    assert settings_file(CODEX, tmp_path, "project") == hooks
