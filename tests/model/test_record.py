"""The light values that everything is made of."""

from __future__ import annotations

import dataclasses
import pprint

import pytest

from anyhook.agents import get_agent
from anyhook.model.record import Record


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


def test_a_default_may_be_a_function():
    class Given(Record):
        call: object = len
        own: object = lambda value: value

    assert Given().own(1) == Given(own=abs).own(-1) == 1


def test_equal_values_have_one_hash_whichever_fields_were_written():
    assert Base(x=1) == Base(x=1, y=2)
    assert len({Base(x=1), Base(x=1, y=2), Base(x=1, y=3)}) == 2
    with pytest.raises(TypeError, match="unhashable type: 'list'"):
        hash(Base(x=[]))


# -- copies


def test_a_changed_copy_has_only_fields():
    class Given(Record):
        x: int
        y: int = 2

    with pytest.raises(TypeError, match="no field 'z'"):
        Given(x=1).replace(z=3)
    claude = get_agent("claude")
    assert claude.by_wire
    assert claude.output_fields_of("before_tool")
    with pytest.raises(TypeError, match="no field 'nope'"):
        claude.replace(nope=1)
    assert Given(x=1).replace(y=3) == Given(x=1, y=3)


def test_the_functions_for_dataclasses_take_records_as_type_checkers_say():
    record = Base(x=1)
    record.__dict__["computed"] = 9

    assert dataclasses.replace(record, y=3) == Base(x=1, y=3)
    assert [field.name for field in dataclasses.fields(record)] == ["x", "y"]
    assert dataclasses.asdict(record) == {"x": 1, "y": 2}
    assert pprint.pformat(record) == repr(record)
    with pytest.raises(TypeError, match="no field 'z'"):
        dataclasses.replace(record, z=3)
