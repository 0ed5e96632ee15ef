"""Files of cases: what hooks in any language must answer, tried as an agent would run them."""

from __future__ import annotations

import json
import sys
import tomllib

import pytest

from anyhook.manage.hooks import SAMPLE_INPUTS
from anyhook.model.tools import TOOLS

GUARD = """#!/bin/sh
if grep -q AKIA; then
  echo "that looks like an AWS key" >&2
  exit 2
fi
"""
CASES = """
[[case]]
name = "secrets stay out of files"
event = "before_tool"
tool = "write_file"
input = { file_path = "a.txt", content = "AKIA1234" }
expect = "deny"
says = "AWS key"

[[case]]
name = "other texts are fine"
event = "BeforeTool"
tool = "write_file"
input = { file_path = "a.txt", content = "hello" }
expect = "none"
"""


def hooks(world, agent="gemini", event="BeforeTool", matcher="*", script=GUARD):
    """Configure a shell script of the project as a hook of an agent."""
    path = world.write(world.project / "hooks" / "guard.sh", script)
    definition = {"matcher": matcher, "hooks": [{"type": "command", "command": str(path)}]}
    settings = world.project / f".{agent}" / "settings.json"
    world.write(settings, json.dumps({"hooks": {event: [definition]}}, indent=2))
    return settings


@pytest.fixture
def write(world):
    def write(text, name="cases.toml"):
        return str(world.write(world.project / name, text))

    return write


@pytest.mark.slow
def test_hooks_in_any_language_are_tried_as_processes(world, run, write):
    hooks(world)

    code, out, _ = run("test", write(CASES), "--trust-once")
    rows = out.splitlines()

    assert code == 0
    assert rows[0].split() == ["case", "agent", "expected", "got", "decided", "by"]
    assert rows[1].split()[:7] == ["✓", "secrets", "stay", "out", "of", "files", "gemini"]
    assert "deny" in rows[1]
    assert "(settings.json:" in rows[1]
    assert rows[2].split()[-3:] == ["gemini", "none", "none"]


@pytest.mark.slow
def test_a_case_is_tried_for_every_agent_that_has_hooks_here(world, run, write):
    hooks(world)
    hooks(world, "claude", "PreToolUse")

    code, out, _ = run("test", write(CASES), "--trust-once", "--json")
    results = json.loads(out)["results"]

    assert code == 0
    assert [(r["case"], r["agent"], r["status"]) for r in results] == [
        ("secrets stay out of files", "gemini", "ok"),
        ("secrets stay out of files", "claude", "ok"),
        ("other texts are fine", "gemini", "ok"),
        ("other texts are fine", "claude", "ok"),
    ]
    _, out, _ = run("test", write(CASES), "--trust-once", "--json", "--agent", "claude")
    assert {r["agent"] for r in json.loads(out)["results"]} == {"claude"}


@pytest.mark.slow
def test_a_wrong_answer_fails_with_the_line_of_its_case(world, run, write):
    hooks(world)
    path = write(CASES.replace('"none"', '"deny"').replace('"AWS key"', '"GitHub key"'))

    code, out, _ = run("test", path, "--trust-once")

    assert code == 1
    assert f"✗ gemini  {path}:2: no text of the answer holds 'GitHub key'" in out
    assert f"✗ gemini  {path}:10: expected deny, got none" in out


@pytest.mark.slow
def test_cases_are_not_decided_if_hooks_are_not_trusted(world, run, write):
    hooks(world)
    path = write(CASES)

    code, out, _ = run("test", path)
    _, text, _ = run("test", path, "--json")

    assert code == 4
    assert "project-untrusted" in out
    assert "1 hook was not run because it is not trusted here" in out
    assert json.loads(text)["untrusted"]
    assert {result["status"] for result in json.loads(text)["results"]} == {"unknown"}
    run("trust", "--yes")
    assert run("test", path)[0] == 0


@pytest.mark.slow
@pytest.mark.parametrize(
    ("script", "problem"),
    [
        ("#!/bin/sh\nexec /nonexistent/program\n", "could not be run"),
        ("#!/nonexistent\n", "could not be run"),
        ("#!/bin/sh\nsh -c 'kill -9 $$'\nexit $?\n", "was ended by a signal"),
    ],
)
def test_a_hook_that_fails_is_no_pass(world, run, write, script, problem):
    hooks(world, "claude", "PreToolUse", script=script)
    only = CASES.partition('[[case]]\nname = "other')[2]

    code, out, _ = run("test", write('[[case]]\nname = "other' + only), "--trust-once")

    assert code == 1
    assert "✗ claude" in out
    assert problem in out


