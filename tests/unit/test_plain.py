"""Which lines, environments and shells are plain. What they mean is a property's matter."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import threading

import pytest

from anyhook.shell.plain import OWN_COMMANDS, fill, find_direct, plain_words

BASH = shutil.which("bash") or ""
VALUES = {
    "CLAUDE_PROJECT_DIR": "/home/me/my project",
    "GEMINI_PROJECT_DIR": "/p",
    "NAME": "a-b.c",
    "BLANKS": "a b",
    "STAR": "*.py",
    "EMPTY": "",
    "SHELLS_OWN": "exit",
    "MARK": "\x01",
}
on_linux = pytest.mark.skipif(sys.platform != "linux", reason="elsewhere every line has its shell")

PLAIN = [
    ("./check.sh --flag", ["./check.sh", "--flag"]),
    ("/usr/bin/env node x.js", ["/usr/bin/env", "node", "x.js"]),
    ("uv run x.py", ["uv", "run", "x.py"]),
    (
        'python3 "$CLAUDE_PROJECT_DIR"/.claude/hooks/x.py',
        ["python3", "/home/me/my project/.claude/hooks/x.py"],
    ),
    ('"${CLAUDE_PROJECT_DIR}/.claude/hooks/x.sh"', ["/home/me/my project/.claude/hooks/x.sh"]),
    ("$GEMINI_PROJECT_DIR/.gemini/x.sh", ["/p/.gemini/x.sh"]),
    ("node  ${GEMINI_PROJECT_DIR}/x.js\t", ["node", "/p/x.js"]),
    ("npx prettier --write=yes -- a=b", ["npx", "prettier", "--write=yes", "--", "a=b"]),
    ("say 'a  $NAME \"b\" *'", ["say", 'a  $NAME "b" *']),
    (r'say "a \"b\" \$NAME \\ \` $BLANKS $STAR $EMPTY."', ["say", r'a "b" $NAME \ ` a b *.py .']),
    (r"say a\ b\*\$NAME\\", ["say", r"a b*$NAME" + "\\"]),
    ("say '' \"\" ''x", ["say", "", "", "x"]),
    ("say a'b'\"c\"$NAME", ["say", "abca-b.c"]),
    ("say 'a\nb' \"grün\"", ["say", "a\nb", "grün"]),
]
SHELLS_MATTER = [
    *(
        "",
        " ",
        "a | b",
        "a > b",
        "a < b",
        "a 2>&1",
        "a && b",
        "a; b",
        "a &",
        "a\nb",
        "(a)",
        "{ a; }",
    ),
    *("a # b", "A=b", "A=b c", 'A"x"=b c', "a *", "a ?", "a [b]", "a {b,c}", "a ~", "~/a", "! a"),
    *(
        'a "!b"',
        "a !b",
        "a `b`",
        'a "`b`"',
        "a $(b)",
        'a "$(b)"',
        "a $((1))",
        "a $1",
        "a $?",
        "a $@",
    ),
    *('a "$1"', 'a "$$"', "a $", 'a "$"', "a ${x:-y}", 'a "${x#y}"', "a $'b'", 'a $"b"', "a @(b)"),
    *("a 'b", 'a "b', "a \\", "a \\\nb", 'a "\\\nb"', r'a "\n"', "a ^b", "a \r", "a \x01", "a é"),
    *("-x", "+x", "-/x", "a " + "b" * 5000, "a '\udc81'", "a > 'b'", "a '\0'"),
]
VALUES_MATTER = [
    *("a $BLANKS", "a $STAR", "a $EMPTY", "a b$EMPTY", "a $NOWHERE", 'a "$NOWHERE"', 'a "$MARK"'),
    *(
        "$SHELLS_OWN",
        "e'xi't",
        r"e\xit",
        "exit",
        "true",
        "[ a ]",
        "test a",
        ". a",
        "cd a",
        "exec a",
    ),
    *("'A=b' c", "'' a", "'a b'", "%1", "'~/a'", "'-a/b'", "coproc a", "time a", "'if' a", ": a"),
]


@pytest.mark.parametrize(("line", "argv"), PLAIN)
def test_a_line_of_plain_words_is_its_arguments(line, argv):
    assert fill(plain_words(line), VALUES) == argv


@pytest.mark.parametrize("line", SHELLS_MATTER)
def test_a_line_that_only_a_shell_understands_is_left_to_it(line):
    assert plain_words(line) is None


@pytest.mark.parametrize("line", VALUES_MATTER)
def test_a_word_that_a_shell_may_change_or_take_for_its_own_is_left_to_it(line):
    words = plain_words(line)

    assert words is None or fill(words, VALUES) is None


@pytest.mark.skipif(not BASH, reason="there is no bash")
def test_every_name_that_bash_has_of_its_own_is_known():
    done = subprocess.run(
        [BASH, "-c", "compgen -b; compgen -k"], capture_output=True, text=True, check=True
    )

    assert set(done.stdout.split()) <= OWN_COMMANDS


# -- the shell and its surroundings


@pytest.fixture
def places(tmp_path):
    """A program in a directory on the PATH; bash next to it, under its own name."""
    bin_, here = tmp_path / "bin", tmp_path / "here"
    for directory in (bin_, here):
        directory.mkdir()
    (bin_ / "bash").symlink_to(BASH)
    for program in (bin_ / "run", here / "run"):
        program.write_text("#!/bin/sh\n")
        program.chmod(0o755)
    return tmp_path


@pytest.fixture
def find(places):
    """Ask what the shell would become, in surroundings that differ a little from plain ones."""

    def ask(line="run it", shell="bash", **changes):
        env = {"PATH": f"{places}/bin", "PWD": f"{places}/here", "SHLVL": "2", **changes}
        env = {name: value for name, value in env.items() if value is not None}
        return find_direct([f"{places}/bin/{shell}", "-c", line], env, f"{places}/here")

    if ask() is None:
        pytest.skip("the bash here is not the one that was observed")
    return ask


@on_linux
def test_the_program_gets_what_bash_would_give_it(find, places):
    found = find(A="b c", PS1="$ ", OLDPWD="/no/such/place", _="before", PWD="/none", SHLVL=None)

    assert found.program == f"{places}/bin/run"
    assert found.argv == ("run", "it")
    assert found.env == {
        "PATH": f"{places}/bin",
        "PWD": f"{places}/here",
        "SHLVL": "0",
        "A": "b c",
        "_": f"{places}/bin/run",
    }


@on_linux
def test_a_path_is_taken_as_it_stands(find):
    found = find('./run "$PWD"')

    assert (found.program, found.env["_"]) == ("./run", "./run")


@on_linux
@pytest.mark.parametrize(
    "changes",
    [
        {name: "x"}
        for name in "BASH_ENV ENV SHELLOPTS BASHOPTS POSIXLY_CORRECT BASH_FUNC_a%% IFS UID".split()
    ]
    + [
        {"LC_ALL": "xx_XX.UTF-8"},
        {"LANG": "ja_JP.SJIS"},
        {"SHLVL": "999"},
        {"SHLVL": "x"},
        {"SHLVL": "01"},
        {"SHLVL": "0", "SSH_CLIENT": "x"},
        {"OLDPWD": "here"},
        {"PATH": None},
        {"PATH": ""},
        {"PATH": "bin"},
        {"": "x"},
    ],
    ids=str,
)
def test_surroundings_in_which_bash_does_more_are_left_to_it(find, changes):
    assert find(**changes) is None


@on_linux
def test_variables_that_bash_changes_inside_are_left_to_it(find):
    assert find('run "$A"', A="x")
    assert find('run "$_"', _="x") is None
    assert find('run "$SHLVL"') is None
    assert find('run "$OLDPWD"', OLDPWD="/") is None


@on_linux
def test_what_cannot_be_run_is_left_to_bash_to_complain_about(find, places):
    (places / "bin" / "directory").mkdir()
    (places / "bin" / "text").write_text("x")

    assert find("directory") is None
    assert find("text") is None
    assert find("nowhere") is None


@on_linux
def test_a_program_further_down_the_path_is_found(find, places):
    path = f"/no/such/place:{places}/here:{places}/bin"

    assert find(PATH=path).program == f"{places}/here/run"
    assert find(PATH=f"{places}/bin/") is None
    assert find(PATH=f":{places}/bin") is None
    assert find(PATH=f"/%b:{places}/bin") is None


@on_linux
def test_only_the_shell_that_was_observed_is_left_out(find, places):
    (places / "bin" / "sh").symlink_to(BASH)
    (places / "bin" / "rbash").symlink_to(BASH)
    (places / "bin" / "zsh").symlink_to(BASH)
    assert find(shell="sh")

    assert find(shell="rbash") is None
    assert find(shell="zsh") is None
    assert find(shell="none") is None


@on_linux
@pytest.mark.parametrize(
    "content", [b"#!/bin/zsh\n# no @(#)Bash version 5.2.", b"\x7fELF another shell"]
)
def test_another_program_called_bash_is_a_shell_that_nobody_knows(find, places, content):
    assert find()
    (places / "bin" / "bash").unlink()
    (places / "bin" / "bash").write_bytes(content)

    assert find() is None


@on_linux
@pytest.mark.skipif(not shutil.which("dash"), reason="there is no dash")
def test_dash_stays_between_because_it_waits_for_its_programs(find, places):
    (places / "bin" / "dash").symlink_to(shutil.which("dash"))
    (places / "bin" / "sh").symlink_to(shutil.which("dash"))

    assert find(shell="dash") is None
    assert find(shell="sh") is None


@on_linux
def test_further_options_of_the_shell_are_left_to_it(find, places, monkeypatch):
    monkeypatch.chdir(places / "bin")
    env = {"PATH": f"{places}/bin", "PWD": f"{places}/here", "SHLVL": "2"}
    shell = f"{places}/bin/bash"

    assert find_direct([shell, "-c", "run"], env, str(places)) is not None
    assert find_direct([shell, "-l", "run"], env, str(places)) is None
    assert find_direct([shell, "-c", "run", "name"], env, str(places)) is None
    assert find_direct([shell, "-l", "-c", "run"], env, str(places)) is None
    assert find_direct(["bash", "-c", "run"], env, str(places)) is None


@on_linux
def test_blocked_signals_are_left_to_bash_which_unblocks_some(find):
    found = [find()]

    def ask():
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGCHLD})
        found.append(find())

    thread = threading.Thread(target=ask)
    thread.start()
    thread.join()

    assert found[0] is not None
    assert found[1] is None


@on_linux
def test_without_masks_of_signals_every_line_is_the_shells(find, monkeypatch):
    assert find() is not None
    monkeypatch.delattr(signal, "pthread_sigmask")
    assert find() is None


@on_linux
def test_the_name_of_the_directory_that_is_told_stays_if_it_is_right(find, places, monkeypatch):
    (places / "link").symlink_to("here")
    monkeypatch.chdir(places / "here")

    assert find(PWD=f"{places}/link").env["PWD"] == f"{places}/link"
    assert find(PWD=f"{places}/bin").env["PWD"] == os.path.realpath(places / "here")
    assert find(PWD=".").env["PWD"] == os.path.realpath(places / "here")
