"""Which calls a permission rule covers."""

from __future__ import annotations

import shlex

import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from anyhook.matching.commands import MAX_COMMAND_LENGTH
from anyhook.matching.conditions import Condition, compile_condition
from tests.tables import each

CWD, PROJECT, HOME = "/home/me/app/sub", "/home/me/app", "/home/me"
BIG = 8_000
"""Enough for work that is not linear to run into the time limit of a test."""


def covers(rule, tool, tool_input):
    condition = compile_condition(rule)
    return condition.covers(tool, tool_input, cwd=CWD, project=PROJECT, home=HOME)


def runs(rule, command):
    return covers(rule, rule.partition("(")[0], {"command": command})


@each(
    "rule, command, expected",
    [
        # globs
        ("Bash", "anything", True),
        ("Bash()", "anything", True),
        ("Bash(*)", "# only a comment", True),
        ("Bash(:*)", "", True),
        ("Bash(ls)", "ls", True),
        ("Bash(ls)", "  ls  ", True),
        ("Bash( ls )", "ls", True),
        ("Bash(ls)", "ls -l", False),
        ("Bash(ls)", "lsof", False),
        ("Bash(git *)", "git push", True),
        ("Bash(git *)", "git", True),
        ("Bash(git *)", "gitk --all", False),
        ("Bash(git *)", "echo git push", False),
        ("Bash(git*)", "gitk", True),
        ("Bash(npm run test:*)", "npm run test", True),
        ("Bash(npm run test:*)", "npm run test --watch", True),
        ("Bash(npm run test:*)", "npm run tests", False),
        ("Bash(npm run test:*)", "npm run test:unit", False),
        ("Bash(* --version)", "node --version", True),
        ("Bash(* --version)", "node --version x", False),
        ("Bash(git * main)", "git push origin main", True),
        ("Bash(git * main)", "git main", False),
        ("Bash(a*ba*ab)", "aXbaYab", True),
        ("Bash(a*ab)", "ab", False),
        (r"Bash(rm \*)", "rm *", True),
        (r"Bash(rm \*)", "rm x", False),
        ("Bash(rm *)", "RM x", False),
        (r"Bash(python -c f\(\))", "python -c 'f()'", True),
        ("Bash(node -e 'f()' *)", "node -e 'f()' x", True),
        ('Bash(git commit -m "a b")', 'git commit -m "a b"', True),
        ("Bash(git commit *)", "git commit -m 'a\nb'", True),
        ("Monitor(tail *)", "tail -f log", True),
        # what precedes a command
        ("Bash(git *)", "FOO=bar git push", True),
        ("Bash(git *)", "A=1 B='2 3' C+=4 git push", True),
        ("Bash(A=1 git *)", "A=1 git push", True),
        ("Bash(git *)", "A=git push", False),
        ("Bash(rm *)", "if true; then rm x; fi", True),
        ("Bash(rm *)", "while ! rm x; do :; done", True),
        ("Bash(rm *)", "for x in a b; do rm x; done", True),
        ("Bash(rm *)", "for x do rm y; done", True),
        ("Bash(rm *)", "for x in rm y; do ls; done", False),
        ("Bash(rm *)", "for ((i = 1 << 2; i; i--)) do rm x; done", True),
        ("Bash(rm *)", "time -p rm x", True),
        ("Bash(rm *)", "echo if rm x", False),
        ("Bash(rm *)", "i\\\nf rm x; then :; fi", True),
        ("Bash(rm *)", ">out rm x", True),
        ("Bash(rm *)", "2>&1 rm x", True),
        ("Bash(rm *)", "{fd}>out rm x", True),
        ("Bash(if *)", "if true; then ls; fi", True),
        ("Bash(for *)", "for x do ls; done", True),
        ("Bash(rm *)", "echo a do rm x", False),
        ("Bash(rm *)", "for ((i = 0; i < 9; i++)) do ls; done", False),
        ("Bash(rm *)", "_a=1 A[0]=2 A[$i]+=3 rm x", True),
        ("Bash(rm *)", "_a=1 A[0]=2 A[$i]+=3 ls", False),
        ("Bash(rm *)", "echo _a[1] b[$i] c[@] d[*] e[1+i-1]; ls 'a[0] $(x)' \\", False),
        ("Bash(rm *)", "{fd}>out 3>&1 ls", False),
        ("Bash(rm *)", "f\t(\t)\t{ ls; }; for\t((;;)) do ls; done; function f ( ) { ls; }", False),
        # programs that run others
        ("Bash(npm *)", "timeout -k 5 30s npm test", True),
        ("Bash(npm *)", "timeout --signal=KILL 30 npm test", True),
        ("Bash(npm *)", "sudo -u root -n env A=1 nohup npm test", True),
        ("Bash(npm *)", "nice -n5 npm test", True),
        ("Bash(npm *)", "sudo --user root npm test", True),
        ("Bash(npm *)", "xargs -0 -I {} npm {}", True),
        ("Bash(npm *)", "xargs -J % npm % x", True),
        ("Bash(npm *)", "env -a name npm test", True),
        ("Bash(npm *)", "timeout $A ls", True),
        ("Bash(npm *)", "nice -n $A ls", True),
        ("Bash(npm *)", "timeout --preserve-status 5 ls", True),
        ("Bash(npm *)", "nice --adjustment 5 ls", False),
        ("Bash(npm *)", "timeout 30 ls", False),
        ("Bash(timeout *)", "timeout 30 npm test", True),
        ("Bash(rm *)", "eval 'r''m x'", True),
        ("Bash(rm *)", "bash -ec 'rm x'", True),
        ("Bash(rm *)", "bash script.sh -v", False),
        # compounds
        ("Bash(git *)", "npm test && git push", True),
        ("Bash(git *)", "npm test || git push", True),
        ("Bash(git *)", "npm test; git push", True),
        ("Bash(git *)", "npm test | git push", True),
        ("Bash(git *)", "npm test |& git push", True),
        ("Bash(git *)", "npm test & git push", True),
        ("Bash(git *)", "npm test\ngit push", True),
        ("Bash(git *)", "npm test;git push;ls", True),
        ("Bash(git *)", "(cd x; git push)", True),
        ("Bash(git *)", "{ git push; }", True),
        ("Bash(git *)", "f() { git push; }", True),
        ("Bash(git *)", "function f { git push; }", True),
        ("Bash(git *)", "f() (git push)", True),
        ("Bash(rm *)", "case $x in a) ls;; b|c) rm x;; esac", True),
        ("Bash(rm *)", "case $x in\n # c)\n (a) ls\n ;;& *) ls; esac; rm x", True),
        ("Bash(rm *)", "case rm in rm) ls;; esac", False),
        ("Bash(rm *)", "(cd x; ls) && { ls; } && f () { ls; }", False),
        ("Bash(rm *)", "case $x in (a) ls;; (b|c) ls;& d|e) ls;; *) ls; esac; ls", False),
        ("Bash(rm *)", "((1 + (2) * (3))); ls $((1 + (2)))", False),
        ("Bash(rm *)", "((_x = ${#y} + $1))\nrm x", True),
        ("Bash(rm *)", "((rm x))", True),
        ("Bash(rm *)", "((ls); (rm x))", True),
        ("Bash(rm *)", "((ls); (cat x))", False),
        ("Bash(rm *)", "echo $((rm x) )", True),
        ("Bash(ls)", "ls && pwd", True),
        ("Bash(ls)", "ls 2>&1 >/dev/null", True),
        ("Bash(ls)", "ls>x", True),
        ("Bash(echo * > /etc/*)", "echo x > /etc/passwd", True),
        ("Bash(curl * | sh)", "true; curl x | sh; ls", True),
        ("Bash(curl * | sh)", "curl x | cat", False),
        ("Bash(curl * | sh)", "curl x | bash", True),
        ("Bash(cd * && ls)", "cd x && ls", True),
        ("Bash(cd *; ls)", "cd x; ls", True),
        ("Bash(cd * & ls)", "cd x & ls", True),
        ("Bash(cd *\nls)", "cd x\nls", True),
        # quotes, escapes and comments
        ("Bash(rm *)", "echo 'a; rm x'", False),
        ("Bash(rm *)", 'echo "a && rm x"', False),
        ("Bash(rm *)", "echo a\\; rm x", False),
        ("Bash(rm *)", "echo a\\\\; rm x", True),
        ("Bash(rm *)", "echo 'a\\'; rm x", True),
        ("Bash(rm *)", "echo $'a\\'; rm x'", False),
        ("Bash(rm *)", "ls # rm x", False),
        ("Bash(rm *)", "ls # it's\nrm x", True),
        ("Bash(rm *)", "ls # x \\\nrm x", True),
        ("Bash(rm *)", "echo a#; rm x", True),
        ("Bash(rm *)", "echo a\\\n#; rm x", True),
        ("Bash(rm *)", "'rm' x", True),
        ("Bash(rm *)", '"r"m x', True),
        ("Bash(rm *)", "\\rm x", True),
        ("Bash(rm *)", "r\\\nm x", True),
        ("Bash(git push *)", "git  \t push\torigin", True),
        ("Bash(git push *)", "git \\\n  push origin", True),
        # substitutions
        ("Bash(rm *)", "echo $(rm -rf /)", True),
        ("Bash(rm *)", "echo $(date)", False),
        ("Bash(rm *)", "echo `rm x`", True),
        ("Bash(rm *)", "echo `echo \\`rm x\\``", True),
        ("Bash(rm *)", "echo '$(rm x) `rm x`'", False),
        ("Bash(rm *)", 'echo "a $(rm x)"', True),
        ("Bash(rm *)", 'echo "`rm x`"', True),
        ("Bash(rm *)", "echo \\$(rm x", True),
        ("Bash(rm *)", 'echo "\\$(rm x)"', False),
        ("Bash(rm *)", "diff <(rm x) y", True),
        ("Bash(rm *)", "tee >(rm x)", True),
        ("Bash(rm *)", "echo ${x:-$(rm x)}", True),
        ("Bash(rm *)", "echo ${x:-'}; rm x'}", False),
        ("Bash(rm *)", "echo $((1 + $(rm x)))", True),
        ("Bash(rm *)", "A=$(rm x)", True),
        ("Bash(rm *)", "A=(1 $(rm x) 2)", True),
        ("Bash(rm *)", "A=(1 $(ls) [2]=3\n 4) B=() ls", False),
        ("Bash(rm *)", "ls > $(rm x)", True),
        ("Bash(rm *)", "[[ a == $(rm x) ]]", True),
        ("Bash(rm *)", "[[ a && rm || (b < c) ]] && ls", False),
        ("Bash(rm *)", "[[ a =~ ^(b|c)$ ]]\nrm x", True),
        ("Bash(rm *)", "case x in $(rm x)) ;; esac", True),
        ("Bash(rm *)", "echo $(( 1 << 2 ))\nrm x", True),
        ("Bash(rm *)", "(( 1 << 2 ))\nrm x", True),
        ("Bash(ls *)", "echo $((1 + 2)) ${x:0:2} ${#x} $? $x", False),
        ("Bash(git push *)", "echo $(date)", True),
        ("Bash(git push *)", "echo `date`", True),
        ("Bash(git push *)", "echo $DATE", True),
        ("Bash(git push *)", 'echo "${DATE}"', True),
        ("Bash(git push *)", "echo '$DATE'", False),
        ("Bash(git push *)", "echo \\$DATE", False),
        ("Bash(git push *)", "echo $", False),
        ("Bash(*rm*)", "echo $DATE", True),
        ("Bash(git*)", "echo $DATE", False),
        # names that only the shell knows
        ("Bash(git *)", "$TOOL push", True),
        ("Bash(git *)", "g$(echo it) push", True),
        ("Bash(git *)", "timeout 5 $TOOL push", True),
        ("Bash(rm *)", "{rm,-rf,/}", True),
        ("Bash(rm *)", "/bin/r? x", True),
        ("Bash(rm *)", "$'\\x72m' x", True),
        ("Bash(rm *)", "[ -f x ]", False),
        ("Bash(rm *)", "/bin/* x", True),
        ("Bash(rm *)", "/bin/r[m] x", True),
        ("Bash(rm *)", "@(rm) x", True),
        ("Bash(rm *)", "'ls' x; \"ls\" x; \\ls x; l\\\ns x; $'ls' x; nohup", False),
        ("Bash(rm *)", "'l*' x; \"l?\" x; \\{l,s} x; ls *", False),
        ("Bash(a$b `c *)", '"a\\$b" "\\`c" x', True),
        ('Bash(a"b \\c *)', '"a\\"b" "\\\\c" x', True),
        ("Bash(rm *)", "echo `echo \\\\; rm x`", False),
        ("Bash(rm *)", "echo `echo \\\\\\\\; rm x`", True),
        ("Bash(rm *)", "echo `echo '\\$(rm x)' \\\"`", False),
        ("Bash(rm *)", 'echo `echo "\\$(rm x)"`', True),
        # here-documents
        ("Bash(rm *)", "cat <<E\nrm x\nE", False),
        ("Bash(rm *)", "cat <<E\nx\nE\nrm x", True),
        ("Bash(rm *)", "cat <<-E\n\trm x\n\tE\nls", False),
        ("Bash(rm *)", "cat <<-E\n\tx\n\tE\nrm x", True),
        ("Bash(rm *)", "cat <<E\n\tE\nrm x\nE", False),
        ("Bash(rm *)", "cat <<E && rm x\nE", True),
        ("Bash(rm *)", "cat <<E; a=(1\n(\nE\n2)\nls", False),
        ("Bash(rm *)", "cat << \t \\\n  'E'\nrm x\nE", False),
        ("Bash(rm *)", "cat <<E\n$(rm x)\nE", True),
        ("Bash(rm *)", "cat <<'E'\n$(rm x)\nE", False),
        ("Bash(rm *)", "cat <<\\E\n`rm x`\nE", False),
        ("Bash(rm *)", "cat <<E\nit's \"\nE\nls", False),
        ("Bash(rm *)", "cat <<A <<B\nA\nrm x\nB\n", False),
        ("Bash(rm *)", "cat <<E\nE\\\nE\nE\nrm x", True),
        ("Bash(rm *)", "cat <<EF\nx\nE\\\nF\nrm x", True),
        ("Bash(rm *)", "cat <<'EF'\nx\nE\\\nF\nEF\nls", False),
        ("Bash(rm *)", "cat <<E\nrm x", False),
        ("Bash(rm *)", "cat <<<E\nrm x", True),
        ("Bash(rm *)", "git commit -m \"$(cat <<'E'\nit's (a)\nrm x\nE\n)\" && ls", False),
    ],
)
def test_a_command_is_covered_wherever_it_hides(rule, command, expected):
    assert runs(rule, command) is expected


