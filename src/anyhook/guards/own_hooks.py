"""Keep the agent from changing its own guards.

It denies changing or deleting the settings and hooks of agents, `.anyhook`, what anyhook keeps about
trust and approvals, and the hooks of git; switching guards off with a command; and starting agents
without them. At the start of a session and at the end of a turn it compares what can be changed in
ways that no hook sees, and tells you.

Families: own-hooks
Why: Agents edited the settings that hold their hooks, and two attacks wrote hooks into settings: a
worm in packages of npm, and code in a sandbox (CVE-2026-25725).
Source: https://advisories.gitlab.com/pkg/npm/@anthropic-ai/claude-code/CVE-2026-25725
Version: 1
"""

import re
from pathlib import Path

from anyhook.authoring import Hooks, ask, deny, look_for_changes, message

# Settings of agents, and what they run.
SETTINGS = [
    "**/.claude/settings*.json",
    "**/.claude/hooks/**",
    "**/.codex/config.toml",
    "**/.codex/hooks.json",
    "**/.codex/hooks/**",
    "**/.copilot/config.json",
    "**/.copilot/hooks/**",
    "**/.cursor/hooks.json",
    "**/.cursor/hooks/**",
    "**/.gemini/settings.json",
    "**/.gemini/hooks/**",
    "**/.copilot/settings.json",
    "**/.github/copilot/**",
    "**/.github/hooks/**",
    "**/.opencode/anyhook.json",
    "**/.opencode/plugin/**",
    "**/.opencode/plugins/**",
    "**/.qwen/settings.json",
    "**/.qwen/hooks/**",
    "**/.terminai/settings.json",
    "**/.terminai/hooks/**",
    "**/opencode/anyhook.json",
    "**/opencode/plugin/**",
    "**/opencode/plugins/**",
    "**/opencode.json",
    "/etc/claude-code/**",
    "/etc/codex/**",
    "/etc/cursor/**",
    "/etc/gemini-cli/**",
    "/etc/qwen-code/**",
]
# What anyhook keeps, and the hooks of git.
OWN = [
    "**/.anyhook",
    "**/.anyhook/**",
    "~/.local/share/anyhook/**",
    "~/Library/Application Support/anyhook/**",
    "**/.git/hooks/**",
    "**/.husky/**",
]
# Programs, and commands of git, that may change what they are given in ways that are not known.
CHANGING = {"ed", "ex", "perl", "rsync", "ruby", "tar", "unzip", "vi", "vim"}
CHANGING_IN_GIT = {"apply", "checkout", "clean", "reset", "restore", "stash"}
# Names of directories by which a command that may change a guard is known.
DIRECTORIES = [
    ".anyhook",
    ".claude",
    ".codex",
    ".copilot",
    ".cursor",
    ".gemini",
    ".opencode",
    ".qwen",
]
# Commands that weaken a guard.
WEAKENING = [
    ["anyhook", "allow"],
    ["anyhook", "disable"],
    ["anyhook", "history", "record", "off"],
    ["anyhook", "remove"],
    ["anyhook", "shadow"],
    ["anyhook", "trust"],
    ["anyhook", "worker", "stop"],
]
# Options with which agents ask nobody or run no hooks.
UNGUARDED = [
    *("--dangerously-skip-permissions", "--yolo", "--dangerously-bypass-approvals-and-sandbox"),
    *("--allow-all-tools", "--allow-all", "--bare", "--no-hooks", "--no-verify", "--full-auto"),
    *("--approval-mode=yolo", "--force-allow"),
]
AGENTS = ["claude", "codex", "copilot", "cursor-agent", "gemini", "opencode", "qwen", "terminai"]
# Characters of a message about changed guards.
MAX_MESSAGE = 2000
ASK_USER = "Only the user changes guards. Tell them what is in your way, and why."

hooks = Hooks(on_crash="deny")
hooks.about(families=["own-hooks"])


@hooks.before_tool
def guard_own_hooks(event):
    """Deny changing guards, switching them off and starting agents without them."""
    for match in (event.writes(*SETTINGS, *OWN), event.deletes(*SETTINGS, *OWN)):
        if match.certain and match:
            return deny(f"{match.why}, which belongs to the guards. {ASK_USER}")
        if match and is_unknown(match.command, event.text):
            return ask(f"{match.why}; that may belong to the guards.")
    for words in WEAKENING:
        match = event.runs(*words)
        if match and match.certain and not match.command.has_options(["--dry-run"]):
            return deny(f"{match.why}, which weakens a guard. {ASK_USER}")
    for command in event.commands:
        if is_weakening(command):
            return deny(f"`{command.source}` weakens a guard. {ASK_USER}")
        if may_change(command):
            return ask(f"`{command.source}` may change a guard.")
    return None


