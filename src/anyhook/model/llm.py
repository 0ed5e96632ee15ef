"""The stable model API: requests and responses as hooks see them, and how overrides merge.

The values are plain JSON objects, so that members which the reference does not have are kept; the
`TypedDict`s of `anyhook.model.llm_types` have those that it has. An agent translates them to and
from its own model API (`anyhook.agents.gemini.model_api`). It is one module because a hook on an
event of the model checks and merges in one run, and each further module costs it 0.1 ms.

Source: Gemini CLI hooks reference, "Stable Model API".
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from typing import Any

    from anyhook.model.llm_types import Candidate as Candidate
    from anyhook.model.llm_types import Content as Content
    from anyhook.model.llm_types import GenerationConfig as GenerationConfig
    from anyhook.model.llm_types import LLMRequest as LLMRequest
    from anyhook.model.llm_types import LLMResponse as LLMResponse
    from anyhook.model.llm_types import ModelMessage as ModelMessage
    from anyhook.model.llm_types import ToolConfig as ToolConfig
else:

    def __getattr__(name: str) -> object:
        from anyhook.model import llm_types

        if name not in llm_types.NAMES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return getattr(llm_types, name)


SAMPLING = {
    "temperature": "a number",
    "maxOutputTokens": "a whole number",
    "topP": "a number",
    "topK": "a whole number",
}
"""Sampling parameter to the type of its value, for messages."""
COUNTS = ("promptTokenCount", "candidatesTokenCount", "totalTokenCount")
FINISH_REASONS = ("STOP", "MAX_TOKENS", "SAFETY", "RECITATION", "OTHER")
ROLES = ("user", "model", "system")
NESTED = "functionCallingConfig"
"""Member under which the Gemini API keeps the members of a tool configuration."""
MODES = ("AUTO", "ANY", "NONE")
"""Tool modes, weakest first: the strongest one is used in a union."""
REQUEST_MEMBERS = ("model", "messages", "config", "toolConfig")
RESPONSE_MEMBERS = ("text", "candidates", "usageMetadata")
CANDIDATE_MEMBERS = ("content", "finishReason", "index", "safetyRatings", "functionCalls")


# -- merging requests


def merge_request(base: LLMRequest, override: LLMRequest) -> LLMRequest:
    """Lay a partial request over a complete one.

    A missing member is kept; `config` and `toolConfig` are merged member by member. `messages`
    replace the conversation, unless all of them have the role `system`: then they are additional
    instructions before the conversation. The override is what `check_request` returned. The base is
    not modified.
    """
    merged: dict[str, Any] = dict(base)
    changes: dict[str, Any] = dict(override)
    for key, value in changes.items():
        current = merged.get(key)
        if key == "config" and isinstance(current, dict):
            merged[key] = {**current, **value}
        elif key == "toolConfig":
            config = {**flat_tool_config(current), **flat_tool_config(value)}
            if config.get("mode") == "NONE":
                config.pop("allowedFunctionNames", None)
            merged[key] = like_tool_config(config, current)
        elif key == "messages" and only_instructions(value) and isinstance(current, list):
            roles = [each.get("role") if isinstance(each, dict) else None for each in current]
            start = 0
            while start < len(current) and roles[start] == "system":
                start += 1
            merged[key] = [*current[:start], *value, *current[start:]]
        else:
            merged[key] = value
    return merged  # type: ignore[return-value]


def only_instructions(messages: Iterable[ModelMessage]) -> bool:
    """Return whether messages are additional instructions instead of a conversation."""
    return {message.get("role") for message in messages} == {"system"}


# -- tool configurations


def flat_tool_config(config: object) -> dict[str, Any]:
    """Return the members of a tool configuration, which may be under `functionCallingConfig`."""
    if not isinstance(config, dict):
        return {}
    nested = config.get(NESTED)
    members = nested if isinstance(nested, dict) else config
    return {key: value for key, value in members.items() if key != NESTED}


def like_tool_config(config: Mapping[str, Any], model: object) -> dict[str, Any]:
    """Return a tool configuration in the shape of another one, flat or nested."""
    flat = flat_tool_config(config)
    is_nested = isinstance(model, dict) and NESTED in model
    return {NESTED: flat} if is_nested else flat


def offered_tools(request: object) -> tuple[str, ...]:
    """Return the names of the tools that a request offers to the model."""
    config = request.get("toolConfig") if isinstance(request, dict) else None
    names = flat_tool_config(config).get("allowedFunctionNames")
    if not isinstance(names, list):
        return ()
    return tuple(name for name in names if isinstance(name, str))


def union_tool_configs(configs: Iterable[ToolConfig]) -> ToolConfig:
    """Combine the tool configurations of several hooks: NONE wins, then ANY, then AUTO.

    Names are united and sorted, so that the request does not depend on the order of hooks.
    """
    mode = "AUTO"
    names: set[str] = set()
    for config in configs:
        mode = max(mode, config.get("mode", "AUTO"), key=MODES.index)
        names.update(config.get("allowedFunctionNames", ()))
    if mode == "NONE":
        names.clear()
    united: Any = {"mode": mode, "allowedFunctionNames": sorted(names)}
    return united  # type: ignore[no-any-return]


# -- merging responses


def merge_response(base: LLMResponse, override: LLMResponse) -> LLMResponse:
    """Lay a partial response over a complete one.

    Candidates are merged by position. A response holds its text twice, as `text` and in the parts
    of the first candidate. The one that the override changes replaces the other, so that a text
    that a hook removed is gone from both; if it changes both, the parts are used. The override is
    what `check_response` returned. The base is not modified.
    """
    base = check_response(base, of_hook=False)[0]
    merged: dict[str, Any] = {**base, **override}
    before = base.get("candidates") or []
    if "candidates" in override:
        candidates: list[Any] = []
        for index, candidate in enumerate(override["candidates"]):
            current: dict[str, Any] = dict(before[index]) if index < len(before) else {}
            changed = {**current, **candidate}
            if "content" in current and "content" in candidate:
                changed["content"] = {**current["content"], **candidate["content"]}
            candidates.append(changed)
        merged["candidates"] = candidates
    after = merged.get("candidates") or []
    new_text = override.get("text")
    text_changed = new_text is not None and new_text != base.get("text", _first_text(before))
    parts_changed = _first_parts(after) != _first_parts(before)
    if text_changed and (not parts_changed or not _first_text(after)):
        merged["candidates"] = _with_text(after, new_text or "")
    elif parts_changed:
        merged["text"] = _first_text(after)
    return merged  # type: ignore[return-value]


def complete_response(response: LLMResponse) -> LLMResponse:
    """Add what a hook left out of a response: candidates for `text`, `text`, `finishReason`.

    The response is what `check_response` returned; the result has at least one candidate.
    """
    complete: dict[str, Any] = dict(merge_response({}, response))
    candidates = complete.get("candidates") or _with_text([], complete.get("text") or "")
    complete["candidates"] = [{"finishReason": "STOP", **candidate} for candidate in candidates]
    complete.setdefault("text", _first_text(complete["candidates"]))
    return complete  # type: ignore[return-value]


def _first_parts(candidates: list[Candidate]) -> list[str]:
    if not candidates:
        return []
    content = candidates[0].get("content") or {}
    return content.get("parts") or []


def _first_text(candidates: list[Candidate]) -> str:
    return "".join(_first_parts(candidates))


def _with_text(candidates: list[Candidate], text: str) -> list[Candidate]:
    """Return candidates of which the first one has a text as its only part."""
    first: dict[str, Any] = dict(candidates[0]) if candidates else {"index": 0}
    first["content"] = {"role": "model", **(first.get("content") or {}), "parts": [text]}
    return [first, *candidates[1:]]  # type: ignore[list-item]


# -- checking what hooks return


def check_request(value: Mapping[str, Any]) -> tuple[LLMRequest, list[str]]:
    """Return the members of a partial request that have the right type.

    The second value is a problem for each of the others.
    """
    problems: list[str] = []
    usable: dict[str, Any] = {}
    for key, item in value.items():
        if item is None:
            continue
        problem = _request_problem(key, item)
        if problem:
            problems.append(problem)
        elif key in _MEMBER_CHECKS:
            usable[key], member_problems = _MEMBER_CHECKS[key](item)
            problems += member_problems
        else:
            usable[key] = item
    return usable, problems  # type: ignore[return-value]


def _request_problem(key: str, item: object) -> str | None:
    if key == "model" and not isinstance(item, str):
        return "model must be a string"
    if key in _MEMBER_CHECKS and not isinstance(item, dict):
        return f"{key} must be an object"
    if key != "messages":
        return None
    if not isinstance(item, list):
        return "messages must be a list of objects with role and content"
    for index, message in enumerate(item):
        if not isinstance(message, dict):
            return f"messages[{index}] must be an object with role and content"
        role = message.get("role")
        if role not in ROLES:
            hint = "; write 'model'" if role == "assistant" else ""
            return f"messages[{index}].role must be user, model or system, not {role!r}{hint}"
        content = message.get("content")
        is_list = isinstance(content, list) and all(isinstance(part, dict) for part in content)
        if not isinstance(content, str) and not is_list:
            return f"messages[{index}].content must be a string or a list of objects"
    return None


def _check_config(config: Mapping[str, Any]) -> tuple[dict[str, Any], list[str]]:
    usable: dict[str, Any] = {}
    problems: list[str] = []
    for key, value in config.items():
        if value is None:
            continue
        type_name = SAMPLING.get(key)
        if type_name is None or _is_number(value, whole=type_name == "a whole number"):
            usable[key] = value
        else:
            problems.append(f"config.{key} must be {type_name}, not {_json(value)}")
    return usable, problems


def check_tool_config(value: Mapping[str, Any]) -> tuple[ToolConfig, list[str]]:
    """Return the members of a tool configuration, flat or nested, that have the right type.

    The second value is a problem for each of the others.
    """
    nested = value.get(NESTED)
    members = nested if isinstance(nested, dict) else value
    usable: dict[str, Any] = {}
    problems: list[str] = []
    mode = members.get("mode")
    if mode in MODES:
        usable["mode"] = mode
    elif mode is not None:
        upper = mode.upper() if isinstance(mode, str) else None
        hint = f"; did you mean {upper!r}?" if upper in MODES else ""
        problems.append(f"toolConfig.mode must be AUTO, ANY or NONE, not {mode!r}{hint}")
    names = members.get("allowedFunctionNames")
    if isinstance(names, list) and all(isinstance(name, str) for name in names):
        usable["allowedFunctionNames"] = names
    elif names is not None:
        problems.append(f"toolConfig.allowedFunctionNames must be a list of strings, not {names!r}")
    return usable, problems  # type: ignore[return-value]


_MEMBER_CHECKS: dict[str, Callable[[Any], tuple[Any, list[str]]]] = {
    "config": _check_config,
    "toolConfig": check_tool_config,
}
"""Member of a request that is an object to the function that checks its members."""


def check_response(
    value: Mapping[str, Any], *, of_hook: bool = True
) -> tuple[LLMResponse, list[str]]:
    """Return the members of a response that have the right type, with parts as plain strings.

    If a hook wrote it (`of_hook`), members of candidates with values that the reference does not
    have are dropped. A model's own response keeps them. The second value is a problem for each of
    the others.
    """
    problems: list[str] = []
    usable: dict[str, Any] = {}
    for key, item in value.items():
        if item is None:
            continue
        problem = _response_problem(key, item)
        if problem:
            problems.append(problem)
        elif key == "candidates":
            candidates: list[dict[str, Any]] = []
            wrong_members: list[str] = []
            for original in item:
                candidate = dict(original)
                candidates.append(candidate)
                content = candidate.get("content", {})
                if "parts" in content:
                    candidate["content"] = {**content, "parts": _part_texts(content["parts"])}
                if of_hook:
                    wrong_members += _drop_wrong_members(candidate)
            problems += wrong_members
            # A candidate of which nothing is left would stand for an empty response.
            if any(candidates) or not wrong_members:
                usable[key] = candidates
        else:
            usable[key] = item
    return usable, problems  # type: ignore[return-value]


def _response_problem(key: str, item: object) -> str | None:
    if key == "text" and not isinstance(item, str):
        return "text must be a string"
    if key == "usageMetadata" and not isinstance(item, dict):
        return "usageMetadata must be an object"
    if key != "candidates":
        return None
    if not isinstance(item, list):
        return "candidates must be a list"
    shape = 'must be like {"content": {"role": "model", "parts": ["text"]}}'
    for index, candidate in enumerate(item):
        # The content and its parts may be left out.
        content = candidate.get("content", {}) if isinstance(candidate, dict) else None
        parts = content.get("parts", []) if isinstance(content, dict) else None
        if not isinstance(parts, list):
            return f"candidates[{index}] {shape}"
        if not all(isinstance(text, str) for text in _part_texts(parts)):
            return f"candidates[{index}].content.parts must be a list of strings"
    return None


def _part_texts(parts: list[Any]) -> list[Any]:
    return [part.get("text") if isinstance(part, dict) else part for part in parts]


def _drop_wrong_members(candidate: dict[str, Any]) -> list[str]:
    """Remove members of a candidate with a wrong value. Returns a problem for each of them."""
    expected: dict[str, str] = {}
    if candidate.get("finishReason", "STOP") not in FINISH_REASONS:
        expected["finishReason"] = f"one of {', '.join(FINISH_REASONS)}"
    if not _is_number(candidate.get("index", 0), whole=True):
        expected["index"] = "a whole number"
    if not isinstance(candidate.get("safetyRatings", []), list):
        expected["safetyRatings"] = "a list"
    problems: list[str] = []
    for key, description in expected.items():
        problems.append(f"{key} must be {description}, not {_json(candidate.pop(key))}")
    return problems


def _is_number(value: object, *, whole: bool) -> bool:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return not whole or isinstance(value, int) or value.is_integer()


def _json(value: object) -> str:
    """Return a value as JSON of at most 80 characters."""
    import json

    from anyhook.model.text import cut

    try:
        text = json.dumps(value, ensure_ascii=False, default=str)
    except (ValueError, RecursionError):
        text = "a nested value"
    return cut(text, 80)


def drop_mistyped(
    value: Mapping[str, Any], known: Iterable[str]
) -> tuple[dict[str, Any], list[str]]:
    """Drop the members of a request or a response whose names resemble those that it has.

    `known` are the members by the reference. The second value is a problem for each that was
    dropped.
    """
    usable, problems = _without_mistyped(value, known)
    if isinstance(usable.get("config"), dict):
        usable["config"], wrong = _without_mistyped(usable["config"], SAMPLING)
        problems += [f"config: {problem}" for problem in wrong]
    if isinstance(usable.get("candidates"), list):
        candidates: list[Any] = []
        for candidate in usable["candidates"]:
            if not isinstance(candidate, dict):
                candidates.append(candidate)
                continue
            usable_candidate, wrong = _without_mistyped(candidate, CANDIDATE_MEMBERS)
            candidates.append(usable_candidate)
            problems += [f"candidates: {problem}" for problem in wrong]
        usable["candidates"] = candidates
    return usable, problems


def _without_mistyped(
    value: Mapping[str, Any], known: Iterable[str]
) -> tuple[dict[str, Any], list[str]]:
    names = tuple(known)
    usable = dict(value)
    problems: list[str] = []
    for key in value:
        if key in names:
            continue
        from anyhook.model.suggest import closest

        if suggestion := closest(key, names):
            problems.append(f"unknown member `{key}`; did you mean `{suggestion}`?")
            del usable[key]
    return usable, problems
