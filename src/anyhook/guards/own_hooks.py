"""Keep the agent from changing its own guards.

It denies changing or deleting the settings and hooks of agents, `.anyhook`, what anyhook keeps about
trust and approvals, and the hooks of git; switching guards off with a command; and starting agents
without them. At the start of a session and at the end of a turn it compares what can be changed in
ways that no hook sees, and reports it.

Families: own-hooks
Why: Agents edited the settings that hold their hooks, and two attacks wrote hooks into settings: a
worm in packages of npm, and code in a sandbox (CVE-2026-25725).
Source: https://advisories.gitlab.com/pkg/npm/@anthropic-ai/claude-code/CVE-2026-25725
Version: 1
"""

import fnmatch
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
    "**/.anyhook/**",
    "~/.local/share/anyhook/**",
    "~/Library/Application Support/anyhook/**",
    "**/.git/hooks/**",
    "**/.husky/**",
]
# Programs, and commands of git, that may change what they are given in ways that are not known.
CHANGING = {"ex", "perl", "ruby", "vi", "vim", "git apply", "git reset"}
# Names of directories by which a command that may change a guard is known.
DIRECTORIES = {
    ".anyhook",
    ".claude",
    ".codex",
    ".copilot",
    ".cursor",
    ".gemini",
    ".opencode",
    ".qwen",
}
# Commands that weaken a guard.
WEAKENING = [
    "anyhook allow",
    "anyhook disable",
    "anyhook history record off",
    "anyhook remove",
    "anyhook shadow",
    "anyhook trust",
    "anyhook worker stop",
    "pip* uninstall anyhook",
    "poetry remove anyhook",
    "uv pip uninstall anyhook",
    "uv remove anyhook",
    "uv tool uninstall anyhook",
]
# Arguments with which agents ask no questions or run no hooks.
UNGUARDED = {
    "--dangerously-skip-permissions",
    "--yolo",
    "--dangerously-bypass-approvals-and-sandbox",
    "--allow-all-tools",
    "--allow-all",
    "--bare",
    "--full-auto",
    "--approval-mode=yolo",
    "yolo",
    "--permission-mode=bypassPermissions",
    "--sandbox=danger-full-access",
    "--settings",
    "-y",
    "bypassPermissions",
    "danger-full-access",
}
AGENTS = {
    *("claude", "codex", "copilot", "cursor-agent", "gemini", "opencode", "qwen", "terminai"),
    *("claude-code", "gemini-cli", "qwen-code"),  # packages
}
# Variables with which an agent reads other settings than those that hold its hooks.
MOVING = re.compile(r"\b(?:CLAUDE_CONFIG_DIR|(?:CODEX|COPILOT|GEMINI_CLI|QWEN)_HOME)=")
# The directory of hooks of git as a variable.
SETS_HOOKS = re.compile(r"\bGIT_CONFIG_(?:KEY_\d+|PARAMETERS)=\S*core\.hookspath", re.IGNORECASE)
# Characters of a message about changed guards.
MAX_MESSAGE = 2000
ASK_USER = "Only the user changes guards. Tell them what is in your way, and why."

hooks = Hooks(on_crash="deny")
hooks.about(families=["own-hooks"])


@hooks.before_tool
def guard_own_hooks(event):
    """Deny changing guards, switching them off and starting agents without them."""
    whole = [f"**/{name}" for name in sorted(DIRECTORIES)]
    changes = [*event.writes(*SETTINGS, *OWN), *event.deletes(*SETTINGS, *OWN, *whole)]
    reasons = [f"{match.why}, which belongs to the guards" for match in changes if match.certain]
    calls = list(weakening_calls(event))
    reasons += [f"{match.why}, which weakens a guard" for match in calls if match.certain]
    reasons += [f"`{it.source}` weakens a guard" for it in event.commands if is_weakening(it)]
    if SETS_HOOKS.search(event.text):
        uses = [it.source for it in event.commands if it.program == "git"]
        reasons += [f"`{source}` runs without the hooks of git" for source in uses]
    if reasons:
        return deny(f"{reasons[0]}. {ASK_USER}")
    doubts = [match.why for match in changes if is_unknown(match)]
    doubts += [match.why for match in calls if match.command and match.command.program]
    doubts += [f"`{it.source}` may change a guard" for it in event.commands if may_change(it)]
    if MOVING.search(event.text):
        started = [it.source for it in event.commands if it.program in AGENTS]
        doubts += [f"`{source}` starts an agent with other settings" for source in started]
    if doubts:
        return ask(f"{doubts[0]}. Is that what you want?")
    return None


