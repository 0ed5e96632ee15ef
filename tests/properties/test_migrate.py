"""What holds for every migration."""

from __future__ import annotations

import asyncio
import json
import re
import subprocess
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anyhook import Engine
from anyhook.agents import get_agent
from anyhook.matching.matchers import compile_matcher
from anyhook.migrate.commands import own_variables, read_shim, renamed, wrap
from anyhook.migrate.comparison import Comparison, canonical
from anyhook.migrate.corpus import builtin_probes
from anyhook.migrate.matchers import translate_matcher
from anyhook.migrate.options import ShimOptions, parse_shim_options, write_options
from anyhook.migrate.plan import merge_into, plan_migration
from anyhook.settings.jsonc import parse
from anyhook.settings.sources import Location, places

pytestmark = pytest.mark.slow

PAIRS = [("claude", "gemini"), ("gemini", "claude"), ("gemini", "terminai"), ("terminai", "claude")]
WORDS = st.text(
    st.characters(blacklist_categories=["Cs"], blacklist_characters="\0"), max_size=20
) | st.sampled_from(
    [
        "$HOME",
        "${HOME}",
        '"$CLAUDE_PROJECT_DIR"/x.sh',
        "$CLAUDE_PROJECT_DIR/a b",
        "it's",
        "jq -r '.a as $x | $x'",
        "`id`",
        "$(id)",
        "a\\b",
        "!x",
        "-",
        "--",
    ]
)


# -- command lines


@given(
    words=st.lists(WORDS.filter(bool), min_size=1, max_size=3), event=st.sampled_from(["", "Stop"])
)
@settings(max_examples=150)
@pytest.mark.parametrize("target", ["gemini", "claude"])
def test_a_shell_hands_the_shim_what_was_written(target, words, event):
    options = ShimOptions(agent="claude", command=tuple(words), event=event)
    line = wrap(options, get_agent(target), ("printf", "%s\\0"))
    done = subprocess.run(["bash", "-c", line], capture_output=True, check=True)

    assert done.stdout.decode().split("\0")[:-1] == ["shim", *write_options(options)]


@given(words=st.lists(WORDS.filter(bool), min_size=1, max_size=3))
@settings(max_examples=150)
def test_reading_settings_puts_no_variable_into_a_command(words):
    options = ShimOptions(agent="claude", command=tuple(words))
    line = wrap(options, get_agent("gemini"))
    variable = r"\$(\w+)|\$\{(?!CLAUDE)([^}]+)\}"
    loaded = re.sub(variable, "SECRET", line, flags=re.ASCII)

    assert loaded == line


@given(words=st.lists(WORDS.filter(bool), min_size=1, max_size=3), closes=st.booleans())
def test_what_was_wrapped_is_unwrapped(words, closes):
    options = ShimOptions(
        agent="claude",
        command=tuple(words),
        condition="Bash(git *)",
        on_failure="block" if closes else "continue",
        timeout=5.0,
        env=(("A", "b c"),),
    )

    assert read_shim(wrap(options, get_agent("gemini"))) == options
    assert parse_shim_options(write_options(options)) == options


@pytest.mark.parametrize(
    "line",
    [
        '"$CLAUDE_PROJECT_DIR"/x',
        "$CLAUDE_PROJECT_DIR/x",
        "${CLAUDE_PROJECT_DIR}/x y",
        "x=$CLAUDE_PROJECT_DIR; echo $x",
        "echo ${CLAUDE_PROJECT_DIR:-none} ${CLAUDE_PROJECT_DIR%/*}",
        "bash -c 'echo \"$CLAUDE_PROJECT_DIR\"'",
        'echo "a $(echo "$CLAUDE_PROJECT_DIR") b"',
    ],
)
def test_variables_of_other_names_say_the_same(line):
    said = subprocess.run(
        ["bash", "-c", line.replace("/x", "").replace(" y", "") if line[:1] in '"$' else line],
        env={"CLAUDE_PROJECT_DIR": "/nowhere", "PATH": "/usr/bin:/bin"},
        capture_output=True,
        check=False,
    )
    there = renamed(line, {"CLAUDE_PROJECT_DIR": "OTHER_DIR"})
    again = subprocess.run(
        ["bash", "-c", there.replace("/x", "").replace(" y", "") if line[:1] in '"$' else there],
        env={"OTHER_DIR": "/nowhere", "PATH": "/usr/bin:/bin"},
        capture_output=True,
        check=False,
    )

    assert (said.returncode, said.stdout) == (again.returncode, again.stdout)
    assert "CLAUDE" not in there
    assert own_variables(line, get_agent("claude")).count("CLAUDE") == line.count("CLAUDE")


