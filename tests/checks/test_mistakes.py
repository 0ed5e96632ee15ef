"""`anyhook check` finds the mistakes that authors of hooks make, without running anything."""

from __future__ import annotations

import json
import os
import shlex

import pytest

from anyhook.cli import main


@pytest.fixture
def check(project, capsys):
    """Check the project; return the exit code and the diagnostics by code."""

    def run(*options):
        code = main(["check", "--project", str(project), "--json", *options])
        report = json.loads(capsys.readouterr().out)
        return code, {item["code"]: item for item in report["diagnostics"]}

    return run


def write_settings(project, value, agent="claude"):
    file = project / f".{agent}" / "settings.json"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(value if isinstance(value, str) else json.dumps(value, indent=2))
    return file


def hooks(command, event="PreToolUse", matcher="Bash", **more):
    handler = {"type": "command", "command": command, **more}
    return {"hooks": {event: [{"matcher": matcher, "hooks": [handler]}]}}


def script(project, name, text, *, mode=0o755):
    file = project / ".claude" / "hooks" / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    file.chmod(mode)
    return file


@pytest.mark.parametrize(
    ("command", "is_reported"),
    [
        ('"$CLAUDE_PROJECT_DIR"/tools/guard.sh', True),
        ('python3 "${CLAUDE_PROJECT_DIR}/guard.py" --strict', True),
        ("./guard.sh", True),
        ('anyhook run "${CLAUDE_PROJECT_DIR}/.anyhook/guard.py"', True),
        ("~/guard.sh", False),
        ('~/guard.sh "$CLAUDE_PROJECT_DIR/a.sh"', False),
        ("{project}/guard.sh", False),
        ('cat "$CLAUDE_PROJECT_DIR/notes.py"', False),
    ],
)
def test_a_hook_of_the_user_that_starts_a_script_of_the_project(
    check, home, project, command, is_reported
):
    value = hooks(command.replace("{project}", str(project)))
    write_settings(home, value)
    assert ("project-script" in check()[1]) is is_reported

    write_settings(home, {})
    write_settings(project, value)
    assert "project-script" not in check()[1]


SETTINGS = [
    pytest.param(
        {"PreToolUse": [{"hooks": []}], "hooks": {}},
        "misplaced-hooks",
        "move it into 'hooks'",
        id="an event beside hooks",
    ),
    pytest.param(
        {"hook": {"PreToolUse": []}},
        "misplaced-hooks",
        "did you mean 'hooks'?",
        id="hooks under a wrong name",
    ),
    pytest.param(
        {"hooks": {"pretooluse": []}},
        "unknown-event",
        "did you mean 'PreToolUse'?",
        id="an event in the wrong case",
    ),
    pytest.param(
        {"hooks": {"Stop": [{"hooks": []}]}}, "no-handlers", "empty", id="an empty list of hooks"
    ),
    pytest.param(
        hooks("true", timeout=5000), "timeout-unit", "was 5 meant?", id="a timeout in milliseconds"
    ),
    pytest.param(
        hooks("true", matcher="mcp__github"),
        "dead-matcher",
        "mcp__github__.*",
        id="a matcher with a server and no tool",
    ),
    pytest.param(
        hooks("true", matcher="Shell"),
        "dead-matcher",
        "did you mean 'Bash'?",
        id="a matcher with the tool of another agent, whose name is similar to another tool's",
    ),
    pytest.param(
        hooks("true", matcher="Bash(git *)"),
        "dead-matcher",
        '"if": "Bash(git *)"',
        id="a permission rule as matcher",
    ),
    pytest.param(
        hooks('lint "$CLAUDE_FILE_PATHS"'),
        "unknown-variable",
        "CLAUDE_FILE_PATHS",
        id="a variable that the agent does not set",
    ),
    pytest.param(
        hooks('"${CLAUDE_PROJECT}"/x'),
        "unknown-variable",
        "did you mean CLAUDE_PROJECT_DIR?",
        id="a variable with a wrong name",
    ),
    pytest.param(
        hooks('"$CURSOR_PROJECT_DIR"/hooks/guard.sh'),
        "missing-script",
        "/hooks/guard.sh does not exist",
        id="the variable of another agent in front of a script",
    ),
    pytest.param(
        hooks('echo "$CURSOR_PROJECT_DIR"'),
        "unknown-variable",
        "Claude Code sets no variable CURSOR_PROJECT_DIR",
        id="the variable of another agent",
    ),
    pytest.param(hooks("echo 'no"), "command-syntax", "nterminated", id="an unclosed quote"),
    *[
        pytest.param(hooks(line), "command-syntax", "yntax", id=line)
        for line in ("if true; then ls", "ls ||", "ls | | ls", ")(", "while ls", "$(ls")
    ],
    pytest.param(
        hooks("grep -q rm || exit 1"), "exit-code", "exit code 2 blocks", id="exit 1 to deny"
    ),
    pytest.param(
        hooks("""echo checking; echo '{"decision": "block", "reason": "r"}'"""),
        "text-before-json",
        "standard error",
        id="text before JSON",
    ),
    pytest.param(
        hooks("""echo '{"decision": "block"}' >&2"""),
        "reply-on-stderr",
        "standard output",
        id="a reply on standard error",
    ),
    pytest.param(
        hooks("""echo '{"permissionDecision": "deny"}'"""),
        "reply-place",
        "only inside 'hookSpecificOutput'",
        id="a member outside its object",
    ),
    pytest.param(
        hooks("exit 2", event="Stop"),
        "endless-stop",
        "stop_hook_active",
        id="a stop hook that never lets go",
    ),
    pytest.param(
        hooks("exit 2", **{"async": True}),
        "background-guard",
        "has no effect",
        id="a guard in the background",
    ),
    pytest.param(
        hooks("""echo '{"decision": "block", "reason": "r"}'""", **{"async": True}),
        "background-guard",
        'remove "async"',
        id="a guard in the background that prints its denial",
    ),
    pytest.param(
        {"disableAllHooks": True, **hooks("true")},
        "hooks-off",
        "switches off",
        id="everything is switched off",
    ),
]


