"""What a trusted hook may run is bound, or listed as not bound every time trust is shown."""

from __future__ import annotations

import asyncio
import importlib.util
import json
import os
import py_compile
import re
import shlex
import sys
from pathlib import Path

import pytest

from anyhook import BeforeTool, TrustStore
from anyhook.agents import get_agent
from anyhook.errors import SettingsError
from anyhook.manage.recording import TAP_MARK
from anyhook.migrate.commands import wrap
from anyhook.migrate.options import ShimOptions
from anyhook.model.text import printable
from anyhook.shell.tapped import tap_words, write_tapped
from anyhook.trust.subjects import SubjectReader

WRITE = BeforeTool(tool_name="write_file", tool_input={})
GUARD = "#!/bin/sh\necho no >&2; exit 2\n"
EVIL = "#!/bin/sh\ntouch evil\n"
PYTHON_EVIL = "open('evil', 'w')\n"


@pytest.fixture
def store():
    return TrustStore()


def configure(world, command, **more):
    hook = {"type": "command", "command": command, **more}
    world.settings("project", {"hooks": {"BeforeTool": [{"hooks": [hook]}]}})


def load(world, store):
    return world.load(trust_once=False, trust_store=store, warm=False)


def trust(world, store):
    store.trust(world.project, load(world, store).guard.subjects(), agent="gemini")


def trust_subject(world, store):
    (subject,) = load(world, store).guard.subjects()
    return subject


def decide(engine, **event):
    return asyncio.run(engine.dispatch(WRITE.replace(**event)))


def ran_evil(world):
    return bool(list(world.root.rglob("evil")))


HOOKS = ".gemini/hooks"
AROUND = [
    f'bash "$GEMINI_PROJECT_DIR"/{HOOKS}/*.sh',
    f'for f in "$GEMINI_PROJECT_DIR"/{HOOKS}/[[:alpha:]]*.sh; do sh "$f"; done',
    f"sh $PWD/{HOOKS}/guard.sh",
    f"sh {HOOKS}/{{g..g}}uard.sh",
    "echo '" + "{a,b}" * 100 + f"'; sh {HOOKS}/guard.sh",
    f"D={HOOKS}/gu; bash ${{D}}ard.sh",
    f"find {HOOKS} -name '*.sh' -exec sh {{}} ';'",
    f"ls {HOOKS}/*.sh | xargs -n 1 sh",
    "sh $'.gemini/hooks/gu\\x61rd.sh'",
    "sh \"$(printf '%b' '.gemini/hooks/gu\\0141rd.sh')\"",
    f"for n in guard; do sh {HOOKS}/$n.sh; done",
    f"run() {{ sh {HOOKS}/$1.sh; }}; run guard",
    f"sh /proc/self/cwd/{HOOKS}/guard.sh",
    f"sh {HOOKS}/outer",
    "cd .gemini; cd hooks; n=guard; sh ./$n.sh",
    "x=.gemini; y=hooks; sh $x/$y/guard.sh",
    f'sh "$(git rev-parse --show-toplevel 2>/dev/null || pwd)/{HOOKS}/guard.sh"',
]
"""Commands that run `.gemini/hooks/guard.sh` in one way or another."""


@pytest.mark.parametrize("command", AROUND)
def test_a_hook_whose_file_changed_does_not_run_however_the_file_is_named(world, store, command):
    world.write(world.project / HOOKS / "outer", f". {HOOKS}/guard.sh\n")
    script = world.write(world.project / HOOKS / "guard.sh", GUARD)
    configure(world, command)
    trust(world, store)
    engine = load(world, store)
    assert decide(engine).results[0].status != "withheld"

    world.write(script, EVIL)

    assert decide(engine).results[0].status == "withheld"
    assert decide(load(world, store)).results[0].status == "withheld"
    assert not ran_evil(world)


