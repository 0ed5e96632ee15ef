"""`anyhook check` asks interpreters whether they can read scripts, and runs nothing of them."""

from __future__ import annotations

import json
import os
import shutil
import stat
import sys
import threading
from pathlib import Path

import pytest

from anyhook.checks.interpreters import ScriptText, check_scripts
from anyhook.cli import main
from anyhook.worker.commands import is_native

NEEDS_NODE = pytest.mark.skipif(shutil.which("node") is None, reason="needs Node.js")


@pytest.fixture
def check(project, capsys):
    """Check the project; return the diagnostics about scripts."""

    def run():
        main(["check", "--project", str(project), "--json"])
        report = json.loads(capsys.readouterr().out)
        codes = {"script-syntax", "missing-module"}
        return [item for item in report["diagnostics"] if item["code"] in codes]

    return run


def configure(project, *commands, **members):
    handlers = [{"type": "command", "command": command, **members} for command in commands]
    file = project / ".claude" / "settings.json"
    file.parent.mkdir(exist_ok=True)
    hooks = {"PreToolUse": [{"matcher": "Bash", "hooks": handlers}]}
    file.write_text(json.dumps({"hooks": hooks}))


def write(project, name, text):
    file = project / "hooks" / name
    file.parent.mkdir(exist_ok=True)
    file.write_text(text)
    file.chmod(0o755)
    return file


BROKEN = [
    pytest.param("guard.py", "import sys\ndef broken(:\n", "python3", 2, id="Python"),
    pytest.param("guard.py", "x = 1\nreturn x\n", "python3 -u", 2, id="found by the compiler"),
    pytest.param("guard.sh", "if true; then\necho a\n", "bash", 2, id="bash"),
    pytest.param("guard.sh", "case a in\n(b c) ;;\nesac\n", "sh -e", 2, id="sh"),
    pytest.param("guard.py", "#!/usr/bin/env python3\n\n(\n", "", 3, id="a first line with env"),
    pytest.param("guard", "#!/bin/bash\nfi\n", "", 2, id="a first line with a path"),
    pytest.param("guard.sh", "true\ndone\n", "", 2, id="run by the shell of the command line"),
    pytest.param("guard.py", "x = (\n", "timeout 5 python3", 1, id="behind a wrapper"),
    pytest.param("guard.py", "x = (\n", "timeout --preserve-status 5 python3", 1, id="long"),
    pytest.param("guard.py", "x = (\n", "timeout --signal KILL 5 python3", 1, id="with a value"),
    pytest.param("guard.py", "x = (\n", "poetry run python3", 1, id="a tool that runs a program"),
    pytest.param("guard.py", "x = (\n", "python3 -X utf8 -I", 1, id="options with values"),
    pytest.param("guard.sh", "fi\n", "bash -euo pipefail", 1, id="options of a shell with values"),
    pytest.param("guard.py", "x = (\n", 'cd "$CLAUDE_PROJECT_DIR" && python3', 1, id="cd"),
    pytest.param("guard.py", "x = (\n", "uv run --script", 1, id="uv"),
    pytest.param("guard.py", "import anyhook.authoring\nx = (\n", "anyhook run", 2, id="anyhook"),
    pytest.param("guard.js", "let a = ;\n", "node", 1, id="JavaScript", marks=NEEDS_NODE),
    pytest.param("g.mjs", "import 'fs';\nreturn 1\n", "node", 2, id="a module", marks=NEEDS_NODE),
    pytest.param("g.cjs", "\nimport a from 'b'\n", "node", 2, id="no module", marks=NEEDS_NODE),
]


@pytest.mark.parametrize(("name", "text", "interpreter", "line"), BROKEN)
def test_a_script_with_a_syntax_error_is_reported(project, check, name, text, interpreter, line):
    file = write(project, name, text)
    configure(project, f'{interpreter} "$CLAUDE_PROJECT_DIR"/hooks/{name}')

    (problem,) = check()

    assert (problem["code"], problem["file"], problem["line"]) == ("script-syntax", str(file), line)


@pytest.mark.parametrize("words", ["'python3 \"${CLAUDE_PROJECT_DIR}\"/{}'", "python3 {}"])
def test_a_script_that_a_migrated_hook_starts_is_checked(project, check, words):
    file = write(project, "guard.py", "x = (\n")
    configure(project, f"anyhook shim --as gemini -- {words.replace('{}', 'hooks/guard.py')}")

    (problem,) = check()

    assert (problem["code"], problem["file"]) == ("script-syntax", str(file))


