"""Styles in which blanks belong to a pattern, and a pattern has to cover the whole subject."""

from __future__ import annotations

import pytest

from anyhook.matching.matchers import compile_matcher
from tests.tables import each


@pytest.mark.parametrize(
    ("pattern", "subject", "is_covered"),
    [
        ("bash", "bash", True),
        ("ba", "bash", False),
        ("b.sh", "bash", True),
        ("edit|bash", "bash", True),
        ("Bash", "bash", False),
        (" bash", "bash", False),
        ("bash ", "bash", False),
        (".*", "bash", True),
        (r"\w+", "bash", True),
        ("bash,edit", "bash", False),
    ],
)
def test_an_expression_covers_the_whole_subject(pattern, subject, is_covered):
    matcher = compile_matcher(pattern, "whole")

    assert matcher.matches(subject) is is_covered
    assert matcher.problem is None


@pytest.mark.parametrize("pattern", ["", "*", "**", "[", "(?i)BASH"])
def test_a_pattern_that_does_not_compile_matches_nothing(pattern):
    matcher = compile_matcher(pattern, "whole")

    assert matcher.problem
    assert not matcher.matches("bash")
    assert not matcher.matches(pattern)


def test_no_pattern_matches_everything():
    assert compile_matcher(None, "whole").matches("bash")


@each(
    "pattern, names, is_covered",
    [
        ("Bash", ("Bash", "bash"), True),
        ("bash", ("Bash", "bash"), True),
        ("powershell", ("Bash", "bash"), False),
        ("Ba", ("Bash", "bash"), False),
        ("Ba.*", ("Bash", "bash"), True),
        ("ba.*", ("Bash", "bash"), False),
        ("Write|Bash", ("Bash", "bash"), True),
        ("Edit | Bash", ("Bash", "bash"), False),
        ("Bash, Write", ("Bash", "bash"), False),
        ("Bash ", ("Bash", "bash"), True),
        ("*", ("Bash", "bash"), True),
        ("**", ("Bash", "bash"), True),
        ("^Bash$", ("Bash", "bash"), True),
        ("s.*", ("sql",), True),
        ("[", ("Bash", "bash"), False),
        ("", ("Bash", "bash"), False),
    ],
)
def test_names_match_any_name_and_expressions_the_first(pattern, names, is_covered):
    assert compile_matcher(pattern, "names_or_whole").matches_any(names) is is_covered


def test_an_empty_pattern_can_match_everything():
    matcher = compile_matcher("", "names_whole_or_all")

    assert matcher.matches_any(("Bash", "bash"))
    assert matcher.problem is None
    assert not compile_matcher("Ba", "names_whole_or_all").matches("Bash")
