"""Broken set-ups of the usual kinds, asked through every view: none says that they work.

All set-ups of an agent are hooks of one project, so that each view is asked once.
"""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest
from starlette.requests import Request

import anyhook
from anyhook import Engine
from anyhook.agents import CODING_AGENTS, get_agent
from anyhook.cli.panel.actions import take_snapshot
from anyhook.integrations.framework import broken_hooks
from anyhook.journal.lines import history_directory
from anyhook.page.access import Access
from anyhook.page.hook_views import show_hooks
from anyhook.page.live import Live
from anyhook.page.page import Page
from anyhook.settings.changes import settings_file
from anyhook.settings.entries import add_definitions
from tests.manage.test_health import DENY, configure, fire, load, script, write_companions
from tests.tables import fast_for

pytestmark = pytest.mark.usefixtures("programs")

SCRIPTS = {
    "good.sh": f"#!/bin/sh\n{DENY}\n",
    "open-if.sh": f"#!/bin/sh\nif true; then\n{DENY}\n",
    "open-quote.sh": "#!/bin/sh\necho 'no >&2\nexit 2\n",
    "bash-syntax.sh": "#!/bin/bash\ncase x in\nexit 2\n",
    "syntax.py": "import sys\ndef broken(:\n    sys.exit(2)\n",
    "indent.py": "import sys\nif True:\nsys.exit(2)\n",
    "imports.py": "import no_such_module_x, sys\nsys.exit(2)\n",
}
COMMANDS = {
    "missing.sh": ("sh hooks/missing.sh", "missing.sh"),
    "missing.py": ("python3 hooks/missing.py", "missing.py"),
    "no-such-program-x": ("no-such-program-x --check", "no-such-program-x"),
    "plain.sh": ("./plain.sh", "may not be executed"),
    "echo": ("echo 'no; exit 2", "shell"),
    "open-if.sh": ("sh hooks/open-if.sh", "open-if.sh"),
    "open-quote.sh": ("sh hooks/open-quote.sh", "open-quote.sh"),
    "bash-syntax.sh": ("bash hooks/bash-syntax.sh", "bash-syntax.sh"),
    "syntax.py": ("python3 hooks/syntax.py", "syntax.py"),
    "indent.py": ("python3 hooks/indent.py", "indent.py"),
    "imports.py": ("python3 hooks/imports.py", "no_such_module_x"),
}
"""Label of a hook that cannot work to its command, and what names the cause."""


WITH_DEAD_MATCHERS = ("claude", "gemini", "qwen")
"""Agents of which a misspelt tool in a matcher is known to match nothing."""
WITH_TRUST_OF_THEIR_OWN = ("codex",)
"""Agents that run no hook of these tests, because they have not trusted it."""
WITH_BACKGROUND = ("claude", "codex", "opencode", "qwen")
"""Agents that can leave a hook in the background."""


def _definition(agent, commands, matcher):
    definition = {"hooks": [{"type": "command", "command": command} for command in commands]}
    if agent.by_canonical["before_tool"].writes_matchers:
        definition["matcher"] = matcher
    return definition


@pytest.fixture(params=fast_for(CODING_AGENTS, "claude", "codex"))
def agent(request, here, run):
    """Return an agent with one guard that was seen to deny, and many that cannot work."""
    agent = get_agent(request.param)
    (here / "plain.sh").write_text(f"#!/bin/sh\n{DENY}\n")
    for name, text in SCRIPTS.items():
        script(here, text, name)
    spec, shell = agent.by_canonical["before_tool"], agent.vocabulary.name("shell")
    good = shlex.quote(str(here / "hooks/good.sh"))
    path = settings_file(agent, here, "project")
    path.parent.mkdir(parents=True, exist_ok=True)

    def add(*definitions):
        text = path.read_text() if path.exists() else ""
        path.write_text(add_definitions(agent, text, str(path), {spec.wire: [*definitions]}))
        write_companions(agent, path)
        assert run("trust", "--agent", agent.name, "--yes")[0] == 0

    add(_definition(agent, [good], shell))
    fire(here, agent.name)
    add(_definition(agent, [command for command, _cause in COMMANDS.values()], shell))
    if spec.writes_matchers:
        # The same guard for calls of which none was seen.
        add(_definition(agent, [good], agent.vocabulary.name("read_file")))
    if agent.name in WITH_DEAD_MATCHERS:
        add(_definition(agent, [good], shell + shell[-1]))
    return agent