@pytest.mark.parametrize(("settings", "code", "words"), SETTINGS)
def test_a_mistake_in_the_settings_is_found(project, check, settings, code, words):
    write_settings(project, settings)

    diagnostic = check()[1][code]

    assert words in diagnostic["message"]
    assert diagnostic["agent"] == "claude"


def test_settings_without_mistakes_have_no_findings_but_trust(project, check):
    good = script(project, "guard.py", GOOD_PYTHON)
    write_settings(project, hooks(f'python3 "$CLAUDE_PROJECT_DIR"/.claude/hooks/{good.name}'))

    code, diagnostics = check()

    assert code == 0
    assert set(diagnostics) == {"project-untrusted"}


@pytest.mark.parametrize(
    "command",
    [
        'CURSOR_PROJECT_DIR=.; sh "$CURSOR_PROJECT_DIR"/guard.sh',
        'sh "${CURSOR_PROJECT_DIR:-.}"/guard.sh',
        """sh -c 'sh "$DIRECTORY"/guard.sh'""",
    ],
)
def test_a_script_that_only_the_shell_can_find_is_not_missing(project, check, command):
    (project / "guard.sh").write_text("exit 0")
    write_settings(project, hooks(command))

    diagnostics = check()[1]

    assert not {"unknown-variable", "missing-script"} & diagnostics.keys(), diagnostics


GOOD_PYTHON = """\
import json, sys
event = json.load(sys.stdin)
if event.get("stop_hook_active"):
    sys.exit(0)
if event["tool_input"].get("timeout"):
    print("checked", file=sys.stderr)
    print(json.dumps({"hookSpecificOutput": {
        "hookEventName": "PreToolUse", "permissionDecision": "deny"}}))
"""

SCRIPTS = [
    pytest.param(
        "guard.py",
        "import sys\nprint('checked', file=sys.stderr)\nsys.exit(1)\n",
        "exit-code",
        3,
        id="Python exits with 1",
    ),
    pytest.param(
        "guard.py",
        "import json\nprint('start')\nprint(json.dumps({'decision': 'block'}))\n",
        "text-before-json",
        2,
        id="Python prints text first",
    ),
    pytest.param(
        "guard.py",
        "import json, sys\nprint(json.dumps({'decision': 'block'}), file=sys.stderr)\n",
        "reply-on-stderr",
        2,
        id="Python replies on standard error",
    ),
    pytest.param(
        "guard.sh",
        "#!/bin/sh\n# exit 2\necho start\njq -n '{decision: \"block\"}'\n",
        "text-before-json",
        3,
        id="a shell script prints text first",
    ),
    pytest.param(
        "guard.sh", "#!/bin/sh\necho no >&2\nexit 1\n", "exit-code", 3, id="a shell script exits 1"
    ),
    pytest.param(
        "guard.mjs",
        "console.error('no');\nprocess.exit(1);\n",
        "exit-code",
        2,
        id="JavaScript exits with 1",
    ),
    pytest.param(
        "guard.mjs",
        "console.log('start');\nconsole.log(JSON.stringify({decision: 'block'}));\n",
        "text-before-json",
        1,
        id="JavaScript prints text first",
    ),
]


