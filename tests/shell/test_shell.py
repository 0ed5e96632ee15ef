"""Words of command lines: what is read from any line, also from one that no shell would run."""

from __future__ import annotations

from anyhook.shell.labels import command_label
from anyhook.shell.words import split_literal, split_tokens
from tests.tables import each


@each(
    "command, label",
    [
        ("./hooks/guard.py --strict", "guard.py"),
        ('"$CLAUDE_PROJECT_DIR"/hooks/guard.sh', "guard.sh"),
        ("cd hooks && npm run lint -- --fix", "npm lint"),
        ("git diff --quiet", "git diff"),
        ("python3 -m hooks.guard", "hooks.guard"),
        ("python3.12 -c 'print(1)'", "python3.12 -c"),
        ("sudo env A=1 timeout 5 ruff check", "ruff"),
        ("flock /tmp/lock ruff check", "flock"),
        ("[ -f x ] && ruff check", "ruff"),
        ("bash -c 'cd x; ruff check'", "ruff"),
        ("fish -c 'ruff check'", "ruff"),
        ("anyhook shim --as claude -- './guard.sh x'", "guard.sh"),
        ("timeout \\\n 5 ruff", "ruff"),
        ("echo 'open", "echo"),
        ("", ""),
    ],
)
def test_a_command_is_labelled_by_what_does_the_work(command, label):
    assert command_label(command) == label


@each(
    "line, words",
    [
        ("a 'b c' \"d e\"", ["a", "b c", "d e"]),
        ('a \'$b\' "\\"c"', ["a", "$b", '"c']),
        ('a "\\$c"', None),
        ("a 'it'\"'\"'s'", ["a", "it's"]),
        ("a $b", None),
        ('a "$b"', None),
        ('a "`b`"', None),
        ("a \\b", None),
        ("a *", None),
        ("a > b", None),
        ("a; b", None),
        ("a\nb", None),
        ("a 'b", None),
        ('a "b\\', None),
    ],
)
def test_a_line_is_literal_if_the_shell_only_removes_its_quotes(line, words):
    assert split_literal(line) == words


def test_every_line_has_tokens():
    assert split_tokens("a 'b c'&&d >e") == ["a", "b c", "&&", "d", ">", "e"]
    assert split_tokens("a 'b c") == ["a", "'b", "c"]
