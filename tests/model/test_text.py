"""Texts that are shortened for messages."""

from __future__ import annotations

from anyhook.model.text import cut, first_names


def test_a_text_that_is_too_long_ends_with_an_ellipsis():
    assert [cut("abcde", 5), cut("abcdef", 5)] == ["abcde", "abcd…"]


def test_the_first_five_names_are_listed_and_the_others_counted():
    assert first_names(list("abcde")) == "a, b, c, d, e"
    assert first_names(list("abcdefg")) == "a, b, c, d, e and 2 more"
