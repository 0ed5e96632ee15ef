"""`anyhook test --mutate` and `--coverage`: what no test of a hook file notices."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from anyhook.redteam.mutants import OPERATORS, mutants_of, narrowed, widened
from tests.waiting import until

DOCS = Path(__file__).parents[2] / "docs" / "testing.md"
HEAD = """
import re
from anyhook.authoring import Hooks, ask, deny

hooks = Hooks(on_crash="deny")
"""
TAIL = '\nif __name__ == "__main__":\n    hooks.run()\n'


def guard(condition, subjects='"shell"', before=""):
    return f"""{HEAD}{before}
@hooks.before_tool({subjects})
def guard(event):
    text = event.text
    if {condition}:
        return deny("no")
"""


def example(command, expect, tool="shell", name="command"):
    return f'hooks.example(tool="{tool}", input={{"{name}": "{command}"}}, expect="{expect}")\n'


BASIC = example("force", "deny") + example("ls", "none")
PLANTED = {
    # Operator: a guard, the examples that leave a hole, and the example that closes it.
    "rule-removed": (
        guard('"force" in text') + "    if text.startswith('dd'):\n        return deny('no')\n",
        BASIC,
        example("dd x", "deny"),
    ),
    "condition-dropped": (
        guard('"force" in text'),
        example("force", "deny"),
        example("ls", "none"),
    ),
    "pattern-widened": (
        guard(r're.search(r"force\b", text)'),
        BASIC,
        example("forced", "none"),
    ),
    "pattern-narrowed": (
        guard(r're.search(r"\b(force|hard)\b", text)'),
        BASIC + example("xforcex", "none"),
        example("hard", "deny"),
    ),
    "and-or": (
        guard('"push" in text and "force" in text'),
        example("push force", "deny") + example("ls", "none"),
        example("push", "none") + example("force", "none"),
    ),
    "not-removed": (
        guard('not text or "force" in text'),
        BASIC.replace("ls", "force2").replace("none", "deny"),
        example("ls", "none") + example("", "deny"),
    ),
    "comparison-turned": (
        guard("len(text) > 8"),
        example("x" * 20, "deny") + example("ls", "none"),
        example("x" * 8, "none") + example("x" * 9, "deny"),
    ),
    "constant-shifted": (
        guard("text.count('|') > LIMIT", before="LIMIT = 2\n"),
        example("||||||", "deny") + example("ls", "none"),
        example("||", "none") + example("|||", "deny"),
    ),
    "text-changed": (
        guard('text.startswith("git push") or "force" in text'),
        BASIC,
        example("git push", "deny"),
    ),
    "item-removed": (
        guard("any(word in text for word in WORDS)", before='WORDS = ("force", "hard")\n'),
        BASIC,
        example("hard", "deny"),
    ),
    "matcher-dropped": (
        guard('"force" in text'),
        BASIC,
        example("force", "none", "read_file", "file_path"),
    ),
    "matcher-narrowed": (
        guard('"force" in text', subjects='"shell", "edit_file"'),
        BASIC,
        example("force", "deny", "edit_file", "file_path"),
    ),
    "return-removed": (
        guard("is_dangerous(text)").replace(
            "@hooks",
            'def is_dangerous(text):\n    if "hard" in text:\n        text += "!"\n'
            '        return "force" not in text\n'
            '    return "force" in text\n\n\n@hooks',
        ),
        BASIC,
        example("hard", "deny") + example("hard force", "none"),
    ),
}


@pytest.fixture
def mutate(world, run, monkeypatch):
    monkeypatch.chdir(world.project)

    def call(text, *arguments):
        world.write(world.project / "guard.py", text)
        words = ("test", "guard.py", "--mutate", "--agent", "claude", "--jobs", "1")
        code, out, err = run(*words, *arguments)
        return code, out, err

    return call


def results(out, operator="", status=""):
    return [
        result
        for result in json.loads(out)["results"]
        if operator in ("", result["operator"]) and status in ("", result["status"])
    ]


def test_every_operator_is_planted_and_described():
    names = [operator.name for operator in OPERATORS]
    table = DOCS.read_text("utf-8").split("<!-- operators -->")[1].split("<!-- /operators")[0]

    assert set(PLANTED) == set(names)
    assert re.findall(r"^\|`([a-z-]+)`\|(.*)\|$", table, re.MULTILINE) == [
        (operator.name, operator.what) for operator in OPERATORS
    ]


@pytest.mark.slow
@pytest.mark.timeout(240)  # three runs, each with some hundred processes
@pytest.mark.parametrize("operator", PLANTED)
def test_a_planted_survivor_is_found_and_its_example_proposed(mutate, operator):
    text, examples, closing = PLANTED[operator]

    code, out, err = mutate(f"{text}\n{examples}{TAIL}", "--json")

    assert code == 0, err
    survivors = results(out, operator, "survived")
    assert survivors, results(out)
    (proposal, *_) = [survivor["proposal"] for survivor in survivors if survivor["proposal"]]

    # With the missing examples, or with the proposed one, it is noticed.
    _, closed, _ = mutate(f"{text}\n{examples}{closing}{TAIL}", "--json")
    assert len(results(closed, operator, "survived")) < len(survivors)
    _, proposed, err = mutate(f"{text}\n{examples}{proposal}\n{TAIL}", "--json")
    assert len(results(proposed, operator, "survived")) < len(survivors), err


def test_reasons_examples_and_settings_are_not_changed():
    loop = 'for denied in ("a", "b"):\n    hooks.example(tool="shell", input={}, expect="deny")\n'
    text = f'''"""About guards: 1 and 2."""{guard('"force" in text')}{BASIC}{loop}{TAIL}'''

    lines = {mutant.line for mutant in mutants_of(text)}

    allowed = [
        number
        for number, line in enumerate(text.splitlines(), 1)
        if line.startswith(("@hooks", "    if"))
    ]
    assert lines == set(allowed)


def test_functions_and_loops_that_add_examples_are_not_changed():
    text = f"""{guard('"force" in text')}
