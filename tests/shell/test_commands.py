"""What a command line runs in the end, and what is certain about it."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anyhook.shell import read_commands
from anyhook.testing import make_event
from tests.tables import each


def words_of(line, **kwargs):
    """Return each command of a line as words; one that is not certain ends with a question mark."""
    return [
        " ".join([command.program, *command.arguments]) + ("" if command.certain else "?")
        for command in read_commands(line, home="/home/ada", cwd="/code", **kwargs)
    ]


@each(
    "line, commands",
    [
        ("sudo -u www -- rm a", ["rm a"]),
        ("sudo --user www rm a", ["rm a"]),
        ("env -i A=1 B=2 rm a", ["rm a"]),
        ("env -S 'rm a'", ["rm a", "env -S rm a"]),
        ("env -S git push -f", ["git push -f", "env --split-string git push -f"]),
        ("env -C /x -S rm 'a b'", ["rm a b", "env --chdir /x --split-string rm 'a b'"]),
        ("env -vS rm -f a", ["rm -f a", "env --split-string rm -f a"]),
        ("timeout --signal KILL 5s nice -n 5 nohup rm a", ["rm a"]),
        ("setarch x86_64 -R rm a", ["rm a?"]),
        ("setarch -R rm a", ["a?"]),
        ("linux64 -R rm a", ["rm a"]),
        ("numactl -m 0 --cpunodebind=0 rm a", ["rm a"]),
        ("openvt -sw -- rm a", ["rm a"]),
        ("systemd-inhibit --why build rm a", ["rm a"]),
        ("perf stat rm a", ["rm a"]),
        ("daemonize /bin/rm a", ["rm a"]),
        ("stdbuf -oL rm a", ["rm a"]),
        ("dbus-run-session -- rm a", ["rm a"]),
        ("start-stop-daemon rm a", ["rm a"]),
        ("/lib64/ld-linux-x86-64.so.2 /bin/rm a", ["rm a"]),
        ("flock /tmp/lock -c 'rm a'", ["rm a", "flock /tmp/lock -c rm a"]),
        ("su - ada -c 'rm a'", ["su - ada -c rm a", "rm a"]),
        ("run0 --user=ada -D /x rm a", ["rm a"]),
        ("find . -name '*.o' -print0 | xargs -0 rm", ["find . -name *.o -print0", "rm ./**/*.o"]),
        ("find . -print0 | xargs -0I% mv % x", ["find . -print0", "mv . ./** x"]),
        ("find . -name x | xargs rm", ["find . -name x", "rm {}"]),
        ("find . -name x | xargs grep y", ["find . -name x", "grep y {} ./**/x"]),
        ("find . -print0 -name x | xargs -0 rm", ["find . -print0 -name x", "rm ./**"]),
        (
            "find . -print -name x -exec rm {} +",
            ["find . -print -name x -exec rm {} +", "rm ./**/x"],
        ),
        ("find . -name x -printf %p | xargs rm", ["find . -name x -printf %p", "rm {}"]),
        ("find $D -name x -print0 | xargs -0 rm", ["find $D -name x -print0", "rm {}"]),
        ("find -files0-from x -print0 | xargs -0 rm", ["find -files0-from x -print0", "rm {}"]),
        ('eval "$(pyenv init -)"', ["eval $(pyenv init -)", "pyenv init -"]),
        ("eval $(ssh-agent -s)", ["eval $(ssh-agent -s)", "ssh-agent -s"]),
        ("source <(helm completion zsh)", ["helm completion zsh", "source /dev/fd/63"]),
        ("runuser -u ada -- rm a", ["runuser -u ada -- rm a", "rm a"]),
        ("capsh -- -c 'rm a'", ["capsh -- -c rm a", "rm a"]),
        ("capsh --print", ["capsh --print"]),
        ("run-parts x", ["run-parts x", " x/*?"]),
        ("run-parts --test x", ["run-parts --test x"]),
        ("doas -s", ["doas -s", "?"]),
        ("screen -dm rm a", ["screen -dm rm a", "rm a"]),
        ("screen -dmS name -t x sh -c 'rm a'", ["screen -dmS name -t x sh -c rm a", "rm a"]),
        ("screen -S x -X stuff 'rm a^M'", ["screen -S x -X stuff rm a^M", "rm a?"]),
        ("screen -r name -X quit", ["screen -r name -X quit", "name -X quit"]),
        ("tmux new-session -d 'rm a'", ["tmux new-session -d rm a", "rm a"]),
        ("tmux new -s x -c /y rm a", ["tmux new-session -s x -c /y rm a", "rm a"]),
        ("tmux -L x neww -dn y 'rm a'", ["tmux -L x new-window -dn y rm a", "rm a"]),
        ("tmux split-w -l 5 -t x rm a", ["tmux split-window -l 5 -t x rm a", "rm a"]),
        ("tmux respawnp -k 'rm a'", ["tmux respawn-pane -k rm a", "rm a"]),
        ("tmux respawn-window -k 'rm a'", ["tmux respawn-window -k rm a", "rm a"]),
        ("tmux run -b 'rm a'", ["tmux run-shell -b rm a", "rm a"]),
        ("tmux popup -E 'rm a'", ["tmux display-popup -E rm a", "rm a"]),
        (
            "tmux if -b 'test -f x' 'run \"rm a\"' 'new -d ls'",
            [
                "ls",
                "rm a",
                "test -f x",
                'tmux if-shell -b test -f x run "rm a" new -d ls',
                "tmux new-session -d ls",
                "tmux run-shell rm a",
            ],
        ),
        ("tmux send-keys -t x 'rm a' Enter", ["rm a Enter?", "tmux send-keys -t x rm a Enter"]),
        (
            "tmux new -d \\; send 'rm a' C-m",
            ["rm a C-m?", "tmux new-session -d", "tmux send-keys rm a C-m"],
        ),
        ("tmux -c 'rm a'", ["rm a", "tmux -c rm a"]),
        ("tmux send-keys C-c", ["C-c?", "tmux send-keys C-c"]),
        ('tmux send-keys "$X"', [" $X?", "tmux send-keys $X"]),
        ("screen -ls", ["screen -ls"]),
        ("tmux ls", ["tmux ls"]),
        ("tmux display -p '#S'", ["tmux display-message -p #S"]),
        ("tmux", ["tmux"]),
        ("ssh -p 22 host 'rm a; ls'", ["ssh -p 22 host rm a; ls", "rm a", "ls"]),
        ("docker run --rm -v /:/host img rm a", ["docker run --rm -v /:/host img rm a", "rm a"]),
        (
            "docker compose -f x.yml exec web rm a",
            ["docker compose -f x.yml exec web rm a", "rm a"],
        ),
        (
            "kubectl -n web exec pod -c app -- rm a",
            ["kubectl -n web exec pod -c app -- rm a", "rm a"],
        ),
        ("npx rimraf@5 a", ["rimraf a"]),
        ("uv run --with x rm a", ["rm a"]),
        (
            "find . -exec rm {} + -o -exec ls ';'",
            ["find . -exec rm {} + -o -exec ls ;", "rm ./**", "ls"],
        ),
        ("find . | xargs -n 1 rm -f", ["find .", "rm -f {}"]),
        ("printf '%s\\0' -f 'a b' | xargs -0 rm", ["printf %s\\0 -f a b", "rm -f a b"]),
        ("xargs rm a < /dev/null", ["rm a"]),
        ('echo -f "$A" | xargs rm', ["echo -f $A", "rm -f $A"]),
        ("echo '0 5 * * * rm a' | crontab -", ["crontab -", "echo 0 5 * * * rm a", "rm a"]),
        ("crontab - <<E\n# x\n@daily rm a\nE", ["crontab -", "rm a"]),
        ("crontab -l", ["crontab -l"]),
        ("xargs -I % sh -c 'rm %'", ["rm %?"]),
        ("xargs -I CMD sh -c CMD", [" CMD?"]),
        ("fd -x sh -c {}", ["fd -x sh -c {}", " {}?"]),
        ("parallel rm ::: a b", ["rm {}?"]),
        ("parallel -I@ sh -c @ ::: 'rm a'", [" @?"]),
        ("parallel --replace=@ @ ::: 'rm a'", [" @?"]),
        ("parallel sh -c {1} ::: 'rm a'", [" {1}?"]),
        ("parallel rm {.} ::: a", ["rm {.}?"]),
        ("watch -n 1 'rm a | cat'", ["rm a", "cat"]),
        ("command -v rm", ["command -v rm"]),
        ("busybox rm a", ["rm a"]),
        (
            "python3 -c 'import os; os.system(\"rm a\")'",
            ['python3 -c import os; os.system("rm a")', "rm a"],
        ),
        (
            "python3 - <<'E'\nimport subprocess\nsubprocess.run(['rm', 'a'])\nE",
            ["python3 -", "rm a"],
        ),
        ("perl -e 'system(\"rm a\")'", ['perl -e system("rm a")', "rm a"]),
        ("lua -e 'os.execute(\"rm a\")'", ['lua -e os.execute("rm a")', "rm a"]),
        (
            "osascript -e 'do shell script \"rm a\"'",
            ['osascript -e do shell script "rm a"', "rm a"],
        ),
        ("awk 'BEGIN { system(\"rm a\") }'", ['awk BEGIN { system("rm a") }', "rm a"]),
        ("git -c alias.x='!rm a' x", ["git -c alias.x=!rm a x", "rm a"]),
        ("git config core.editor 'rm a'", ["git config core.editor rm a", "rm a?"]),
        ("git config user.name 'rm a'", ["git config user.name rm a"]),
        ("git -c core.pager='rm a' log", ["git -c core.pager=rm a log", "rm a"]),
        ("GIT_PAGER='rm a' git log", ["git log", "rm a"]),
        ("GIT_EDITOR=$X git commit", ["git commit"]),
        ("GIT_CONFIG_KEY_0=alias.x GIT_CONFIG_VALUE_0='!rm a' git x", ["git x", "rm a"]),
        (
            "env GIT_CONFIG_KEY_0=alias.x GIT_CONFIG_VALUE_0='reset --hard' git x",
            ["git x", "git reset --hard"],
        ),
        (
            "export GIT_CONFIG_KEY_0=alias.x GIT_CONFIG_VALUE_0=$Y; git x",
            ["export GIT_CONFIG_KEY_0=alias.x GIT_CONFIG_VALUE_0=$Y", "git x", "git $VALUE?"],
        ),
        ("GIT_CONFIG_KEY_0=user.name GIT_CONFIG_VALUE_0='rm a' git x", ["git x"]),
        ("GIT_CONFIG_PARAMETERS=\"'alias.x=!rm a'\" git x", ["git x", "rm a"]),
        ("GIT_CONFIG_PARAMETERS=\"'alias.x'='!rm a'\" git x", ["git x", "rm a"]),
        ('GIT_CONFIG_PARAMETERS="\'alias.x" git x', ["git x"]),
        (
            "expect -c 'spawn -noecho rm a; interact'",
            ["expect -c spawn -noecho rm a; interact", "rm a"],
        ),
        ("expect -c 'spawn sh; send \"rm a\"'", ['expect -c spawn sh; send "rm a"', "sh", "?"]),
        ("tclsh <<'E'\nputs [exec rm a]\nE", ["tclsh", "rm a"]),
        ("expect login.exp", ["expect login.exp"]),
        ("tar xf a.tar --to-command 'rm a'", ["tar xf a.tar --to-command rm a", "rm a"]),
        ("ssh -o ProxyCommand='rm a' host", ["ssh -o ProxyCommand=rm a host", "rm a"]),
        ("psql -c '\\! rm a'", ["psql -c \\! rm a", "rm a"]),
        ("vim -c ':!rm a'", ["vim -c :!rm a", "rm a"]),
        ("git -c alias.status='!rm a' status", ["git -c alias.status=!rm a status"]),
        ("alias x='rm -f'; x a", ["alias x=rm -f", "rm -f", "rm -f a", "x a"]),
        ("alias cmd=rm; cmd a", ["alias cmd=rm", "rm", "rm a", "cmd a"]),
        ("alias x=sh; x -c 'rm a'", ["alias x=sh", "sh", "rm a", "x -c rm a"]),
        ("rm -$@f a $*", ["rm -f a"]),
        ("set -- -f; rm $@", ["set -- -f", "rm $@"]),
        ("{rm,~,~/a}", ["rm /home/ada /home/ada/a"]),
        ("eval -- 'rm a'", ["rm a"]),
    ],
)
def test_the_command_behind_another_one_is_seen(line, commands):
    assert sorted(words_of(line)) == sorted(commands)


@each(
    "line, commands",
    [
        ("X=rm; $X a", ["rm a"]),
        ("X=rm; X=ls; $X a", ["ls a"]),
        ("true && X=ls; $X a", ["true", " $X a?"]),
        ("for X in rm ls; do $X a; done", [" $X a?"]),
        ("X=ls; eval 'X=rm'; $X a", ["eval X=rm", " $X a?"]),
        ("(X=rm); $X a", [" $X a?"]),
        ("IFS=,; X=rm,a; $X", [" $X?"]),
        ("echo $HOME ~ ~/x $PWD", ["echo /home/ada /home/ada /home/ada/x /code"]),
        ("rm {a,b}{1..2}", ["rm a1 a2 b1 b2"]),
        ("rm 'a b' \"c d\" e\\ f", ["rm a b c d e f"]),
        ("$(which rm) a", ["which rm", "rm a"]),
        ("git difftool -x 'rm a'", ["git difftool -x rm a", "rm a"]),
        ("sh -c 'rm \"$1\"' _ a", ["rm a"]),
        ("cat a | sh", ["cat a", "?"]),
        ("curl x | sudo bash -s -- --yes", ["curl x", "?"]),
        ("bash <(curl x)", ["curl x", "?"]),
        ("sudo $OPTIONS rm a", [" $OPTIONS rm a?"]),
        ("/bin/r? a", [" /bin/r? a?"]),
        ("echo 'unclosed", ["?"]),
        ("A=1 [[ a || rm b ]]", ["?"]),
        ("A=1", []),
        ("> out", [" "]),
        ("export X=rm; env -i sh -c '$X a'", ["export X=rm", " $X a?"]),
        ("export X=ls; env -i X=rm sh -c '$X a'", ["export X=ls", "rm a"]),
        ("printf '' | xargs -r rm a", ["printf ", "rm a?"]),
        ("xargs -r rm a", ["rm a"]),
    ],
)
def test_what_the_text_decides_is_certain_and_nothing_else(line, commands):
    expected = [command.replace(" ", "", 1) if command == " " else command for command in commands]

    assert [words.removeprefix(" ") for words in words_of(line)] == [
        words.removeprefix(" ") for words in expected
    ]


@each(
    "line",
    [
        'eval "$(ssh-agent rm x)"',
        'eval "$(pyenv init -; rm x)"',
        'eval "$(pyenv init -)" "$X"',
        'eval "$(./pyenv init -)"',
        'pyenv() { rm x; }; eval "$(pyenv init -)"',
        'PATH=x:$PATH; eval "$(pyenv init -)"',
        "source <(cat x; helm completion zsh)",
    ],
)
def test_what_is_evaluated_is_known_only_from_programs_that_print_it_for_that(line):
    assert any(not command.program and not command.certain for command in read_commands(line))


def test_the_command_that_reads_the_output_of_another_one_is_known():
    env, sort, grep = read_commands("sudo env | sort |& grep x; ls")[:3]

    assert (env.piped_into, sort.piped_into, grep.piped_into) == (sort, grep, None)


@each(
    "line",
    [
        "env | { cat; }",
        "env | (cat) | grep x",
        "env; cat | grep x",
        "env && cat",
        "env | sh -c 'a; b'",
    ],
)
def test_a_group_behind_a_pipe_is_not_one_command(line):
    assert read_commands(line)[0].piped_into is None


@each(
    "line, commands",
    [
        ("echo 'rm x' > a; sh a", ["rm x"]),
        ("echo 'rm x' >> a; sh a", ["rm x"]),
        ("echo 'rm x' >> a; sh < a", ["rm x?"]),
        ("echo 'rm $1' > a; bash a x", ["rm x"]),
        ("printf 'rm ' > a; printf x >> a; . a", ["rm x"]),
        ("echo 'rm x' > a; echo ls > a; sh a", ["ls"]),
        ("echo ls > a; cp b a; bash < a", ["?"]),
        ("echo ls > a; date > a; bash < a", ["?"]),
        ('echo "rm $X" > a; sh a', []),
        ("echo 'rm x' > a; sh b", []),
        ("echo 'sh a; rm x' > a; sh a", ["sh a", "rm x"]),
        ("echo 'rm x' > a; sh a > b", ["rm x"]),
        ("echo 'rm x' > a; sh a; sh a", ["rm x", "rm x"]),
        ("echo 'rm x' > a; ssh host sh a", ["sh a"]),
        ("BASH_ENV=a bash -c ls", [". a", "ls"]),
        ("BASH_ENV=$A bash -c ls", [". $BASH_ENV", "?", "ls"]),
        ("BASH_ENV= bash -c ls", ["ls"]),
        ("PS4='+ ' bash -xc ls", ["ls"]),
        ("hash -p a/b ls; ls x", ["b x"]),
    ],
)
def test_what_a_line_writes_and_then_runs_is_read(line, commands):
    ran = [it for it in read_commands(line) if it.wrappers or it.program == "b"]

    assert [
        " ".join([it.program, *it.arguments]) + ("" if it.certain else "?") for it in ran
    ] == commands


@each(
    "line, commands",
    [
        ("((sudo rm x))", ["rm x"]),
        ("sh -c '((sudo rm x))'", ["rm x"]),
        ("(((rm x)))", ["rm x"]),
        ("((ls; (rm x)) )", ["ls", "rm x"]),
        ("((ls); (rm x))", ["ls", "rm x"]),
        ("echo $((rm x) )", ["rm x", "echo $((rm x) )"]),
        ("echo $((ls); (rm x))", ["ls", "rm x", "echo $((ls); (rm x))"]),
        ("((rm $(ls)))", ["ls", "rm $!"]),
        ("((f() { rm x; }; f))", ["rm x", "f"]),
        # Arithmetic in bash, commands in dash.
        ("((reboot)); ls", ["reboot?", "ls"]),
        ("((rm -rf /etc))", ["rm -rf /etc?"]),
        ("X=rm; (($X -rf /etc))", ["rm -rf /etc?"]),
        ("(( x & rm -rf /etc ))", ["x?", "rm -rf /etc?"]),
        ("((x = 3 + 4))", ["x = 3 + 4?"]),
        ("((1 << 2))\nrm x", ["1?", "rm x"]),
        ("((1<<E))\n: '\nE\nrm x #'", ["?"]),
        ("((ls; ((1<<E)) ))\n: '\nE\nrm x #'", ["?"]),
        ("((" * 33 + "rm" + "))" * 33, ["?"]),
        # Arithmetic, or an error.
        ("(( $# < 2 )); ((${x:-0} > 1)); (( x = (y + 1) * 2 ))", []),
        ("(( x = f(2) )); ((a[i / 2] > 3 && b))", ["b?"]),
        ("for ((i = 0; i < 3; i++)); do ls; done", ["ls"]),
        ("echo $((1 + 2))", ["echo $((1 + 2))"]),
        ("((n = $(wc -l < a)))", ["wc -l", "n = $!?"]),
    ],
)
def test_two_parentheses_may_begin_arithmetic_or_two_subshells(line, commands):
    assert words_of(line, shell=None) == commands


def test_a_program_that_may_be_arithmetic_is_not_another_one():
    event = make_event("before_tool", agent="claude", tool="shell", input={"command": "((i > 3))"})

    assert not event.runs("git")
    assert not event.writes("**")
    assert event.runs("i").certain is False


def test_an_unknown_argument_leaves_the_program_certain():
    (command,) = read_commands('rm -rf "$DIR"')

    assert command.certain
    assert command.uncertain_arguments == ("$DIR",)


def test_the_way_to_a_command_is_kept():
    *_, command = read_commands("sudo env A=1 xargs sh -c 'timeout 5 rm a'")

    assert command.program == "rm"
    assert command.chain == ("sudo", "env", "xargs", "sh", "timeout")


@pytest.mark.parametrize(
    ("line", "directories"),
    [
        ("cd a && x", ("/code/a",)),
        ("cd a; x", ("/code/a", "/code")),
        ("cd a || exit; x", ("/code/a",)),
        ("cd a; cd b && x", ("/code/a/b", "/code/b")),
        ("cd a && cd b; x", ("/code/a/b", "/code/a", "/code")),
        ("cd a && cd b && cd c && cd d && cd e; x", ("/code/a/b/c/d/e", None)),
        ("! cd a && x", ("/code/a", "/code")),
        ("y || cd a && x", ("/code/a", "/code")),
        ("y | cd a && x", ("/code/a", "/code")),
        ("{ cd a; } | y; x", ("/code",)),
        ("command cd a; x", ("/code/a", "/code")),
        ("env cd a && x", ("/code",)),
        ("A=1 builtin cd a && x", ("/code/a",)),
        ("CDPATH=b; cd a && x", (None,)),
        ("trap 'cd a' EXIT; x", ("/code/a", "/code")),
        ("set -e; cd a; x", ("/code/a",)),
        ("set -e; cd a && y; x", ("/code/a", "/code")),
        ("set -e; set +e; cd a; x", ("/code/a", "/code")),
        ("set -- -e; cd a; x", ("/code/a", "/code")),
        ("(set -e); cd a; x", ("/code/a", "/code")),
        ("y && set -e; cd a; x", ("/code/a", "/code")),
        ("if y; then set -e; fi; cd a; x", ("/code/a", "/code")),
        ("(cd a); x", ("/code",)),
        ("cd a | x", ("/code",)),
        ('cd "$D" && x', (None,)),
        ("if y; then cd /a; fi; x", ("/a", "/code")),
        ("while y; do x; cd a; done", ("/code", None)),
        ("env -C a x", ("/code/a",)),
    ],
)
def test_a_command_runs_where_cd_leads(line, directories):
    command = next(c for c in read_commands(line, cwd="/code") if c.program == "x")

    assert command.directories == directories


@pytest.mark.parametrize("shell", ["powershell", "fish", "cmd"])
def test_a_shell_with_its_own_syntax_is_one_uncertain_command(shell):
    (command,) = read_commands("Remove-Item a", shell=shell)

    assert (command.program, command.source, command.certain) == ("", "Remove-Item a", False)


def test_zsh_finds_a_program_behind_an_equals_sign():
    assert words_of("=rm a", shell="zsh") == ["rm a"]
    assert words_of("=rm a", shell=None) == ["rm a"]


@pytest.mark.slow
@settings(deadline=None)
@given(st.text(alphabet="ab rm'\"\\$(){}[]<>|&;\n`~*#=!-/x0", max_size=60))
def test_no_text_raises(line):
    assert isinstance(read_commands(line, home="/home/ada", cwd="/code"), tuple)


@pytest.mark.parametrize(
    "unit",
    [
        "$(",
        "(",
        "sh -c '",
        "sudo ",
        "{a,b}",
        "X=$X$X;",
        "eval $X;",
        "a|",
        "<<A\n",
        "((1<<A))\n",
        "((a",
        "$((a) ",
        "if ",
        '"$(',
        "`",
    ],
)
def test_the_work_grows_with_the_length_and_not_faster(unit):
    """Count the lines that Python runs: no clock, so that a busy machine changes nothing."""

    def work(count):
        lines = 0

        def trace(*_):
            nonlocal lines
            lines += 1
            return trace

        import sys

        before = sys.gettrace()
        sys.settrace(trace)
        try:
            read_commands(f"X=a; {unit * count}", home=f"/{count}")
        finally:
            sys.settrace(before)
        return lines

    small, large = work(100), work(400)

    assert large < 8 * small + 20_000


WAYS_TO_RUN = Path(__file__).parents[1] / "data" / "shell" / "ways_to_run.txt"
"""Lines with which bash runs a program `mark`; `⏎` stands for a line break."""


@each("line", [line.replace("⏎", "\n") for line in WAYS_TO_RUN.read_text("utf-8").splitlines()])
def test_every_way_to_run_a_program_is_noticed(line):
    event = make_event("before_tool", agent="claude", tool="shell", input={"command": line})

    assert event.runs("mark")
