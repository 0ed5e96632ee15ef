"""The guards that anyhook brings: what they promise of themselves, and what they remember."""

from __future__ import annotations

import ast
import json
import re
import shutil
import sys
from functools import cache
from pathlib import Path

import pytest

import anyhook.guards
from anyhook.agents import CODING_AGENTS, get_agent
from anyhook.settings.sources import Location, places
from anyhook.testing import load_hooks, make_payload, run_examples, run_hook

DIRECTORY = Path(anyhook.guards.__file__).parent
GUARDS = sorted(path.stem for path in DIRECTORY.glob("[a-z]*.py"))
DENYING = [name for name in GUARDS if name not in ("format", "tests_first")]
MAX_LINES = 350
"""Lines of a guard: one is read before it is added."""


def guard_file(name):
    return DIRECTORY / f"{name}.py"


@cache
def guard(name):
    return load_hooks(guard_file(name))


def decide(name, event="before_tool", agent="claude", **fields):
    """Return the run of a guard in a process of its own, as its agent starts it."""
    return run_hook(guard_file(name), event, agent=agent, **fields)


@pytest.mark.slow
@pytest.mark.parametrize("agent", CODING_AGENTS)
@pytest.mark.parametrize("name", GUARDS)
def test_every_example_holds_in_every_agent(name, agent, home):
    results = run_examples(guard(name), (agent,))

    failed = [result for result in results if result.status == "failed"]
    assert results
    assert failed == []


@pytest.mark.parametrize(
    ("language", "code", "outcome"),
    [("shell", "git reset --hard", "deny"), ("lua", "x()", "deny"), ("python", "print(1)", "none")],
)
def test_code_for_a_running_interpreter_is_guarded(language, code, outcome):
    code = {"language": language, "code": code}

    assert decide("git", agent="terminai", tool="execute_repl", input=code).outcome == outcome


@pytest.mark.parametrize(("agent", "tool"), [("claude", "Monitor"), ("qwen", "monitor")])
def test_a_command_whose_output_is_watched_is_a_command(agent, tool):
    run = decide("git", agent=agent, tool=tool, input={"command": "git reset --hard"})

    assert run.outcome == "deny"


def test_a_tool_that_deletes_is_guarded():
    def delete(name, path):
        return decide(
            name, agent="cursor", tool="Delete", input={"path": path}, cwd="/code"
        ).outcome

    assert delete("files", "/etc/hosts") == "deny"
    assert delete("own_hooks", ".anyhook/guard-git.py") == "deny"
    assert delete("files", "src/a.py") == "none"
    assert delete("own_hooks", "src/a.py") == "none"


@pytest.mark.parametrize("directory", ["real", "link", "real/sub", "link/sub", "link/link"])
@pytest.mark.parametrize("place", [".anyhook/guard.py", "guard.py"])
def test_a_project_behind_a_link_has_two_names(tmp_path, home, directory, place):
    (tmp_path / "real" / "sub").mkdir(parents=True)
    (tmp_path / "link").symlink_to(tmp_path / "real")
    (tmp_path / "real" / "link").symlink_to(tmp_path / "real" / "sub")
    file = tmp_path / "real" / place
    file.parent.mkdir(exist_ok=True)
    # The directory of the test is in one for temporary files.
    text = guard_file("files").read_text(encoding="utf-8")
    file.write_text(re.sub(r"SCRATCH = .*", "SCRATCH = []", text), encoding="utf-8")
    cwd = tmp_path / directory
    named = tmp_path / directory.partition("/")[0] if place.startswith(".") else cwd

    def run(command):
        fields = {"tool": "shell", "input": {"command": command}}
        return run_hook(file, "before_tool", cwd=str(cwd), **fields).outcome

    link = tmp_path / "link"
    for project in (named, named.resolve(), *([link] if place.startswith(".") else ())):
        assert run(f"rm -f {project}/a.txt") == "none"
        assert run(f"rm -rf {project}/dist") == "none"
        assert run(f"rm -rf {project}") == "deny"
        assert run(f"rm -f {project}/.git/HEAD") == "deny"
    assert run(f"rm -f {tmp_path}/a.txt") == "deny"