def _page_text(project):
    directory = Path(history_directory())
    page = Page(directory, Access.load(directory, 0), project, Live(directory))
    scope = {"type": "http", "query_string": b"", "headers": []}
    return show_hooks(page, Request(scope)).body.decode()


def _views(project, run, name):
    """Return what each view says of each hook: its label, the word and the evidence."""
    listed = json.loads(run("list", "--agent", name, "--json")[1])
    checked = json.loads(run("check", "--agent", name, "--json")[1])["health"]
    panel = take_snapshot(project, name).hooks
    hooks = anyhook.health(load(project, name, trust_once=False)).hooks
    return {
        "health": [(h.row.label, str(h.word), h.evidence) for h in hooks],
        "list": [(h["name"], h["health"]["word"], h["health"]["evidence"]) for h in listed],
        "check": [(h["hook"], h["word"], h["evidence"]) for h in checked],
        "panel": [(h.row.label, str(h.health.word), h.health.evidence) for h in panel],
    }


@pytest.mark.slow
def test_no_view_says_of_a_broken_hook_that_it_works(here, run, agent):
    name = agent.name
    views = _views(here, run, name)
    seen = "unknown" if name in WITH_TRUST_OF_THEIR_OWN else "works"
    of_guard = [seen]
    if agent.by_canonical["before_tool"].writes_matchers:
        of_guard += ["unknown"]
    if name in WITH_DEAD_MATCHERS:
        of_guard += ["broken"]

    assert run("check", "--agent", name)[0] == 1
    for view, rows in views.items():
        words = {label: (word, evidence) for label, word, evidence in rows}
        for label, (_command, cause) in COMMANDS.items():
            word, evidence = words[label]
            assert (word, cause in evidence) == ("broken", True), (view, label, word, evidence)
        found = [word for label, word, _evidence in rows if label == "good.sh"]
        assert sorted(found) == sorted(of_guard), view
    text = _page_text(here)
    assert text.count('class="health broken"') == len(COMMANDS) + of_guard.count("broken")
    assert text.count('class="health works"') == of_guard.count("works")


def test_the_report_of_a_session_says_the_same(here, run, agent, tmp_path):
    report = tmp_path / "session.html"

    assert run("history", "report", "last", "--agent", agent.name, "-o", str(report))[0] == 0

    text = report.read_text()
    is_seen = agent.name not in WITH_TRUST_OF_THEIR_OWN
    assert text.count('class="health works"') == int(is_seen)
    assert text.count('class="health broken"') >= len(COMMANDS)
    assert all(cause in text for _command, cause in COMMANDS.values())


@pytest.mark.slow
def test_engine_integration_and_fire_name_the_causes(here, run, agent):
    messages = []
    engine = Engine.load(here, agent=agent.name, trust_once=True, on_message=messages.append)
    texts = "\n".join([*messages, *broken_hooks(engine)])
    shell = agent.vocabulary.name("shell")
    wire = agent.by_canonical["before_tool"].wire
    arguments = ("--tool", shell, "--input", '{"command": "rm x"}', "--agent", agent.name)
    fired = json.loads(run("fire", wire, *arguments, "--json")[1])
    results = {result["name"]: result for result in fired["handlers"]}

    for label, (_command, cause) in COMMANDS.items():
        assert cause in texts, (label, texts)
        # An interpreter that cannot read its script may end with 2, which blocks: the error shows.
        result = results[label]
        assert result["status"] != "ran" or result["stderr"], result