def is_unknown(command, text):
    """Return whether only the shell knows what is changed, or a directory of guards is named."""
    if command is None:  # another tool than the shell
        return names_guard(text)
    return not command.program or bool(command.uncertain_arguments) or names_guard(command.source)


def names_guard(text):
    """Return whether a directory of guards is among the words of a text."""
    words = re.split(r"[\s/=:'\"]+", text)
    return any(name in words for name in DIRECTORIES)


def may_change(command):
    """Return whether a command names guards and may change them, in a way that is not known."""
    subcommand = set(command.operands[:1])
    is_changing_git = command.program == "git" and subcommand <= CHANGING_IN_GIT
    return names_guard(command.source) and (command.program in CHANGING or is_changing_git)


def is_weakening(command):
    """Return whether a command starts an agent unguarded, ends workers, or moves hooks of git."""
    if command.program in AGENTS:
        return any(command.has_options([option]) for option in UNGUARDED)
    if command.program in {"kill", "pkill", "killall"}:
        return "anyhook" in " ".join(command.arguments)
    if command.program == "git":
        arguments = " ".join(command.arguments).lower()
        is_question = command.operands[:1] == ("config",) and len(command.operands) == 2
        sets_path = "core.hookspath" in arguments and "--get" not in arguments
        skips_hooks = command.has_options(["--no-verify"]) is True
        return skips_hooks or (sets_path and not is_question)
    return False


# -- changes that no hook has seen


@hooks.session_start
def report_at_start(event):
    """Tell the user what changed since the last turn that was looked at."""
    return report(event)


@hooks.after_agent
def report_after_turn(event):
    """Tell the user what changed during the turn."""
    return report(event)


def report(event):
    """Return a message about guards that are not as they were; nothing the first time."""
    changes = look_for_changes(event.cwd, guard_files(event.cwd))
    if not changes:
        return None
    texts = ["\n".join([f"Changed: {change.file}", *change.difference]) for change in changes]
    text = "\n\n".join(texts)[:MAX_MESSAGE]
    return message(f"Guards changed while no hook saw it.\n{text}\nReview: anyhook trust")


def guard_files(directory):
    """Yield the files of the guards in the project and in the home."""
    for place in (Path(directory), Path.home()):
        for pattern in (*SETTINGS, "**/.anyhook/**", "**/.git/hooks/**"):
            if pattern.startswith("**/"):
                for path in place.glob(pattern.removeprefix("**/").replace("/**", "/*")):
                    if path.is_file() and path.suffix != ".sample":
                        yield path


for denied in (
    "rm .claude/settings.json",
    "rm -rf .anyhook",
    "echo '{}' > .claude/settings.json",
    "sed -i '/hooks/d' ~/.gemini/settings.json",
    "jq 'del(.hooks)' .claude/settings.json > t && mv t .claude/settings.json",
    "chmod -x .anyhook/guard.py",
    "ln -sf /dev/null .claude/settings.json",
    "python3 -c \"open('.claude/settings.json','w').write('{}')\"",
    "anyhook disable guard --yes",
    "anyhook allow K3F9QX",
    "claude --dangerously-skip-permissions -p continue",
    "gemini --yolo -p continue",
    "git config core.hooksPath /dev/null",
    "git commit --no-verify -m x",
    "pkill -f anyhook",
    "git -c core.hooksPath=/dev/null commit -m x",
):
    hooks.example(tool="shell", input={"command": denied}, expect="deny")
hooks.example(
    tool="write_file", input={"file_path": ".codex/hooks.json", "content": "{}"}, expect="deny"
)
hooks.example(
    tool="edit_file",
    input={"file_path": ".anyhook/guard.py", "old_string": "deny", "new_string": "pass"},
    expect="deny",
)
hooks.example(tool="shell", input={"command": "rm $FILE"}, expect="ask")
for asked in (
    "git checkout HEAD~20 -- .claude/settings.json",
    "rm -rf .claude",
    "mv .claude .claude-old",
    "find .anyhook -name '*.py' -delete",
    "perl -pi -e 's/deny/allow/' .anyhook/guard-git.py",
    "tar xf backup.tar -C .claude",
):
    hooks.example(tool="shell", input={"command": asked}, expect="ask")
for harmless in (
    "cat .claude/settings.json",
    "cp .claude/settings.json /tmp/copy.json",
    "anyhook list",
    "anyhook check",
    "git add .anyhook/guard.py",
    "git config user.name Dev",
    "git config --get core.hooksPath",
    "rm src/hooks/useCart.js",
    "sed -i 's/red/blue/' src/settings.json",
    "claude --version",
    "rm -rf node_modules",
):
    hooks.example(tool="shell", input={"command": harmless}, expect="none")
hooks.example(tool="read_file", input={"file_path": ".claude/settings.json"}, expect="none")

if __name__ == "__main__":
    hooks.run()
