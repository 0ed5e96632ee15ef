"""Settings as people write them move to every other agent, and back."""

from __future__ import annotations

import json
import os
import shutil
import sys
from pathlib import Path

import pytest

from anyhook import SyncEngine
from anyhook.agents import CODING_AGENTS, get_agent
from anyhook.migrate.corpus import recorded_probes
from tests.conftest import DATA

pytestmark = pytest.mark.slow

WILD = DATA / "wild"
PROGRAMS = WILD / "path"
BESIDE = ("expect.json", "events.jsonl")
"""Files of a fixture that are not the project's."""


def expectations():
    return {
        path.parent.name: json.loads(path.read_text(encoding="utf-8"))
        for path in sorted(WILD.glob("*/expect.json"))
    }


EXPECTED = expectations()
MOVES = [
    (name, target)
    for name, expected in EXPECTED.items()
    for target in CODING_AGENTS
    if target != expected["from"]
]


class Wild:
    """A project from the wild, in a directory of its own, and who lives there."""

    def __init__(self, name, directory, home, run):
        self.name = name
        self.expected = EXPECTED[name]
        self.source = self.expected["from"]
        self.scope = self.expected.get("scope", "project")
        self.events = WILD / name / "events.jsonl"
        self.project = directory
        self.home = home
        self.run = run
        shutil.copytree(WILD / name, directory, ignore=shutil.ignore_patterns(*BESIDE))
        if (directory / "home").is_dir():
            shutil.copytree(directory / "home", home, dirs_exist_ok=True)
            shutil.rmtree(directory / "home")
        for record in home.glob(".claude/plugins/installed_plugins.json"):
            text = record.read_text(encoding="utf-8")
            record.write_text(text.replace("~", str(home)), encoding="utf-8")

    def migrate(self, target, *options, source=None, code=0):
        """Migrate, and return what the command says in JSON."""
        found, out, err = self.run(
            *("migrate", "--from", source or self.source, "--to", target, "--scope", self.scope),
            *("--project", str(self.project), "--yes", "--json", *options),
        )
        assert (found, err) == (code, ""), out
        return json.loads(out)

    def forget(self, agent):
        """Remove an agent's settings, and leave everything beside them."""
        root = self.home if self.scope == "user" else self.project
        for name in ("settings.json", "settings.local.json"):
            (root / f".{agent}" / name).unlink(missing_ok=True)

    def short(self, place):
        """Name a file by its last part, with the line."""
        return "" if place is None else place.rpartition("/")[2]


@pytest.fixture
def wild(tmp_path, home, run, monkeypatch):
    """Give a fixture of `tests/data/wild` as a project, by its name."""
    python = str(Path(sys.executable).parent)
    ours = (str(PROGRAMS / "first"), python, os.environ["PATH"], str(PROGRAMS / "last"))
    monkeypatch.setenv("PATH", os.pathsep.join(ours))
    monkeypatch.setenv("TMPDIR", str(home))

    def call(name, directory="project"):
        monkeypatch.chdir(tmp_path)
        return Wild(name, tmp_path / directory, home, run)

    return call


moves = pytest.mark.parametrize(("name", "target"), MOVES)
"""Every fixture with every other agent."""


def test_every_style_has_its_expectations():
    fixtures = {path.parent.name for path in WILD.glob("*/events.jsonl")}
    assert fixtures == EXPECTED.keys()
    assert {expected["from"] for expected in EXPECTED.values()} <= set(CODING_AGENTS)


@moves
def test_it_migrates_and_reports_exactly_what_is_lost(wild, name, target):
    here = wild(name)
    told = here.migrate(target)
    assert told["written"] is bool(told["hooks"])
    losses = sorted(
        [loss["kind"], here.short(loss["place"]), loss["what"]] for loss in told["losses"]
    )
    expected = sorted(here.expected["losses"][target])
    assert [loss[:2] for loss in losses] == [loss[:2] for loss in expected]
    for loss, (_, _, words) in zip(losses, expected, strict=True):
        assert words in loss[2]


