"""Results of tools, from one agent's form into another's.

An agent whose tools return objects of its own has a `ToolResultForm` in its folder. Of all other
agents the results are kept as they are.
"""

from __future__ import annotations

from anyhook.agents.entry import load_object
from anyhook.agents.values import fault_in_object
from anyhook.model.record import Record
from anyhook.model.tools import RAW, ToolResult, read_result

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from anyhook.agents.spec import AgentSpec, EventSpec
    from anyhook.model.events import Event
    from anyhook.model.tools import ToolCall


class ToolResultForm(Record):
    """How an agent represents the results of tools.

    Attributes:
        read: Takes the call in canonical words, the agent's JSON, and the error if the agent
            sends it separately; returns the result.
        write: Takes the call in canonical words and the result; returns the agent's JSON.
        write_output: The same for a tool of a program that takes the place of the agent's, where
            `write` has no room for its output or puts words around it; `None` if it never does.
    """

    read: Callable[[ToolCall, Any, str | None], ToolResult]
    write: Callable[[ToolCall, ToolResult], Any]
    write_output: Callable[[ToolCall, ToolResult], Any] | None = None


def read_tool_result(
    source: AgentSpec, call: ToolCall, response: Any, error: str | None = None
) -> ToolResult:
    """Return the result of a tool that an agent has sent.

    The error is what went wrong, if the agent sends it separately; there may be no response then.
    """
    return source.vocabulary.read_result(call, response, error)


def write_tool_result(target: AgentSpec, call: ToolCall, result: ToolResult) -> Any:
    """Return the result of a tool in an agent's form."""
    if target.vocabulary.tool_result_form == RAW:
        return result.raw
    form: ToolResultForm = load_object(target.vocabulary.tool_result_form)
    return form.write(call, result)


def write_host_result(target: AgentSpec, call: ToolCall, result: ToolResult) -> Any:
    """Return the result of a program's own tool so that hooks of an agent read its very text."""
    response = write_tool_result(target, call, result)
    if target.vocabulary.tool_result_form == RAW or read_result(response).text == result.text:
        return response
    form: ToolResultForm = load_object(target.vocabulary.tool_result_form)
    return response if form.write_output is None else form.write_output(call, result)


def required_members(spec: EventSpec, event: Event) -> Mapping[str, tuple[str, ...]]:
    """Return the members that an agent requires of a changed result; empty if it takes any.

    A result without them is that of a program's own tool, and may be replaced by anything.
    """
    members = spec.result_members.get(getattr(event, "tool_name", ""))
    if not members:
        return {}
    response = getattr(event, "tool_response", None)
    is_of_program = bool(response) and bool(fault_in_object(response, members))
    return {} if is_of_program else members


def have_same_form(source: AgentSpec, target: AgentSpec) -> bool:
    """Return whether results of one agent can be sent to the other as they are."""
    forms = {source.vocabulary.tool_result_form, target.vocabulary.tool_result_form}
    return len(forms) == 1 or RAW in forms