ODD_NAMES = [
    *("it's.sh", 'a"b.sh', "a$b.sh", "a`b.sh", "a,b", "a;b.sh", "R&D.sh", "(a).sh", "$"),
    *("a\\b.sh", "a\\`b.sh", "a\\$b.sh", "a[b].sh", "a*b.sh", "~a.sh", "a b.sh", "a{b,c}.sh"),
]
QUOTES = {
    "single": shlex.quote,
    "double": lambda path: '"' + re.sub(r'([$`"\\])', r"\\\1", path) + '"',
    "none": lambda path: re.sub(r"([^\w./])", r"\\\1", path),
}


@pytest.mark.parametrize("quote", QUOTES.values(), ids=QUOTES)
@pytest.mark.parametrize("starts_it", ["the command", "a script"])
@pytest.mark.parametrize("name", ODD_NAMES)
def test_a_file_is_bound_whatever_characters_its_name_has(world, store, name, starts_it, quote):
    script = world.write(world.project / "lib" / name, GUARD)
    command = f"sh {quote(f'lib/{name}')}"
    if starts_it == "a script":
        world.write(world.project / HOOKS / "outer.sh", f". {quote(f'./lib/{name}')}\n")
        command = f"sh {HOOKS}/outer.sh"
    configure(world, command)
    trust(world, store)
    engine = load(world, store)
    assert decide(engine).results[0].status != "withheld"

    world.write(script, EVIL)

    assert decide(engine).results[0].status == "withheld"
    assert not ran_evil(world)


@pytest.mark.parametrize(
    ("command", "env", "file", "evil"),
    [
        ("make -f tools/Makefile check", {}, "tools/more.mk", "x:\n\ttouch evil\n"),
        ("python3 -m pkg", {}, "pkg/helper.py", PYTHON_EVIL),
        ("python3 .gemini/hooks/guard.py", {}, ".gemini/hooks/json.py", PYTHON_EVIL),
        ("python3 .gemini/hooks/guard.py", {}, ".gemini/hooks/lib/deep.py", PYTHON_EVIL),
        ("python3 guard.py", {}, "json.py", PYTHON_EVIL),
        ("python3 guard.py", {}, "helper.py", PYTHON_EVIL),
        ("python3 guard.py", {}, "helper/__init__.py", PYTHON_EVIL),
        ("python3 -c 'import json'", {}, "json.py", PYTHON_EVIL),
        ("python3 -m json.tool", {}, "json/__init__.py", PYTHON_EVIL),
        ("PATH=./tools:$PATH guard", {}, "tools/guard", EVIL),
        ("guard", {"PATH": "./tools:/usr/bin:/bin"}, "tools/guard", EVIL),
        ("python3 -c 'import mine'", {"PYTHONPATH": "lib"}, "lib/mine.py", PYTHON_EVIL),
        ("PYTHONPATH=lib python3 -c 'import mine'", {}, "lib/mine.py", PYTHON_EVIL),
        ("tools/run", {}, "tools/data.json", "{}"),
        (".gemini/guard.sh", {}, ".gemini/helper.sh", EVIL),
    ],
)
@pytest.mark.parametrize("appears", [True, False])
def test_a_file_that_belongs_to_a_hook_is_bound(world, store, command, env, file, evil, appears):
    world.write(world.project / "tools" / "Makefile", "include tools/*.mk\ncheck:\n\ttrue\n")
    world.write(world.project / "tools" / "run", "#!/bin/sh\ntrue\n")
    world.write(world.project / "pkg" / "__main__.py", "")
    world.write(world.project / HOOKS / "guard.py", "import json, lib.deep\n")
    world.write(world.project / "guard.py", "import json\nimport helper\n")
    world.write(world.project / ".gemini" / "guard.sh", "#!/bin/sh\n. .gemini/helper.sh\n")
    world.write(world.project / "lib" / "other.py", "")
    path = world.project / file
    if not appears:
        world.write(path, "")
    configure(world, command, env=env)
    trust(world, store)
    engine = load(world, store)
    assert engine.guard.changes() == []

    world.write(path, evil)

    assert decide(engine).results[0].status == "withheld"
    (change,) = load(world, store).guard.changes()
    assert change.what == "script"
    assert str(path) in "\n".join(change.difference)
    assert not ran_evil(world)


