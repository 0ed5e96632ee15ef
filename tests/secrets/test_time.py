"""No text takes longer than in proportion to its length, whatever it repeats."""

from __future__ import annotations

import time

import pytest

from anyhook.secrets.examples import EXAMPLES
from anyhook.secrets.kinds import KINDS
from anyhook.secrets.redact import _searches, find_at_once
from tests.secrets.forms import examples

SHORT, LONG = 2_000, 200_000
ALLOWED = 20
"""Times as long per character as in a short text. A pattern that reads on to the end from each of
its beginnings would take LONG / SHORT times as long."""
OTHERS = ("-eyJ", "-SG.", "token=", "İtoken=", "İtoken ", 'token\\":', "bearer ", "://a:b", "curl ")


def beginnings():
    """Return each mark, and each form up to its secret and up to the middle of it, once a kind."""
    texts = {}
    for kind in KINDS:
        texts |= {f"{kind.label} {mark}": mark for mark in kind.marks}
        example = EXAMPLES[kind.label]
        texts[f"{kind.label} half"] = example[: len(example) // 2]
        texts[f"{kind.label} spaced"] = f"{kind.marks[0]}a "
    for kind, text, secret in examples():
        start = text.index(secret)
        texts[f"{kind} {text[:start]}"] = text[:start] + "a1"
    return sorted({*texts.values(), *OTHERS})


def seconds(text, runs):
    """Return the least time of this process for a text."""
    times = []
    lower = text.replace("İ", "I").lower()
    for _ in range(runs):
        started = time.process_time()
        find_at_once(text, lower)
        times.append(time.process_time() - started)
    return min(times)


@pytest.mark.slow
@pytest.mark.parametrize("part", beginnings())
def test_a_text_of_beginnings_takes_time_in_proportion_to_its_length(part):
    short, long = (part * (length // len(part) + 1) for length in (SHORT, LONG))

    of_short, of_long = seconds(short, runs=3), seconds(long, runs=1)

    assert of_long / len(long) < ALLOWED * max(of_short / len(short), 1e-8)


def test_common_text_begins_no_secret():
    """A search that has a hit is followed by all patterns of the mark, which takes longest."""
    text = "the token string of a secret. Is a password? 1f0c2d4e-7b8a-4c6d-9e0f-a1b2c3d4e5f6"
    searches = (*_searches(any_case=False), *_searches(any_case=True))
    hits = [search.pattern.search(text) for search in searches]
    assert not any(hits)