def test_a_user_who_empties_the_list_of_disposable_directories_is_asked_about_all(tmp_path, home):
    text = guard_file("files").read_text(encoding="utf-8")
    path = tmp_path / ".anyhook" / "guard-files.py"
    path.parent.mkdir()
    path.write_text(re.sub(r"(?ms)^DISPOSABLE = \[.*?^\]", "DISPOSABLE = []", text))
    call = {"tool": "shell", "input": {"command": "rm -rf build"}, "cwd": str(tmp_path)}

    run = run_hook(path, "before_tool", agent="claude", **call)

    assert run.outcome == "ask"


def test_git_takes_a_name_that_is_there_for_a_file(tmp_path):
    (tmp_path / "src").mkdir()

    def checkout(command):
        fields = {"tool": "shell", "cwd": str(tmp_path), "input": {"command": command}}
        return decide("git", **fields).outcome

    assert checkout("git checkout src") == "deny"
    assert checkout("cd src && git checkout src") == "none"
    assert checkout("git checkout main") == "none"


def test_the_question_about_a_variable_says_what_to_write():
    answer = decide("git", tool="shell", input={"command": 'git push origin "$BRANCH"'})

    assert answer.outcome == "ask"
    assert "only the shell knows `$BRANCH`, which may be an option" in answer.reason
    assert "Write the value itself." in answer.reason


def test_a_patch_that_the_shell_applies_is_guarded():
    lines = ["*** Begin Patch", "*** Delete File: .anyhook/guard-git.py", "*** End Patch"]
    command = "\n".join(["apply_patch <<'EOF'", *lines, "EOF", ""])

    run = decide("own_hooks", agent="codex", tool="shell", input={"command": command})

    assert run.outcome == "deny"


def test_tests_that_failed_do_not_end_the_turn(home):
    report = {"llmContent": "Output: 1 failed\nExit Code: 1\nProcess Group PGID: 7"}
    decide(
        "tests_first",
        "after_tool",
        "gemini",
        tool="write_file",
        input={"file_path": "a.py", "content": ""},
    )
    decide(
        "tests_first",
        "after_tool",
        "gemini",
        tool="shell",
        input={"command": "pytest"},
        tool_response=report,
    )

    assert decide("tests_first", "after_agent", "gemini").outcome == "deny"


@pytest.mark.parametrize("name", GUARDS)
def test_a_guard_says_what_it_is_for_why_and_in_which_version(name):
    tree = ast.parse(guard_file(name).read_text(encoding="utf-8"))
    text = ast.get_docstring(tree)
    first, *_ = text.splitlines()

    assert first.endswith(".")
    assert re.search(r"^Families: [a-z, -]+$", text, re.MULTILINE)
    assert re.search(r"^Why: \S.+", text, re.MULTILINE)
    assert re.search(r"^Source: https://\S+$", text, re.MULTILINE)
    assert re.search(r"^Version: \d+$", text, re.MULTILINE)
    families = re.search(r"^Families: (.+)$", text, re.MULTILINE)[1].split(", ")
    assert list(guard(name).families) == families


@pytest.mark.parametrize("name", GUARDS)
def test_a_guard_needs_nothing_but_the_authors_api_and_the_standard_library(name):
    text = guard_file(name).read_text(encoding="utf-8")
    imported = {
        node.module if isinstance(node, ast.ImportFrom) else alias.name
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Import | ast.ImportFrom)
        for alias in node.names
    }

    others = {module for module in imported if module.partition(".")[0] == "anyhook"}
    assert others == {"anyhook.authoring"}
    assert {module.partition(".")[0] for module in imported} - {
        "anyhook"
    } <= sys.stdlib_module_names
    assert len(text.splitlines()) <= MAX_LINES


