"""Settings moved to another agent, and commands behind the shim; the rows are in `cases/`."""

from __future__ import annotations

import copy
import io
import itertools
import json
import os
import signal
import subprocess
import sys
import time

import pytest

from anyhook.agents import get_agent
from anyhook.agents.translate import translate_payload
from anyhook.cli import main
from anyhook.errors import AnyhookError
from anyhook.matching.matchers import compile_matcher
from anyhook.migrate.plan import merge_into, plan_migration
from anyhook.migrate.shim import main as shim
from anyhook.settings.jsonc import parse, strip_comments
from anyhook.settings.sources import Location
from tests.conformance import rows
from tests.conformance.test_conformance import any_text
from tests.world import World


@rows.parametrize("migrate")
def test_migrate(row, tmp_path, monkeypatch, capsys):
    given, expect = copy.deepcopy(row["given"]), row["expect"]
    move = by_command if "run" in given else by_functions
    text, losses, told = move(given, tmp_path, monkeypatch, capsys)

    if "error" in expect:
        assert losses is None
        assert all(words in told for words in expect["error"]), told
        assert text == expect.get("text", target_text(given))
        return
    has_hooks = {"hooks", "settings", "covers"} & expect.keys() and strip_comments(text).strip()
    said = parse(text, "target").value if has_hooks else {}
    if "hooks" in expect:
        assert said.get("hooks", {}) == expect["hooks"]
    if "settings" in expect:
        assert {k: v for k, v in said.items() if k != "hooks"} == expect["settings"]
    for event, tools in expect.get("covers", {}).items():
        check_covers(get_agent(given["to"]), event, said.get("hooks", {}).get(event, []), tools)
    if "text" in expect:
        assert text == expect["text"]
    for words in expect.get("never", []):
        assert words not in text + told
    for words in expect.get("told", []):
        assert words in " ".join(told.split()), told
    if losses is not None:
        check_losses(losses, expect.get("losses", []))


def check_covers(agent, event, definitions, tools):
    """Every tool is covered, by the documents of the agent and by what it was seen to do."""
    canonical = agent.by_wire[event].canonical
    for rules in agent.rule_sets.values():
        style = rules.by_canonical[canonical].matcher_style
        matchers = [compile_matcher(d.get("matcher"), style) for d in definitions]
        for tool in tools:
            assert any(matcher.matches(tool) for matcher in matchers), (tool, matchers)


def check_losses(losses, wanted):
    """Every loss is one of those that the row wants, in any order, and none is missing."""
    shown = "\n".join(f"{loss.kind} {loss.place}: {loss.subject}: {loss.reason}" for loss in losses)
    rest = list(losses)
    for kind, subject, reason, *line in wanted:
        matching = [
            loss
            for loss in rest
            if loss.kind == kind
            and subject in loss.subject
            and reason in loss.reason
            and (not line or (loss.place is not None and loss.place.line == line[0]))
        ]
        assert matching, f"no {[kind, subject, reason, *line]} in:\n{shown}"
        assert matching[0].remedy
        rest.remove(matching[0])
    assert not rest, f"more than the row says:\n{shown}"


def by_functions(given, tmp_path, _monkeypatch, _capsys):
    """Plan and merge, once for each agent on the way; nothing runs and nothing is written."""
    way = given.get("way", [given.get("from"), given.get("to")])
    layers = given.get("layers") or {"project": {"hooks": given.get("hooks", {})}}
    scope = given.get("scope", "project")
    text, losses = "", []
    for step, (old, new) in enumerate(itertools.pairwise(way)):
        world = made(given, tmp_path / f"step-{step}", old, layers)
        location = Location(project=world.project, home=world.home, environ=world.environ)
        text = target_text(given) if step == len(way) - 2 else ""
        try:
            migration = plan_migration(
                get_agent(old),
                get_agent(new),
                location,
                scope=scope,
                shim=not given.get("no_shim", False),
            )
            text, notes = merge_into(migration, text, "target")
        except AnyhookError as error:
            return text, None, str(error)
        losses = [*migration.losses, *notes]
        if given.get("twice"):
            again, notes = merge_into(migration, text, "target")
            assert again == text
            assert notes == []
        layers = {scope: text}
    return text, losses, ""


