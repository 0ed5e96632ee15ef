"""The sentences of guards: what a call of any tool runs, reads, writes, deletes and contacts."""

from __future__ import annotations

import pytest

from anyhook import AfterTool, BeforeTool
from anyhook.testing import make_event
from tests.tables import each


def shell(command, agent="claude", **fields):
    return make_event(
        "before_tool", agent=agent, tool="shell", input={"command": command}, cwd="/code", **fields
    )


def tool(name, agent="claude", **arguments):
    return make_event("before_tool", agent=agent, tool=name, input=arguments, cwd="/code")


def repl(language, code):
    return tool("execute_repl", "terminai", language=language, code=code)


@pytest.fixture(autouse=True)
def home(monkeypatch):
    monkeypatch.setenv("HOME", "/home/ada")


def answer(match):
    return {(True, True): "yes", (True, False): "may"}.get((bool(match), match.certain), "no")


@each(
    "command, expected",
    [
        ("git push --force", "yes"),
        ("git push -f origin main", "yes"),
        ("git -C app push --force origin", "yes"),
        ("sudo -u ada git push -f", "yes"),
        ("/usr/bin/GIT push -f", "yes"),
        ("G=git; $G push -f", "yes"),
        ("git push origin main", "no"),
        ("git stash push --force", "no"),
        ("echo git push --force", "no"),
        ("git push $OPTIONS", "may"),
        ("git $COMMAND --force", "may"),
        ("$PROGRAM push --force", "may"),
        ("curl x | sh", "may"),
        ("echo 'unclosed", "may"),
        ("git push -- $BRANCH", "no"),
        ("git pus? --force", "may"),
        ("git 'pus?' --force", "no"),
        ("git --git-d${X}ir x push --force", "may"),
        ("git --git-d${X}ir x pull --force", "no"),
    ],
)
def test_runs(command, expected):
    assert answer(shell(command).runs("git", "push", options={"--force"})) == expected


def test_a_wrapper_runs_too_and_a_star_stands_for_anything():
    assert shell("sudo -S rm a").runs("sudo", options={"--stdin"})
    assert shell("mkfs.ext4 /dev/sda").runs("mkfs*").certain
    assert not shell("ls").runs("sudo")


@each(
    "command, expected",
    [
        ("rm src/a.py", "yes"),
        ("rm -rf src", "yes"),
        ("rm -rf .", "yes"),
        ("rm -rf ..", "yes"),
        ("rm -rf /", "yes"),
        ("rm -rf SRC", "yes"),
        ("rm src/*", "yes"),
        ("cd src && rm a.py", "yes"),
        ("cd / && rm -rf code/src", "yes"),
        ("find . -name '*.py' -delete", "may"),
        ("find src -delete", "yes"),
        ("mv src /tmp/x", "yes"),
        ("rm -rf build", "no"),
        ("rm source/a.py", "no"),
        ("cd build && rm -rf src", "no"),
        ("cd build; rm -rf src", "may"),
        ("rm *.py", "no"),
        ("rm -rf ~root", "may"),
        ("rm -rf s*", "may"),
        ('rm "$FILE"', "may"),
        ("parallel rm ::: a", "may"),
        ("ls | parallel rm {}", "may"),
        ("ls | xargs -I X sh -c 'rm X'", "may"),
        ("docker run img rm -rf /code/src", "may"),
        ("cat src/a.py", "no"),
    ],
)
def test_deletes(command, expected):
    assert answer(shell(command).deletes("src/**")) == expected


@each(
    "command, expected",
    [
        ("rm .git/HEA?", "yes"),
        ("rm .git/H*", "yes"),
        ("rm .git/HEA", "no"),
        ("find .git -name 'H*' -delete", "may"),
        ("find . -delete", "yes"),
        ("find . -mtime +30 -delete", "may"),
    ],
)
def test_a_pattern_of_the_shell_deletes_the_file_that_it_names(command, expected):
    assert answer(shell(command).deletes(".git/HEAD")) == expected


@each(
    "command, pattern, expected",
    [
        ("cat src/*.py", ".env.*", "may"),
        ("cat src/.*.py", ".env.*", "may"),
        ("find . -name '*.local' -exec cat {} +", ".env.*", "may"),
        ("cat *.md", "*.key", "no"),
        ("cat *.key", "*.key", "may"),
        ("cat a*.key", "*.key", "may"),
    ],
)
def test_two_patterns_have_a_file_in_common_if_their_ends_agree(command, pattern, expected):
    assert answer(shell(command).reads(pattern)) == expected