@pytest.mark.parametrize(
    "command",
    [
        "npx guard",
        "npm run guard",
        "make check",
        'sh "$SOMEWHERE"/guard.sh',
        "sh $(git rev-parse --git-common-dir)/guard.sh",
        'eval "$(cat guard.txt)"',
        "ls | xargs sh",
        "ruff check src",
    ],
)
def test_what_is_not_bound_is_listed_whenever_trust_is_shown(world, run, store, command):
    world.write(world.project / "src" / "main.py", "")
    world.write(world.project / "Makefile", "include *.mk\n")
    configure(world, command)

    assert "not bound: " in run("trust", "--show")[1]
    assert "not bound: " in run("trust", "--yes")[1]
    code, out, _ = run("trust", "--show")
    assert (code, "trusted:" in out) == (0, True)
    assert "not bound: " in out
    (hook,) = json.loads(run("trust", "--show", "--json")[1])["hooks"]
    assert hook["unclear"]


def test_packages_caches_and_logs_are_listed_as_not_bound(world, run, store):
    hooks = world.project / HOOKS
    world.write(hooks / "guard.sh", GUARD)
    world.write(hooks / "node_modules" / "x" / "index.js", "")
    world.write(hooks / "audit.log", "")
    configure(world, f"sh {HOOKS}/guard.sh")
    trust(world, store)

    world.write(hooks / "audit.log", "more")
    world.write(hooks / "node_modules" / "x" / "index.js", "more")

    assert decide(load(world, store)).denied
    out = run("trust", "--show")[1]
    assert "audit.log" in out
    assert "node_modules" in out


@pytest.mark.slow
def test_compiled_python_of_a_repository_is_bound(world, store):
    hooks = world.project / HOOKS
    world.write(hooks / "guard.py", "import helper\n")
    helper = world.write(hooks / "helper.py", "")
    configure(world, f"python3 {HOOKS}/guard.py")
    trust(world, store)
    engine = load(world, store)
    compiled = importlib.util.cache_from_source(str(helper))
    py_compile.compile(str(helper), compiled)
    assert decide(engine).results[0].status != "withheld"

    evil = world.write(world.root / "evil_source.py", PYTHON_EVIL)
    mode = py_compile.PycInvalidationMode.UNCHECKED_HASH
    py_compile.compile(str(evil), compiled, invalidation_mode=mode)

    assert decide(engine).results[0].status == "withheld"
    assert not ran_evil(world)


@pytest.mark.slow
def test_a_directory_with_too_many_files_says_so(world, run, store):
    for number in range(600):
        world.write(world.project / HOOKS / f"{number}.txt", "")
    world.write(world.project / HOOKS / "a-guard.sh", GUARD)
    configure(world, f"sh {HOOKS}/a-guard.sh")

    out = run("trust", "--yes")[1]

    assert "more files than can be bound" in out


@pytest.mark.slow
def test_scripts_that_are_too_large_together_are_listed_and_not_read(world, run, store):
    for number in range(40):
        path = world.write(world.project / "tools" / f"{number}.sh", "")
        with path.open("r+b") as stream:
            stream.truncate(60 * 1024 * 1024)
    configure(world, "cat tools/*.sh")

    out = run("trust", "--yes")[1]

    assert "it is larger than" in out


def test_the_order_of_reading_does_not_change_what_is_bound(world, store):
    script = world.write(world.project / HOOKS / "guard.sh", GUARD + "#" * 5_000_000)
    hooks = [{"type": "command", "command": c} for c in (f"ls {HOOKS}", f"sh {HOOKS}/guard.sh")]
    world.settings("project", {"hooks": {"BeforeTool": [{"hooks": hooks}]}})
    trust(world, store)

    assert load(world, store).guard.changes() == []
    os.utime(script)
    assert load(world, store).guard.changes() == []


def test_a_log_that_the_command_writes_is_no_change(world, store):
    configure(world, "cat > seen.json; echo x >> logs/all.txt")
    (world.project / "logs").mkdir()
    trust(world, store)
    engine = load(world, store)

    assert [decide(engine).results[0].status for _ in range(3)] == ["ran"] * 3