@moves
def test_migrating_again_writes_nothing_new(wild, name, target):
    here = wild(name)
    first = here.migrate(target)
    text = Path(first["path"]).read_bytes()
    again = here.migrate(target)
    assert (again["written"], again["changes"]) == (False, False)
    assert Path(first["path"]).read_bytes() == text
    assert [loss for loss in again["losses"] if loss not in first["losses"]] == []


@moves
def test_the_proof_holds_and_sees_each_hook_decide(wild, name, target):
    here = wild(name)
    told = here.migrate(target, "--prove", "--trust-once", "--events", str(here.events))
    assert told["proof"]["holds"]
    decided = {
        f"{here.short(hook['place'])} {hook['event']}": hook["decided"]
        for hook in told["proof"]["hooks"]
    }
    expected = here.expected["decides"]
    assert decided == {hook: expected.get(hook, 0) for hook in decided}
    absent = expected.keys() - decided.keys()
    losses = [loss for loss in here.expected["losses"][target] if loss[0] == "lost"]
    for hook in absent:
        assert any(explains(loss, hook.partition(" ")[0]) for loss in losses), hook


def explains(loss, place):
    """Return whether a loss is that of a hook, or of the matcher in front of it."""
    _, lost_place, subject = loss
    file, _, line = place.rpartition(":")
    lost_file, _, lost_line = lost_place.rpartition(":")
    is_before = lost_file == file and int(lost_line) <= int(line)
    return lost_place == place or (subject.startswith("matcher") and is_before)


@pytest.mark.parametrize("name", ["mixed-kinds", "stop-gates"])
def test_the_builtin_events_let_each_hook_decide_that_has_something_to_say(wild, name):
    here = wild(name)
    told = here.migrate("gemini", "--prove", "--trust-once")
    assert told["proof"]["holds"]
    decided = {
        f"{here.short(hook['place'])} {hook['event']}"
        for hook in told["proof"]["hooks"]
        if hook["decided"]
    }
    assert decided == here.expected["decides"].keys()


@pytest.mark.parametrize(
    ("name", "target"),
    [("project-dir", "gemini"), ("uv-scripts", "gemini"), ("gemini-guards", "claude")],
)
def test_a_project_whose_path_has_a_blank_is_no_other_project(wild, name, target):
    here = wild(name, "my project")
    told = here.migrate(target, "--prove", "--trust-once", "--events", str(here.events))
    assert told["proof"]["holds"]


def test_a_hook_that_stops_the_agent_stops_the_other_one(wild, tmp_path):
    here = wild("gemini-models")
    payload = json.loads(here.events.read_text(encoding="utf-8").splitlines()[-1])
    payload["tool_input"]["command"] = "chmod -R 777 ."
    events = tmp_path / "events.jsonl"
    events.write_text(json.dumps(payload), encoding="utf-8")
    told = here.migrate("claude", "--prove", "--trust-once", "--events", str(events))
    assert told["proof"]["holds"]


@moves
def test_hooks_that_went_there_and_came_back_decide_the_same(wild, name, target):
    here = wild(name)
    before = answers(here, target)
    told = here.migrate(target)
    moved = {(hook["place"], hook["from"]) for hook in told["hooks"]}
    here.forget(here.source)
    here.migrate(here.source, source=target)
    after = [sorted(said.values()) for said in answers(here, target)]
    assert after == [sorted(said[h] for h in said.keys() & moved) for said in before]
    assert any(after) is bool(here.expected["decides"])


def answers(here, target):
    """Let the hooks of a project answer its events: what each says that has something to say."""
    agent = get_agent(here.source)
    probes = recorded_probes(here.events, agent, get_agent(target), here.project)
    found = []
    with SyncEngine.load(
        here.project, agent=here.source, trust_once=True, home=here.home
    ) as engine:
        for probe in probes:
            results = engine.dispatch(probe.source_event).results
            said = {
                (str(result.handler.place), probe.source_event.wire_name): words_of(result.answer)
                for result in results
            }
            found.append({hook: words for hook, words in said.items() if words})
        assert engine.engine.background.wait(30)
    return found


def words_of(answer):
    fields = {name: getattr(answer, name) for name in answer.record_fields}
    said = {name: value for name, value in fields.items() if value not in (None, False, "none")}
    return json.dumps(said, default=str, sort_keys=True) if said else ""
