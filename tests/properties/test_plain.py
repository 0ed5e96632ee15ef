"""A line that is started without a shell means what it means to the shell.

The shell itself is the judge: a program that tells everything it was given is started both ways.
It stands on the PATH under every name that is a shell's own too, so that taking such a name for a
program shows.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

from anyhook.shell.plain import _is_bash, find_direct

BASH = shutil.which("bash") or ""
pytestmark = pytest.mark.skipif(
    sys.platform != "linux" or not shutil.which("gcc") or not _is_bash(BASH),
    reason="every line has its shell here",
)
TELLER = r"""
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>
extern char **environ;
static void tell(const char *what, const char *text) { printf("%s: %s", what, text); putchar(0); }
int main(int argc, char **argv) {
    char line[65536];
    for (int i = 0; i < argc; i++) tell("argument", argv[i]);
    for (char **one = environ; *one; one++) tell("variable", *one);
    tell("program", (const char *)getauxval(AT_EXECFN));
    tell("directory", getcwd(line, sizeof line) ? line : "?");
    FILE *status = fopen("/proc/self/status", "r");
    while (fgets(line, sizeof line, status))
        if (strstr("SigBlk SigIgn SigCgt Umask", strtok(line, ":"))) tell(line, strtok(0, "\n"));
    fclose(status);
    for (int fd = 0; fd < 64; fd++)
        if (fcntl(fd, F_GETFD) != -1) { sprintf(line, "%d", fd); tell("descriptor", line); }
    tell("leader", getsid(0) == getpid() ? "yes" : "no");
    return 0;
}
"""
OWN = (
    ". : [ alias bg bind break builtin caller case cd chdir command compgen coproc declare disown"
    " do done echo elif else enable esac eval exec exit export false fc fi for function getopts"
    " hash if in jobs kill let local popd printf pushd pwd read readonly return select set shift"
    " source test then time times trap true type typeset ulimit umask unset until wait while"
).split()
"""Names that shells do not look up; those that cannot be file names apart."""


@dataclass
class Place:
    """A directory with programs in it, known under two names, and bash under two names."""

    root: Path

    def located(self, env):
        """Put the place into an environment."""
        return {name: value.replace("<>", str(self.root)) for name, value in env.items()}


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    root = tmp_path_factory.mktemp("plain")
    for name in ("here", "bin", "shells"):
        (root / name).mkdir()
    (root / "link").symlink_to("here")
    (root / "teller.c").write_text(TELLER)
    subprocess.run(["gcc", "-O1", "-o", root / "teller", root / "teller.c"], check=True)
    for name in ("tell", *OWN):
        if name not in (".", ".."):
            (root / "bin" / name).symlink_to("../teller")
    (root / "here" / "tell").symlink_to("../teller")
    for name in ("bash", "sh"):
        (root / "shells" / name).symlink_to(BASH)
    return Place(root)


# -- lines

VALUES = st.sampled_from(
    r"""x * ? [a] t* ~ $A `id` \ \* " ' -n {a,b} a=b # ! a:b ~root a/b.c é Á Ё 日本 😀""".split()
    + "|a b| a|a |\n|a\tb|() { :; }|\x1b[0m|\x01|\x7f|\x81|\x85|\xa0|\u2028|\udc81".split("|")
)
NAMES = st.sampled_from([*"ABC" * 6, *"PWD HOME PATH _ OLDPWD SHLVL NONE UID".split()])
SAFE = st.text("ab1._/-:,+@%=", min_size=1, max_size=4)
TEXT = st.text("ab1./=- \t\n~#*?[]{}()<>|&;^%!'\"\\$`éÁЁ日\x81\x85\xa0\u2028😀", max_size=4)
USES = st.builds(str.format, st.sampled_from(["${}", "${{{}}}"]), NAMES)
SINGLE = TEXT.map(lambda text: "'" + text.replace("'", "") + "'")
INSIDE = TEXT.map(lambda text: re.sub(r'(["\\$`])', r"\\\1", text.replace("!", "")))
DOUBLE = st.lists(USES | INSIDE, max_size=3).map(lambda parts: '"' + "".join(parts) + '"')
ESCAPED = st.sampled_from(" ab1*?~#'\"\\$`|&;<>(){}[]!=").map("\\{}".format)
NASTY_WORDS = r"""
    * ? t* [a] {a,b} ~ # a#b ! $1 $? $@ $(tell) `tell` $((1)) ${A:-b} $'a' $"a" >f 2>&1 <f | & ; &&
    ( ) $ \ " ' ${#A} ${A a=b A=b --x=~ %1 +x @(a) - -- "`tell`" "$(tell)" "\n" "\*" "!a" "$1" "$"
    "${A:-b}" é $A ${B} A=1 x=~ ^a^b 1>f \é
""".split()
NASTY = st.sampled_from(NASTY_WORDS) | st.sampled_from(
    ["\\\n", '"\\\n"', "\n", "\r", " # ", " ;", "'\x01'", '"\x7f"', "\x1b", "'\udc81'", "\x85"]
)
WORD = st.lists(SAFE | SINGLE | DOUBLE | ESCAPED, min_size=1, max_size=3)
FIRST = st.sampled_from(
    ["tell"] * 70
    + r"""./tell "$PWD"/tell $PWD/tell ${PWD}/tell t'el'l t\ell ../bin/tell %bin/tell -tell a=b/tell
    none $A .. bin ''""".split()
    + ["A=1 tell", "'tell '", "! tell", ""]
    + OWN[::4]
)


