"""Settings of strangers take neither time nor memory, whatever they hold."""

from __future__ import annotations

import asyncio
import json
import threading

import pytest

from anyhook import BeforeTool, TrustStore
from anyhook.agents import get_agent
from anyhook.matching.complexity import MAX_SUBJECT_LENGTH, longest_safe_subject
from anyhook.matching.matchers import compile_matcher
from anyhook.migrate.matchers import translate_matcher
from anyhook.settings.report import MAX_ITEMS
from anyhook.settings.sources import MAX_FILES
from tests.work import count_calls, growth
from tests.world import World

pytestmark = [pytest.mark.slow, pytest.mark.timeout(40)]

WRITE = BeforeTool(tool_name="write_file", tool_input={})
DENIAL = {"type": "command", "command": "echo no >&2; exit 2"}
TRUE = {"type": "command", "command": "true"}
LONG_NAME = "mcp__" + "ab_" * 40


@pytest.fixture
def store(tmp_path):
    return TrustStore(tmp_path / "trust")


def decide(engine, tool="write_file"):
    return asyncio.run(engine.dispatch(WRITE.replace(tool_name=tool)))


def hooks(*definitions):
    return {"hooks": {"BeforeTool": list(definitions)}}


# -- matchers

HEAVY = {
    "alternatives": "|".join(f"a{i}." for i in range(60_000)),
    "text": "x" * 1_000_000 + ".",
    "groups": "(" * 500_000 + "a" + ")" * 500_000,
    "classes": "[ab]" * 250_000,
    "branches": "(a|b)" * 200_000,
    "bars": "|" * 100_000 + ".",
}


@pytest.mark.parametrize("pattern", HEAVY.values(), ids=HEAVY)
def test_a_heavy_pattern_is_not_compiled_and_counts_as_a_match(tmp_path, pattern):
    world = World(tmp_path)
    text = json.dumps(hooks({"matcher": pattern, "hooks": [DENIAL]}))
    world.settings("user", text[: 1024 * 1024])
    if len(text) > 1024 * 1024:
        pytest.fail("the file is larger than settings may be")
    results = []

    def load():
        engine = world.load()
        results.append((engine.diagnostics, decide(engine)))

    thread = threading.Thread(target=load)  # its stack is smaller than that of the main thread
    thread.start()
    thread.join()

    ((diagnostics, decision),) = results
    assert [(d.code, str(d.severity)) for d in diagnostics] == [("costly-matcher", "error")]
    assert len(diagnostics[0].message) < 300
    assert decision.denied
    assert [d.code for d in decision.diagnostics] == ["costly-matcher"]


def test_a_long_list_of_names_is_exact(tmp_path):
    world = World(tmp_path)
    names = "|".join(f"tool_{i}" for i in range(50_000))
    world.settings("user", hooks({"matcher": names, "hooks": [DENIAL]}))
    engine = world.load()

    assert engine.diagnostics == ()
    assert decide(engine, "tool_49999").denied
    assert not decide(engine, "tool_50000").denied


SLOW = [
    "^(.*_)*delete$",
    "^([a-z]+)*_write$",
    ".*.*.*.*write$",
    r"(\w+)+!",
    "^(a|a_)*$",
    "(?:.?){20}x",
    "(?:(?:.?){9}x?){9}!",
    "(((a?){1000}){1000}){1000}",
    "(.|.)(.|.)(.|.)(.|.)(.|.)(.|.)(.|.)(.|.)(.|.)(.|.)(.|.)(.|.)(.|.)(.|.)(.|.)(.|.)(.|.)(.|.)x!",
    "(?=(.*_)*!)mcp",
    "^(?:(.*),){11}P",
    "(a*)*(b*)*c",
]


@pytest.mark.parametrize("pattern", SLOW)
def test_a_slow_pattern_counts_as_a_match_on_long_names_and_is_reported(tmp_path, pattern):
    world = World(tmp_path)
    world.settings("user", hooks({"matcher": pattern, "hooks": [DENIAL]}))
    engine = world.load()

    decision = decide(engine, LONG_NAME)

    assert decision.denied
    assert "costly-matcher" in [d.code for d in engine.diagnostics]
    assert [d.code for d in decision.diagnostics] == ["costly-matcher"]
    assert engine.diagnostics[0].place.line


