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

from fnmatch import fnmatchcase
from pathlib import PurePath

from anyhook.authoring import Hooks, deny, load_state, save_state

# Programs with their first arguments that run the tests of a project.
TEST_COMMANDS = [
    "pytest",
    "python* -m pytest",
    "python* -m unittest",
    "tox",
    "nox",
    "make test*",
    "make check",
    "npm test",
    "npm run test*",
    "pnpm test",
    "yarn test",
    "bun test",
    "vitest",
    "jest",
    "cargo test",
    "cargo nextest",
    "go test",
    "mvn test",
    "gradle test",
    "gradlew test",
    "dotnet test",
    "rspec",
    "phpunit",
    "mix test",
    "swift test",
]
# Endings of files whose change needs no tests.
WITHOUT_TESTS = {".adoc", ".csv", ".md", ".rst", ".svg", ".txt"}
MAX_REQUESTS = 3  # how often one turn is continued
REQUEST = "Files changed since the tests last passed. Run the tests, and repair what fails."

hooks = Hooks(on_crash="allow")  # a mistake here must not keep a turn from ending
hooks.about(families=["tests-first"])


@hooks.post_tool_use_failure
@hooks.after_tool
def remember(event):
    """Remember edits, and tests that passed."""
    state = load_state("tests-first", event.session_id)
    if runs_tests(event) and not event.result.exit_code and event.result.error is None:
        state["is_edited"] = False
    elif changes_code(event):
        state["is_edited"] = True
    else:
        return
    save_state("tests-first", event.session_id, state)


@hooks.after_agent
def ask_for_tests(event):
    """Continue the turn until the tests passed since the last edit."""
    state = load_state("tests-first", event.session_id)
    requests = state.get("requests", 0) if event.stop_hook_active else 0
    if not state.get("is_edited") or requests >= MAX_REQUESTS:
        return None
    save_state("tests-first", event.session_id, {**state, "requests": requests + 1})
    return deny(REQUEST)


def runs_tests(event):
    """Return whether a call runs the tests."""
    lines = [" ".join([command.program, *command.arguments, ""]) for command in event.commands]
    return any(fnmatchcase(line, f"{words} *") for line in lines for words in TEST_COMMANDS)


def changes_code(event):
    """Return whether a call changes a file whose change needs tests."""
    suffixes = {PurePath(match.path).suffix for match in event.writes("./**")} - {""}
    return bool(suffixes - WITHOUT_TESTS)


def after(tool, **arguments):
    """Add an example of a call after which the turn goes on."""
    hooks.example("after_tool", tool=tool, input=arguments, expect="none")


def end_of_turn(expect, **fields):
    """Add an example of the end of a turn."""
    hooks.example("after_agent", prompt="Do it", prompt_response="Done", expect=expect, **fields)


end_of_turn("none")
for path in "a.adoc a.csv .gitignore a.md a.rst a.svg a.txt Makefile".split():
    after("write_file", file_path=path, content="")
after("read_file", file_path="a.py")
after("shell", command="sed -i s/a/b/ /elsewhere/a.py")
end_of_turn("none")
after("write_file", file_path="a.py", content="")
end_of_turn("deny")
after("shell", command="ls tests; npm install; python3 -m http.server; make clean")
end_of_turn("deny")
for command in (
    "pytest -q|python3 -m pytest|python -m unittest|tox|nox|make tests|make check|npm test"
    "|npm run test:unit|pnpm test|yarn test|bun test|vitest|jest|cargo test|cargo nextest run"
    "|go test ./...|mvn test|gradle test|./gradlew test|dotnet test|rspec|bundle exec rspec"
    "|phpunit|mix test|swift test"
).split("|"):
    after("shell", command="sed -i s/a/b/ src/a.py")
    end_of_turn("deny")
    after("shell", command=command)
    end_of_turn("none")
after("edit_file", file_path="a.py", old_string="a", new_string="b")
end_of_turn("deny")
after("shell", command="pytest")
notebook = {"notebook_path": "a.ipynb", "new_source": ""}  # not every agent has notebooks
hooks.example("after_tool", tool="edit_notebook", input=notebook, expect="none", agents=["claude"])
end_of_turn("deny", agents=["claude"])
end_of_turn("deny", stop_hook_active=True, agents=["claude"])
end_of_turn("deny", stop_hook_active=True, agents=["claude"])
end_of_turn("none", stop_hook_active=True, agents=["claude"])
after("shell", command="pytest")
# Not every agent has an event for calls that fail.
hooks.example(
    "post_tool_use_failure",
    tool="shell",
    input={"command": "sed -i s/a/b/ a.py && pytest"},
    error="Exit code 1",
    expect="none",
    agents=["claude"],
)
end_of_turn("deny", agents=["claude"])
after("shell", command="pytest")

if __name__ == "__main__":
    hooks.run()