def test_a_file_of_another_hook_does_not_stop_this_one(world, store):
    world.write(world.project / "one" / "a.sh", GUARD)
    other = world.write(world.project / "two" / "b.sh", GUARD)
    hooks = [{"type": "command", "command": f"sh {n}"} for n in ("one/a.sh", "two/b.sh")]
    world.settings("project", {"hooks": {"BeforeTool": [{"hooks": hooks}]}})
    trust(world, store)
    world.write(other, EVIL)

    results = decide(load(world, store)).results

    assert [result.status for result in results] == ["ran", "withheld"]


def test_a_file_that_is_restored_runs_again(world, store):
    script = world.write(world.project / HOOKS / "guard.sh", GUARD)
    configure(world, f"sh {HOOKS}/guard.sh")
    trust(world, store)
    world.write(script, EVIL)
    engine = load(world, store)
    assert not decide(engine).denied

    world.write(script, GUARD)

    assert decide(engine).denied


# -- another directory


@pytest.mark.parametrize(
    ("command", "file"),
    [
        ("sh guard", "guard"),
        ("sh ./guard", "guard"),
        ("sh tools/guard", "tools/guard"),
        ("./guard", "guard"),
        ("python3 -c 'import json'", "json.py"),
        ("python3 -m json.tool", "json.py"),
        ("cat guard* | sh", "guard-x"),
        ('sh "$(git rev-parse --show-toplevel 2>/dev/null || pwd)/guard.sh"', "guard.sh"),
    ],
)
def test_a_file_outside_of_the_project_that_nobody_saw_does_not_run(world, store, command, file):
    world.write(world.project / file, "")
    configure(world, command)
    trust(world, store)
    outside = world.root / "outside"
    world.write(outside / file, PYTHON_EVIL if file.endswith(".py") else EVIL)
    engine = load(world, store)

    (result,) = decide(engine, cwd=str(outside)).results

    assert result.status == "withheld"
    assert str(outside / file) in result.diagnostics[0].message
    assert not ran_evil(world)
    assert decide(engine).results[0].status != "withheld"


def test_a_file_that_appears_in_another_directory_does_not_run(world, store):
    configure(world, "sh guard; true")
    trust(world, store)
    outside = world.root / "outside"
    outside.mkdir()
    engine = load(world, store)
    assert decide(engine, cwd=str(outside)).results[0].status != "withheld"

    world.write(outside / "guard", EVIL)

    assert decide(engine, cwd=str(outside)).results[0].status == "withheld"


# -- the store


def deny_everybody(world, store):
    configure(world, "echo no >&2; exit 2")
    trust(world, store)
    assert decide(load(world, store)).denied
    (file,) = store.directory.glob("*.json")
    return file


@pytest.mark.parametrize("what", ["directory", "file", "parent"])
def test_a_store_that_others_can_write_is_not_believed(world, run, tmp_path, what):
    store = TrustStore(tmp_path / "data" / "trust")
    file = deny_everybody(world, store)
    path = {"directory": store.directory, "file": file, "parent": store.directory.parent}[what]
    path.chmod(path.stat().st_mode | 0o002)

    engine = load(world, store)

    assert decide(engine).results[0].status == "withheld"
    problem = engine.diagnostics[-1]
    assert (problem.code, str(problem.severity)) == ("trust-store", "error")
    assert f"chmod go-w {path}" in problem.message
    with pytest.raises(SettingsError, match="can be written by other users"):
        trust(world, store)


def test_a_store_of_another_user_is_not_believed(world, store, monkeypatch):
    deny_everybody(world, store)
    user = os.geteuid() + 1 if os.geteuid() else 1000
    for path in (store.directory, *store.directory.glob("*.json")):
        if not os.geteuid():
            os.chown(path, user, -1)
    if os.geteuid():
        monkeypatch.setattr(os, "geteuid", lambda: user)

    engine = load(world, store)

    assert decide(engine).results[0].status == "withheld"
    assert "belongs to another user" in engine.diagnostics[-1].message