@pytest.mark.parametrize(
    ("pattern", "covered", "other"),
    [
        ("^(.*_)*delete$", "my_delete", "my_write"),
        ("^([a-z]+)*_write$", "file_write", "file_read"),
        (".*.*.*.*write$", "file_write", "mcp__files__read"),
    ],
)
def test_a_slow_pattern_is_exact_on_short_names(pattern, covered, other):
    matcher = compile_matcher(pattern)

    assert (matcher.matches(covered), matcher.matches(other)) == (True, False)


@pytest.mark.parametrize(
    "pattern",
    [
        "mcp__.*",
        "^(Write|Edit|mcp__.*__write)$",
        "(?!Bash).*",
        "Edit|Write|mcp__.*__w.*|Notebook.*x",
        "mcp__.*__(write|create|delete).*",
        "^mcp__[a-z]+__(\\w+)$",
        "^mcp__(github|gitlab)__\\w+_\\w+$",
        "mcp__(memory|filesystem)__.*",
        "^(?!mcp__).*$",
        "tool_[0-9]{1,3}",
    ],
)
def test_an_ordinary_pattern_is_exact_on_every_name_of_a_tool(pattern):
    assert longest_safe_subject(pattern) >= 128


@pytest.mark.parametrize("pattern", ["mcp__.*", ".*", "write_file", "^a$", "a|b.*", "[ab]c+"])
def test_a_pattern_with_one_quantifier_is_exact_on_every_subject(pattern):
    assert longest_safe_subject(pattern) == MAX_SUBJECT_LENGTH


@pytest.mark.parametrize("pattern", [*SLOW, HEAVY["alternatives"]])
def test_migrating_a_slow_pattern_reports_it(pattern):
    source, target = get_agent("claude"), get_agent("gemini")
    old, new = source.by_wire["PreToolUse"], target.by_wire["BeforeTool"]

    translated = translate_matcher(source, old, pattern, target, new)

    assert translated.patterns or translated.missing


# -- how much there is

MANY = {
    "hooks": hooks({"hooks": [TRUE] * 20_000}),
    "definitions": hooks(*[{"hooks": [TRUE]}] * 15_000),
    "missing-scripts": hooks(
        *[{"hooks": [{"type": "command", "command": f"./no/{i}.sh"}]} for i in range(7_000)]
    ),
    "disabled": {"hooksConfig": {"disabled": [f"name-{i}" for i in range(8_000)]}},
    "empty": hooks(*[{}] * 100_000),
    "events": {"hooks": {f"Event{i}": [] for i in range(30_000)}},
    "fields": hooks({"hooks": [{**TRUE, **{f"field{i}": 1 for i in range(30_000)}}]}),
    "long-names": {"hooksConfig": {"disabled": ["n" * 30_000] * 20 + ["m" * 30_000] * 10}},
}


@pytest.mark.parametrize("content", MANY.values(), ids=MANY)
def test_a_file_with_too_much_in_it_holds_nobody(world, run, store, content):
    world.settings("user", hooks({"hooks": [DENIAL]}))
    world.settings("project", json.dumps(content, separators=(",", ":")))

    engine = world.load(trust_once=False, trust_store=store)
    code, out, _ = run("check", "--json")

    assert decide(engine).denied
    assert code in (0, 1)
    assert len(out) < 2_000_000


@pytest.mark.parametrize("name", ["hooks", "definitions", "missing-scripts", "empty", "events"])
def test_what_is_left_out_is_an_error(tmp_path, name):
    world = World(tmp_path)
    world.settings("user", json.dumps(MANY[name], separators=(",", ":")))

    found = [d for d in world.load().diagnostics if d.code == "too-many-hooks"]

    assert [str(d.severity) for d in found] == ["error"]
    assert "are left out" in found[0].message


