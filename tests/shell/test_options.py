"""Options have one name in all spellings, as the programs themselves read them."""

from __future__ import annotations

import re
import shutil
import subprocess

import pytest

from anyhook.shell import read_commands
from anyhook.shell.options import find_table
from tests.tables import each

HELP_ROW = re.compile(r"^\s+-(\w), --([a-z][\w-]*+)(\[?=(?![a-z]))?(?!=)", re.MULTILINE)
"""`-f, --force`, `-s, --size=SIZE`; not `-C, --check=quiet`, where the long one is another."""
GNU = (
    "rm cp mv ln install mkdir touch chmod chown chgrp truncate tee cat head tail sed grep sort"
    " uniq cut wc ls du tar gzip split shred xargs timeout env nice stdbuf"
).split()


def options_of(line):
    *_, command = read_commands(line)
    return dict(command.options)


@each(
    "line, options",
    [
        ("rm -rf a", {"--recursive": (), "--force": ()}),
        ("rm -r -f a", {"--recursive": (), "--force": ()}),
        ("rm a --recurs --forc", {"--recursive": (), "--force": ()}),
        ("rm -R a", {"--recursive": ()}),
        ("rm -- -rf", {}),
        ("git push -f", {"--force": ()}),
        ("git push -f --no-force", {"--no-force": ()}),
        ("git push --no-forc -f", {"--no-forc": (), "--force": ()}),
        ("git push --mirror --no-mirr", {"--no-mirr": ()}),
        ("git commit --no-verify", {"--no-verify": ()}),
        ("lvremove -h vg/a", {"--help": ()}),
        (
            "git -C x --no-pager push origin main --force",
            {"-C": ("x",), "--no-pager": (), "--force": ()},
        ),
        ("git push -uf origin main", {"--set-upstream": (), "--force": ()}),
        ("git reset --hard HEAD", {"--hard": ()}),
        ("git commit -am'text -f'", {"--all": (), "--message": ("text -f",)}),
        (
            "curl -sSLo out -XPOST url",
            {
                "--silent": (),
                "--show-error": (),
                "--location": (),
                "--output": ("out",),
                "--request": ("POST",),
            },
        ),
        (
            "tar xzf a.tgz -C dir",
            {"--extract": (), "--gzip": (), "--file": ("a.tgz",), "--directory": ("dir",)},
        ),
        ("tar --file=a.tar -x", {"--file": ("a.tar",), "--extract": ()}),
        ("chmod -R -x a", {"--recursive": ()}),
        ("kill -9 1", {"--signal": ("9",)}),
        ("kill -s KILL 1", {"--signal": ("KILL",)}),
        ("terraform apply --auto-approve", {"-auto-approve": ()}),
        ("terraform -chdir=x apply -auto-approve", {"-chdir": ("x",), "-auto-approve": ()}),
        ("dd if=a of=/dev/sda bs=1M", {"if": ("a",), "of": ("/dev/sda",), "bs": ("1M",)}),
        ("find . -type f -name '*.o' -delete", {"-type": ("f",), "-name": ("*.o",), "-delete": ()}),
        ("docker -H x rm -fv a", {"--host": ("x",), "--force": (), "--volumes": ()}),
        ("docker container rm -f a", {"--force": ()}),
        ("docker volume rm -f a", {"--force": ()}),
        ("docker system prune -af --volumes", {"--all": (), "--force": (), "--volumes": ()}),
        (
            "kubectl delete pod a --force --grace-period=0",
            {"--force": (), "--grace-period": ("0",)},
        ),
        ("sed -i.bak s/a/b/ x", {"--in-place": (".bak",)}),
        ("rsync -av --delete a/ b", {"--archive": (), "--verbose": (), "--delete": ()}),
        (
            "pip install -r requirements.txt -U",
            {"--requirement": ("requirements.txt",), "--upgrade": ()},
        ),
    ],
)
def test_an_option_has_one_name(line, options):
    assert options_of(line) == options


@pytest.mark.parametrize(
    ("line", "options", "expected"),
    [
        ("rm -fr a", {"-r", "--force"}, True),
        ("rm -fr a", {"-rf"}, True),
        ("rm -f a", {"-r"}, False),
        ("rm $FLAGS a", {"-r"}, None),
        ('rm -- "$FILE"', {"-r"}, False),
        ("rm src/$FILE", {"-r"}, False),
        ("terraform apply -auto-approve", {"--auto-approve"}, True),
        ("unknown -xf", {"-x"}, True),
        ("unknown -xf", {"-xf"}, True),
        ("unknown --x=1", {"--x"}, True),
    ],
)
def test_a_command_is_asked_for_an_option_in_any_spelling(line, options, expected):
    (command,) = read_commands(line)

    assert command.has_options(options) is expected


@pytest.mark.parametrize("program", GNU)
def test_the_tables_say_what_the_programs_say(program):
    """The help of the programs that are installed here is the oracle."""
    executable = shutil.which(program)
    if executable is None:
        pytest.skip(f"{program} is not installed")
    done = subprocess.run([executable, "--help"], capture_output=True, text=True, check=False)
    if "GNU" not in done.stdout and "gnu.org" not in done.stdout:
        pytest.skip(f"{program} is not of GNU")
    table = find_table(program)
    problems = []
    for letter, long, value in HELP_ROW.findall(done.stdout):
        short, full = table.names.get(f"-{letter}"), table.names.get(f"--{long}")
        takes = {"": {0, 2}, "=": {1}, "[=": {2}}[value]
        if short is None or full is None or short[0] != full[0] or full[1] not in takes:
            problems.append((letter, long, value, short, full))

    assert problems == []