@pytest.mark.slow
def test_a_warning_is_shown_and_is_no_failure(world, run, write):
    hooks(world, "claude", "PreToolUse", script="#!/bin/sh\necho careful >&2\nexit 1\n")

    code, out, _ = run(
        "test", write(CASES.replace('"deny"\nsays = "AWS key"', '"none"')), "--trust-once"
    )

    assert code == 0
    assert "only warned" in out


@pytest.mark.slow
def test_a_whole_payload_is_recognized_by_itself(world, run, write):
    hooks(world, "claude", "PreToolUse")
    path = write(
        """
        [[case]]
        expect = "deny"
        [case.payload]
        session_id = "s"
        transcript_path = "/home/me/.claude/projects/p/t.jsonl"
        hook_event_name = "PreToolUse"
        permission_mode = "default"
        tool_use_id = "toolu_1"
        tool_name = "Write"
        tool_input = { file_path = "a", content = "AKIA" }
        """
    )

    code, out, _ = run("test", path, "--trust-once")

    assert code == 0, out
    assert "case 1" in out


@pytest.mark.slow
def test_fields_of_other_events_are_the_input(world, run, write):
    hooks(world, "claude", "UserPromptSubmit")
    path = write('[[case]]\nevent = "before_prompt"\ninput = {prompt = "AKIA"}\nexpect = "deny"\n')

    assert run("test", path, "--trust-once")[0] == 0


@pytest.mark.slow
def test_what_an_agent_does_not_have_is_left_out_and_a_case_that_ran_nowhere_fails(
    world, run, write
):
    hooks(world, "claude", "PreToolUse")
    text = '[[case]]\nname = "model"\nevent = "before_model"\nexpect = "none"\n'

    code, out, _ = run("test", write(text), "--trust-once")

    assert code == 1
    assert "no event before_model" in out
    assert "model ran for no agent" in out


YAML = """
case:
  - name: secrets stay out of files
    event: before_tool
    tool: write_file
    input: {file_path: a.txt, content: AKIA1234}
    expect: deny
  - event: before_tool
    tool: shell
    expect: denied
"""


@pytest.mark.slow
@pytest.mark.parametrize("name", ["cases.yaml", "cases.yml"])
def test_a_file_may_be_yaml(world, run, write, name):
    hooks(world)

    assert run("test", write(YAML.partition("  - event")[0], name), "--trust-once")[0] == 0
    code, _, err = run("test", write(YAML, name), "--trust-once")
    assert code == 64
    assert f"{name}:10: expect = 'denied': one of none, allow, deny" in err


def test_a_yaml_file_without_cases_is_refused_with_what_to_write(world, run, write):
    path = write("- event: before_tool\n", "cases.yaml")

    code, _, err = run("test", path)

    assert code == 64
    assert "there are no cases; write case: [{event: before_tool, tool: shell, " in err


def test_a_directory_is_not_a_file_to_test(world, run):
    code, _, err = run("test", str(world.project))

    assert code == 64
    assert f"{world.project} is not a file" in err


def test_yaml_without_its_library_is_explained(world, run, write, monkeypatch):
    monkeypatch.setitem(sys.modules, "yaml", None)

    code, _, err = run("test", write(YAML, "cases.yaml"))

    assert code == 64
    assert "the extra anyhook[yaml]" in " ".join(err.split())
    assert "pyyaml>=" in err


ONE = '[[case]]\nevent = "before_tool"\ntool = "shell"\nexpect = "deny"\n'


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("", 1, "there are no cases; write [[case]]"),
        ("[[case]\n", 1, "this is not TOML"),
        ("[[cases]]\nexpect = 1\n", 1, "unknown member 'cases'; did you mean 'case'"),
        (ONE.replace('"deny"', '"dey"'), 4, "did you mean 'deny'"),
        (ONE.replace('"deny"', "3"), 4, 'expect must be a text, like "deny"'),
        (ONE.replace("expect", "expects"), 4, "unknown member 'expects'; did you mean 'expect'"),
        (ONE.replace("before_tool", "befor_tool"), 2, "did you mean 'before_tool'"),
        (ONE.replace('"shell"', '"shel"'), 3, "did you mean 'shell'"),
        (ONE.replace('tool = "shell"\n', ""), 2, "before_tool needs a tool"),
        (ONE + 'input = {comand = "ls"}\n', 5, "did you mean 'command'"),
        (ONE + 'agent = "cloude"\n', 5, "did you mean 'claude'"),
        (ONE + 'agents = ["cloude"]\n', 5, "did you mean 'claude'"),
        (ONE + "[case.payload]\na = 1\n", 1, "an event (with tool, input, fields) or a payload"),
        (ONE.partition("expect")[0], 1, 'the case has no expect; write expect = "deny"'),
        ('[[case]]\nexpect = "deny"\npayload = {a = 1}\n', 3, 'add agent = "claude"'),
        (
            ONE + '\n[[case]]\nevent = "session_end"\ntool = "shell"\nexpect = "none"\n',
            8,
            "no tool",
        ),
    ],
)
def test_a_malformed_file_is_refused_with_the_line_and_what_to_write(
    world, run, write, text, line, message
):
    hooks(world)
    path = write(text)

    code, _, err = run("test", path)

    assert code == 64
    assert f"{path}:{line}: " in err
    assert message in err