@pytest.mark.slow
def test_a_long_script_that_was_replaced_is_compared_when_it_is_shown(world, store):
    text = "".join(f"echo {number % 7}\n" for number in range(30_000))
    script = world.write(world.project / HOOKS / "guard.sh", text)
    configure(world, f"sh {HOOKS}/guard.sh")
    trust(world, store)
    world.write(script, text[::-1])

    engine = load(world, store)

    assert decide(engine).results[0].status == "withheld"
    (change,) = engine.guard.changes()
    assert "was sha256" in change.difference[0]


# -- what is shown

HIDDEN = {
    "combining": "a\u0336b",
    "joiner": "a\u034fb",
    "tag": "a\U000e0041b",
    "soft-hyphen": "a\u00adb",
    "direction": "a\u202eb",
    "isolate": "a\u2066b",
    "variation": "a\ufe0fb",
    "wide-blank": "a\u3000b",
    "zero-width": "a\u200bb",
    "control": "a\u009bb",
    "filler": "a\u2060b",
}


@pytest.mark.parametrize("order", ["trust", "list", "check"])
@pytest.mark.parametrize("text", HIDDEN.values(), ids=HIDDEN)
def test_what_a_reader_cannot_see_is_shown_as_an_escape(world, run, text, order):
    script = world.write(world.project / HOOKS / "guard.sh", f"# {text}\n")
    configure(world, f"sh {HOOKS}/guard.sh '{text}'", name=f"name {text}", description=text)

    out, err = run(order, *(["--show"] if order == "trust" else []))[1:]

    escaped = text[1].encode("unicode_escape").decode()
    assert text[1] not in out + err
    if order != "check":
        assert escaped in out
    assert script.exists()


def test_letters_of_other_scripts_are_shown_as_they_are():
    assert printable("Größe, 名前, имя\n\tçé") == "Größe, 名前, имя\n\tçé"


# -- switches


@pytest.mark.parametrize("place", ["hooksConfig", "hooks"])
@pytest.mark.parametrize("stronger", ["user", "system"])
def test_what_a_layer_switches_off_of_its_own_stays_off(world, run, place, stronger):
    hook = {"type": "command", "name": "mine", "command": "exit 2"}
    content = {"hooks": {"BeforeTool": [{"hooks": [hook]}]}}
    content.setdefault(place, {})["enabled"] = False
    world.settings("project", content)
    world.settings(stronger, {place: {"enabled": True}})

    decision = decide(world.load())

    assert decision.results == ()
    (row,) = json.loads(run("list", "--json")[1])
    lines = world.files["project"].read_text().splitlines()
    line = 1 + next(i for i, text in enumerate(lines) if '"enabled": false' in text)
    assert row["state"] == "off"
    assert row["switched_off_by"] == f"{world.files['project']}:{line}"
    shown = "".join(run("list")[1].split())
    assert f"{world.files['project']}:{line}switchesoff:mine" in shown


def test_a_layer_that_switches_itself_off_leaves_the_others_alone(world):
    hooks = {"BeforeTool": [{"hooks": [{"type": "command", "command": "exit 2"}]}]}
    world.settings("project", {"hooksConfig": {"enabled": False}})
    world.settings("user", {"hooks": hooks})

    assert decide(world.load()).denied


# -- two agents


def test_a_new_hook_of_one_agent_is_no_change_of_the_same_file_for_another(world, run, store):
    world.write(world.project / "hooks" / "guard.sh", GUARD)
    group = {"hooks": [{"type": "command", "command": "sh hooks/guard.sh", "timeout": 7_000}]}
    configure(world, "sh hooks/guard.sh")
    trust(world, store)
    settings = {"hooks": {"PreToolUse": [group]}}
    world.write(world.project / ".claude" / "settings.json", json.dumps(settings))

    out = run("trust", "--show", "--agent", "claude")[1]

    assert "new  " in out
    assert "changed" not in out


# -- what is listed


def test_only_paths_are_shown_as_scripts_that_are_not_found(world, run):
    configure(
        world, r"for f in a; do grep -qE '(^|[ /])\.git/]|\.ts$' \"$f\"; sh hooks/no.sh; done"
    )

    out = run("trust", "--show")[1]

    scripts = [line for line in out.splitlines() if line.startswith("  script: ")]
    assert scripts == ["  script: hooks/no.sh  not found"]
    assert "not bound: for" not in out
    assert ".ts$  (" not in out