def nested(depth, text):
    return '{"a":' * depth + text + "}" * depth


def test_deep_nesting_with_repeated_keys_holds_nobody(tmp_path):
    world = World(tmp_path)
    padding = " " * 900_000
    world.settings("user", '{"x": 1, "x": 2, "deep": ' + nested(900, padding + "1") + "}")

    assert [d.code for d in world.load().diagnostics] == ["duplicate-key"]


COMMANDS = {
    "directories": "cd .;" * 20 + "./guard.sh",
    "more-directories": "cd hooks; cd ..; " * 400 + "./guard.sh",
    "long": "echo " + "word " * 3_000,
    "globs": "cat " + "*/*/* " * 2_500,
    "one-glob": "cat " + "/*" * 8_000,
    "braces": "echo " + "{a,b}" * 3_000,
    "nested-braces": "echo " + "{a," * 4_000 + "}" * 4_000,
    "quotes": "sh -c '" + 'sh -c "a b" ' * 4_000 + "'",
    "paths": "cat " + " ".join(f"d/{i}.sh" for i in range(1_500)),
    "assignments": " ".join(f"A{i}=x/$A{i - 1}" for i in range(1_200)),
    "too-long": "echo " + "word " * 12_000,
    "backticks": "`" * 16_000,
}


@pytest.mark.parametrize("line", COMMANDS.values(), ids=COMMANDS)
def test_a_command_that_is_too_complex_holds_nobody(world, run, store, line):
    world.write(world.project / "hooks" / "guard.sh", "")
    world.settings("user", hooks({"hooks": [DENIAL]}))
    hook = {"type": "command", "command": line, "timeout": 200}
    world.settings("project", hooks({"hooks": [hook] * 15}))

    engine = world.load(trust_once=False, trust_store=store)
    run("check")
    store.trust(world.project, engine.guard.subjects(), agent="gemini")

    assert decide(engine).denied


# -- how the work grows


def command_hook(number):
    return {"type": "command", "command": f"./check{number}.sh --number {number}"}


def one_file(agent, event, definitions):
    return {f".{agent}/settings.json": {"hooks": {event: definitions}}}


def many_files(count):
    files = {}
    for number in range(count):
        hook = {"type": "command", "bash": f"echo {number}"}  # all of one name
        files[f".github/hooks/{number}.json"] = {"version": 1, "hooks": {"preToolUse": [hook]}}
    return files


def many_hooks(count):
    definition = {"matcher": "Bash", "hooks": [command_hook(n) for n in range(count)]}
    return one_file("claude", "PreToolUse", [definition])


def many_definitions(count):
    definitions = [{"matcher": f"Bash|T{n}", "hooks": [command_hook(n)]} for n in range(count)]
    return one_file("claude", "PreToolUse", definitions)


def many_equal_hooks(count):
    return one_file("claude", "PreToolUse", [{"hooks": [command_hook(0)] * count}])


SETTINGS = {
    "files": many_files,
    "hooks": many_hooks,
    "definitions": many_definitions,
    "equal-hooks": many_equal_hooks,
}
LINES = ("list", "check", "trust --show", "migrate --to codex --dry-run")


@pytest.mark.parametrize("line", LINES)
@pytest.mark.parametrize("make_files", SETTINGS.values(), ids=SETTINGS)
def test_the_work_of_a_command_grows_with_the_number_of_hooks(
    tmp_path, monkeypatch, run, make_files, line
):
    def work_for(count):
        world = World(tmp_path / str(count))
        for path, content in make_files(count).items():
            world.write(world.project / path, json.dumps(content))
        monkeypatch.chdir(world.project)
        return count_calls(lambda: run(*line.split()))

    # On a busy machine a command waits longer for child processes, which takes calls, too.
    assert any(growth(work_for) < 2.6 for _ in range(3))


