"""The light values that everything is made of."""

from __future__ import annotations

import ast
import copy
import json
import pickle

import pydantic
import pytest

from anyhook import Outcome
from anyhook.dialects import get_dialect
from anyhook.model.record import Record
from anyhook.service.loading import _calls_run_last, _ends_with_run


class Base(Record):
    x: int
    y: int = 2


def test_what_has_no_default_is_required_and_a_default_may_come_from_anywhere():
    class Given(Base):
        x = 5

    class Again(Base):
        y: int
        z: int

    class Mixin:
        x = 7

    class Mixed(Mixin, Base):
        pass

    assert Given().x == 5
    assert Again(x=1, z=3).y == 2
    assert Mixed().x == 7
    assert Base.record_required == {"x"}
    with pytest.raises(TypeError, match="needs x, z"):
        Again()


def test_a_copy_has_what_was_given_and_nothing_that_was_computed():
    one = Base(x=1)
    one.__dict__["computed"] = 9

    other = one.replace(y=3)

    assert other == Base(x=1, y=3)
    assert "computed" not in other.__dict__


GUARD = "if __name__ == '__main__':\n    "
ENDS = [
    "hooks.run()",
    GUARD + "hooks.run()",
    GUARD + "x()\n    hooks.run()",
    "x = 1\n" * 300 + GUARD + "hooks.run()",
]
OTHER_WORDS = [
    "".join(f"x{i} = 1\n" for i in range(300)) + "hooks.run()",
    "a.b.run()",
    "hooks.run([])",
]
DOES_NOT = [
    "",
    "hooks.run()\nx()",
    GUARD + "hooks.run()\nx()",
    "hooks.go()",
    "def run(): pass\nrun()",
    "y = hooks.run()",
    "hooks.run\nfoo.bar()",
    "try:\n    hooks.run()\nfinally:\n    x()",
    "while x:\n    hooks.run()",
    "if x:\n    hooks.run(); y()\nelse:\n    hooks.run()",
    GUARD + "if x:\n        hooks.run(); y()\n    else:\n        hooks.run()",
    "match x:\n    case 1:\n        hooks.run(); y()\n    case _:\n        hooks.run()",
]


@pytest.mark.parametrize("text", [*ENDS, *OTHER_WORDS, *DOES_NOT])
def test_what_a_file_does_last_is_told_from_its_code_if_it_says_so_in_the_usual_words(text):
    assert _calls_run_last(compile(text, "", "exec")) is (text in ENDS)
    assert _ends_with_run(ast.parse(text)) is (text in ENDS + OTHER_WORDS)


# -- words


def test_words_are_texts_and_the_only_ones_of_their_kind():
    assert Outcome("deny") is Outcome.DENY is Outcome["DENY"]
    assert Outcome.DENY == "deny" == str(Outcome.DENY) == f"{Outcome.DENY}" == Outcome.DENY.value
    assert type(str(Outcome.DENY)) is type(Outcome.DENY.value) is str
    assert Outcome.DENY.name == "DENY"
    assert repr(Outcome.DENY) == "<Outcome.DENY: 'deny'>"
    assert json.dumps({"said": Outcome.DENY}) == '{"said": "deny"}'
    assert isinstance(Outcome.DENY, Outcome)


def test_words_are_counted_and_found():
    assert [word.name for word in Outcome] == ["NONE", "ALLOW", "ASK", "DEFER", "DENY"]
    assert len(Outcome) == 5
    assert "deny" in Outcome
    assert Outcome.DENY in Outcome
    assert "DENY" not in Outcome
    assert 5 not in Outcome


@pytest.mark.parametrize("text", ["DENY", "", None, 5, []], ids=repr)
def test_no_word_is_made(text):
    with pytest.raises(ValueError, match="is not a valid Outcome"):
        Outcome(text)


def test_words_stay_what_they_are():
    with pytest.raises(AttributeError, match="cannot reassign member 'DENY'"):
        Outcome.DENY = "no"
    with pytest.raises(AttributeError, match="is what it is"):
        Outcome.DENY.value = "no"
    for copied in (copy.copy, copy.deepcopy, lambda word: pickle.loads(pickle.dumps(word))):
        assert copied(Outcome.DENY) is Outcome.DENY


def test_words_are_looked_up_as_those_of_enums():
    assert Outcome(value="deny") is Outcome.DENY
    assert list(reversed(Outcome)) == list(Outcome)[::-1]
    assert Outcome.__members__["DENY"] is Outcome.DENY
    assert (Outcome.DENY._name_, Outcome.DENY._value_) == ("DENY", "deny")
    with pytest.raises(TypeError, match="does not support item"):
        Outcome.__members__["DENY"] = None
    with pytest.raises(AttributeError, match="cannot delete member 'DENY'"):
        del Outcome.DENY


def test_pydantic_reads_words():
    adapter = pydantic.TypeAdapter(Outcome)

    assert adapter.validate_python("deny") is adapter.validate_python(Outcome.DENY) is Outcome.DENY
    assert adapter.validate_json('"deny"') is Outcome.DENY
    assert adapter.dump_json(Outcome.DENY) == b'"deny"'
    assert adapter.json_schema()["enum"] == [word.value for word in Outcome]
    with pytest.raises(pydantic.ValidationError, match="Input should be"):
        adapter.validate_python("no")


def test_a_set_of_words_may_hold_what_is_no_word():
    Outcome.remark = "not in capitals"
    assert "not in capitals" not in Outcome
    del Outcome.remark


# -- copies


def test_a_changed_copy_has_only_fields():
    class Given(Record):
        x: int
        y: int = 2

    with pytest.raises(TypeError, match="no field 'z'"):
        Given(x=1).replace(z=3)
    claude = get_dialect("claude")
    assert claude.by_wire
    assert claude.members("before_tool")
    with pytest.raises(TypeError, match="no field 'nope'"):
        claude.replace(nope=1)
    assert Given(x=1).replace(y=3) == Given(x=1, y=3)