@pytest.mark.slow
def test_a_file_that_two_hooks_share_is_shown_once(world, run):
    world.write(world.project / "tools" / "guard.sh", "echo once\n")
    hooks = [{"type": "command", "command": f"sh tools/guard.sh {n}"} for n in range(3)]
    world.settings("project", {"hooks": {"BeforeTool": [{"hooks": hooks}]}})
    assert run("trust", "--yes")[1].count("| echo once") == 1

    world.write(world.project / "tools" / "guard.sh", "echo twice\n")

    out = run("trust", "--show")[1]
    assert out.count("+echo twice") == 1
    assert out.count("the same difference as above") == 2


def test_a_formatter_keeps_its_trust_when_it_formats(world, store):
    world.write(world.project / "src" / "app.py", "x=1\n")
    world.write(
        world.project / HOOKS / "format.py",
        "import json, subprocess, sys\n"
        "path = json.load(sys.stdin).get('path', 'src/')\n"
        "subprocess.run(['ruff', 'format', path])\n"
        "subprocess.run('prettier --write src', shell=True)\n",
    )
    world.write(
        world.project / HOOKS / "lint.sh", 'case "$F" in src/*) eslint_d "src/$F" ;; esac\n'
    )
    configure(world, f"python3 {HOOKS}/format.py; sh {HOOKS}/lint.sh; ruff check src")
    trust(world, store)

    world.write(world.project / "src" / "app.py", "x = 1\n")

    assert load(world, store).guard.changes() == []


EXAMPLES = """\
from anyhook.authoring import Hooks

hooks = Hooks()
hooks.example(tool="write_file", input={{"file_path": "src/app.py"}}, expect="none")
for line in "cat src/main.py".splitlines():
    hooks.example(tool="shell", input={{"command": line}}, expect="none")


def edit(path, hooks_of="claude"):
    hooks.example(tool="write_file", input={{"file_path": path}}, expect="none", agents=[hooks_of])


edit("src/edited.py")
{}
"""


def test_files_that_only_examples_name_are_not_bound(world, store):
    configure(world, f"anyhook run {HOOKS}/guard.py")
    world.write(world.project / HOOKS / "guard.py", EXAMPLES.format(""))
    trust(world, store)
    for name in ("app.py", "main.py", "edited.py"):
        world.write(world.project / "src" / name, "x = 1\n")

    assert load(world, store).guard.changes() == []


def test_an_import_of_python_loads_no_file_of_another_language(world, store):
    """OpenCode's plugin of anyhook is not a module of a guard that names its directory."""
    text = 'from anyhook.authoring import Hooks\n\nOWN = [".opencode/plugins/**"]\n'
    world.write(world.project / HOOKS / "guard.py", text)
    configure(world, f"anyhook run {HOOKS}/guard.py")
    trust(world, store)
    world.write(world.project / ".opencode" / "plugins" / "anyhook.js", "1\n")
    assert load(world, store).guard.changes() == []

    world.write(world.project / ".opencode" / "plugins" / "anyhook.py", "1\n")
    assert load(world, store).guard.changes() != []


LISTS = """# Source: https://github.com/x
import re

from anyhook.authoring import Hooks

LIBRARIES, PROGRAM = ["lib/**"], "git"
{}
"""


def has_new_file(world, store, text, file, helper="", command=f"anyhook run {HOOKS}/guard.py"):
    """Return whether the trust of a hook is lost when an executable file appears."""
    configure(world, command)
    world.write(world.project / HOOKS / "guard.py", text)
    world.write(world.project / "tools" / "helper.py", helper)
    (world.project / "lib").mkdir()
    trust(world, store)
    world.write(world.project / file, "#!/bin/sh\n").chmod(0o755)
    return load(world, store).guard.changes() != []