def denied(command, is_long=False):
    if is_long:
        return None
    hooks.example(tool="shell", input={{"command": command}}, expect="deny")

denied("force", is_long=False)
START, END = "force", "push"
for number in (1, 2):
    word = START * 2
    denied(word)
{TAIL}"""

    lines = {text.splitlines()[mutant.line - 1].strip() for mutant in mutants_of(text)}

    assert lines == {'@hooks.before_tool("shell")', 'if "force" in text:'}


def test_every_item_of_a_list_is_removed_and_no_glob_is_a_pattern():
    lists = 'LONG = [\n    "a.*",\n    "b" ,\n]\nPAIR = ("c" , "d",)\n'
    text = guard('text in LONG or text in PAIR or re.search("x .*y", text)', before=lists)

    removed = [m.source for m in mutants_of(text) if m.operator == "item-removed"]
    patterns = [m.source for m in mutants_of(text) if m.operator.startswith("pattern")]

    values = []
    for source in removed:
        space = {}
        exec(source.partition("@hooks")[0], space)
        values.append((space["LONG"], space["PAIR"]))
    both, pair = ["a.*", "b"], ("c", "d")
    assert values == [(["b"], pair), (["a.*"], pair), (both, ("c",)), (both, ("d",))]
    assert patterns
    assert all('"a.*"' in source for source in patterns)


PROGRAMS = """
PROGRAMS = {"brew", "conda"}


def is_setup(text):
    return any(re.fullmatch(rf"eval .\\({name} -s\\)", text) for name in PROGRAMS)

"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("text", "operator"),
    [
        (guard("is_setup(text)", before=PROGRAMS), "item-removed"),
        (guard(r're.fullmatch(r"eval .\((brew|conda) -s\)", text)'), "pattern-narrowed"),
    ],
)
def test_an_item_that_no_example_has_is_proposed_in_the_place_of_another(mutate, text, operator):
    _, out, err = mutate(f"{text}\n{example('eval $(brew -s)', 'deny')}{TAIL}", "--json")

    proposals = [survivor["proposal"] or "" for survivor in results(out, operator, "survived")]
    assert any("eval $(conda -s)" in proposal for proposal in proposals), err


def test_a_change_with_the_same_byte_code_is_left_out():
    # Both operands are constants, and Python folds them: `2 - 1` and `1` are one program.
    text = guard("len(text) > 1 and len(text) > 1")
    sources = [mutant.source for mutant in mutants_of(text)]

    assert len(sources) == len(set(sources))
    folded = guard("text.count('x') > (True and 5)")
    changes = [m.source for m in mutants_of(folded) if m.operator == "and-or"]
    assert all("or 5" in source for source in changes)
    assert not [m for m in mutants_of(guard("text > 'a' 'b'")) if m.operator == "pattern-widened"]