def test_of_too_many_files_the_first_ones_are_read_and_the_others_reported(world, run):
    for path, content in many_files(MAX_FILES + 5).items():
        world.write(world.project / path, json.dumps(content))

    code, out, _ = run("check", "--json")

    (problem,) = [p for p in json.loads(out)["diagnostics"] if p["code"] == "too-many-hooks"]
    assert code == 1
    assert problem["file"] == str(world.project / ".github" / "hooks")
    assert "1,005 files are more than anyhook reads" in problem["message"]
    assert "write their hooks into fewer files" in problem["message"]


def test_of_files_that_are_too_large_together_the_first_ones_are_read(world):
    hook = {"type": "command", "bash": "true", "comment": "x" * 900_000}
    for number in range(6):
        content = {"version": 1, "hooks": {"preToolUse": [hook]}}
        world.write(world.project / ".github" / "hooks" / f"{number}.json", json.dumps(content))

    engine = world.load(agent="copilot")

    assert len(list(engine.hooks.definitions)) == 4
    assert [d.code for d in engine.diagnostics if d.code.startswith("too-many")] == [
        "too-many-hooks"
    ]


def test_of_too_many_hooks_in_several_files_the_first_ones_run(world):
    for number in range(3):
        hooks_of_file = [{"type": "command", "bash": f"./{number}-{n}.sh"} for n in range(400)]
        content = {"version": 1, "hooks": {"preToolUse": hooks_of_file}}
        world.write(world.project / ".github" / "hooks" / f"{number}.json", json.dumps(content))

    engine = world.load(agent="copilot")

    (problem,) = [d for d in engine.diagnostics if d.code == "too-many-hooks"]
    assert sum(len(definition.handlers) for definition in engine.hooks.definitions) == MAX_ITEMS
    assert "1,200 hooks in the files of the project layer" in problem.message
    assert problem.place.file == str(world.project / ".github" / "hooks" / "0.json")


@pytest.mark.timeout(120)
@pytest.mark.parametrize("line", LINES)
def test_a_project_with_thousands_of_hook_files_holds_no_command(world, run, line):
    for path, content in many_files(3_000).items():
        world.write(world.project / path, json.dumps(content))

    code, _, _ = run(*line.split())

    assert code in (0, 1)


def test_a_command_of_one_long_word_holds_no_migration(world, run):
    hook = {"type": "command", "command": "echo " + "x" * 900_000}
    world.write(
        world.project / ".claude" / "settings.json",
        json.dumps({"hooks": {"PreToolUse": [{"hooks": [hook]}]}}),
    )

    code, out, _ = run("migrate", "--to", "gemini", "--dry-run")

    assert code == 0
    assert "the system starts no program with an argument as long as that" in out


SCRIPTS = {
    "documents": "cat <<a\n" * 30_000,
    "quotes": "bash '" + "\"'" * 100_000,
    "backticks": "`" * 200_000,
    "brackets": "(" * 200_000,
    "nested": "bash -c 'bash -c \"" * 5_000,
    "opens": "open " * 50_000,
    "names": "/".join(f"a{i}.sh" for i in range(30_000)),
    "assignments": "a=b\n" * 60_000 + "$a" * 10_000,
    "globs": "bash " + "x/" * 50_000 + "*\n",
    "imports": "import " + ", ".join(f"m{i}" for i in range(20_000)),
    "blanks": " " * 250_000 + ".",
    "strings": "exec(f" + "'{x}' + " * 30_000,
    "pipes": "a | bash\n" * 25_000,
}


@pytest.mark.parametrize("suffix", [".sh", ".py", ".js", ".pl", ".rb", ".php", ".ps1"])
@pytest.mark.parametrize("text", SCRIPTS.values(), ids=SCRIPTS)
def test_a_script_that_is_hard_to_look_into_holds_nobody(world, store, text, suffix):
    script = world.write(world.project / "hooks" / f"guard{suffix}", text)
    world.settings("user", hooks({"hooks": [DENIAL]}))
    world.settings("project", hooks({"hooks": [{**TRUE, "command": f"echo {script}"}]}))

    engine = world.load(trust_once=False, trust_store=store)
    store.trust(world.project, engine.guard.subjects(), agent="gemini")

    assert decide(engine).denied