@each(
    "command",
    [
        "echo 'open",
        'echo "open',
        "echo `open",
        "echo $(open",
        "echo ${open",
        "echo $((open",
        "(open",
        "echo a)",
        "case x in a) b",
        "case x of",
        "case x a) ls;; esac",
        "[[ open",
        "((open)",
        "a=(open",
        "a=(b || c) <<E\nrm x\nE",
        "a=(b=(c)) <<E\nrm x\nE",
        "a=(@(c)) <<E\nrm x\nE",
        "a=(b (c)) <<E\nrm x\nE",
        "echo (a)",
        "echo a ()",
        "ls >",
        "cat <<",
        "ls ;; ls",
        "r\0m x",
        "echo a\r#; rm x",
        "coproc rm x",
        ": ${ rm x; }",
        ": ${| rm x; }",
        "echo ${(e)x}",
        "echo ${x:->(rm x)}",
        "echo $(cat <<E)\nrm x\nE",
        "echo ${x:-<(rm x)}",
        "echo $[1 << 2]",
        "echo $\\\n(rm x)",
        "(\\\n(1<<E))\nrm x",
        "a[1<<2]=3\nrm x",
        "declare a[1<<2]=3\nrm x",
        "declare _a\\\n[1<<2]=3\nrm x",
        "a\\\n=(<<E)\nrm x\nE",
        "a=\\\n(cat <<E\nrm x\nE\n)",
        "a[ # ]=$(rm x)",
        "[[ a == # ]] <<E\nb ]]\nrm x\nE",
        "a=(1 # ) <<E\n)\nrm x\nE",
        "echo $(cat <<E\nE) ; rm x\nE\n)",
        "cat <<E $(true\nrm x\nE\n)",
        "cat <<$X\nrm x\n$X",
        "cat <<E\\\nF\nrm x\nEF",
        "cat <<\\\n-E\n\tE\nrm x",
        'echo "${x:-\'}" ; rm x ; "\'}"',
        'echo "`echo \\" ; rm x`"',
        "echo ${x:-$'\\''}; rm x; echo '}' \\'",
        "echo ${x:'$(rm x)'}",
        "echo ${x:-'open",
        "echo ${x:'`rm x`'}",
        "echo $((${x:-'`rm x`'}))",
        "((rm x ${y-(}; ls))",
        "((rm x $(: # ); ls\n)))",
        "(('1))'\nrm x; ls))",
        "((')) ' )) '",
        '((")) " )) "',
        "((\\( )))",
        "let 'a[`rm x`]'",
        "let 'a[b[0]+$(rm x)]'",
        "let 'a[$(rm x)]'",
        'test -v "a[\\$(rm x)]"',
    ],
)
def test_a_command_that_cannot_be_read_for_sure_is_covered(command):
    assert runs("Bash(never)", command)