@st.composite
def lines(draw):
    """Draw a line of plain words, every other one with something nasty in one place."""
    first = draw(FIRST)
    words = draw(st.lists(WORD, max_size=3))
    if draw(st.booleans()):
        word = draw(st.sampled_from([[], *words]))
        word.insert(draw(st.integers(0, len(word))), draw(NASTY))
        words = words if any(each is word for each in words) else [*words, word]
    blank = draw(st.sampled_from([" ", " ", "  ", "\t"]))
    return draw(st.sampled_from(["", "", blank])) + blank.join([first, *map("".join, words)])


# -- surroundings

KNOWN = """
    BASH_ENV ENV SHELLOPTS BASHOPTS POSIXLY_CORRECT IFS PS0 PS1 PS2 PS3 PS4 OPTIND OPTERR OPTARG
    LINENO PPID UID EUID GROUPS RANDOM SRANDOM SECONDS EPOCHSECONDS EPOCHREALTIME HISTCMD DIRSTACK
    FUNCNAME PIPESTATUS GLOBIGNORE EXECIGNORE COMP_WORDBREAKS BASH BASHPID BASH_VERSION
    BASH_XTRACEFD BASH_FUNC_tell%% HOSTNAME HOSTTYPE MACHTYPE OSTYPE SHELL TERM TMOUT MAIL
    MAILCHECK MAILPATH HISTFILE HISTSIZE HISTCONTROL HISTIGNORE HISTTIMEFORMAT IGNOREEOF CDPATH
    COLUMNS LINES FIGNORE FUNCNEST INPUTRC INSIDE_EMACS EMACS LC_CTYPE LC_COLLATE LC_MESSAGES
    LC_NUMERIC LC_TIME LC_ALL LANG LANGUAGE TEXTDOMAIN TEXTDOMAINDIR TIMEFORMAT TMPDIR TZ
    PROMPT_COMMAND PROMPT_DIRTRIM FCEDIT REPLY MAPFILE COPROC READLINE_LINE READLINE_POINT
    CHILD_MAX USER LOGNAME EDITOR VISUAL histchars auto_resume SSH_CLIENT SSH2_CLIENT DISPLAY A-B
    a.b 1A é
""".split()
LOCALES = st.sampled_from(
    [
        "",
        "C",
        "POSIX",
        "C.UTF-8",
        "C.utf8",
        "en_US.UTF-8",
        "xx_XX.UTF-8",
        "de_DE",
        "UTF-8",
        "ja_JP.SJIS",
    ]
)
LEVELS = st.sampled_from(["0", "1", "2", "7", "998", "999", "1000", "-1", "01", "a", "", " 1"])