SHIM = ShimOptions(
    agent="claude",
    command=(f'"${{CLAUDE_PROJECT_DIR}}"/{HOOKS}/guard.py',),
    host="gemini",
    event="PreToolUse",
    matcher="Bash|Write",
    condition="Bash(git *)",
    shell="bash",
    timeout=5.0,
)
GEMINI = get_agent("gemini")
MODULE = (sys.executable, "-P", "-m", "anyhook")
WRITTEN = {
    "run": f'anyhook run "${{GEMINI_PROJECT_DIR}}/{HOOKS}/guard.py"',
    "run of an installation": f"/opt/bin/anyhook run --python /opt/python {HOOKS}/guard.py",
    "module": f"{shlex.join(MODULE)} run {HOOKS}/guard.py",
    "cold": f"python3 {HOOKS}/guard.py",
    "shim": wrap(SHIM, GEMINI),
    "shim of a program": wrap(SHIM.replace(command=("sh", f"{HOOKS}/guard.py")), GEMINI),
    "shim of a module": wrap(SHIM, GEMINI, MODULE),
    "tap": write_tapped(tap_words("history", "gemini"), f"anyhook run {HOOKS}/guard.py", TAP_MARK),
}
"""Commands as anyhook writes them into settings."""


@pytest.mark.parametrize("command", WRITTEN.values(), ids=WRITTEN)
def test_the_words_of_anyhook_itself_are_not_files_of_a_hook(world, store, command):
    script = world.write(world.project / HOOKS / "guard.py", "print('{}')\n")
    configure(world, command)
    trust(world, store)
    for word in "run shim tap history exec claude gemini PreToolUse Bash Write git bash".split():
        for name in (word, f"{word}.py", f"{word}.sh"):
            world.write(world.project / name, "exit 0\n")
    for name in ("anyhook.py", "python3.py", "python.py"):
        world.write(world.project / name, "exit 0\n")
    engine = load(world, store)
    assert [change.difference for change in engine.guard.changes()] == []

    world.write(script, EVIL)

    assert decide(engine).results[0].status == "withheld"


@pytest.mark.parametrize(
    "command",
    [
        "anyhook run run.py",
        "anyhook run --python ./python run.py",
        "anyhook run ./run",
        "anyhook run guard.py; sh run.py",
        "anyhook shim --as claude -- ./run.py",
        "anyhook shim --as claude -- 'sh run.py'",
        "anyhook shim --as claude --env HELPER=./run.py -- ./guard.sh",
        "anyhook shim --as claude -- 'anyhook run run.py'",
        "python3 -m anyhook run run.py",
        "python3 run.py",
        "python3 -m run",
        "sh run.py",
        "node run",
        "./run",
        "echo anyhook run | xargs -n 1 sh",
    ],
)
def test_a_hook_that_names_such_a_file_is_bound_to_it(world, store, command):
    for name in ("run.py", "run.js", "run", "guard.sh", "guard.py"):
        world.write(world.project / name, GUARD).chmod(0o755)
    configure(world, command)
    trust(world, store)
    engine = load(world, store)
    assert engine.guard.changes() == []

    for name in ("run.py", "run.js", "run"):
        world.write(world.project / name, EVIL)

    assert decide(engine).results[0].status == "withheld"
    assert not ran_evil(world)


def test_a_module_of_the_project_in_place_of_anyhook_is_bound(world, store):
    world.write(world.project / HOOKS / "guard.py", "print('{}')\n")
    configure(world, f"python3 -m anyhook run {HOOKS}/guard.py")
    trust(world, store)

    world.write(world.project / "anyhook.py", PYTHON_EVIL)

    assert load(world, store).guard.changes() != []


@pytest.mark.parametrize("file", ["lib/re.py", "lib/re.pyc", "lib/git"])
def test_a_file_that_python_does_not_load_is_not_bound(world, store, file):
    assert not has_new_file(world, store, LISTS.format(""), file)