@pytest.mark.parametrize("name", "A x1 _ 0 9 @ * # ? ! $ -".split())
def test_every_variable_may_complete_a_pattern(name):
    assert runs("Bash(git push)", f"echo ${name}")


@each("word", "if then elif else fi while until do done ! time { }".split())
def test_a_keyword_precedes_a_command(word):
    assert runs("Bash(rm *)", f"{word} rm x")


@pytest.mark.parametrize("after", ["", " ", "\n", ";", "&", "|cat", ">x", "<x"])
def test_a_case_ends_with_its_last_word(after):
    assert not runs("Bash(never)", f"case x in(a) ls; esac{after}")
    assert not runs("Bash(never)", f"(case x in(a) ls;; esac){after}")
    assert runs("Bash(never)", f"case x in a) ls;; esac-{after}")
    assert runs("Bash(never)", f"case x in a) ls;; (case y in b) never;; esac) esac{after}")


@pytest.mark.parametrize(
    "line",
    [
        "timeout -k 5 -s KILL 1.5h {}",
        "timeout 3d timeout 5m timeout 5s {}",
        "\\time -f x -o y {}",
        "nice -n 5 nice -n5 nohup {}",
        "stdbuf -o L -eL {}",
        "xargs -0 -I x -n 1 -P 4 {}",
        "env -u A -C dir -i B=1 _C=2 {}",
        "sudo -nu root -g wheel -- {}",
        "doas -u root {}",
        "watch -d -n 5 {}",
        "ionice -c idle -n 7 {}",
        "setsid command builtin exec -a name {}",
    ],
)
def test_a_program_that_runs_another_one_precedes_a_command(line):
    assert runs("Bash(rm *)", line.format("rm x"))
    assert not runs("Bash(rm *)", line.format("ls rm x"))