def by_command(given, tmp_path, monkeypatch, capsys):
    """Run `anyhook migrate` as people do, and look at the file that it leaves behind."""
    old, new = given["from"], given["to"]
    layers = given.get("layers") or {"project": {"hooks": given.get("hooks", {})}}
    world = made(given, tmp_path, old, layers)
    for name in ("HOME", *given.get("environ", {})):
        monkeypatch.setenv(name, world.environ[name])
    monkeypatch.chdir(world.project)
    file = (world.home if given.get("scope") == "user" else world.project) / f".{new}/settings.json"
    if "target" in given:
        world.write(file, target_text(given))
    for path in given.get("directories", []):
        (tmp_path / path).mkdir(parents=True)
    code = main(["migrate", "--from", old, "--to", new, *given["run"]])
    said = capsys.readouterr()
    assert f"exit {code}" == f"exit {given.get('exit', 0)}", said
    return file.read_text("utf-8") if file.is_file() else "", None, said.out + said.err


def made(given, root, agent, layers):
    """Make a project with the settings of one agent."""
    world = World(root, given.get("project_name", "project"), agent)
    world.environ |= given.get("environ", {})
    for layer, content in layers.items():
        world.settings(layer, content)
    for name, plugin in given.get("plugins", {}).items():
        world.plugin(name, plugin)
    for name, hooks in given.get("extensions", {}).items():
        world.extension(name, hooks)
    for path, text in given.get("files", {}).items():
        world.write(root / path, text)
    return world


def target_text(given):
    text = given.get("target", "")
    return text if isinstance(text, str) else json.dumps(text, indent=2)


# -- the shim

USUAL = {
    "claude": {"session_id": "s1", "transcript_path": "/t/.claude/projects/p/s1.jsonl"},
    "gemini": {
        "session_id": "s1",
        "transcript_path": "/t/.gemini/tmp/s1.json",
        "timestamp": "2026-01-15T10:30:00.000Z",
    },
    "terminai": {
        "session_id": "s1",
        "transcript_path": "/t/.terminai/tmp/s1.json",
        "timestamp": "2026-01-15T10:30:00.000Z",
    },
}
RECORDER = """#!{python}
import json, os, sys
text = sys.stdin.read()
with open({seen!r} + ".new", "w") as file:
    json.dump({{"stdin": text, "env": dict(os.environ), "args": sys.argv[1:]}}, file)
os.rename({seen!r} + ".new", {seen!r})
said = {said!r}
sys.stdout.write(said.get("stdout", ""))
sys.stderr.write(said.get("stderr", ""))
sys.stdout.flush()
sys.stderr.flush()
if "signal" in said:
    os.kill(os.getpid(), said["signal"])
os._exit(said.get("exit", 0))
"""