READABLE = [
    pytest.param("g.sh", "shopt -s extglob\ncase a in !(b)) ;; esac\n", "bash", id="extglob"),
    pytest.param("g.sh", "a=(1 2)\n[[ a =~ (a|b) ]]\n", "bash", id="only bash reads it"),
    pytest.param("g.txt", "if then (\n", "cat", id="not a script"),
    pytest.param("g.py", "def broken(:\n", "python3 ok.py", id="the argument of a script"),
    pytest.param("g.py", "def broken(:\n", "python3 -c 'pass'", id="not the program"),
    pytest.param("g.py", "def broken(:\n", "no-such-interpreter", id="not known"),
    pytest.param("g.pl", "BEGIN { open(F, '>ran') } (\n", "perl", id="Perl runs BEGIN blocks"),
    pytest.param("g.ts", "const a: string = 'b';\n", "node", id="TypeScript"),
    pytest.param("g.js", "return require('fs');\n", "node", id="CommonJS", marks=NEEDS_NODE),
    pytest.param("g.mjs", "#!/usr/bin/env node\nawait 1;\n", "node", id="await", marks=NEEDS_NODE),
]


@pytest.mark.parametrize(("name", "text", "interpreter"), READABLE)
def test_nothing_is_reported_about_other_files(project, check, name, text, interpreter):
    write(project, name, text)
    configure(project, f'{interpreter} "$CLAUDE_PROJECT_DIR"/hooks/{name}')

    assert check() == []
    assert not (project / "ran").exists()


@NEEDS_NODE
def test_the_package_decides_how_node_reads_a_script(project, check):
    write(project, "guard.js", "import 'node:fs';\nawait 1;\n")
    configure(project, "node hooks/guard.js")
    package = project / "package.json"

    package.write_text('{"type": "module"}')
    assert check() == []

    package.write_text('{"type": "commonjs"}')
    assert [problem["line"] for problem in check()] == [1]


@pytest.mark.parametrize(
    "line",
    [
        "cd hooks && python3 guard.py",
        'cd "$CLAUDE_PROJECT_DIR"/hooks && python3 guard.py',
        "bash -c 'python3 hooks/guard.py'",
        "python3 $(pwd)/hooks/guard.py",
    ],
)
def test_a_script_in_the_directory_of_a_line_is_checked(project, check, line):
    file = write(project, "guard.py", "x = (\n")
    configure(project, line)

    (problem,) = check()

    assert (problem["code"], problem["file"]) == ("script-syntax", str(file))


@pytest.mark.skipif(
    not is_native(str(Path(sys.executable).with_name("anyhook"))), reason="needs the native program"
)
def test_a_module_that_the_interpreter_of_anyhook_does_not_find_is_reported(
    project, check, monkeypatch
):
    monkeypatch.setenv("PATH", str(Path(sys.executable).parent), prepend=os.pathsep)
    text = "from anyhook.authoring import Hooks\nimport no_such_module\nhooks = Hooks()\n"
    file = write(project, "guard.py", text)
    configure(project, "anyhook run hooks/guard.py")

    (problem,) = check()

    assert (problem["code"], problem["file"]) == ("missing-module", str(file))


@pytest.mark.parametrize("runner", ["uv run --with requests", "poetry run python3", "pipx run"])
def test_modules_of_another_environment_are_not_missing(project, check, runner):
    write(project, "guard.py", "#!/usr/bin/env python3\nimport no_such_module\n")
    configure(project, f"{runner} hooks/guard.py")

    assert check() == []


def test_a_script_of_several_hooks_is_reported_once(project, check):
    write(project, "guard.sh", "fi\n")
    configure(project, "bash hooks/guard.sh", "bash hooks/guard.sh --strict")

    assert len(check()) == 1


def test_ruby_checks_a_script(project, check, tmp_path, monkeypatch):
    # A stand-in that answers like Ruby, which is rarely installed.
    programs = tmp_path / "programs"
    programs.mkdir()
    ruby = programs / "ruby"
    ruby.write_text(
        "#!/bin/sh\ncat >/dev/null\necho '-:3: syntax error, unexpected end' >&2\nexit 1\n"
    )
    ruby.chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}:/usr/bin:/bin")
    write(project, "guard.rb", "a\nb\nend\n")
    configure(project, "ruby hooks/guard.rb")

    (problem,) = check()

    assert problem["line"] == 3
    assert problem["message"].endswith("syntax error, unexpected end")


