"""Placeholders in the arguments of MCP tools, as texts and with the types of their values."""

from __future__ import annotations

import pytest

from anyhook.handlers.mcp import MissingValueError, fill_arguments

EVENT = {"tool_input": {"command": "ls", "count": 3, "list": [1, {"a": None}]}, "cwd": "/p"}


@pytest.mark.parametrize(
    ("template", "filled"),
    [
        ("${tool_input.command}", "ls"),
        ("${tool_input.count}", 3),
        ("${tool_input.list}", [1, {"a": None}]),
        ("${tool_input.list.1.a}", None),
        ("${tool_input}", EVENT["tool_input"]),
        ("runs ${tool_input.command} ${tool_input.count}", "runs ls 3"),
        ({"a": ["${cwd}", 5, True]}, {"a": ["/p", 5, True]}),
        ("$cwd {cwd}", "$cwd {cwd}"),
    ],
)
def test_a_text_that_is_one_placeholder_keeps_the_type_of_the_value(template, filled):
    assert fill_arguments(template, EVENT, is_typed=True) == filled


@pytest.mark.parametrize("template", ["${no.such}", "text ${tool_input.nothing}", ["${x}"]])
def test_a_value_that_the_event_lacks_is_an_error(template):
    with pytest.raises(MissingValueError):
        fill_arguments(template, EVENT, is_typed=True)


def test_other_agents_put_texts_in_and_leave_out_what_is_missing():
    template = {"a": "${tool_input.count}", "b": "${no.such}", "c": "${tool_input.list}"}

    assert fill_arguments(template, EVENT) == {"a": "3", "b": "", "c": '[1, {"a": null}]'}