@pytest.mark.slow
@rows.parametrize("shim")
def test_shim(row, tmp_path, monkeypatch, capfd):
    """One event through a real `anyhook shim`, or only what it would show the command."""
    given, expect = row["given"], row["expect"]
    if given.get("translate"):
        sent = {**USUAL[given["host"]], "cwd": "/srv/project", **given["payload"]}
        shown, _ = translate_payload(sent, get_agent(given["host"]), get_agent(given["as"]))
        check_shown(shown, filled(expect, {"<project>": "/srv/project"}))
        return
    if "as" not in given:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(given["stdin"].encode())))
        assert shim(given["shim"]) == expect["exit"]
        said = capfd.readouterr()
        assert said.out == ""
        assert all(words in said.err for words in expect["stderr"]), said.err
        return
    project = tmp_path / given.get("project_name", "project")
    project.mkdir()
    seen, recorder = tmp_path / "seen.json", tmp_path / "hook"
    names = {"<project>": str(project), "<hook>": str(recorder)}
    recorder.write_text(
        RECORDER.format(python=sys.executable, seen=str(seen), said=said_by(given, names)),
        encoding="utf-8",
    )
    recorder.chmod(0o755)
    words = ["--as", given["as"], *given.get("shim", []), "--", *given.get("command", ["<hook>"])]
    sent = {**USUAL[given["host"]], "cwd": "<project>", **given["payload"]}
    payload = json.dumps(filled(sent, names), separators=(",", ":"))
    environ = {
        "PATH": os.environ["PATH"],
        "HOME": str(tmp_path),
        **filled(given.get("environ", {}), names),
    }

    done = subprocess.run(
        [sys.executable, "-m", "anyhook", "shim", *filled(words, names)],
        input=payload.encode(),
        capture_output=True,
        env=environ,
        cwd=project,
        timeout=60,
        check=False,
    )

    out, told = done.stdout.decode(), done.stderr.decode()
    assert done.returncode == expect.get("exit", 0), told
    wanted = filled(expect.get("stdout", ""), names)
    said = json.loads(out) if isinstance(wanted, dict) and out else out
    assert any_text(said, wanted) == wanted, told
    end = time.monotonic() + 20
    while expect.get("later") and not seen.exists() and time.monotonic() < end:
        time.sleep(0.02)
    heard = json.loads(seen.read_text(encoding="utf-8")) if seen.exists() else None
    assert (heard is not None) is expect.get("ran", True), told
    if heard is not None:
        check_heard(heard, filled(expect, names), payload)
    for text in expect.get("stderr", []):
        assert text in told
    if "stderr" not in expect:
        assert told == ""
    for text in [*expect.get("never", []), "Traceback"]:
        assert text not in out + told


def check_heard(heard, expect, payload):
    """Compare what the command was given."""
    if expect.get("same"):
        assert heard["stdin"].rstrip("\n") == payload.rstrip("\n")
    elif {"sees", "lacks", "response"} & expect.keys():
        check_shown(json.loads(heard["stdin"]), expect)
    for name, value in expect.get("env", {}).items():
        assert heard["env"].get(name) == value, name
    if "args" in expect:
        assert heard["args"] == expect["args"]


def check_shown(shown, expect):
    """Compare members of a payload; of what a tool returned those that the row names."""
    wanted = expect.get("sees", {})
    assert {key: shown.get(key) for key in wanted} == wanted
    assert not shown.keys() & set(expect.get("lacks", []))
    if "response" in expect:
        response, wanted = shown["tool_response"], expect["response"]
        assert {key: response.get(key) for key in wanted} == wanted


def said_by(given, names):
    """Return what the command prints and how it ends."""
    says = filled(given.get("says", {}), names)
    out = says.get("stdout", "")
    number = {"signal": int(getattr(signal, says["signal"]))} if "signal" in says else {}
    return {**says, "stdout": out if isinstance(out, str) else json.dumps(out), **number}


def filled(value, names):
    """Put the paths of this run in."""
    if isinstance(value, str):
        for name, path in names.items():
            value = value.replace(name, path)
        return value
    if isinstance(value, list):
        return [filled(item, names) for item in value]
    if isinstance(value, dict):
        return {key: filled(item, names) for key, item in value.items()}
    return value


# -- the tables themselves


@pytest.mark.parametrize(("feature", "least"), [("migrate", 100), ("shim", 40)])
def test_there_are_enough_rows(feature, least):
    assert len([row for row in rows.load(feature) if "gap" not in row]) >= least


def test_every_defect_of_the_other_migration_has_a_row():
    ids = {row["id"] for row in rows.load("migrate")}
    assert {f"migrate:M{number}" for number in range(1, 21)} <= ids
