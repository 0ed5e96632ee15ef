"""What scripts print and how they end is read with its quotes, pipes, branches and functions."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from anyhook.checks.scripts import language_of
from anyhook.cli import main

CODES = {"text-before-json", "exit-code", "reply-on-stderr", "reply-place", "no-shebang"}
REPLY = """echo '{"hookSpecificOutput": {"permissionDecision": "deny"}}'\n"""


@pytest.fixture
def check(project, capsys):
    """Check a script as a hook; return the diagnostics about what it does."""

    def run(name, text, start="bash"):
        file = project / "hooks" / name
        file.parent.mkdir(exist_ok=True)
        file.write_text(text)
        file.chmod(0o755)
        command = f'{start} "$CLAUDE_PROJECT_DIR"/hooks/{name}'
        hooks = [{"type": "command", "command": command}]
        settings = project / ".claude" / "settings.json"
        settings.parent.mkdir(exist_ok=True)
        definition = {"matcher": "Bash", "hooks": hooks}
        settings.write_text(json.dumps({"hooks": {"PreToolUse": [definition]}}))
        main(["check", "--project", str(project), "--json"])
        report = json.loads(capsys.readouterr().out)
        problems = [item for item in report["diagnostics"] if item["code"] in CODES]
        return [(item["code"], item["line"]) for item in problems]

    return run


CORRECT = [
    pytest.param('if echo "a $X" | grep -q a; then\n' + REPLY + "fi\n", id="echo in a condition"),
    pytest.param("! printf 'a %s' \"$X\" | grep -qi a && exit 0\n" + REPLY, id="printf in a pipe"),
    pytest.param('Y="$(echo "a $X" | tr a b)"\n' + REPLY, id="echo in a substitution"),
    pytest.param("{ echo a; echo b; } >&2\n" + REPLY, id="a group to standard error"),
    pytest.param("for x in a b; do echo $x a; done | sort >out\n" + REPLY, id="a loop to a file"),
    pytest.param("exec 3>&1 >&2\necho a\necho '{\"decision\": 1}' >&3\n", id="exec redirects all"),
    pytest.param("log() { echo a; } >>log\nlog\n" + REPLY, id="a function to a file"),
    pytest.param("log() { echo a; }\nlog >&2\n", id="a function whose call is redirected"),
    pytest.param("usage() { echo a; exit 0; }\n[ $# = 9 ] && usage\n" + REPLY, id="it ends first"),
    pytest.param("case $X in\na) echo a ;;\n*) " + REPLY + ";;\nesac\n", id="another choice"),
    pytest.param('echo "$REPLY_OF_ANOTHER"\n' + REPLY, id="only the shell knows the text"),
    pytest.param("echo\n" + REPLY, id="a blank line"),
    pytest.param("echo a\necho '{\"path\": 1}' | cat\n", id="JSON that is not a reply"),
    pytest.param("python3 - <<'END'\nprint('a'); exit(1)\nEND\n", id="exit in a here-document"),
    pytest.param("trap 'exit 1' TERM\n[ \"$X\" != 'a && exit 1' ]\n", id="exit in quotes"),
    pytest.param("awk 'END { if (n < 5) exit 1 }' file\n", id="exit of another program"),
    pytest.param("( exit 1 )\n", id="exit of a subshell"),
    pytest.param("[ $X ] && exit 1\npython3 -c 'exit(2)'\n", id="another program exits with 2"),
    pytest.param('curl -d \'{"content": {"updatedInput": 1}}\' url\n', id="the body of a request"),
    pytest.param("echo '{\"additionalContext\": 1}' >>log\n", id="a reply in a log"),
    pytest.param('echo \'{"decision": "block"}\' >&2\nexit 2\n', id="exit 2 denies"),
]


@pytest.mark.parametrize("text", CORRECT)
def test_nothing_is_reported_about_a_correct_shell_script(check, text):
    assert check("guard.sh", text) == []


WRONG = [
    pytest.param("echo checking\n" + REPLY, ("text-before-json", 1), id="text first"),
    pytest.param("[ $X ] && echo a\n" + REPLY, ("text-before-json", 1), id="text on one way"),
    pytest.param("a() { " + REPLY + "}\necho b\na\n", ("text-before-json", 3), id="a function"),
    pytest.param('echo a\ncat <<END\n{"decision": 1}\nEND\n', ("text-before-json", 1), id="cat"),
    pytest.param("echo a\njq -n '{decision: 1}'\n", ("text-before-json", 1), id="jq"),
    pytest.param("cat | {\necho no >&2\n}\nexit 1\n", ("exit-code", 4), id="exit 1"),
    pytest.param("# exit 2 blocks\nexit 1\n", ("exit-code", 2), id="exit 2 in a comment"),
    pytest.param("echo '{\"decision\": 1}' 1>&2\n", ("reply-on-stderr", 1), id="standard error"),
    pytest.param("\nprintf '%s' '{\"updatedInput\": 1}'\n", ("reply-place", 2), id="its place"),
]


@pytest.mark.parametrize(("text", "problem"), WRONG)
def test_a_mistake_in_a_shell_script_is_reported(check, text, problem):
    assert check("guard.sh", text) == [problem]


PYTHON = "import json, sys\n"
PYTHON_REPLY = "print(json.dumps({'decision': 'block'}))\n"
CORRECT_PYTHON = [
    pytest.param("if sys.argv[1:]:\n    print('a')\nelse:\n    " + PYTHON_REPLY, id="a choice"),
    pytest.param("if sys.argv[1:]:\n    print('a')\n    sys.exit()\n" + PYTHON_REPLY, id="ends"),
    pytest.param("def show():\n    print('a')\n" + PYTHON_REPLY, id="not called"),
    pytest.param("with open('f') as log:\n    print('a', file=log)\n" + PYTHON_REPLY, id="a file"),
    pytest.param("print('a')\nprint(json.dumps({'count': 1}))\n", id="not a reply"),
    pytest.param("def ask(content: str, updatedInput: int): pass\n", id="annotations"),
]


@pytest.mark.parametrize("text", CORRECT_PYTHON)
def test_nothing_is_reported_about_a_correct_python_script(check, text):
    assert check("guard.py", PYTHON + text, "python3") == []


WRONG_PYTHON = [
    pytest.param("if sys.argv:\n    sys.exit('no')\n", ("exit-code", 3), id="exits with a text"),
    pytest.param("if sys.argv:\n    sys.exit(f'no {1}')\n", ("exit-code", 3), id="an f-string"),
    pytest.param(
        "def a():\n    " + PYTHON_REPLY + "print('b')\na()\n",
        ("text-before-json", 4),
        id="function",
    ),
    pytest.param(
        "out = {'updatedInput': {}}\nprint(json.dumps(out))\n", ("reply-place", 2), id="variable"
    ),
]


@pytest.mark.parametrize(("text", "problem"), WRONG_PYTHON)
def test_a_mistake_in_a_python_script_is_reported(check, text, problem):
    assert check("guard.py", PYTHON + text, "python3") == [problem]


JAVASCRIPT_REPLY = "console.log(JSON.stringify({ decision: 'block' }));\n"
CORRECT_JAVASCRIPT = [
    pytest.param("if (help) {\n  console.log('a');\n}\n" + JAVASCRIPT_REPLY, id="another block"),
    pytest.param("console.log(render());\n" + JAVASCRIPT_REPLY, id="not known"),
    pytest.param("const command = 'node -e process.exit(1)';\n", id="exit in quotes"),
    pytest.param("/* process.exit(1) */ // process.exit(1)\n", id="exit in comments"),
]


@pytest.mark.parametrize("text", CORRECT_JAVASCRIPT)
def test_nothing_is_reported_about_a_correct_javascript(check, text):
    assert check("guard.js", text, "node") == []


@pytest.mark.parametrize("start", ["bash", "sh", ""])
def test_a_shell_script_needs_no_first_line(check, start):
    assert check("guard.sh", "exit 0\n", start) == []


def test_a_program_in_another_language_needs_a_first_line(check):
    assert check("guard.py", "import sys\n", "") == [("no-shebang", 1)]


def test_without_a_shell_a_shell_script_should_have_a_first_line(project, capsys):
    file = project / "guard.sh"
    file.write_text("exit 0\n")
    file.chmod(0o755)
    hook = {"type": "command", "command": str(file), "args": ["--strict"]}
    settings = project / ".claude" / "settings.json"
    settings.parent.mkdir()
    settings.write_text(json.dumps({"hooks": {"PreToolUse": [{"hooks": [hook]}]}}))

    assert main(["check", "--project", str(project), "--json"]) == 0

    problems = json.loads(capsys.readouterr().out)["diagnostics"]
    assert [item["severity"] for item in problems if item["code"] == "no-shebang"] == ["warning"]


@pytest.mark.parametrize(
    ("interpreter", "language"),
    [
        ("/bin/sh", "shell"),
        ("/usr/bin/env -S bash -e", "shell"),
        ("/usr/bin/env fish", None),
        ("/usr/bin/pwsh", None),
        ("/usr/share/perl", None),
        ("/opt/sh/bin/ruby", None),
        ("/usr/bin/python3.12", "python"),
        ("/usr/bin/env pypy3", "python"),
        ("/usr/bin/env -S uv run --script", "python"),
        ("/usr/bin/env deno", "javascript"),
    ],
)
def test_the_language_of_a_script_is_that_of_its_interpreter(interpreter, language):
    assert language_of(Path("guard"), f"#!{interpreter}\n") == language
