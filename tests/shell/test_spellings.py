"""No spelling of a command hides it: it is among the commands of the line, or one is uncertain."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from anyhook.shell import read_commands
from tests.shell.spellings import COMMANDS, LINES, WORDS, Oracle


@pytest.fixture(scope="module")
def oracle(tmp_path_factory):
    return Oracle(tmp_path_factory.mktemp("oracle"))


def hides(line, command, shell):
    """Return whether neither the command nor a doubt is among the commands of a line."""
    program, *arguments = command
    for seen in read_commands(line, home="/nonexistent", cwd="/code", shell=shell):
        is_same = seen.program == program and (
            list(seen.arguments) == arguments or seen.uncertain_arguments
        )
        if is_same or not seen.certain:
            return False
    return True


@pytest.mark.parametrize("spelling", WORDS)
def test_a_spelling_of_the_words_hides_nothing(oracle, spelling):
    proofs = 0
    for command in COMMANDS:
        line = WORDS[spelling](command)
        for shell in oracle.proves(line, command):
            proofs += 1
            assert not hides(line, command, shell), line
            assert not hides(line, command, None), line
    assert proofs


@pytest.mark.parametrize("around", LINES)
def test_what_stands_around_a_command_hides_nothing(oracle, around):
    proofs = 0
    for command in COMMANDS[:3]:
        line = LINES[around](WORDS["plain"](command))
        for shell in oracle.proves(line, command):
            proofs += 1
            assert not hides(line, command, shell), line
    assert proofs


@pytest.mark.slow
@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    command=st.sampled_from(COMMANDS),
    words=st.sampled_from(sorted(WORDS)),
    around=st.lists(st.sampled_from(sorted(LINES)), min_size=1, max_size=3),
)
def test_spellings_inside_each_other_hide_nothing(oracle, command, words, around):
    line = WORDS[words](command)
    for name in around:
        line = LINES[name](line)
    for shell in oracle.proves(line, command):
        assert not hides(line, command, shell), line