DIRECTORIES = st.sampled_from(
    "<>/here|<>/link|<>/here/|<>/here/.|<>//here|<>/link/../here|<>/bin|here|.||/none".split("|")
)
PATHS = st.sampled_from(
    ["<>/bin"] * 30
    + "/none:<>/bin :<>/bin <>/bin/ .:<>/bin /none <>:<>/bin ~:<>/bin <>/bin: %x:<>/bin".split()
    + ["", "<>/here:<>/bin"]
)
VARIABLES = {name: LOCALES if name.startswith(("LC_", "LANG")) else VALUES for name in KNOWN} | {
    "SHLVL": LEVELS,
    "OLDPWD": DIRECTORIES,
    "_": VALUES,
}
USUAL = st.fixed_dictionaries(
    {"PATH": PATHS, "A": VALUES | st.just(""), "B": VALUES, "C": VALUES},
    optional={"HOME": DIRECTORIES, "PWD": DIRECTORIES},
)
RARE = st.lists(st.sampled_from(sorted(VARIABLES)), max_size=1, unique=True).flatmap(
    lambda names: st.fixed_dictionaries({name: VARIABLES[name] for name in names})
)
ODD = st.dictionaries(st.text("aZ_0-.% é\x81", min_size=1, max_size=4), VALUES, max_size=1)
ENVIRONMENTS = st.tuples(ODD, USUAL, RARE).map(lambda parts: parts[0] | parts[1] | parts[2])


# -- what is compared


def told(argv, cwd, env, program=None):
    done = subprocess.run(
        argv,
        executable=program,
        cwd=cwd,
        env=env,
        input=b"",
        capture_output=True,
        start_new_session=True,
        check=False,
        timeout=30,
    )
    return done.returncode, sorted(done.stdout.split(b"\0")), done.stderr


def check(shell, line, env, cwd):
    """Start a line both ways; returns whether there are two."""
    argv = [shell, "-c", line]
    direct = find_direct(argv, env, cwd)
    if direct is None:
        return False
    try:
        found = told(direct.argv, cwd, direct.env, direct.program)
    except OSError:  # the shell's turn
        return False
    assert found == told(argv, cwd, env)
    return True


@pytest.mark.parametrize("shell", ["bash", "sh"])
@given(line=lines(), env=ENVIRONMENTS, cwd=st.sampled_from(["here", "link"]))
@settings(max_examples=1000)
def test_a_line_without_a_shell_gives_the_program_what_the_shell_would(
    place, shell, line, env, cwd
):
    path = f"{place.root}/shells/{shell}"

    is_direct = check(path, line, place.located(env), f"{place.root}/{cwd}")

    event("direct" if is_direct else "the shell's")


@pytest.mark.parametrize("value", ["x", "", "1", "/ a:b"])
def test_every_variable_that_bash_knows_is_passed_on_or_is_a_matter_for_bash(place, value):
    done = subprocess.run([BASH, "-c", "compgen -v"], capture_output=True, text=True, check=True)
    usual = {"PATH": "<>/bin", "HOME": "<>", "PWD": "<>/here", "SHLVL": "1"}

    taken = {
        name
        for name in {*done.stdout.split(), *VARIABLES} - {"PATH"}
        for line in ("tell", f'tell "${name}"')
        if check(BASH, line, place.located({**usual, name: value}), f"{place.root}/here")
    }

    assert {"HOME", "TERM", "USER", "TMOUT"} <= taken
