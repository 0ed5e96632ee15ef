"""The fields that `deny(…)`, `context(…)` and the like take next to their own arguments."""

from typing import Any, TypedDict

from anyhook.model.answers import Outcome
from anyhook.model.llm import LLMRequest, LLMResponse, ToolConfig

class _Everywhere(TypedDict, total=False):
    suppress_output: bool
    tool_input: dict[str, Any] | None
    llm_request: LLMRequest | None
    tool_config: ToolConfig | None
    clear_context: bool
    tail_tool_call: dict[str, Any] | None
    extra: dict[str, Any] | None

class _Verdict(TypedDict, total=False):
    outcome: Outcome
    approve: bool
    reason: str | None

class _Stop(TypedDict, total=False):
    stop: bool
    stop_reason: str | None

class _Context(TypedDict, total=False):
    context: str | None

class _Message(TypedDict, total=False):
    system_message: str | None

class _Response(TypedDict, total=False):
    llm_response: LLMResponse | None

class _Output(TypedDict, total=False):
    tool_output: Any

class WithStop(_Everywhere, _Context, _Message, _Response, _Output, total=False):
    """The fields next to those of `stop`."""

class WithVerdict(WithStop, _Stop, total=False):
    """The fields next to those of `allow`, `deny` and `ask`."""

class WithDefer(WithVerdict, total=False):
    """The fields next to those of `defer`."""

    reason: str | None

class WithContext(_Everywhere, _Verdict, _Stop, _Message, _Response, _Output, total=False):
    """The fields next to those of `context`."""

class WithMessage(_Everywhere, _Verdict, _Stop, _Context, _Response, _Output, total=False):
    """The fields next to those of `message`."""

class WithResponse(_Everywhere, _Verdict, _Stop, _Context, _Message, _Output, total=False):
    """The fields next to those of `respond`."""

class WithOutput(_Everywhere, _Verdict, _Stop, _Context, _Message, _Response, total=False):
    """The fields next to those of `replace_result`."""