# -- matchers

SERVERS = ("github", "my_server", "fs")
INNER = ("create_issue", "read", "write_file")
WHOLE = ["", "^", "Bash", "Edit", "Write", "Web", "write_", "read_file", "run_", "file", "mcp"]
ENDS = ["", "$", ".*", ".+", "s?", "_issue", "__read", "_read", "|Read", "|Task$", "|glob"]
HEADS = ["mcp__", "mcp_", "mcp__github", "mcp_my_server", "github__", "mcp__.*", "mcp_.*", ".*"]


def tools_of(agent):
    """List calls of every tool that an agent has, MCP tools too, in canonical words."""
    found = {row.names[0]: (tool, None) for tool, row in agent.vocabulary.tools.items()}
    for server in SERVERS:
        for inner in INNER:
            name = agent.vocabulary.mcp_name.format(server=server, tool=inner)
            found[name] = (f"mcp__{server}__{inner}", {"server_name": server, "tool_name": inner})
    return found


@given(
    pattern=st.tuples(st.sampled_from(WHOLE + HEADS), st.sampled_from(ENDS)).map("".join)
    | st.lists(st.sampled_from(["Bash", "Edit", "mcp__fs__read", "replace", "glob"])).map("|".join),
    grouped=st.booleans(),
)
@settings(max_examples=300)
@pytest.mark.parametrize(("source", "target"), PAIRS)
def test_a_matcher_covers_at_least_what_it_covered(source, target, pattern, grouped):
    here, there = get_agent(source), get_agent(target)
    old, new = here.event("before_tool"), there.event("before_tool")
    text = f"^({pattern})$" if grouped and pattern else pattern
    found = translate_matcher(here, old, text, there, new)
    before = compile_matcher(text, old.matcher_style)
    missing = [piece for piece, _ in found.missing]
    for name, (tool, _mcp) in tools_of(here).items():
        counterpart = there.vocabulary.name(tool)
        if counterpart is None or not before.matches(name):
            continue
        if before.names is None and is_plain_name_inside(text, name):
            continue  # among alternatives a plain name means that tool, no piece of another's name
        after = [compile_matcher(p, new.matcher_style).matches(counterpart) for p in found.patterns]
        assert any(after) or missing, (name, found)


def is_plain_name_inside(text, name):
    bare = text.strip("^$").strip("()")
    return any(
        re.fullmatch(r"[\w-]+", piece.strip("^$")) and piece.strip("^$") in name
        for piece in bare.split("|")
    )


# -- settings

MATCHERS = {
    "tool": {
        "claude": [
            None,
            "",
            "*",
            "Bash",
            "Edit|Write",
            "mcp__github__.*",
            "^(Read|Grep)$",
            "Web.*",
        ],
        "gemini": [
            None,
            "*",
            "run_shell_command",
            "write_file|replace",
            "mcp_github_.*",
            "^read_.*",
            "^(glob|web_fetch)$",
        ],
        "terminai": [None, "run_terminal_command", "write_to_file|edit_file", "read_file"],
    },
    "start": {
        "claude": [None, "startup", "startup|resume"],
        "gemini": [None, "startup", "resume|clear"],
        "terminai": [None, "clear"],
    },
}
EVENTS = {"before_tool": "tool", "after_tool": "tool", "session_start": "start"}
SAYS = [
    "exit 0",
    "echo no >&2; exit 2",
    "echo oops >&2; exit 1",
    "cat >/dev/null; echo context",
    "grep -q rm && { echo 'no rm' >&2; exit 2; }; exit 0",
    """echo '{"decision": "block", "reason": "blocked"}'""",
    """echo '{"continue": false, "stopReason": "enough"}'""",
    """echo '{"systemMessage": "hello"}'""",
    """echo '{"hookSpecificOutput": {"hookEventName": "X", "additionalContext": "more"}}'""",
]


@st.composite
def settings_of(draw, agent):
    agent_spec = get_agent(agent)
    hooks = {}
    chosen = st.lists(
        st.sampled_from(
            ["before_tool", "after_tool", "session_start", "before_prompt", "after_agent"]
        ),
        min_size=1,
        max_size=3,
        unique=True,
    )
    for event in draw(chosen):
        definitions = []
        for _ in range(draw(st.integers(1, 2))):
            definition = {}
            kind = EVENTS.get(event)
            matcher = draw(st.sampled_from(MATCHERS[kind][agent])) if kind else None
            if matcher is not None:
                definition["matcher"] = matcher
            definition["hooks"] = [
                {"type": "command", "command": command, **draw(members(agent))}
                for command in draw(
                    st.lists(st.sampled_from(SAYS), min_size=1, max_size=2, unique=True)
                )
            ]
            definitions.append(definition)
        hooks[agent_spec.by_canonical[event].wire] = definitions
    return {"model": "m", "hooks": hooks}


