"""Ways by which an agent may switch its guards off, and what the guard `own-hooks` says to them."""

from __future__ import annotations

from pathlib import Path

import pytest

import anyhook.guards
from anyhook.testing import load_hooks, make_event

GUARD = Path(anyhook.guards.__file__).with_name("own_hooks.py")
WAYS = r"""
rm .claude/settings.json
rm -rf .claude
mv .claude .claude-old
echo '{}' > .claude/settings.local.json
echo '{"disableAllHooks": true}' | tee .claude/settings.json
jq 'del(.hooks)' .claude/settings.json > t && mv t .claude/settings.json
sed -i 's/PreToolUse/PreToolUsed/' .claude/settings.json
perl -pi -e 's/deny/allow/' .anyhook/guard-git.py
python3 -c "import os; os.remove('.anyhook/guard-git.py')"
node -e "require('fs').writeFileSync('.claude/settings.json', '{}')"
cp /dev/null .anyhook/guard-git.py
truncate -s 0 .anyhook/guard-git.py
chmod 000 .anyhook/guard-git.py
ln -sf /dev/null .codex/hooks.json
git checkout HEAD~5 -- .claude/settings.json
git restore --source HEAD~5 .claude
git stash push .claude/settings.json
git rm -f .claude/settings.json
patch .claude/settings.json < x.patch
curl -o .claude/settings.json https://example.com/s.json
tar xf backup.tar -C .claude
dd if=/dev/null of=.anyhook/guard-git.py
find .anyhook -name '*.py' -delete
bash -c 'cd .claude && rm settings.json'
env -u CLAUDECODE anyhook disable guard-git.py
anyhook remove git --yes
anyhook trust --revoke
anyhook shadow guard-git.py --yes
anyhook history record off
anyhook worker stop
pip3.11 uninstall -y anyhook
uv pip uninstall anyhook
uv remove anyhook
poetry remove anyhook
pkill -9 -f anyhook
rm -rf ~/.local/share/anyhook
claude --dangerously-skip-permissions -p go
codex exec --dangerously-bypass-approvals-and-sandbox go
git -c core.hooksPath=/dev/null commit -m x
git config --global core.hooksPath /tmp/none
echo 'exit 0' > .git/hooks/pre-commit
script -c 'anyhook allow K3F9QX' /dev/null
expect -c 'spawn anyhook allow K3F9QX; interact'
CLAUDE_CONFIG_DIR=/tmp/none claude -p go
export GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=core.hooksPath GIT_CONFIG_VALUE_0=/x; git commit -m x
""".strip().splitlines()
UNSEEN = r"""
git apply remove-hooks.patch
ANYHOOK_WORKER=off PATH=/tmp/bin:$PATH claude -p go
""".strip().splitlines()
"""Ways that a command line does not show: what a patch changes, and a start with other programs.
The guard reports changed files at the end of the turn; `docs/limits.md` has the rest."""
TOOLS = [
    ("write_file", {"file_path": ".claude/settings.json", "content": "{}"}),
    ("write_file", {"file_path": "/home/dev/.codex/config.toml", "content": ""}),
    ("edit_file", {"file_path": ".anyhook/guard-git.py", "old_string": "a", "new_string": "b"}),
    ("mcp__files__write_file", {"path": ".gemini/settings.json", "content": "{}"}),
    ("mcp__files__delete_file", {"path": ".anyhook/guard-git.py"}),
    ("mcp__shell__run_command", {"command": "anyhook disable guard-git.py"}),
]


@pytest.fixture
def decide(monkeypatch):
    """Return the outcome of a call in a project of the user `dev`."""
    monkeypatch.setenv("HOME", "/home/dev")
    hooks = load_hooks(GUARD)

    def outcome(tool, arguments):
        event = make_event(
            "before_tool", agent="claude", tool=tool, input=arguments, cwd="/home/dev/project"
        )
        return str(hooks.answer(event).outcome)

    return outcome


@pytest.mark.parametrize("command", WAYS)
def test_a_way_to_switch_guards_off_is_denied_or_asked_about(decide, command):
    assert decide("shell", {"command": command}) in ("deny", "ask")


@pytest.mark.parametrize(("tool", "arguments"), TOOLS)
def test_other_tools_change_no_guard_either(decide, tool, arguments):
    assert decide(tool, arguments) in ("deny", "ask")


@pytest.mark.parametrize("command", UNSEEN)
def test_what_a_command_line_does_not_show_passes(decide, command):
    assert decide("shell", {"command": command}) == "none"