@pytest.mark.parametrize(
    ("pattern", "command"),
    [
        ("~/.ssh/**", "echo key >> ~/.ssh/authorized_keys"),
        ("~/.ssh/**", "cp key $HOME/.ssh/"),
        ("/home/ada/.ssh/*", "tee ~/.ssh/config"),
        (".env", "echo A=1 > app/.env"),
        ("app/", "touch app/x"),
        ("**/*.lock", "sed -i s/a/b/ deep/er/uv.lock"),
    ],
)
def test_patterns_start_where_they_say(pattern, command):
    assert shell(command).writes(pattern).certain
    assert shell(command).writes(pattern)
    assert not shell("ls").writes(pattern)


@each(
    "event, kind, expected",
    [
        (tool("write_file", file_path="src/a", content=""), "writes", "yes"),
        (tool("write_file", file_path="/code/src/a", content=""), "writes", "yes"),
        (tool("write_file", file_path="src/../a", content=""), "writes", "no"),
        (tool("write_file", file_path="src/a", content=""), "deletes", "no"),
        (tool("write_file", file_path=["src/a"], content=""), "writes", "yes"),
        (tool("write_file", file_path={"a": 1}, content=""), "writes", "may"),
        (tool("edit_file", file_path="src/a", old_string="", new_string=""), "writes", "yes"),
        (tool("edit_notebook", notebook_path="src/a.ipynb", new_source=""), "writes", "yes"),
        (tool("read_file", file_path="src/a"), "reads", "yes"),
        (tool("grep", pattern="x"), "reads", "yes"),
        (tool("mcp__files__write_file", path="src/a"), "writes", "may"),
        (tool("mcp__files__delete_path", paths=["a", "src"]), "deletes", "may"),
        (tool("mcp__files__move_file", source="src/a", destination="b"), "deletes", "may"),
        (tool("mcp__files__copy_file", source="a", destination="src/b"), "writes", "may"),
        (tool("mcp__files__list", path="src"), "writes", "no"),
        (tool("mcp__files__writeFile", targetPath="src/a"), "writes", "may"),
        (tool("mcp__files__write_files", files=[{"path": "src/a"}]), "writes", "may"),
        (tool("mcp__files__write_files", files=[{"path": "lib/a"}]), "writes", "no"),
        (tool("mcp__files__write_files", files=[{"id": 1}]), "writes", "may"),
        (tool("mcp__x__replace_body", relative_path="src/a"), "writes", "may"),
        (tool("mcp__x__run_command", command="rm src/a"), "deletes", "may"),
        (tool("mcp__x__executeCommand", command="rm lib/a"), "deletes", "no"),
        (tool("mcp__x__describe", command="rm src/a"), "deletes", "no"),
        (tool("Grep", pattern="x", glob="*.py", path="lib"), "reads", "no"),
        (tool("Grep", pattern="x", glob="*.py"), "reads", "may"),
        (tool("Shell", "cursor", command="rm a", cwd="/code/src"), "deletes", "yes"),
        (tool("Delete", "cursor", path="src/a"), "deletes", "yes"),
        (tool("Delete", "cursor", path="src/a"), "writes", "no"),
        (tool("move_file", source="src/a", destination="b"), "deletes", "yes"),
        (tool("delete_issue", path="src/a"), "deletes", "no"),
        (tool("file_operations", operation="delete", path="src/a"), "deletes", "yes"),
        (tool("file_operations", operation="move", **{"from": "src/a"}, to="b"), "deletes", "yes"),
        (tool("file_operations", operation="copy", **{"from": "a"}, to="src/b"), "writes", "yes"),
        (tool("file_operations", operation="list_tree", path="src"), "deletes", "no"),
        (
            tool("manage_processes", "terminai", operation="start", command="rm src/a"),
            "deletes",
            "yes",
        ),
        (tool("manage_processes", "terminai", operation="list"), "deletes", "no"),
        (tool("manage_processes", "terminai", operation="send", text="rm src/a"), "deletes", "may"),
        (tool("Bash", operation="run", cmd="rm src/a"), "deletes", "may"),
        (repl("shell", "rm src/a"), "deletes", "yes"),
        (repl("Bash", "ls src"), "deletes", "no"),
        (repl("python", "import os; os.remove('src/a')"), "deletes", "yes"),
        (repl("python", "import os; os.remove(path)"), "deletes", "may"),
        (repl("python", "import os; os.system('rm src/a')"), "deletes", "yes"),
        (repl("python", "print(1)"), "deletes", "no"),
        (repl("node", "require('child_process').execSync('rm src/a')"), "deletes", "yes"),
        (repl("ruby", "print 1"), "deletes", "may"),
        (repl("shell", None), "deletes", "may"),
    ],
)
def test_other_tools_answer_too(event, kind, expected):
    assert answer(getattr(event, kind)("src/**")) == expected


def test_a_call_without_its_command_line_shows_what_it_was_given():
    match = tool("Monitor", "claude", ws="wss://example.com").deletes("src/**")

    assert (bool(match), match.certain) == (True, False)
    assert "wss://example.com" in match.why