def members(agent):
    more = {"timeout": st.sampled_from([5, 30] if agent == "claude" else [5000, 90000])}
    if agent == "claude":
        more["onFailure"] = st.just("block")
    else:
        more |= {"name": st.just("a name"), "env": st.just({"A": "b c"})}
    return st.fixed_dictionaries({}, optional=more)


def project(root, agent, content):
    path = next(p for _, p in places(get_agent(agent), location(root)) if p.is_relative_to(root))
    path = path.with_name("settings.json")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    return path


def location(root):
    return Location(root, root / "home", {})


@given(data=st.data())
@settings(max_examples=25)
@pytest.mark.parametrize(("source", "target"), PAIRS)
def test_hooks_that_come_home_decide_the_same(source, target, data):
    """Those that were not reported as lost, on the built-in events."""
    here, there = get_agent(source), get_agent(target)
    with tempfile.TemporaryDirectory() as directory:
        first, second = Path(directory) / "a", Path(directory) / "b"
        first.mkdir()
        second.mkdir()
        project(first, source, data.draw(settings_of(source)))
        out = plan_migration(here, there, location(first))
        project(second, target, merge_into(out, "", "x")[0] or "{}")
        back = plan_migration(there, here, location(second))
        text = merge_into(back, "", "x")[0] or "{}"
        (second / ".there").mkdir()
        home = second / "home-again"
        home.mkdir()
        project(home, source, text)

        original = Engine.load(second, agent=source, trust_once=True, home=second, environ=ENV)
        for definition in Comparison(out).moved_definitions():
            original.define(definition)
        returned = Engine.load(home, agent=source, trust_once=True, home=second, environ=ENV)
        roots = [str(second), str(home)]
        probes = builtin_probes(here, there, out.hooks.definitions, second)
        for probe in probes[:: data.draw(st.integers(7, 11))]:
            one = asyncio.run(original.dispatch(probe.source_event))
            other = asyncio.run(returned.dispatch(probe.source_event))
            said = [canonical(r.answer, probe.source_event, here, roots) for r in one.results]
            again = [canonical(r.answer, probe.source_event, here, roots) for r in other.results]

            assert [s for s in said if s] == [s for s in again if s], (probe.label, text)


ENV = {"PATH": "/usr/bin:/bin"}


# -- twice


def test_a_matcher_that_was_edited_after_the_migration_counts_as_it_is_now():
    content = {"hooks": {"SessionStart": [{"matcher": "startup|resume", "hooks": [TRUE]}]}}
    with tempfile.TemporaryDirectory() as directory:
        root = Path(directory)
        project(root, "claude", content)
        here, there = get_agent("claude"), get_agent("gemini")
        text, _ = merge_into(plan_migration(here, there, location(root)), "", "x")
        edited = parse(text, "x").value
        edited["hooks"]["SessionStart"] = [
            {**edited["hooks"]["SessionStart"][0], "matcher": "clear"}
        ]
        project(root, "gemini", edited)
        text, _ = merge_into(plan_migration(there, here, location(root)), "", "x")

    returned = parse(text, "x").value["hooks"]["SessionStart"]
    assert [definition["matcher"] for definition in returned] == ["clear"]


TRUE = {"type": "command", "command": "true"}


@given(data=st.data(), comment=st.sampled_from(["", "// mine\n", "/* mine */ "]))
@settings(max_examples=40)
@pytest.mark.parametrize(("source", "target"), PAIRS)
def test_migrating_twice_is_migrating_once(source, target, data, comment):
    here, there = get_agent(source), get_agent(target)
    with tempfile.TemporaryDirectory() as directory:
        root = Path(directory)
        project(root, source, data.draw(settings_of(source)))
        before = comment + json.dumps(data.draw(settings_of(target)), indent=2) + "\n"
        migration = plan_migration(here, there, location(root))
        once, _ = merge_into(migration, before, "x")
        twice, notes = merge_into(migration, once, "x")

        assert twice == once
        assert notes == []
        assert once.startswith(comment)
        own = parse(before, "x").value["hooks"]
        merged = parse(once, "x").value["hooks"]
        for event, definitions in own.items():
            assert merged[event][: len(definitions)] == definitions