@each(
    "command",
    [
        "/bin/sh -c 'rm -rf x'",
        "/bin/bash -c 'rm x'",
        "/usr/bin/env rm -rf x",
        "env -S'rm -rf x'",
        "env -iS 'rm x'",
        "env --split-string='rm x'",
        "env --split='rm x' y",
        "echo 'rm -rf x' | sh",
        "echo 'rm x' | bash -s",
        "echo 'rm x' | bash -",
        "echo 'rm x' | bash /dev/stdin",
        "echo 'rm x' | bash -o pipefail",
        "echo 'rm x' | xargs -0 sh -c",
        "sh <<E\nrm -rf x\nE",
        "sh <<<'rm -rf x'",
        "bash <(echo 'rm x')",
        'bash "$x" "rm x"',
        "bash -Z 'rm x'",
        "trap 'rm -rf x' EXIT",
        "source <(echo rm x)",
        ". /dev/stdin <<<'rm x'",
        "su -c 'rm x'",
        "fish -c 'rm x'",
        "ash -c 'rm x'",
        "busybox sh -c 'rm x'",
        "busybox rm x",
        "find . -exec rm {} \\;",
        "find . -execdir rm {} +",
        "find . -ok rm {} \\;",
        "fd x -x rm",
        "flock f rm x",
        "flock -w 5 9 rm x",
        "flock f -c 'rm x'",
        "chroot d rm x",
        "chroot A=1 rm x",
        "taskset 3 rm x",
        "strace -f -o log rm x",
        "parallel rm ::: x",
        "ssh host rm x",
        "sudo -s",
        "watch 'ls; rm x'",
    ],
)
def test_a_command_is_covered_behind_whatever_runs_it(command):
    assert runs("Bash(rm *)", command)


@each(
    "command",
    [
        "command -v bash",
        "bash --version",
        "bash -euo pipefail x.sh rm x",
        "bash --norc -x ./x.sh",
        "/bin/sh x.sh",
        "source venv/bin/activate",
        ". ./x.sh",
        "/usr/bin/env ls rm x",
        "env -u S A=1 ls",
        "find . -name '*.sh' -print",
        "find $DIR -type f",
        "fd x",
        "flock f ls rm x",
        "flock -n 9",
        "chroot d ls rm x",
        "strace -f ls rm x",
        "which sh",
        "sudo -n ls",
        "watch 'ls rm'",
        "command git push",
    ],
)
def test_an_ordinary_command_is_not_covered(command):
    assert not runs("Bash(rm *)", command)


