"""Searches: everything that an event holds is found, the newest first, with its surroundings."""

from __future__ import annotations

import random

import pytest

from anyhook.cli import OK, main
from anyhook.history import spans
from anyhook.history.describe import hit_of
from anyhook.history.filters import Filter
from anyhook.history.search import newest
from anyhook.history.sessions import find_session, short_names
from anyhook.history.store import History
from anyhook.history.text import MAX_TEXT, has_words
from tests.history.test_faults import NOW, event

WORDS = "alpha beta gamma delta epsilon zeta eta theta iota kappa lambda my".split()


def result(number, text, **fields):
    payload = {"tool_name": "read_file", "tool_input": {}, "tool_response": {"llmContent": text}}
    return event(number, payload=payload, **fields)


@pytest.mark.slow
def test_every_phrase_of_a_long_result_is_found(tmp_path):
    chance = random.Random(7)
    words = [f"{chance.choice(WORDS)}{number}" for number in range(60_000)]
    text = " ".join(words)
    assert 400_000 < len(text) < MAX_TEXT
    with History.open(tmp_path) as history:
        history.add([result(1, text), result(2, "short")])
        for start in (0, 50, 1_000, 30_000, 59_990):
            phrase = " ".join(words[start : start + 3])
            assert [found.id for found in newest(history, Filter(text=f'"{phrase}"'))] == [1]
            assert phrase in hit_of(newest(history, Filter(text=f'"{phrase}"'))[0], phrase, 200)
        history.prune(days=1, size=0, now=NOW + 1e9)
        history.connection.execute("INSERT INTO texts (texts) VALUES ('integrity-check')")


def test_an_image_does_not_fill_the_index(tmp_path):
    image = "".join(random.Random(3).choices("abcdefghij+/", k=200_000))
    with History.open(tmp_path) as history:
        history.add([result(1, image), result(2, "a caption")])
        assert newest(history, Filter(text=image[:20].split("+")[0].split("/")[0])) == []
        assert [found.id for found in newest(history, Filter(text="caption"))] == [2]


@pytest.mark.parametrize(
    ("words", "numbers"),
    [("deplo*", [2, 1]), ("deploy", [1]), ('"the deplo*"', [2]), ("deplo", []), ("*", [2, 1])],
)
def test_a_star_stands_for_the_rest_of_a_word(tmp_path, words, numbers):
    texts = ("deploy now", "the deployment", "other")[:2]
    with History.open(tmp_path) as history:
        history.add([result(number, text) for number, text in enumerate(texts, 1)])
        assert [found.id for found in newest(history, Filter(text=words))] == numbers
        found = [n for n, text in enumerate(texts, 1) if has_words(text, words)]
        assert found == sorted(numbers)


def test_the_newest_events_come_first_whenever_they_were_stored(tmp_path, monkeypatch):
    monkeypatch.setattr(spans, "NUMBERS_PER_SPAN", 16)
    monkeypatch.setattr("anyhook.history.search.NUMBERS_PER_SPAN", 16)
    monkeypatch.setattr("anyhook.history.rows.NUMBERS_PER_SPAN", 16)
    times = random.Random(5).sample(range(1000), 200)
    with History.open(tmp_path) as history:
        history.add([event(time) for time in times])
        for limit in (1, 7, 50, 400):
            found = [round(one.time - NOW) for one in newest(history, Filter(), limit=limit)]
            assert found == sorted(times, reverse=True)[:limit]
        found = newest(history, Filter(text="echo", until=NOW + 500), limit=5)
        assert [round(one.time - NOW) for one in found] == sorted(
            [time for time in times if time < 500], reverse=True
        )[:5]


def test_the_name_that_is_printed_finds_its_session(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("ANYHOOK_DATA_DIR", str(tmp_path))
    names = ["019aa1b2-c3d4-7000", "019aa1b2-c3d4-7111", "019aa1b2-ffff-7000", "b2"]
    with History.open() as history:
        history.add([event(number, session=name) for number, name in enumerate(names)])
        short = short_names(history, names)
        assert [find_session(history, short[name]).session for name in names] == names
    assert main(["history", "search", "echo"]) == OK
    printed = capsys.readouterr().out
    for name in short.values():
        assert name in printed
        assert main(["history", "show", name]) == OK
    capsys.readouterr()
    assert main(["history", "show", "--event", "2"]) == OK
    assert "echo 1" in capsys.readouterr().out