def weakening_calls(event):
    """Yield what runs a command that weakens a guard, or may run it."""
    for words in map(str.split, WEAKENING):
        for match in event.runs(*words):
            if match.command is None or not match.command.has_options(["--dry-run"]):
                yield match


def is_unknown(match):
    """Return whether only the shell knows what is changed, or a directory of guards is named."""
    command = match.command
    if command is None:  # a tool of an MCP server that has the path of a guard
        return True
    hidden = [name for name in match.path.split("/") if name[:1] == "."]
    if any(fnmatch.filter(DIRECTORIES, name) for name in hidden):  # `.any*`
        return True
    return not command.program or bool(command.uncertain_arguments) or names_guard(command.source)


def names_guard(text):
    """Return whether a directory of guards is among the words of a text."""
    return not DIRECTORIES.isdisjoint(re.split(r"[\s/=:'\"]+", text))


def may_change(command):
    """Return whether a command names guards and may change them, in a way that is not known."""
    program = " ".join([command.program, *command.operands[: command.program == "git"]])
    return program in CHANGING and names_guard(command.source)


def is_weakening(command):
    """Return whether a command starts an agent unguarded, ends workers, or moves hooks of git."""
    if command.program in AGENTS:
        return not UNGUARDED.isdisjoint(command.arguments)
    if command.program in {"kill", "pkill", "killall"}:
        return "anyhook" in " ".join(command.arguments)
    arguments = " ".join(command.arguments).lower()
    # `git config core.hooksPath` and `git config --get core.hooksPath` only show it.
    sets_path = "core.hookspath" in arguments and not arguments.endswith("core.hookspath")
    skips_hooks = command.has_options(["--no-verify"]) is True
    return command.program == "git" and (skips_hooks or sets_path)


# -- changes that no hook has seen


@hooks.session_start
@hooks.after_agent
def report_changes(event):
    """Report guards that are not as they were at the last look; nothing the first time."""
    changes = look_for_changes(event.cwd, guard_files(event.cwd))
    if not changes:
        return None
    texts = ["\n".join([f"Changed: {change.file}", *change.difference]) for change in changes]
    text = "\n\n".join(texts)[:MAX_MESSAGE]
    return message(f"Guards changed while no hook saw it.\n{text}\nReview: anyhook trust")


def guard_files(directory):
    """Yield the files of the guards in the project and in the home."""
    anywhere = [pattern for pattern in (*SETTINGS, *OWN) if pattern.startswith("**/")]
    for place in (Path(directory), Path.home()):
        for pattern in anywhere:
            for path in place.glob(pattern.removeprefix("**/").replace("/**", "/*")):
                if path.is_file() and path.suffix != ".sample":
                    yield path


for path in (
    *""".claude/settings.json .claude/hooks/x .codex/config.toml .codex/hooks.json
    .codex/hooks/x .copilot/config.json .copilot/hooks/x .cursor/hooks.json .cursor/hooks/x
    .gemini/settings.json .gemini/hooks/x .copilot/settings.json .github/copilot/x .github/hooks/x
    .opencode/anyhook.json .opencode/plugin/x .opencode/plugins/x .qwen/settings.json .qwen/hooks/x
    .terminai/settings.json .terminai/hooks/x opencode/anyhook.json opencode/plugin/x
    opencode/plugins/x opencode.json /etc/claude-code/x /etc/codex/x /etc/cursor/x /etc/gemini-cli/x
    /etc/qwen-code/x .anyhook/x ~/.local/share/anyhook/x .git/hooks/pre-commit .husky/x""".split(),
    "~/Library/Application Support/anyhook/x",
):
    hooks.example(tool="write_file", input={"file_path": path, "content": ""}, expect="deny")