@pytest.mark.parametrize("shell", "sh bash dash zsh ksh".split())
def test_the_text_that_a_shell_runs_is_not_read(shell):
    assert runs("Bash(never)", f"{shell} -ec 'ls'")
    assert not runs("Bash(never)", f"{shell} -e ls -- x")


@pytest.mark.parametrize(
    "piece",
    ["$(a)", "`a`", "${a}", '"a"', "$((1))", "<(a)", "@(a)", "; (a);", "; ((1));", "; a=(1);"],
)
def test_only_depth_is_limited(piece):
    assert not runs("Bash(never)", f"ls {f' {piece} ' * 40}")


@pytest.mark.parametrize("tool_input", [{}, {"command": None}, {"command": ["rm"]}])
def test_a_call_without_a_command_is_covered(tool_input):
    assert covers("Bash(never)", "Bash", tool_input)


@each(
    "rule, command, expected",
    [
        ("PowerShell(Remove-Item *)", "remove-item x", True),
        ("PowerShell(Remove-Item *)", "Get-Item x; Remove-Item y", True),
        ("PowerShell(Remove-Item *)", "Get-Item x\r\nRemove-Item y", True),
        ("PowerShell(Remove-Item *)", "Get-Item 'a; Remove-Item b'", False),
        ("PowerShell(Remove-Item *)", "Get-Item C:\\a\\b.txt", False),
        ("PowerShell(Remove-Item *)", 'echo "C:\\"; Remove-Item x; "C:\\"', True),
        ("PowerShell(Remove-Item *)", "ls | % { Remove-Item x }", True),
        ("PowerShell(Remove-Item *)", "Remove`-Item x", True),
        ("PowerShell(Remove-Item *)", "echo `a `b", True),
        ("PowerShell(Remove-Item *)", "echo {a", True),
        ("PowerShell(Remove-Item *)", "echo a}", True),
        ("PowerShell(Remove-Item *)", "echo $(a)", True),
        ("PowerShell(Remove-Item *)", "echo @'a'", True),
        ("PowerShell(Remove-Item *)", "echo <# a", True),
        ("PowerShell(Remove-Item *)", "ls \\\\host\\.a\\*\\-b | more", False),
        ("PowerShell(Remove-Item *)", "echo 'a\u2019; Remove-Item x; 'b'", True),
    ],
)
def test_powershell_is_covered_wherever_it_reads_differently(rule, command, expected):
    assert runs(rule, command) is expected


@each(
    "rule, path, expected",
    [
        ("Edit(src/**)", f"{CWD}/src/x", True),
        ("Edit(src/**)", f"{CWD}/src/a/b/x", True),
        ("Edit(src/**)", "src/x", True),
        ("Edit(src/**)", "./a/../src/x", True),
        ("Edit(src/**)", f"{CWD}/a/src/x", False),
        ("Edit(src/**)", f"{CWD}/src", False),
        ("Edit(src/**)", "src/../x", False),
        ("Edit(src/**)", "/home/me/app/src/x", False),
        ("Edit(./src/**)", "src/x", True),
        ("Edit(./src/**)", "a/src/x", False),
        ("Edit(**/src/**)", f"{CWD}/a/src/x", True),
        ("Edit(**/src/**)", f"{CWD}/src/x", True),
        ("Edit(**/src/**)", "/elsewhere/src/x", False),
        ("Edit(*.ts)", "a/b/x.ts", True),
        ("Edit(*.ts)", "x.ts", True),
        ("Edit(*.ts)", "x.tsx", False),
        ("Edit(*.ts)", "/elsewhere/x.ts", False),
        ("Edit(./*.ts)", "x.ts", True),
        ("Edit(./*.ts)", "a/x.ts", False),
        ("Edit(.env)", "a/.ENV", True),
        ("Edit(src)", "a/src/b/x", True),
        ("Edit(src)", "src", True),
        ("Edit(src/)", "src", False),
        ("Edit(src/)", "a/src/x", True),
        ("Edit(a/*.ts)", "a/x.ts", True),
        ("Edit(a/*.ts)", "a/b/x.ts", False),
        ("Edit(a/*/c)", "a/b/c", True),
        ("Edit(a/*/c)", "a/c", False),
        ("Edit(a/**/c)", "a/c", True),
        ("Edit(a/**/c)", "a/1/2/c/d", True),
        ("Edit(a/**/c)", "b/a/c", False),
        ("Edit(x?.[a-c][!0-9][^z].t)", "x1.bxy.t", True),
        ("Edit(x?.[a-c][!0-9][^z].t)", "x1.b5y.t", False),
        ("Edit(x?.[a-c][!0-9][^z].t)", "x1.bxz.t", False),
        (r"Edit(\*.t)", "*.t", True),
        (r"Edit(\*.t)", "x.t", False),
        ("Edit([z-a])", "x", False),
        ("Edit([^]a].t)", "b.t", True),
        ("Edit([^]a].t)", "].t", False),
        ("Edit([ab)", "[ab", True),
        ("Edit(/src/**)", f"{PROJECT}/src/x", True),
        ("Edit(/src/**)", f"{CWD}/src/x", False),
        ("Edit(/)", f"{PROJECT}/x", True),
        ("Edit(//etc/**)", "/etc/passwd", True),
        ("Edit(//etc/**)", "//etc//passwd", True),
        ("Edit(//etc/**)", "../../../../../etc/passwd", True),
        ("Edit(//etc/**)", "etc/passwd", False),
        ("Edit(//**/.env)", "/elsewhere/.env", True),
        ("Edit(~/.ssh/**)", f"{HOME}/.ssh/id", True),
        ("Edit(~/.ssh/**)", "~/.ssh/id", True),
        ("Edit(~/.ssh/**)", ".ssh/id", False),
        ("Edit(../other/**)", f"{PROJECT}/other/x", True),
        ("Edit(../other/**)", "other/x", False),
        ("Edit(src/**)", "", False),
    ],
)
def test_paths_are_covered_as_in_a_gitignore(rule, path, expected):
    assert covers(rule, "Edit", {"file_path": path}) is expected