@pytest.mark.parametrize(
    ("statement", "file", "helper"),
    [
        ("import lib.re", "lib/re.py", ""),
        ("from lib import re", "lib/re.py", ""),
        ("from sys import path as p\np[:0] = ['lib']", "lib/re.py", ""),
        ("import sys as s\ns.path[:0] = ['lib']", "lib/re.py", ""),
        ("exec('import re', open('lib/x').read())", "lib/re.py", ""),
        ("import tools.helper", "lib/re.py", "import sys as s\ns.path[:0] = ['lib']\n"),
        ("from subprocess import run\nrun('python3 -c \"import re\"', cwd='lib')", "lib/re.py", ""),
        ("import os\nos.environ['PYTHONPATH'] = 'lib'", "lib/re.py", ""),
        ("import re", HOOKS + "/re.py", ""),
        ("run('lib/git')", "lib/git", ""),
        ("run(f'lib/git{suffix}')", "lib/git", ""),
    ],
)
def test_a_file_that_python_may_load_is_bound(world, store, statement, file, helper):
    assert has_new_file(world, store, LISTS.format(statement), file, helper)


@pytest.mark.parametrize(
    "command",
    [
        f"PYTHONPATH=lib python3 {HOOKS}/guard.py",
        f"env PYTHONPATH=lib python3 {HOOKS}/guard.py",
        f"export PYTHONPATH=lib; python3 {HOOKS}/guard.py",
        f"cd lib && PYTHONPATH=. python3 ../{HOOKS}/guard.py",
        "cd lib && python3 -c 'import re'",
        "cd lib && python3 -m json.tool",
    ],
)
def test_a_module_where_the_command_makes_python_look_is_bound(world, store, command):
    file = "lib/json/tool.py" if "json" in command else "lib/re.py"
    assert has_new_file(world, store, LISTS.format(""), file, command=command)


@pytest.mark.parametrize(
    "statement",
    [
        'hooks.example(input=exec(open("src/app.py").read()))',
        "hooks.example(input={}); import src.app",
        'for hooks.example in [open]: hooks.example("src/app.py")',
        'for line in "src/app.py".split(): load(line)',
        'hooks.example(input=loader["src/app.py"])',
        'other.example("src/app.py")',
        'hooks = loader\nhooks.example("src/app.py")',
        'hooks.example = load\nhooks.example("src/app.py")',
        'from tools import Hooks\nhooks.example("src/app.py")',
        'edit = load; edit("src/app.py")',
        'from tools import run as edit; edit("src/app.py")',
        'def write(hooks, path):\n    hooks.example(path)\n\n\nwrite(loader, "src/app.py")',
    ],
)
def test_files_that_something_else_next_to_an_example_names_are_bound(world, store, statement):
    configure(world, f"anyhook run {HOOKS}/guard.py")
    world.write(world.project / HOOKS / "guard.py", EXAMPLES.format(statement))
    trust(world, store)
    world.write(world.project / "src" / "app.py", "x = 1\n")

    assert load(world, store).guard.changes() != []


def test_patterns_that_a_guard_lists_are_not_listed_as_loaded(world, store):
    world.write(world.project / "bin" / "deploy", "")
    lines = ("BAD=(", "'rm -rf' # all of it", "'>\\s*/dev/sd'", "'aws\\s+.*delete'", "'a.*b'", ")")
    text = "\n".join((*lines, 'echo "$BAD"', ""))
    world.write(world.project / HOOKS / "guard.sh", text)
    configure(world, f"sh {HOOKS}/guard.sh")

    assert trust_subject(world, store).unclear == ()


def test_a_program_that_is_asked_for_its_version_loads_nothing(world, store):
    text = "import subprocess\nsubprocess.run(['node', '--version'], capture_output=True)\n"
    world.write(world.project / HOOKS / "guard.py", text)
    configure(world, f"python3 {HOOKS}/guard.py")

    assert trust_subject(world, store).unclear == ()


def test_the_root_of_the_system_may_be_a_project(world):
    script = world.write(world.project / "guard.py", "import helper\n")
    command = f"python3 /{script}"  # two slashes, as in a path below `/`
    configure(world, command)
    (definition,) = world.load().hooks.definitions
    reader = SubjectReader("gemini", Path("/"), {})

    subject = reader.read(definition, definition.handlers[0])

    assert {Path(script.path).name for script in subject.scripts} == {"guard.py"}