@pytest.mark.slow
@pytest.mark.timeout(240)
def test_changes_and_results_do_not_depend_on_the_number_of_sandboxes(mutate, run):
    text = f"{guard('len(text) > 5 and text.count(str(1)) < 9')}\n{BASIC}"
    text = text.replace('"force"', '"force push"') + TAIL

    _, one, err = mutate(text, "--json", "--jobs", "1")
    _, again, _ = mutate(text, "--json", "--jobs", "1")
    Path(json.loads(one)["kept"]).unlink()
    _, several, _ = mutate(text, "--json", "--jobs", "3")

    assert one == again == several, err
    assert len(results(one)) > 8


@pytest.mark.slow
@pytest.mark.timeout(240)
def test_an_interrupted_run_is_continued(mutate, run, world):
    search = " or ".join(f'"{word} force" in text' for word in range(15))
    text = f"{guard(search)}\n{example('1 force', 'deny')}{example('ls', 'none')}{TAIL}"
    world.write(world.project / "guard.py", text)
    command = [sys.executable, "-m", "anyhook", "test", "guard.py", "--mutate", "--json"]
    process = subprocess.Popen(
        [*command, "--agent", "claude", "--jobs", "1"], stdout=subprocess.PIPE, text=True
    )
    directory = Path(os.environ["ANYHOOK_DATA_DIR"]) / "history" / "mutants"

    def kept():
        files = list(directory.glob("*.jsonl"))
        return files[0].read_text().splitlines()[1:] if files else []

    until(lambda: len(kept()) > 2)
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate()

    report = json.loads(out)
    assert process.returncode == 130
    assert not report["complete"]
    first = kept()
    assert 2 < len(first) == report["tried"] < report["mutants"]
    code, out, _ = mutate(text, "--json")
    assert code == 0
    assert json.loads(out)["tried"] == report["mutants"]
    assert kept()[: len(first)] == first
    assert len(kept()) == report["mutants"]


@pytest.mark.slow
def test_few_noticed_changes_fail_a_pipeline(mutate):
    text = f"{guard(chr(34) + 'force' + chr(34) + ' in text')}\n{BASIC}{TAIL}"

    assert mutate(text, "--min-killed", "0.5")[0] == 0
    code, out, _ = mutate(text, "--min-killed", "1")
    assert code == 1
    assert "no example notices this" in out
    assert "--min-killed is 1" in out


@pytest.mark.slow
def test_a_proposal_does_not_depend_on_what_examples_left_in_the_state(mutate):
    """The hook asks about every call of a session after the first; nothing else decides."""
    text = f"""{HEAD.replace("ask, deny", "ask, load_state, save_state")}
NEVER = {{"one", "two"}}


@hooks.before_tool("shell")
def guard(event):
    is_known = load_state("seen", event.session_id)
    save_state("seen", event.session_id, {{"calls": 1}})
    if is_known:
        return ask("again?")


hooks.example(tool="shell", input={{"command": "ls"}}, expect="none")
hooks.example(tool="shell", input={{"command": "ls"}}, expect="ask")
hooks.example(tool="shell", session_id="other", input={{"command": "ls"}}, expect="none")
{TAIL}"""

    code, out, err = mutate(text, "--json")

    assert code == 0, err
    (survivor, other) = results(out, "item-removed")
    assert (survivor["status"], survivor["proposal"]) == ("survived", None)
    assert (other["status"], other["proposal"]) == ("survived", None)


@pytest.mark.slow
def test_what_ends_after_the_tests_was_not_noticed_by_them(mutate):
    ends = (
        "if 'spin' in text:\n        if text:\n            return None\n        os._exit(3)\n    if"
    )
    text = f"import os\n{guard(chr(34) + 'force' + chr(34) + ' in text')}{BASIC}{TAIL}"

    _, out, err = mutate(text.replace("if", ends, 1), "--json")

    (survivor, *_) = results(out, "rule-removed", "survived")
    assert "if False" in survivor["diff"], err
    assert "its process ended" not in out


@pytest.mark.slow
@pytest.mark.parametrize(
    ("examples", "message"),
    [
        ("", "guard.py has no examples"),
        (example("ls", "deny"), "fails for claude; mend the examples first"),
    ],
)
def test_tests_that_notice_nothing_are_an_error(mutate, examples, message):
    code, _, err = mutate(f"{guard('text == 1')}\n{examples}{TAIL}")

    assert code == 64
    assert message in err