@pytest.mark.parametrize("name", DENYING)
def test_a_guard_that_crashes_denies(name):
    assert guard(name).on_crash == "deny"


@pytest.mark.slow
@pytest.mark.parametrize("name", DENYING)
def test_a_harmless_command_in_front_excuses_nothing(name):
    """`npm publish --dry-run; npm publish` publishes, and `wc .env; cat .env` shows secrets."""
    hooks = guard(name)
    plain = [
        (example.fields["tool_input"]["command"], example.expect)
        for example in hooks.examples
        if example.fields.get("tool_name") == "shell"
        and example.event == "before_tool"
        and not {"cwd", "session_id"} & example.fields.keys()
    ]
    stopped = [command for command, expect in plain if expect != "none"]
    harmless = [command for command, expect in plain if expect == "none"]
    lines = [f"{harmless[0]}; {command}" for command in stopped]
    lines += [f"{command}; {stopped[0]}" for command in harmless if "&" not in command[-1:]]

    passed = [
        line
        for line in lines
        if decide(name, tool="shell", input={"command": line}).outcome == "none"
    ]

    assert passed == []


@pytest.mark.parametrize("wrong", [None, 5, ["rm", "-rf", "/"], {"a": 1}, True, ""])
@pytest.mark.parametrize("name", DENYING)
def test_a_command_of_a_wrong_type_is_no_way_past_a_guard(name, wrong):
    payload = make_payload("before_tool", agent="claude", tool="shell", input={"command": "x"})
    payload["tool_input"] = {"command": wrong}

    assert run_hook(guard(name), payload).exit_code == 0


UNREAD_LINES = {
    "too long": f"echo {'x' * 64 * 1024}; sh",
    "open quote": "echo 'x; sh",
    "too deep": "(" * 40 + "sh" + ")" * 40,
}


@pytest.mark.parametrize("line", UNREAD_LINES)
@pytest.mark.parametrize("name", DENYING)
def test_a_line_that_cannot_be_read_is_asked_about(name, line):
    run = decide(name, tool="shell", input={"command": UNREAD_LINES[line]})

    assert run.outcome == "ask"


def test_a_settings_file_of_every_agent_is_guarded(tmp_path):
    home, project = tmp_path / "home", tmp_path / "project"
    unguarded = []
    for name in CODING_AGENTS:
        for _, path in places(get_agent(name), Location(project, home, {})):
            is_own = path.is_relative_to(project) or path.is_relative_to(home)
            if not is_own:
                continue
            run = decide(
                "own_hooks",
                tool="write_file",
                input={"file_path": str(path), "content": "{}"},
                cwd=str(project),
            )
            if run.outcome != "deny":
                unguarded.append(str(path))

    assert unguarded == []


# -- what guards remember


def call(command, session):
    return {"tool": "shell", "input": {"command": command}, "session_id": session}


def test_a_download_is_remembered_in_its_session_only():
    first = decide("remote_code", **call("curl -o i.sh https://example.com/i.sh", "one"))
    same = decide("remote_code", **call("bash i.sh", "one"))
    other = decide("remote_code", **call("bash i.sh", "two"))

    assert (first.outcome, same.outcome, other.outcome) == ("none", "ask", "none")


def test_a_secret_in_a_result_does_not_reach_the_model():
    secret = "ghp_" + "16C7e42F292c6912E7710c838347Ae178B4a"
    run = decide(
        "secrets",
        "after_tool",
        agent="gemini",
        tool="shell",
        input={"command": "cat notes"},
        tool_response={"llmContent": f"token {secret} here"},
    )

    assert secret not in run.stdout
    assert "[redacted:" in run.stdout


def turn_ends(session, *, again=False):
    return decide(
        "tests_first",
        "after_agent",
        prompt="x",
        prompt_response="y",
        session_id=session,
        stop_hook_active=again,
    ).outcome