@pytest.mark.slow
def test_a_field_that_the_event_does_not_have_is_refused(world, run, write):
    hooks(world)
    path = write(ONE + "fields = { promt = 1 }\n")

    code, _, err = run("test", path, "--trust-once")

    assert code == 64
    assert f"{path}:1: before_tool has no field 'promt'" in err


@pytest.mark.parametrize("arguments", [["nothing.toml"], []])
def test_a_file_that_is_missing_is_a_usage_error(world, run, arguments):
    hooks(world)

    assert run("test", *arguments)[0] == 64


@pytest.mark.slow
def test_a_file_without_configured_hooks_is_a_usage_error(world, run, write):
    code, _, err = run("test", write(CASES))

    assert code == 64
    assert "anyhook list" in err


# -- a first file


@pytest.mark.slow
def test_a_first_file_expects_what_the_hooks_answer_now(world, run):
    always = "#!/bin/sh\necho no >&2\nexit 2\n"
    hooks(world, matcher="write_file|replace", script=always)

    code, out, _ = run("test", "--init", "--trust-once")
    path = world.project / "hook-cases.toml"
    (case,) = tomllib.loads(path.read_text())["case"]

    assert code == 0
    assert f"anyhook test {path}" in out
    assert (case["event"], case["tool"], case["expect"]) == ("before_tool", "write_file", "deny")
    assert case["input"] == SAMPLE_INPUTS["write_file"]
    assert run("test", str(path), "--trust-once")[0] == 0


@pytest.mark.slow
def test_a_first_file_of_hooks_that_are_not_trusted_runs_none_of_them(world, run):
    hooks(world, script="#!/bin/sh\ntouch ran\n")

    assert "anyhook test '" in run("test", "--init", "two words.toml")[1]
    code, _, _ = run("test", "--init", "cases.toml")
    text = (world.project / "cases.toml").read_text()

    assert code == 0
    assert '# expect = "deny"' in text
    assert not (world.project / "ran").exists()
    code, _, err = run("test", "cases.toml")
    assert code == 64
    assert "the case has no expect" in err


def test_a_first_file_overwrites_nothing(world, run, write):
    hooks(world)
    path = write("x = 1\n")

    code, _, err = run("test", "--init", path)

    assert code == 64
    assert "exists" in err
    assert run("test", "--init", "cases.yaml")[0] == 64


@pytest.mark.slow
@pytest.mark.parametrize(
    ("agent", "event", "matcher", "tool"),
    [
        ("claude", "PreToolUse", "Bash", "shell"),
        ("claude", "PreToolUse", "Edit|Write", "edit_file"),
        ("claude", "PreToolUse", "^(?:Edit|Write)$", "edit_file"),
        ("claude", "PreToolUse", "", "shell"),
        ("claude", "PreToolUse", "mcp__git__push", "mcp__git__push"),
        ("gemini", "AfterTool", "^run_shell_command$", "shell"),
        ("claude", "SessionStart", "resume", None),
        ("claude", "Stop", "", None),
        ("gemini", "BeforeModel", "", None),
    ],
)
def test_a_first_case_is_for_what_its_hook_is_for(world, run, agent, event, matcher, tool):
    script = """#!/bin/sh\necho '{"systemMessage": "seen"}'\n"""
    hooks(world, agent, event, matcher, script=script)

    run("test", "--init", "cases.toml", "--trust-once")
    (case,) = tomllib.loads((world.project / "cases.toml").read_text())["case"]

    assert case.get("tool") == tool
    assert case["expect"] == "message"  # the hook ran on it
    assert run("test", "cases.toml", "--trust-once")[0] == 0


def test_sample_inputs_are_arguments_of_their_tools():
    for tool, arguments in SAMPLE_INPUTS.items():
        assert set(arguments) <= set(TOOLS[tool])