@pytest.mark.parametrize(("name", "text", "code", "line"), SCRIPTS)
def test_a_mistake_in_a_script_is_found_at_its_line(project, check, name, text, code, line):
    file = script(project, name, text)
    write_settings(project, hooks(f'interpreter "$CLAUDE_PROJECT_DIR"/.claude/hooks/{name}'))

    diagnostic = check()[1][code]

    assert (diagnostic["file"], diagnostic["line"]) == (str(file), line)


def test_scripts_are_read_and_not_run(project, check):
    mark = project / "ran"
    script(project, "guard.py", f"open({str(mark)!r}, 'w')\nimport sys\nsys.exit(1)\n")
    write_settings(project, hooks("python3 .claude/hooks/guard.py"))

    check()

    assert not mark.exists()


@pytest.fixture(params=["project", "a project"])
def spaced(request, tmp_path):
    directory = tmp_path / "in" / request.param
    directory.mkdir(parents=True)
    return directory


def test_a_script_without_permission_is_found_also_below_a_blank(spaced, capsys):
    script(spaced, "guard.sh", "#!/bin/sh\nexit 0\n", mode=0o644)
    write_settings(spaced, hooks('"$CLAUDE_PROJECT_DIR"/.claude/hooks/guard.sh'))

    code = main(["check", "--project", str(spaced), "--json"])

    codes = [item["code"] for item in json.loads(capsys.readouterr().out)["diagnostics"]]
    assert code == 1
    assert "not-executable" in codes


def test_a_program_without_a_first_line_is_found(project, check):
    script(project, "guard.py", "import sys\n")
    write_settings(project, hooks('"$CLAUDE_PROJECT_DIR"/.claude/hooks/guard.py'))

    code, diagnostics = check()

    assert code == 1
    assert diagnostics["no-shebang"]["line"] == 1


def test_two_hooks_of_one_name_are_found(project, check):
    one = {"type": "command", "command": "true", "name": "guard"}
    two = {"type": "command", "command": "false", "name": "guard"}
    write_settings(project, {"hooks": {"BeforeTool": [{"hooks": [one, two]}]}}, agent="gemini")

    assert "another hook" in check()[1]["same-name"]["message"]


def test_a_hook_file_that_names_no_tool_is_found(project, check):
    text = (
        "from anyhook.authoring import Hooks\nhooks = Hooks()\n\n\n"
        '@hooks.before_tool("Shell", "writefile")\ndef guard(event):\n    pass\n'
    )
    file = script(project, "guard.py", text)
    write_settings(project, hooks("anyhook run .claude/hooks/guard.py"))

    diagnostic = check()[1]["unknown-subject"]

    assert (diagnostic["file"], diagnostic["line"]) == (str(file), 6)


@pytest.mark.slow
def test_a_guard_in_a_hook_file_that_runs_in_the_background_is_found(project, check):
    text = (
        "from anyhook.authoring import Hooks, deny\nhooks = Hooks()\n\n\n"
        "@hooks.before_tool('shell')\ndef guard(event):\n    return deny('no')\n\n\n"
        "hooks.run()\n"
    )
    file = script(project, "guard.py", text)
    command = f"python3 {file}"
    write_settings(project, hooks(command, **{"async": True}))

    diagnostic = check()[1]["background-guard"]

    assert "has no effect" in diagnostic["message"]
    write_settings(project, hooks(command, asyncRewake=True))
    assert "background-guard" not in check()[1]
    write_settings(project, hooks(command))
    assert "background-guard" not in check()[1]