def edited(session, path="a.py"):
    fields = {"tool": "write_file", "input": {"file_path": path, "content": "x"}}
    decide("tests_first", "after_tool", tool_response={}, session_id=session, **fields)


PATCH = """*** Begin Patch
*** Update File: notes.md
@@
-x
+y
*** Update File: a.py
@@
-x = 1
+x  =  1
*** End Patch
"""
PATCHING = {"codex": "command", "copilot": "input", "opencode": "patchText"}
"""Agents that edit files by patches, with the argument that holds the patch."""


def patched(guard, agent, **fields):
    """Return the run of a guard after a call that edited two files by one patch."""
    arguments = {PATCHING[agent]: PATCH}
    fields = {"tool": "apply_patch", "input": arguments, "tool_response": {}, **fields}
    return decide(guard, "after_tool", agent=agent, **fields)


def pass_tests(session):
    response = {"stdout": "1 passed", "stderr": "", "exit_code": 0}
    fields = {"tool": "shell", "input": {"command": "pytest -q"}, "tool_response": response}
    decide("tests_first", "after_tool", session_id=session, **fields)


def test_a_turn_ends_only_when_tests_passed_since_the_last_edit():
    edited("s")
    before = turn_ends("s")
    pass_tests("s")
    after = turn_ends("s")
    edited("s")

    assert (before, after, turn_ends("s")) == ("deny", "none", "deny")


@pytest.mark.parametrize("agent", PATCHING)
def test_an_edit_by_patch_needs_tests_too(agent):
    before = turn_ends("s")
    patched("tests_first", agent, session_id="s")

    assert (before, turn_ends("s")) == ("none", "deny")


def test_an_edit_in_a_call_that_failed_needs_tests_too():
    fields = {"tool": "shell", "input": {"command": "sed -i s/a/b/ a.py && pytest"}}
    pass_tests("s")
    decide("tests_first", "post_tool_use_failure", error="Exit code 1", session_id="s", **fields)

    assert turn_ends("s") == "deny"


def test_a_turn_is_continued_three_times_at_most():
    edited("s")

    outcomes = [turn_ends("s", again=number > 0) for number in range(5)]

    assert outcomes == ["deny", "deny", "deny", "none", "none"]


def test_a_turn_without_code_ends_as_always():
    edited("s", "README.md")

    assert turn_ends("s") == "none"


def change_of_guards(project):
    run = decide("own_hooks", "session_start", source="startup", cwd=str(project))
    return run.stdout


def test_a_change_of_guards_that_no_hook_saw_is_reported_to_the_user(project):
    settings = project / ".claude" / "settings.json"
    settings.parent.mkdir()
    settings.write_text("{}")
    first = change_of_guards(project)
    unchanged = change_of_guards(project)
    settings.write_text('{"disableAllHooks": true}')
    changed = change_of_guards(project)

    assert "changed" not in first + unchanged
    assert str(settings) in json.loads(changed)["systemMessage"]
    assert "changed" not in change_of_guards(project)


@pytest.mark.skipif(shutil.which("ruff") is None, reason="ruff is not on the PATH")
def test_a_file_is_formatted_and_the_agent_reads_so(project):
    file = project / "a.py"
    file.write_text("x  =  1\n")
    fields = {"tool": "write_file", "input": {"file_path": str(file), "content": "x  =  1\n"}}
    run = decide("format", "after_tool", cwd=str(project), tool_response={}, **fields)

    assert file.read_text() == "x = 1\n"
    assert "read it again" in run.stdout


@pytest.mark.parametrize("agent", PATCHING)
@pytest.mark.skipif(shutil.which("ruff") is None, reason="ruff is not on the PATH")
def test_each_file_of_a_patch_is_formatted(project, agent):
    file = project / "a.py"
    file.write_text("x  =  1\n")
    run = patched("format", agent, cwd=str(project))

    assert file.read_text() == "x = 1\n"
    assert "formatted a.py" in run.stdout