for denied in """
rm .claude/settings.json
rm -rf .anyhook
rm -rf .claude
mv .claude .claude-old
echo '{}' > .claude/settings.json
sed -i '/hooks/d' ~/.gemini/settings.json
jq 'del(.hooks)' .claude/settings.json > t && mv t .claude/settings.json
chmod -x .anyhook/guard.py
ln -sf /dev/null .claude/settings.json
python3 -c "open('.claude/settings.json','w').write('{}')"
anyhook allow K3F9QX
anyhook disable guard --yes
anyhook history record off
anyhook remove git
anyhook shadow guard
anyhook trust --yes
anyhook worker stop
pip uninstall -y anyhook
pip3 uninstall anyhook
pipx uninstall anyhook
uv tool uninstall anyhook
python3 -m anyhook allow K3F9QX
anyhook remove git --dry-run; anyhook remove git
rm $FILE; claude --dangerously-skip-permissions -p continue
gemini --yolo
codex --dangerously-bypass-approvals-and-sandbox
claude --bare
claude --settings x.json
claude --permission-mode bypassPermissions
claude --permission-mode=bypassPermissions
codex -s danger-full-access
codex --sandbox=danger-full-access
gemini -y
npx @anthropic-ai/claude-code --dangerously-skip-permissions
npx @google/gemini-cli --yolo
npx @qwen-code/qwen-code --yolo
copilot --allow-all-tools
copilot --allow-all
codex --full-auto
opencode --yolo
qwen --approval-mode=yolo
gemini --approval-mode yolo
cursor-agent --yolo
terminai --yolo
git clean -f .claude
git config core.hooksPath /dev/null
git -c core.hooksPath=/dev/null commit -m x
GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=core.hooksPath GIT_CONFIG_VALUE_0=x git commit -m x
git commit --no-verify -m x
pkill -f anyhook
kill $(pgrep anyhook)
killall anyhook
""".strip().splitlines():
    hooks.example(tool="shell", input={"command": denied}, expect="deny")
for asked in """
rm $FILE
rm -rf .any*
find .anyhook -name '*.py' -delete
find . -path '*/.claude/settings.json' -print0 | xargs -0 perl -pi -e s/x//
ex .codex/x
perl -e 'rename(@ARGV)' .anyhook/x
ruby -i x .copilot/x
rsync x .cursor/x
tar xf backup.tar -C .claude
unzip x -d .gemini
vi .opencode/x
vim .qwen/x
git apply .claude/x
git checkout HEAD~20 -- .claude/settings.json
git reset x .claude
git restore .claude
git stash -- .claude
anyhook $ACTION git
CLAUDE_CONFIG_DIR=x claude -p hi
env CODEX_HOME=x codex exec hi
export QWEN_HOME=x; qwen -p hi
COPILOT_HOME=x copilot -p hi
GEMINI_CLI_HOME=x gemini -p hi
""".strip().splitlines():
    hooks.example(tool="shell", input={"command": asked}, expect="ask")
for harmless in """
cat .claude/settings.json
cp .claude/settings.json /tmp/copy.json
anyhook list
anyhook check
anyhook history record status
anyhook worker status
anyhook remove git --dry-run
git add .anyhook/guard.py
git log -p .claude
git config user.name Dev
git config --get core.hooksPath
git config core.hooksPath
rm src/hooks/useCart.js
sed -i 's/red/blue/' src/settings.json
rm -rf node_modules
claude --version
npm run yolo
npm init -y
rm -rf .pytest*
echo --no-verify core.hooksPath=x
pkill node
tar xf backup.tar
npm version --no-verify
echo $CODEX_HOME
ls $CLAUDE_CONFIG_DIR
grep GIT_CONFIG_KEY_0=core.hooksPath x
""".strip().splitlines():
    hooks.example(tool="shell", input={"command": harmless}, expect="none")
own = {"path": ".github/hooks/x", "content": ""}
hooks.example(tool="mcp__files__write_file", input=own, expect="ask", agents=["claude"])
disable = {"command": "anyhook disable git"}
hooks.example(tool="mcp__shell__run_command", input=disable, expect="ask", agents=["claude"])
hooks.example(tool="read_file", input={"file_path": ".claude/settings.json"}, expect="none")
hooks.example("session_start", source="startup", expect="none")
hooks.example("after_agent", prompt="Say hello", prompt_response="Hello", expect="none")

if __name__ == "__main__":
    hooks.run()