@pytest.mark.parametrize(
    ("command", "severity", "words"),
    [
        ("anyhook run {file} --agent gemini", "error", "Gemini CLI does not have"),
        ("python3 {file} --agent=terminai --shadow", "error", "TerminaI does not have"),
        ("anyhook run {file} --agent gemnii", "error", "there is no agent 'gemnii'"),
        ("anyhook run {file} --agent qwen", "error", "as for Qwen Code"),
        ("anyhook run {file} --agent claude", None, ""),
        ("anyhook run {file}", None, ""),
        ('python3 {file} --agent "$AGENT"', None, ""),
        ("anyhook shim --as gemini -- 'python3 {file} --agent gemini'", None, ""),
    ],
)
def test_a_hook_file_that_is_started_for_another_agent_is_found(
    project, check, command, severity, words
):
    text = (
        "from anyhook.authoring import Hooks, deny\nhooks = Hooks()\n\n\n"
        "@hooks.before_tool('shell')\ndef guard(event):\n    return deny('no')\n\n\n"
        "hooks.run()\n"
    )
    file = script(project, "guard.py", text)
    settings = write_settings(project, hooks(command.format(file=file)))

    diagnostic = check()[1].get("wrong-agent")

    if severity is None:
        assert diagnostic is None
        return
    assert diagnostic["severity"] == severity
    assert words in diagnostic["message"]
    assert "write --agent claude, or leave the option out" in diagnostic["message"]
    assert (diagnostic["file"], diagnostic["line"]) == (str(settings), 7)


def test_strict_fails_on_warnings(project, check):
    write_settings(project, hooks("true", timeout=5000))

    assert check()[0] == 0
    assert check("--strict")[0] == 1


def test_github_annotations_are_one_line_each(project, capsys):
    file = write_settings(project, hooks("echo 'no", timeout=5000))

    code = main(["check", "--project", str(project), "--format", "github"])

    lines = capsys.readouterr().out.splitlines()
    assert code == 1
    assert lines[0].startswith(f"::error title=command-syntax,file={file},line=")
    assert all(line.startswith(("::error ", "::warning ", "::notice ")) for line in lines)


@pytest.mark.parametrize("form", ["github", "sarif"])
def test_a_check_that_fails_without_a_diagnostic_says_why(project, capsys, form):
    write_settings(project, hooks("true"))
    main(["trust", "--project", str(project), "--yes"])
    capsys.readouterr()

    code = main(["check", "--project", str(project), "--strict", "--format", form])

    assert code == 1
    assert "unknown  true" in capsys.readouterr().err


def test_sarif_names_rules_and_places(project, capsys):
    write_settings(project, hooks("echo 'no"))

    main(["check", "--project", str(project), "--format", "sarif"])

    log = json.loads(capsys.readouterr().out)
    (run,) = log["runs"]
    result = next(r for r in run["results"] if r["ruleId"] == "command-syntax")
    location = result["locations"][0]["physicalLocation"]
    assert log["version"] == "2.1.0"
    assert run["tool"]["driver"]["rules"][result["ruleIndex"]]["id"] == "command-syntax"
    assert location["artifactLocation"]["uri"] == ".claude/settings.json"
    assert location["region"]["startLine"] == 7
    assert result["level"] == "error"


def test_a_hook_file_that_never_runs_is_found(project, check):
    text = (
        "from anyhook.authoring import Hooks\nhooks = Hooks()\n\n\n"
        "@hooks.before_tool\ndef guard(event):\n    pass\n"
    )
    file = script(project, "guard.py", text)
    write_settings(project, hooks("anyhook run .claude/hooks/guard.py"))

    code, diagnostics = check()

    assert code == 1
    assert diagnostics["never-runs"]["file"] == str(file)


@pytest.mark.parametrize(
    ("agent", "file", "tool"),
    [("codex", "hooks.json", "Bash"), ("qwen", "settings.json", "run_shell_command")],
)
def test_a_dead_matcher_of_words_is_found_before_its_hook_is_trusted(
    project, check, agent, file, tool
):
    path = project / f".{agent}" / file
    path.parent.mkdir()
    path.write_text(json.dumps(hooks("true", matcher="bash")))

    _, problems = check("--agent", agent)

    assert "project-untrusted" in problems
    assert f"bash is {tool!r} here" in problems["dead-matcher"]["message"]


@pytest.mark.parametrize(
    ("subject", "matcher", "words"),
    [
        ("bash", "Bash", "bash, which Claude Code does not have; write 'shell' in the file"),
        ("shell", "Write", "which the matcher 'Write' does not match; name one in"),
        ("Bash", "Write", "Bash, which the matcher 'Write' does not match; name one in"),
    ],
)
def test_a_function_for_a_tool_that_does_not_reach_it_is_found(
    project, check, subject, matcher, words
):
    script(project, "guard.py", ONE_FUNCTION.format(more="").replace("shell", subject))
    write_settings(project, hooks("python3 .claude/hooks/guard.py", matcher=matcher))

    assert words in check()[1]["dead-matcher"]["message"]


