"""What `anyhook test` demands of a guard beyond its examples."""

from __future__ import annotations

import json

import pytest

from anyhook.testing.examples import recommended_commands

GUARD = """
from anyhook.authoring import Hooks, deny

hooks = Hooks(ON_CRASH)


@hooks.before_tool("shell")
def guard(event):
    if SEARCH:
        return deny(REASON)


hooks.example(tool="shell", input={"command": "git push --force"}, expect="deny")

if __name__ == "__main__":
    hooks.run()
"""


@pytest.fixture
def problems(world, run, monkeypatch):
    monkeypatch.chdir(world.project)

    def call(search='"--force" in event.text', reason="no", on_crash=""):
        text = GUARD.replace("SEARCH", search).replace("REASON", repr(reason))
        world.write(world.project / "guard.py", text.replace("ON_CRASH", on_crash))
        code, out, err = run("test", "guard.py", "--json")
        data = json.loads(out)
        assert code == (0 if data["ok"] else 1), err
        assert data["ok"] == (not data["problems"])
        return data["problems"]

    return call


@pytest.mark.parametrize(
    ("reason", "commands"),
    [
        ("use `git push --force-with-lease`", ["git push --force-with-lease"]),
        ("`rm -rf` deletes for ever; use `trash FILE` instead", ["trash FILE"]),
        ("Run \"make clean\" or 'make test'.", ["make clean"]),
        ("`make clean` instead", ["make clean"]),
        ("never use `a b`, use `c d`", ["c d"]),
        ("instead of `rm x` use `trash x`", ["trash x"]),
        ("do not run `rm -rf`", []),
        ("the command may run `git $ACTION`; ask the user", []),
        ("don't use 'git push -f'", []),
        ("this looks like a secret (`AKIA…`)", []),
        ("use `Read` to see it", []),
        ("you may run `make test`", ["make test"]),
        ("it's not the user's way, isn't it", []),
        ('call it with these arguments instead: {"command": "a b"}', []),
        ("", []),
    ],
)
def test_recommended_commands_are_quoted_behind_a_word_of_advice(reason, commands):
    assert recommended_commands(reason) == commands


@pytest.mark.slow
def test_a_guard_must_not_deny_its_own_advice(problems):
    (problem,) = problems(reason="use `git push --force-with-lease`")
    assert "guard.py:13: the reason recommends 'git push --force-with-lease'" in problem

    passing = '"--force" in event.text and "lease" not in event.text'
    assert not problems(passing, "use `git push --force-with-lease`")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("search", "on_crash", "what"),
    [
        ('"--force" in event.call.command', "", "a number"),
        ('event.call.command.endswith("--force")', "", "a list"),
        ('"--force" in event.call.command', 'on_crash="deny"', None),
        ('"--force" in event.text', "", None),
        ('"--force" in str(event.call.command)', "", None),
    ],
)
def test_a_value_of_a_wrong_type_must_not_open_a_guard(problems, search, on_crash, what):
    found = problems(search, on_crash=on_crash)

    if what is None:
        assert not found
    else:
        (problem,) = found
        assert f"guard.py:13: with {what} for 'command' of shell, the hooks fail" in problem
        assert 'Hooks(on_crash="deny")' in problem
