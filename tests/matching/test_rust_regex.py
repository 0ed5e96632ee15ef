"""Expressions of Rust: what matches there matches here, and what is invalid there is reported."""

from __future__ import annotations

import pytest

from anyhook.matching.matchers import compile_matcher
from tests.tables import each


def matches(pattern, subject):
    return compile_matcher(pattern, "rust").matches(subject)


@each(
    "pattern, subject, expected",
    [
        ("Bash", "Bash", True),
        ("BASH", "Bash", False),
        ("Bas", "Bash", False),
        ("Edit|Bash", "Bash", True),
        ("Bash|", "Bash", True),
        ("Bash | Edit", "Bash", False),
        (" Bash", "Bash", False),
        ("Bash,Edit", "Bash", False),
        ("*", "Bash", True),
        ("", "Bash", True),
        ("sh$", "Bash", True),
        ("B.sh", "Bash", True),
        ("^$", "Bash", False),
        ("(?i)bash", "Bash", True),
        ("(?i)^bash$", "Bash", True),
        ("x|(?i)bash", "Bash", True),
        ("(x|(?i)bash)", "Bash", True),
        ("(?i:b)ash", "Bash", True),
        ("(?-u)Bash.*", "Bash", True),
        ("[Bb]ash", "Bash", True),
        ("[]B]ash", "Bash", True),
        ("[^]B]ash", "Bash", False),
        ("Bash(ls:*)", "Bash", False),
        (r"\w+", "Bash", True),
        (r"\bBash\b", "Bash", True),
        (r"\ABash\z", "Bash", True),
        ("(?P<tool>Ba)sh.*", "Bash", True),
        ("(?<tool>Ba)sh.*", "Bash", True),
        ("Bash-x|Bash", "Bash", True),
        ("mcp__*", "mcp__s__t", True),
        ("mcp__**", "mcp__s__t", True),
        ("mcp__++", "mcp__s__t", True),
        ("mcp_{2}.*", "mcp__s__t", True),
        ("mcp__fakesrv.echo", "mcp__fakesrv__echo", False),
        (r"mcp\-x|mcp\/", "mcp", False),
    ],
)
def test_a_matcher_matches_as_in_rust(pattern, subject, expected):
    assert compile_matcher(pattern, "rust").problem is None
    assert matches(pattern, subject) is expected


@each(
    "pattern",
    [
        "[",
        "(",
        "a)",
        "^(?!Edit).*$",
        "(?=Bash)",
        "(?<=x)Bash",
        "(?<!x)Bash",
        r"(B)\1",
        r"\y",
        "Bash{",
        "Bash{x}",
        "*Bash",
        "(?>Bash)",
        "(?i",
        "Bash\\",
    ],
)
def test_what_rust_does_not_compile_matches_nothing(pattern):
    matcher = compile_matcher(pattern, "rust")

    assert matcher.problem
    assert matcher.matches_nothing
    assert not matcher.matches("Bash")
    assert not matcher.matches(pattern)


@pytest.mark.parametrize(
    "pattern", [r"\p{Lu}ash", "[[:alpha:]]+", "[a-z&&[^b]]x", "(?x)B ash", "a(?i)b|c", "a{2}{3}"]
)
def test_what_has_no_counterpart_counts_as_a_match(pattern):
    matcher = compile_matcher(pattern, "rust")

    assert matcher.is_never_evaluated
    assert matcher.matches("Bash")