ONE_FUNCTION = """\
from anyhook.authoring import Hooks, deny
hooks = Hooks()
@hooks.before_tool("shell")
def guard(event):
    return deny("no")
{more}
if __name__ == "__main__":
    hooks.run()
"""


def test_an_entry_for_which_a_hook_file_has_no_function_is_found(project, check):
    script(project, "guard.py", ONE_FUNCTION.format(more=""))
    write_settings(project, hooks("python3 .claude/hooks/guard.py", event="PostToolUse"))

    code, diagnostics = check()

    assert code == 1
    assert "no function for after_tool" in diagnostics["never-runs"]["message"]
    assert "it has functions for before_tool" in diagnostics["never-runs"]["message"]


def test_a_hook_file_without_a_function_is_found(project, check):
    """The decorator was forgotten."""
    text = ONE_FUNCTION.format(more="").replace('@hooks.before_tool("shell")\n', "")
    script(project, "guard.py", text)
    write_settings(project, hooks("python3 .claude/hooks/guard.py"))

    code, diagnostics = check()

    assert code == 1
    assert "write @hooks.before_tool above one" in diagnostics["never-runs"]["message"]


@pytest.mark.parametrize(
    "more",
    [
        "hooks.after_tool(guard)",
        "for name in ('after_tool',):\n    hooks.on(name)(guard)",
        "@hooks.on(EVENT)\ndef later(event):\n    pass",
        "other.add_functions(hooks)",
        "from elsewhere import hooks",
    ],
)
def test_functions_that_are_not_written_out_may_be_for_any_event(project, check, more):
    text = ONE_FUNCTION.format(more=more)
    if "elsewhere" in more:
        text = text.replace("hooks = Hooks()", more).replace(f"\n{more}\nif", "\nif")
    script(project, "guard.py", text)
    write_settings(project, hooks("python3 .claude/hooks/guard.py", event="PostToolUse"))

    assert "never-runs" not in check()[1]


def test_a_check_of_nothing_is_no_success_when_it_is_strict(project, check):
    code, diagnostics = check("--strict")

    assert code == 1
    assert "nothing was checked" in diagnostics["no-hooks"]["message"]


def test_settings_whose_only_hook_is_a_mistake_were_checked(project, check):
    write_settings(project, hooks("true", event="PreToolUze"))

    code, diagnostics = check()

    assert code == 1
    assert "did you mean 'PreToolUse'?" in diagnostics["unknown-event"]["message"]
    assert diagnostics["no-hooks"]["message"].startswith("the settings here have no hook that runs")


def test_hooks_that_are_all_off_are_configured(project, check, capsys):
    write_settings(project, hooks("true"))
    assert main(["disable", "true", "--project", str(project), "--agent", "claude"]) == 0
    capsys.readouterr()

    _, diagnostics = check()

    assert "no-hooks" not in diagnostics
    assert "disabled" in diagnostics["hooks-off"]["message"]


@pytest.mark.parametrize(
    ("command", "code"),
    [
        ("timeout 5 no-such-program", "missing-program"),
        ("timeout --preserve-status 5 no-such-program", "missing-program"),
        ("env LEVEL=1 nice -n 5 no-such-program", "missing-program"),
        ("nice -n 5 .claude/hooks/guard.sh", "not-executable"),
        ('timeout 5 "$CLAUDE_PROJECT_DIR"/.claude/hooks/guard.sh', "not-executable"),
    ],
)
def test_a_program_that_cannot_start_behind_others_is_found(project, check, command, code):
    script(project, "guard.sh", "#!/bin/sh\nexit 0\n", mode=0o644)
    write_settings(project, hooks(command))

    exit_code, problems = check()

    assert exit_code == 1
    assert code in problems


@pytest.mark.parametrize(
    ("command", "problem"),
    [
        ("/no/bin/anyhook run .claude/hooks/guard.py", "/no/bin/anyhook does not exist"),
        ("anyhook run --python /no/python .claude/hooks/guard.py", "/no/python does not exist"),
        (".venv/bin/python .claude/hooks/guard.py", ".venv/bin/python does not exist"),
    ],
)
def test_a_program_that_a_path_names_and_that_is_missing_is_reported(
    project, check, command, problem
):
    script(project, "guard.py", "pass\n")
    write_settings(project, hooks(command))

    exit_code, problems = check()

    assert exit_code == 1
    assert problem in problems["missing-program"]["message"]