IMPORTS = """\
import json, os.path
from __future__ import annotations
from . import sibling_of_nothing
import beside
import no_such_module.part
try:
    import optional_module
except ImportError:
    optional_module = None
if os.name == "nt":
    import of_another_system
def later():
    import never_needed
"""


def test_a_module_that_the_interpreter_does_not_find_is_reported(project, check):
    text = IMPORTS.replace("from __future__ import annotations\n", "\n")
    file = write(project, "guard.py", text)
    write(project, "beside.py", "raise SystemExit('it was imported')\n")
    configure(project, "python3 hooks/guard.py")

    (problem,) = check()

    assert problem["code"] == "missing-module"
    assert (problem["file"], problem["line"]) == (str(file), 5)
    assert "'no_such_module'" in problem["message"]


@pytest.mark.parametrize(
    "text",
    [
        "import sys\nsys.path.insert(0, 'lib')\nimport no_such_module\n",
        "import os\nos.execv('python', ['python'])\nimport no_such_module\n",
    ],
    ids=["searches elsewhere", "starts again elsewhere"],
)
def test_imports_that_only_the_running_script_finds_are_left_out(project, check, text):
    write(project, "guard.py", text)
    configure(project, "python3 hooks/guard.py")

    assert check() == []


def test_the_environment_of_a_hook_adds_directories_of_modules(project, check, monkeypatch):
    (project / "lib").mkdir()
    (project / "lib" / "no_such_module.py").write_text("raise SystemExit\n")
    write(project, "guard.py", "import no_such_module\n")
    configure(project, "python3 hooks/guard.py")
    assert len(check()) == 1

    monkeypatch.setenv("PYTHONPATH", str(project / "lib"))

    assert check() == []


def test_an_interpreter_of_the_project_needs_trust(project, check, capsys):
    ran = project / "ran"
    python = write(project, "python3", f'#!/bin/sh\ntouch "{ran}"\nexec {sys.executable} "$@"\n')
    assert python.stat().st_mode & stat.S_IXUSR
    write(project, "guard.py", "def broken(:\n")
    configure(project, "hooks/python3 hooks/guard.py")

    (problem,) = check()
    assert problem["code"] == "script-syntax"
    assert not ran.exists()

    main(["trust", "--project", str(project), "--agent", "claude", "--yes"])
    capsys.readouterr()
    assert len(check()) == 1
    assert ran.exists()


def test_variables_that_load_code_do_not_reach_an_interpreter(project, check, monkeypatch):
    ran = project / "ran"
    loaded = project / "loaded.sh"
    loaded.write_text(f"touch {ran}\n")
    (project / "sitecustomize.py").write_text(f"open({str(ran)!r}, 'w')\n")
    (project / "loaded.js").write_text(f"require('fs').writeFileSync({str(ran)!r}, '')\n")
    monkeypatch.setenv("BASH_ENV", str(loaded))
    monkeypatch.setenv("ENV", str(loaded))
    monkeypatch.setenv("PYTHONPATH", str(project))
    monkeypatch.setenv("NODE_OPTIONS", f"--require {project / 'loaded.js'}")
    write(project, "guard.sh", "fi\n")
    write(project, "guard.py", "x = (\n")
    write(project, "guard.js", "let a = ;\n")
    configure(project, "bash hooks/guard.sh", "python3 hooks/guard.py", "node hooks/guard.js")

    assert len(check()) == (3 if shutil.which("node") else 2)
    assert not ran.exists()


def test_a_script_that_ends_the_interpreter_hides_no_other(tmp_path):
    # This stand-in ends without an answer to the first script, as a crash of the compiler does.
    python = tmp_path / "python3"
    python.write_text(
        f"#!{sys.executable}\n"
        "import json, os, sys\n"
        "for script in json.load(sys.stdin):\n"
        "    if script['path'] == 'crash.py':\n"
        "        os.abort()\n"
        "    answer = {'line': 1, 'problem': script['path'], 'modules': []}\n"
        "    print(json.dumps(answer), flush=True)\n"
    )
    python.chmod(0o755)
    names = ["a.py", "crash.py", "b.py"]

    reports = check_scripts(str(python), [ScriptText("", name) for name in names])

    assert [report.problem for report in reports] == ["a.py", None, "b.py"]


def test_scripts_are_checked_in_any_thread(tmp_path):
    reports = []

    def run():
        reports.extend(check_scripts(sys.executable, [ScriptText("x = (", "guard.py")]))

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()

    assert [report.line for report in reports] == [1]