@pytest.fixture(params=CODING_AGENTS)
def guarded(request, here, run):
    """Return an agent with one guard that was seen to deny, and its settings file."""
    agent = get_agent(request.param)
    command = shlex.quote(str(script(here, SCRIPTS["good.sh"], "good.sh")))
    configure(here, agent.name, command)
    assert run("trust", "--agent", agent.name, "--yes")[0] == 0
    fire(here, agent.name)
    return agent, settings_file(agent, here, "project")


def test_nothing_that_is_not_trusted_any_more_works(here, run, guarded):
    agent, _settings = guarded
    assert run("trust", "--revoke", "--yes")[0] == 0

    for view, rows in _views(here, run, agent.name).items():
        ((_label, word, evidence),) = rows
        assert (word, "not trusted" in evidence) == ("unknown", True), (view, evidence)
    assert 'class="health works"' not in _page_text(here)
    messages = []
    Engine.load(here, agent=agent.name, on_message=messages.append)
    assert "trust" in "\n".join(messages)
    shell, wire = agent.vocabulary.name("shell"), agent.by_canonical["before_tool"].wire
    code, fired, _ = run("fire", wire, "--tool", shell, "--agent", agent.name)
    assert (code, "UNKNOWN" in fired) == (4, True)


def test_nothing_works_in_settings_that_cannot_be_read(here, run, guarded):
    agent, settings = guarded
    settings.write_text(settings.read_text()[:-20])

    assert {view: rows for view, rows in _views(here, run, agent.name).items() if rows} == {}
    assert 'class="health works"' not in _page_text(here)
    messages = []
    Engine.load(here, agent=agent.name, on_message=messages.append)
    code, checked, _ = run("check", "--agent", agent.name)
    assert code == 1
    for text in ("\n".join(messages), checked, run("list", "--agent", agent.name)[1]):
        assert settings.name in text


@pytest.mark.parametrize("name", WITH_BACKGROUND)
def test_a_guard_in_the_background_never_works(here, run, name):
    command = shlex.quote(str(script(here, SCRIPTS["good.sh"], "good.sh")))
    configure(here, name, command, **{"async": True})
    assert run("trust", "--agent", name, "--yes")[0] == 0
    fire(here, name)

    for view, rows in _views(here, run, name).items():
        ((_label, word, evidence),) = rows
        assert (word, '"async"' in evidence) == ("broken", True), (view, evidence)


WORKING = (
    "./hooks/good.sh",
    "sh hooks/good.sh",
    "'./hooks/a b.sh'",
    "cat > /dev/null; exit 2",
    "[ -f no-such-file ] && exit 2 || true",
    "env X=1 sh hooks/good.sh",
    "cd hooks && ./good.sh",
    "python3 hooks/good.py",
    "python3 -c 'import sys; sys.exit(2)'",
    "if true; then exit 2; fi",
    "sh -c 'echo no >&2; exit 2'",
)


@pytest.mark.parametrize("name", CODING_AGENTS)
def test_none_that_can_work_is_called_broken(here, name):
    agent = get_agent(name)
    for file in ("good.sh", "a b.sh"):
        script(here, SCRIPTS["good.sh"], file)
    script(here, "import sys\nsys.exit(2)\n", "good.py")
    path = settings_file(agent, here, "project")
    path.parent.mkdir(parents=True, exist_ok=True)
    definition = _definition(agent, WORKING, agent.vocabulary.name("shell"))
    wire = agent.by_canonical["before_tool"].wire
    path.write_text(add_definitions(agent, "", str(path), {wire: [definition]}))
    write_companions(agent, path)

    hooks = anyhook.health(load(here, name)).hooks

    assert len(hooks) == len(WORKING)
    assert [hook.evidence for hook in hooks if hook.word != "unknown"] == []