@pytest.mark.parametrize(
    ("condition", "instead"),
    [
        ("Bsh(git *)", "Bash(git *)"),
        ("run_shell_command", "Bash"),
        ("Writ(src/**)", "Write(src/**)"),
    ],
)
def test_a_condition_on_a_tool_that_the_agent_lacks_is_reported(project, check, condition, instead):
    write_settings(project, hooks("true", **{"if": condition}))

    exit_code, problems = check()

    assert exit_code == 1, "the hook is broken"
    assert f"write {instead!r}" in problems["dead-matcher"]["message"]


@pytest.mark.parametrize("condition", ["Edit(src/**)", "Task", "Agent", "mcp__db", "lookup_order"])
def test_a_condition_that_a_call_may_meet_is_not_reported(project, check, condition):
    write_settings(project, hooks("true", **{"if": condition}))

    assert "dead-matcher" not in check()[1]


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("#!/no/bin/bash\n", "is run by '/no/bin/bash', which does not exist"),
        ("#!/usr/bin/env no-such-shell\n", "is run by 'no-such-shell', which is not on the PATH"),
        ("#!/bin/sh\r\n", "has the line ends of Windows"),
        ("#!/usr/bin/env bash\r\n", "has the line ends of Windows"),
    ],
)
def test_a_script_without_its_interpreter_is_reported(project, check, line, problem):
    script(project, "guard.sh", f"{line}exit 2\n")
    write_settings(project, hooks(".claude/hooks/guard.sh"))

    exit_code, problems = check()

    assert exit_code == 1
    assert problem in problems["missing-program"]["message"]


@pytest.mark.parametrize(
    "line",
    [
        "#!/bin/sh\n",
        "#! /bin/sh -e\n",
        "#!/usr/bin/env -S sh -e\n",
        "#!/usr/bin/env\tsh\n",
        "#!/usr/bin/env sh \n",
        "#!\n",
        "",
    ],
)
def test_a_script_with_its_interpreter_is_not_reported(project, check, line):
    script(project, "guard.sh", f"{line}exit 2\n")
    write_settings(project, hooks(".claude/hooks/guard.sh"))

    assert "missing-program" not in check()[1]


@pytest.mark.parametrize(
    "command",
    [
        "env PATH=/opt/bin no-such-program",
        "env true",
        "timeout 5 sh -c true",
        "guard() { true; }; guard",
    ],
)
def test_a_program_that_may_start_is_not_reported(project, check, command):
    write_settings(project, hooks(command))

    assert "missing-program" not in check()[1]


@pytest.mark.parametrize("directory", ["$(pwd)", "`pwd`", '"$(pwd)"', "$PWD"])
def test_a_script_in_the_directory_of_the_shell_is_not_missing(project, check, directory):
    script(project, "guard.sh", "#!/bin/sh\nexit 0\n")
    write_settings(project, hooks(f"{directory}/.claude/hooks/guard.sh"))

    assert "missing-script" not in check()[1]


@pytest.mark.parametrize(
    "name", ["it's.sh", "a`b.sh", "a$b.sh", "R&D/guard.sh", "a,b.sh", "a=b.sh"]
)
def test_a_part_of_the_name_of_a_script_is_no_script(project, check, name):
    path = script(project, name, "#!/bin/sh\nexit 0\n")
    write_settings(project, hooks(f"sh {shlex.quote(str(path))}"))

    assert "missing-script" not in check()[1]
    path.unlink()
    assert "missing-script" in check()[1]


def test_a_bare_program_that_is_missing_is_reported_once(project, check):
    write_settings(project, hooks("x.py"))

    _, problems = check()

    assert "missing-program" in problems
    assert "missing-script" not in problems


def test_a_shell_of_another_kind_is_not_asked_about_the_syntax(
    project, check, tmp_path, monkeypatch
):
    shell = tmp_path / "bin" / "pwsh"
    shell.parent.mkdir()
    shell.write_text(f"#!/bin/sh\ntouch {tmp_path}/started\n")
    shell.chmod(0o755)
    monkeypatch.setenv("PATH", f"{shell.parent}{os.pathsep}{os.environ['PATH']}")
    handler = {"type": "command", "command": "Get-Item x | Remove-Item", "shell": "powershell"}
    write_settings(project, {"hooks": {"PreToolUse": [{"hooks": [handler]}]}})

    check()

    assert not (tmp_path / "started").exists()