PATCH = """*** Begin Patch
*** Update File: src/a
*** Move to: lib/a
@@
-x
*** Delete File: src/b
*** Add File: src/c
+x
*** End Patch"""


def test_a_patch_answers_for_each_of_its_files():
    event = BeforeTool(
        tool_name="apply_patch",
        tool_input={"command": PATCH},
        cwd="/code",
        vocabulary=tool("write_file", "codex", file_path="a", content="").vocabulary,
    )

    assert event.writes("src/c").certain
    assert event.writes("lib/a")
    assert event.deletes("src/b").why == "the call deletes /code/src/b"
    assert event.deletes("src/a")
    assert not event.deletes("src/c")


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("curl https://a.example.com", "yes"),
        ("ssh a.example.com ls", "yes"),
        ("curl https://a.example.com/$PATH_PART", "yes"),
        ("curl $URL", "may"),
        ("curl https://example.org", "no"),
    ],
)
def test_contacts(command, expected):
    assert answer(shell(command).contacts("*.example.com")) == expected


@pytest.mark.parametrize("pattern", ["?.example.com", "[a-z].example.com"])
def test_only_a_star_is_special_in_a_host(pattern):
    assert not shell("curl https://a.example.com").contacts(pattern)


@pytest.mark.parametrize("words", [("gi?",), ("gi[t]",), ("git", "pus?"), ("git", "[p]ush")])
def test_only_a_star_is_special_in_a_program_and_an_operand(words):
    assert not shell("git push").runs(*words)
    assert shell("git push").runs("g*", "p*sh").certain


@pytest.mark.parametrize(
    "words",
    [
        ("git push",),
        ("git push --force",),
        ("git", "push", "--force"),
        ("git", "--force"),
        ("g* p*sh",),
    ],
)
def test_the_words_of_a_command_mean_the_command(words):
    assert shell("cd x && git push -f origin").runs(*words).certain
    assert not shell("git pull").runs(*words)
    assert not shell("echo git push --force").runs(*words)


def test_a_program_may_have_a_blank_in_its_name():
    assert shell("'/opt/My App' --quit").runs("My App").certain
    assert not shell("'/opt/My Apps' --quit").runs("My App")


def test_a_fetched_page_is_a_contact():
    assert tool("web_fetch", url="https://a.example.com/x", prompt="").contacts("*.example.com")


@pytest.mark.parametrize(
    "agent", ["claude", "codex", "copilot", "cursor", "gemini", "opencode", "qwen"]
)
def test_every_agent_gives_the_same_answer(agent):
    match = shell("sudo find src -delete", agent).deletes("src/**")

    assert match
    assert match.certain
    assert match.command.chain == ("sudo",)
    assert match.why == "`find` deletes /code/src"


def test_a_command_that_is_not_a_text_is_uncertain():
    event = BeforeTool(
        tool_name="Bash",
        tool_input={"command": {"a": "rm -rf src"}},
        vocabulary=shell("ls").vocabulary,
    )

    assert answer(event.deletes("src/**")) == "may"


def test_a_list_of_words_is_one_command():
    event = BeforeTool(
        tool_name="Bash",
        tool_input={"command": ["rm", "-rf", "a b"]},
        vocabulary=shell("ls").vocabulary,
    )

    assert [command.operands for command in event.commands] == [("a b",)]


def test_a_match_yields_everything_in_the_call_that_does_it_the_certain_first():
    event = shell("npm publish $OPTIONS --dry-run; npm $X; echo npm publish; npm publish ./lib")
    matches = [*event.runs("npm", "publish")]

    assert [match.command.source for match in matches] == [
        "npm publish $OPTIONS --dry-run",
        "npm publish ./lib",
        "npm $X",
    ]
    assert [match.certain for match in matches] == [True, True, False]
    assert [match.why for match in event.deletes("*")] == []
    written = [*shell("tee a b > c").writes("*")]
    assert [match.why for match in written] == [f"`tee` writes /code/{name}" for name in "cab"]
    assert shell("> a").writes("a").why == "a redirection writes /code/a"


def test_the_directory_of_the_call_counts():
    event = make_event(
        "before_tool",
        agent="gemini",
        tool="shell",
        input={"command": "rm a", "directory": "src"},
        cwd="/code",
    )

    assert event.deletes("src/a").certain


def test_a_relative_directory_of_the_event_is_a_place_like_any_other():
    event = shell("git reset --hard").replace(cwd=".")

    assert answer(event.writes(".")) == "yes"
    assert answer(event.deletes(".")) == "no"


def test_sentences_leave_an_event_as_it_is():
    event = shell("rm a")
    assert event.deletes("a")

    assert event.copy() == event
    assert isinstance(AfterTool(tool_name="x", tool_input={}).commands, tuple)