@pytest.mark.slow
def test_cases_notice_changes_too(mutate, world):
    text = f"""{guard('"force" in text')}\n{example("force", "deny")}{TAIL}"""
    case = '[[case]]\nevent = "before_tool"\ntool = "shell"\nexpect = "{}"\n{}\n'
    cases = [
        case.format("none", 'input = { command = "ls" }'),
        # Another hook decides this one; it says nothing about the file.
        case.format("deny", 'input = { command = "other" }'),
    ]
    world.write(world.project / "cases.toml", "\n".join(cases))

    _, without, _ = mutate(text, "--json")
    _, out, err = mutate(text, "--json", "--cases", "cases.toml")

    assert len(results(without, "condition-dropped", "survived")) == 1, err
    (killed,) = results(out, "condition-dropped", "killed")
    assert killed["by"] == f"{Path('cases.toml')}:1 (claude)"


@pytest.mark.parametrize(
    ("function", "pattern", "patterns"),
    [
        (widened, r"^rm\b.+$", {r"rm\b.+$", r"^rm.+$", r"^rm\b.*$", r"^rm\b.+"}),
        (widened, r"[+^]\+(?:a+?)", {r"[+^]\+(?:a*?)"}),
        (narrowed, "a|bc|d", {"bc|d", "a|d", "a|bc"}),
        (
            narrowed,
            r"x(?:a|b\|c)*y?",
            {r"x(?:b\|c)*y?", r"x(?:a)*y?", r"x(?:a|b\|c)+y?", r"x(?:a|b\|c)*y"},
        ),
        (narrowed, r"[|(]\(", set()),
    ],
)
def test_patterns_are_changed_outside_of_classes_and_escapes(function, pattern, patterns):
    assert set(function(pattern)) == patterns


# -- coverage


COVERED = f"""{HEAD}
@hooks.before_tool("shell")
def guard(event):
    if "force" in event.text:
        return deny("no")
    if "reset" in event.text:
        return ask("sure?")
    if event.text == "crash":
        raise ValueError
    if "never" in event.text:
        answer = deny("never")
        return answer

{example("force", "deny")}{example("ls", "none")}{TAIL}"""


def line_of(text):
    return next(n for n, line in enumerate(COVERED.splitlines(), 1) if text in line)


@pytest.mark.slow
def test_coverage_counts_the_events_on_which_each_rule_decided(world, run, monkeypatch):
    monkeypatch.chdir(world.project)
    world.write(world.project / "guard.py", COVERED)
    case = '[[case]]\nevent = "before_tool"\ntool = "shell"\nexpect = "ask"\n'
    payload = '[[case]]\nexpect = "deny"\npayload = { hook_event_name = "PreToolUse" }\n'
    commands = ("git reset", "reset", "crash")
    cases = [f'{case}input = {{ command = "{command}" }}\n' for command in commands]
    world.write(world.project / "cases.toml", "\n".join([*cases, payload]))

    code, out, err = run("test", "guard.py", "--coverage", "--cases", "cases.toml", "--json")

    assert code == 0, err
    data = json.loads(out)
    assert data["events"] == {"examples": 2, "cases": 3, "history": 0}
    assert data["failed"] == {"examples": 0, "cases": 1, "history": 0}
    assert data["cases_left_out"] == 1
    rules = [(rule["line"], rule["examples"], rule["cases"]) for rule in data["rules"]]
    assert rules == [
        (line_of('deny("no")'), 1, 0),
        (line_of('ask("sure?")'), 0, 2),
        (line_of("answer = deny"), 0, 0),
    ]
    first = line_of('if "force"')
    assert {"line": first, "examples": 2, "cases": 3, "history": 0} in data["lines"]
    assert [line_of('if "never"'), line_of("answer = deny")] in data["missing_branches"]

    _, out, _ = run("test", "guard.py", "--coverage")
    assert re.search(r'answer = deny\("never"\)\s+guard\s+never', out)
    assert f"never to line {line_of('answer = deny')}" in out
    assert "2 of 3 rules never decided anything" in out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["guard.py", "--coverage", "--mutate"], "not both"),
        (["cases.toml", "--mutate"], "add --cases cases.toml"),
        (["guard.py", "--cases", "cases.toml"], "need --coverage or --mutate"),
    ],
)
def test_options_that_do_not_fit_are_an_error(world, run, monkeypatch, arguments, message):
    monkeypatch.chdir(world.project)

    code, _, err = run("test", *arguments)

    assert code == 64
    assert message in err