@pytest.mark.parametrize(
    ("rule", "path", "cwd", "expected"),
    [
        ("Edit(src/**)", "C:\\p\\src\\a.py", "C:\\p", True),
        ("Edit(src/**)", "c:/P/src/a.py", "C:\\p", True),
        ("Edit(src/**)", "src\\a.py", "C:\\p", True),
        ("Edit(src/**)", "\\\\?\\C:\\p\\src\\a.py", "C:\\p", True),
        ("Edit(src/**)", "C:\\p\\src\\..\\a.py", "C:\\p", False),
        ("Edit(src/**)", "D:\\p\\src\\a.py", "C:\\p", False),
        ("Edit(*.py)", "D:\\a.py", "C:\\p", False),
        ("Edit(/src/**)", "C:\\p\\src\\a.py", "C:/p", True),
        ("Edit(~/x)", "~\\x", "C:\\p", True),
        ("Edit(//c/p/**)", "C:\\p\\a.py", "C:\\q", True),
        ("Edit(src/**)", "C:\\p\\src\\a.py", "/c/p", True),
        ("Edit(*.py)", "C:\\a.py", "/p", True),
    ],
)
def test_paths_of_windows_are_covered(rule, path, cwd, expected):
    places = {"cwd": cwd, "project": cwd, "home": cwd}

    assert compile_condition(rule).covers("Edit", {"file_path": path}, **places) is expected


def test_a_path_is_covered_as_written_and_as_links_lead_it(tmp_path):
    real, link = tmp_path / "real", tmp_path / "link"
    (real / "src" / "deep").mkdir(parents=True)
    link.symlink_to(real)
    (real / "other").symlink_to(real / "src")
    (real / "down").symlink_to(real / "src" / "deep")

    def fits(rule, path, cwd):
        places = {"cwd": str(cwd), "project": str(cwd), "home": str(tmp_path)}
        return compile_condition(rule).covers("Edit", {"file_path": str(path)}, **places)

    for cwd in (real, link):
        assert fits("Edit(src/**)", real / "src/new", cwd)
        assert fits("Edit(src/**)", link / "src/new", cwd)
        assert fits("Edit(/src/**)", link / "src/new", cwd)
        assert fits("Edit(src/**)", "other/new", cwd)
        assert fits("Edit(other/**)", "other/new", cwd)
        assert fits("Edit(src/**)", "down/../new", cwd)
        assert fits("Edit(src/**)", f"{'src/../' * 8000}other/new", cwd)
        assert not fits("Edit(src/**)", real / "new", cwd)
        assert not fits("Edit(src/**)", "src\0", cwd)


