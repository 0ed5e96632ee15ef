"""What bash does with random lines, and whether the reader of command lines noticed it."""

from __future__ import annotations

import subprocess
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anyhook.testing import make_event

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(subprocess.call(["bash", "-c", ":"]) != 0, reason="needs bash"),
]

STATEMENTS = st.sampled_from(
    [
        *("cd sub", "cd no", "cd", "cd -", "cd -P sub", "cd -- sub", "cd `echo sub`", "cd $A"),
        *('cd "$PWD/sub"', "! cd no", "A=1 cd sub", "time cd sub", "cd 2>/dev/null no"),
        *("command cd sub", "builtin cd sub", "env cd sub", "eval 'cd sub'", "sh -c 'cd sub'"),
        *("pushd sub", "popd", "X=$(cd sub)", "trap 'cd sub' EXIT", ": cd sub"),
        *("set -e", "set +e", "set -- -e", "set -o errexit", "eval 'set -e'", "(set -e)"),
        *("true", "false", "! true", "test -d sub", "exit", "return", "shift", "f", "read x"),
        *("A=src", "A=sub", "export A=src", "unset A", "HOME=$PWD/sub", "CDPATH=$PWD/sub"),
    ]
)
SEPARATORS = st.sampled_from(["; ", " && ", " || ", "\n", " | ", " & "])
COMPOUNDS = st.sampled_from(
    [
        *(
            "({0})",
            "{{ {0}; }}",
            "f() {{ {0}; }}",
            "if {1}; then {0}; fi",
            "while {0}; do break; done",
        ),
        *(
            "if {1}; then {0}; else {1}; fi",
            "for i in 1 2; do {0}; done",
            "case a in b) {0};; *) {1};; esac",
        ),
    ]
)


def joined(statements):
    pairs = st.lists(st.tuples(statements, SEPARATORS), min_size=1, max_size=3)
    return pairs.map(lambda pairs: "".join(map("".join, pairs)) + "true")


LINES = joined(
    st.recursive(
        STATEMENTS,
        lambda inner: st.builds(str.format, COMPOUNDS, joined(inner), STATEMENTS),
        max_leaves=4,
    )
)
LAST_SEPARATORS = st.sampled_from(["; ", " && ", " || ", "\n"])
DELETES = st.sampled_from(
    [
        *(
            "rm -f src/a",
            'rm -f "$A/a"',
            "rm -f src/*",
            "rm -f s*/a",
            "rm -f {src,x}/a",
            "unlink src/a",
        ),
        *(
            "command rm -f src/a",
            "mv src/a src/c",
            "cd src && rm -f a",
            "cd src; rm -f a",
            "pushd src; rm -f a",
        ),
        *("find src -name a -delete", "find src ! -name b -delete", "find . -name a -exec rm {} +"),
        *(
            "find . -name b -o -name a -delete",
            "find src -name b , -name a -delete",
            "find src -delete -name z",
        ),
        *(
            "echo src/a | xargs rm -f",
            "printf src/a | xargs -I {} rm -f {}",
            "echo rm -f src/a | sh",
        ),
        *("sh -c 'rm -f src/a'", "eval 'rm -f src/a'", "(rm -f src/a)", "f() { rm -f src/a; }; f"),
        *(
            "X=src/a; rm -f $X",
            "rm -f src/${B:-a}",
            "rm -f $(echo src/a)",
            "for i in a b; do rm -f src/$i; done",
        ),
    ]
)
WRITES = st.sampled_from(
    [
        *(
            "echo x > src/a",
            "cat src/b >| src/a",
            "echo x &> src/a",
            "exec > src/a; echo x",
            "cd src; : > a",
        ),
        *("(echo x) > src/a", "if true; then echo; fi > src/a", "echo 'echo x > src/a' | sh"),
        *("cp src/b src/a", "tee src/a < src/b", "dd if=src/b of=src/a", "install src/b src/a"),
        *(
            "ln -sf b src/a",
            "truncate -s 0 src/a",
            "sort -o src/a src/b",
            "cp -t src sub/src/a",
            "mkdir src/d",
        ),
        *("sed -i s/S/T/ src/a", "perl -pi -e s/S/T/ src/a", "awk 'BEGIN{print 1 > \"src/a\"}'"),
        *(
            "find src -name a -exec cp src/b {} ';'",
            "echo src/a | xargs -I {} cp src/b {}",
            "cp sub/src/* src",
        ),
    ]
)
READS = st.sampled_from(
    [
        *(
            "cat src/a",
            "cat < src/a",
            "cat s*/a",
            "cd src && cat a",
            "cd src; cat *",
            "{ cat; } < src/a",
        ),
        *(
            "grep . src/a",
            "grep -r S src",
            "sed p src/a",
            "awk 1 src/a",
            "dd if=src/a",
            "tar cf - src/a",
        ),
        *("cat $(echo src/a)", "cat <(cat src/a)", "echo $(<src/a)", "read x < src/a; echo $x"),
        *("xargs -a src/a echo", "echo src/a | xargs cat", "find src -name a -exec cat {} +"),
        *(
            "git diff --no-index src/a /dev/null",
            "exec < src/a; cat",
            "cp src/a /dev/stdout",
            ". src/a 2>&1",
        ),
        *(
            "awk 'BEGIN{while ((getline l < \"src/a\") > 0) print l}'",
            "perl -pe 1 src/a",
            "X=a; cat src/${X}",
        ),
    ]
)
TEXT = "SECRET"
KINDS = ("deletes", "writes", "reads")


class Ran:
    """A line that bash has run in a scratch project, and the event of its call."""

    def __init__(self, line):
        with (
            tempfile.TemporaryDirectory() as directory,
            pytest.MonkeyPatch.context() as monkeypatch,
        ):
            project = Path(directory)
            for name in ("src", "sub", "sub/sub", "sub/src", "home"):
                (project / name).mkdir()
            for name, text in (("src/a", TEXT), ("src/b", "b"), ("sub/src/a", "c")):
                (project / name).write_text(text)
            monkeypatch.setenv("HOME", str(project / "home"))
            result = subprocess.run(
                ["bash", "-c", line],
                cwd=project,
                env={"PATH": "/usr/bin:/bin", "HOME": str(project / "home")},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                check=False,
            )
            file = project / "src/a"
            self.deletes = not file.exists()
            self.writes = (project / "src/d").exists() or (
                file.exists() and file.read_text() != TEXT
            )
            self.reads = TEXT in result.stdout.decode()
            event = make_event(
                "before_tool", agent="claude", tool="shell", input={"command": line}, cwd=directory
            )
            self.match = {kind: getattr(event, kind)("src/**") for kind in KINDS}


@settings(max_examples=300, deadline=None)
@given(line=LINES, separator=LAST_SEPARATORS, last=DELETES)
def test_no_deletion_is_missed(line, separator, last):
    ran = Ran(line + separator + last)

    assert ran.match["deletes"] or not ran.deletes


@settings(max_examples=300, deadline=None)
@given(line=LINES, separator=LAST_SEPARATORS, last=WRITES)
def test_no_write_is_missed(line, separator, last):
    ran = Ran(line + separator + last)

    assert ran.match["writes"] or not ran.writes


@settings(max_examples=300, deadline=None)
@given(line=LINES, separator=LAST_SEPARATORS, last=READS)
def test_no_reading_is_missed(line, separator, last):
    ran = Ran(line + separator + last)

    assert ran.match["reads"] or not ran.reads
