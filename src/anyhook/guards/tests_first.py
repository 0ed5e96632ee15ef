"""Let the agent end its turn only after the tests passed since its last edit.

It remembers when a file with code was changed and when a command for tests ended well. If the agent
wants to end its turn in between, it continues with the request to run the tests, three times at most.
A turn without edits ends as always.

Families: tests-first
Why: Agents declare that a change works without having run anything: one user counted twelve such
turns in a week.
Source: https://github.com/anthropics/claude-code/issues/48027
Version: 1
"""

import time
from pathlib import PurePath

from anyhook.authoring import Hooks, deny, load_state, save_state

# Programs with their first arguments that run the tests of a project.
TEST_COMMANDS = [
    ["pytest"],
    ["python*", "-m", "pytest"],
    ["python*", "-m", "unittest"],
    ["tox"],
    ["nox"],
    ["make", "test*"],
    ["make", "check"],
    ["npm", "test"],
    ["npm", "run", "test*"],
    ["pnpm", "test"],
    ["yarn", "test"],
    ["bun", "test"],
    ["vitest"],
    ["jest"],
    ["cargo", "test"],
    ["cargo", "nextest"],
    ["go", "test"],
    ["mvn", "test"],
    ["gradle", "test"],
    ["./gradlew", "test"],
    ["dotnet", "test"],
    ["rspec"],
    ["bundle", "exec", "rspec"],
    ["phpunit"],
    ["mix", "test"],
    ["swift", "test"],
]
# Endings of files whose change needs no tests.
WITHOUT_TESTS = {".adoc", ".csv", ".gitignore", ".md", ".rst", ".svg", ".txt"}
MAX_REQUESTS = 3  # how often one turn is continued
REQUEST = "Files changed since the tests last passed. Run the tests, and repair what fails."

hooks = Hooks(on_crash="allow")  # a mistake here must not keep a turn from ending
hooks.about(families=["tests-first"])


@hooks.after_tool
def remember(event):
    """Remember edits, and tests that passed."""
    state = load_state("tests-first", event.session_id)
    if runs_tests(event) and event.result.exit_code in {0, None}:
        state["passed"] = time.time()
    elif changes_code(event):
        state["edited"] = time.time()
    else:
        return
    save_state("tests-first", event.session_id, state)


@hooks.after_agent
def ask_for_tests(event):
    """Continue the turn until the tests passed since the last edit."""
    state = load_state("tests-first", event.session_id)
    if not event.stop_hook_active:
        state["requests"] = 0
    is_tested = state.get("passed", 0) >= state.get("edited", 0)
    if is_tested or state.get("requests", 0) >= MAX_REQUESTS:
        return None
    state["requests"] = state.get("requests", 0) + 1
    save_state("tests-first", event.session_id, state)
    return deny(REQUEST)


def runs_tests(event):
    """Return whether a call runs the tests."""
    for words in TEST_COMMANDS:
        for command in event.commands:
            arguments = [command.program, *command.arguments][: len(words)]
            pairs = zip(arguments, words, strict=False)
            if len(arguments) == len(words) and all(PurePath(a).match(w) for a, w in pairs):
                return True
    return False


def changes_code(event):
    """Return whether a call changes a file whose change needs tests."""
    if event.tool == "shell":
        paths = [path for command in event.commands for path in command.written_paths]
        paths = [path for path in paths if path.startswith(event.cwd)]
    else:
        arguments = event.call.arguments
        is_edit = event.tool in {"write_file", "edit_file", "edit_notebook"}
        path = arguments.get("file_path") or arguments.get("notebook_path")
        paths = [str(path)] if is_edit else []
    suffixes = {PurePath(path).suffix for path in paths} - {""}
    return bool(suffixes - WITHOUT_TESTS)


hooks.example("after_agent", prompt="Say hello", prompt_response="Hello", expect="none")

if __name__ == "__main__":
    hooks.run()