@each(
    "rule, tool, tool_input, expected",
    [
        # names
        ("Edit", "Edit", {}, True),
        ("Edit", "Write", {}, True),
        ("Edit", "edit", {}, False),
        ("Edit", "Read", {}, False),
        ("Write", "Edit", {}, False),
        ("Read", "Grep", {}, True),
        ("Read", "LS", {}, True),
        ("Read", "Write", {}, False),
        ("Bash", "BashOutput", {}, False),
        ("Bash(ls)", "PowerShell", {"command": "ls"}, False),
        ("a.b", "a.b", {}, True),
        ("a.b", "axb", {}, False),
        ("*", "Anything", {}, True),
        ("Task*", "TaskStop", {}, True),
        ("mcp__git", "mcp__git__push", {}, True),
        ("mcp__git", "mcp__github__push", {}, False),
        ("mcp__git__*", "mcp__git__push", {}, True),
        ("mcp__git__*", "mcp__github__push", {}, False),
        ("mcp__git__push", "mcp__git__push", {}, True),
        ("mcp__git__push", "mcp__git__push__all", {}, False),
        ("mcp__git__push", "mcp__git__pull", {}, False),
        # paths of other tools
        ("Edit(src/**)", "Write", {"file_path": "src/x"}, True),
        ("Edit(src/**)", "MultiEdit", {"file_path": "src/x"}, True),
        ("Edit(src/**)", "NotebookEdit", {"notebook_path": "src/x"}, True),
        ("Edit(src/**)", "NotebookEdit", {"notebook_path": "x"}, False),
        ("Edit(src/**)", "Read", {"file_path": "src/x"}, False),
        ("Write(src/**)", "Write", {"file_path": "src/x"}, True),
        ("Write(src/**)", "Write", {"file_path": "x"}, False),
        ("Read(src/**)", "Read", {"file_path": "src/x"}, True),
        ("Read(src/**)", "Grep", {"pattern": "p", "path": "src"}, True),
        ("Read(src/**)", "Grep", {"pattern": "src/x"}, False),
        ("Read(*.ts)", "Grep", {"pattern": "p", "glob": "*.ts"}, True),
        ("Read(*.ts)", "Grep", {"pattern": "p", "glob": "*.md"}, False),
        ("Read(src/**)", "Glob", {"pattern": "src/*.ts"}, True),
        ("Read(//etc/**)", "Glob", {"pattern": "/etc/*"}, True),
        ("Read(src/**)", "LS", {"path": f"{CWD}/src"}, True),
        ("Read(src/**)", "LS", {}, False),
        ("Read(/sub)", "LS", {}, True),
        ("Edit(src/**)", "Edit", {}, True),
        ("Edit(src/**)", "Edit", {"file_path": 3}, True),
        ("Read(src/**)", "Grep", {"path": ["x"]}, True),
        # hosts
        ("WebFetch(domain:example.com)", "WebFetch", {"url": "https://example.com/x"}, True),
        ("WebFetch(domain:Example.com)", "WebFetch", {"url": "HTTPS://EXAMPLE.com.:443"}, True),
        ("WebFetch(domain: example.com)", "WebFetch", {"url": "https://example.com"}, True),
        ("WebFetch(domain:example.com)", "WebFetch", {"url": "https://a.example.com"}, False),
        ("WebFetch(domain:example.com)", "WebFetch", {"url": "https://a_b.io:80"}, False),
        ("WebFetch(domain:example.com)", "WebFetch", {"url": "https://example.com.evil.io"}, False),
        ("WebFetch(domain:example.com)", "WebFetch", {"url": "https://evil.io/example.com"}, False),
        ("WebFetch(domain:evil.io)", "WebFetch", {"url": "https://example.com@evil.io/"}, True),
        ("WebFetch(domain:evil.io)", "WebFetch", {"url": "https://evil.io\\@example.com"}, True),
        ("WebFetch(domain:*.example.com)", "WebFetch", {"url": "https://a.example.com"}, True),
        ("WebFetch(domain:*.example.com)", "WebFetch", {"url": "https://example.com"}, False),
        ("WebFetch(domain:evil.io)", "WebFetch", {"url": "https://ev%69l.io"}, True),
        ("WebFetch(domain:evil.io)", "WebFetch", {"url": "evil.io/x"}, True),
        ("WebFetch(domain:evil.io)", "WebFetch", {"url": "https://[::1"}, True),
        ("WebFetch(domain:evil.io)", "WebFetch", {"url": "https://[::1]/"}, False),
        ("WebFetch(domain:evil.io)", "WebFetch", {}, True),
        ("WebFetch(https://a.b/*)", "WebFetch", {"url": "https://a.b/c"}, True),
        ("WebFetch(https://a.b/*)", "WebFetch", {"url": "https://b.b/c"}, False),
        # agents and skills
        ("Agent(Explore)", "Agent", {"subagent_type": "Explore"}, True),
        ("Agent(Explore)", "Task", {"subagent_type": "Explore"}, True),
        ("Task(Explore)", "Agent", {"subagent_type": "Explore"}, True),
        ("Task(Explore)", "Agent", {"subagent_type": "Plan", "prompt": "Explore"}, False),
        ("Task", "Agent", {}, True),
        ("Agent(general-purpose)", "Agent", {"prompt": "x"}, True),
        ("Agent(Explore)", "Agent", {"prompt": "x"}, False),
        ("Agent(Explore)", "Agent", {"subagent_type": []}, True),
        ("Skill(deploy)", "Skill", {"skill": "deploy", "args": "now"}, True),
        ("Skill(deploy)", "Skill", {"skill": "/deploy"}, True),
        ("Skill(deploy)", "Skill", {"skill": "deployer"}, False),
        ("Skill(deploy *)", "Skill", {"skill": "deploy"}, True),
        ("Skill(deploy prod*)", "Skill", {"skill": "deploy", "args": "prod"}, True),
        ("Skill(deploy prod*)", "Skill", {"skill": "deploy", "args": "test"}, False),
        ("Skill(deploy)", "Skill", {}, True),
        # any other tool
        ("Other(a*c)", "Other", {"x": "abc"}, True),
        ("Other(a*c)", "Other", {"x": {"y": [1, None, "abc"]}}, True),
        ("Other(a*c)", "Other", {"abc": "x"}, False),
        ("Other(a*c)", "Other", {}, False),
        ("mcp__db__query(drop *)", "mcp__db__query", {"sql": "drop table"}, True),
        ("mcp__db__query(drop *)", "mcp__db__query", {"sql": "select"}, False),
    ],
)
def test_calls_are_covered_by_their_tool_and_input(rule, tool, tool_input, expected):
    assert covers(rule, tool, tool_input) is expected


@each(
    "text, says",
    [
        ("", "empty"),
        (" \n", "empty"),
        ("Bash(a) && Bash(b)", "one rule"),
        ("Bash(a) || Bash(b)", "one rule"),
        ("Bash(a), Bash(b)", "one rule"),
        ("Bash(a) or Bash(b)", "one rule"),
        ("Edit|Write", "one rule"),
        ("Edit; Write", "one rule"),
        ("a.b and mcp__*", "one rule"),
        ("mcp__* & a.b", "one rule"),
        ("Bash(git push", "balance"),
        ("Bash(echo )))", "balance"),
        ("Bash)ls(", "balance"),
        ("Bash git push", "not a permission rule"),
        ("(git push)", "not a permission rule"),
        ("Bash (git push)", "not a permission rule"),
        ("Edit(!*.md)", "negated"),
        ("Edit(*.{ts,tsx})", "{a,b}"),
    ],
)
def test_a_rule_that_is_none_says_why_and_covers_everything(text, says):
    condition = compile_condition(text)

    assert says in condition.problem
    assert covers(text, "Nothing", {"command": "nothing"})


def test_a_rule_keeps_its_text_and_has_no_problem():
    assert compile_condition(" Bash(git *) ") == Condition(" Bash(git *) ", "Bash", "git *")
    assert compile_condition("Read") == Condition("Read", "Read")
    assert compile_condition("Edit(app/{id}/[slug].ts)").problem is None


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        pytest.param("a;" * BIG, False, id="many commands"),
        pytest.param("a " * BIG, False, id="many words"),
        pytest.param("''" * BIG, False, id="many quotes"),
        pytest.param("@()" * BIG, True, id="many patterns"),
        pytest.param("nohup " * BIG, False, id="many wrappers"),
        pytest.param("x==(" * BIG, True, id="many arrays that are none"),
        pytest.param("cat <<A " * (BIG - 100), False, id="many here-documents"),
        pytest.param("cat <<E\n" + "x\\\n" * BIG, False, id="a long joined line"),
        pytest.param("echo $'" + "\\a" * BIG, True, id="an open ANSI-C quote"),
        pytest.param("echo `" + "\\a" * BIG, True, id="open backticks"),
        pytest.param("$(" * BIG, True, id="deep substitutions"),
        pytest.param("(" * BIG, True, id="deep subshells"),
        pytest.param("${x:-" * BIG, True, id="deep parameters"),
        pytest.param("echo @(" * BIG, True, id="deep patterns"),
        pytest.param("case x in a) " * BIG, True, id="deep cases"),
        pytest.param("echo " + "$(echo " * 20 + "a" * BIG + ")" * 20, False, id="deep and long"),
        pytest.param("true; " * BIG + "git push", True, id="far away"),
        pytest.param("#" * BIG + "\ngit push", True, id="after a long comment"),
    ],
)
def test_hostile_commands_are_read_in_linear_time(command, expected):
    assert runs("Bash(git *)", command) is expected


def test_hostile_patterns_are_matched_in_linear_time():
    assert not runs(f"Bash({'a*' * 1000}b)", "a" * BIG)
    assert not covers(f"Edit(src/{'*a' * 50}b)", "Edit", {"file_path": "src/" + "a" * 5000})
    assert not covers(f"Edit({'**/a/' * 50}b)", "Edit", {"file_path": "a/" * 5000})
    assert compile_condition("Bash(" + "(" * BIG + ")").problem is not None


def test_a_deep_input_is_searched():
    value = "abc"
    for _ in range(BIG):
        value = [value]

    assert covers("Other(abc)", "Other", {"x": value})


TEXTS = st.text(st.sampled_from("ab *?[]{}()<>|&;$`'\"\\#!=-\n\t./~:E1\0\r\ud800é")) | st.text()
SIGNS = r"""rm x,git push,;,&&,|,(,),{ ,},$(,`,',",# ,\,<(,>(,$',((,)),[[ , ]],if ,then ,a=(,f() , ,
case x in a) ,;; esac,${x:-,<<E!,!,!E!"""
SNIPPETS = st.lists(
    st.sampled_from([sign.replace("!", "\n") for sign in SIGNS.replace(",\n", ",").split(",")])
).map("".join)
TOOLS = ["Bash", "PowerShell", "Edit", "Read", "Grep", "WebFetch", "Agent", "Skill", "mcp__a", "O"]
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=5,
)
FIELDS = ["command", "file_path", "path", "pattern", "glob", "url", "subagent_type", "skill", "x"]
EXAMPLES = settings(max_examples=200, deadline=None, derandomize=True)


@pytest.mark.slow
@EXAMPLES
@given(
    st.one_of(TEXTS, st.builds("{}({})".format, st.sampled_from(TOOLS), TEXTS)),
    st.sampled_from(TOOLS),
    st.dictionaries(st.sampled_from(FIELDS), JSON | SNIPPETS),
    TEXTS,
)
def test_every_rule_and_call_has_an_answer(rule, tool, tool_input, place):
    condition = compile_condition(rule)

    answer = condition.covers(tool, tool_input, cwd=place, project=place, home=place)

    assert answer is True or (answer is False and condition.problem is None)


@EXAMPLES
@given(SNIPPETS | TEXTS, st.sampled_from(["echo {}", "ls -l {} x", "A={} ls"]))
@example("; rm x", "echo {}")
def test_a_quoted_operator_never_splits(text, line):
    assume("\0" not in text and "\r" not in text)

    assert not runs("Bash(rm *)", line.format(shlex.quote(text)))


@EXAMPLES
@given(SNIPPETS | TEXTS, st.sampled_from(["Bash(rm *)", "Bash(git push)", "Bash(rm * && x*)"]))
@example("rm x", "Bash(rm *)")
def test_a_command_in_front_never_uncovers(command, rule):
    assume(runs(rule, command))

    assert runs(rule, f"true && {command}")


@pytest.mark.slow
@EXAMPLES
@given(SNIPPETS)
def test_a_command_behind_a_readable_one_is_found(command):
    assume("<<" not in command and not command.endswith("\\"))
    assume(not runs("Bash(never)", command))

    assert runs("Bash(rm *)", f"{command}\nrm x")


def test_a_command_that_is_too_long_to_read_is_covered():
    assert runs("Bash(git *)", "echo " + "a" * MAX_COMMAND_LENGTH)
    assert not runs("Bash(git *)", "echo " + "a" * (MAX_COMMAND_LENGTH - 5))
