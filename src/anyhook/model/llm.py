"""The stable model API: requests and responses as hooks see them, and how overrides merge.

The values are plain JSON objects, so that nothing that an agent or a hook puts into them is lost;
the `TypedDict`s of `anyhook.model.llm_types` say what the reference promises. Translating them to
and from an agent's own model API is the business of an agent (`anyhook.agents.gemini.model_api`).

Source: Gemini CLI hooks reference, "Stable Model API".
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any

    from anyhook.model.llm_types import Candidate as Candidate
    from anyhook.model.llm_types import Content as Content
    from anyhook.model.llm_types import GenerationConfig as GenerationConfig
    from anyhook.model.llm_types import LLMRequest as LLMRequest
    from anyhook.model.llm_types import LLMResponse as LLMResponse
    from anyhook.model.llm_types import Message as Message
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
"""Sampling parameters, with what they hold."""
COUNTS = ("promptTokenCount", "candidatesTokenCount", "totalTokenCount")
FINISH_REASONS = ("STOP", "MAX_TOKENS", "SAFETY", "RECITATION", "OTHER")
ROLES = ("user", "model", "system")
NESTED = "functionCallingConfig"
"""Member under which the Gemini API keeps the members of a tool configuration."""
MODES = ("AUTO", "ANY", "NONE")
"""Tool modes, weakest first: in a union the strongest one stands."""


def merge_request(base: LLMRequest, override: LLMRequest) -> LLMRequest:
    """Lay a partial request over a whole one.

    A missing member is kept; `config` and `toolConfig` are merged member by member. `messages`
    replace the conversation, unless all of them have the role `system`: then they are additional
    instructions in front of a conversation that stays.

    Args:
        base: The request as it stands; not modified.
        override: The members to change, as `check_request` passed them.

    Returns:
        A new request.
    """
    merged: dict[str, Any] = dict(base)
    for key, value in override.items():
        if key == "config" and isinstance(merged.get(key), dict):
            merged[key] = {**merged[key], **value}  # type: ignore[dict-item]
        elif key == "toolConfig":
            merged[key] = _merge_tool_config(merged.get(key), value)  # type: ignore[arg-type]
        elif key == "messages":
            known = merged.get(key)
            merged[key] = _merge_messages(known if isinstance(known, list) else [], value)  # type: ignore[arg-type]
        else:
            merged[key] = value
    return merged  # type: ignore[return-value]


def flat_tool_config(config: object) -> dict[str, Any]:
    """Return the members of a tool configuration, flat or under `functionCallingConfig`."""
    nested = config.get(NESTED) if isinstance(config, dict) else None
    found = nested if isinstance(nested, dict) else config
    return {k: v for k, v in found.items() if k != NESTED} if isinstance(found, dict) else {}


def like_tool_config(config: Mapping[str, Any], model: object) -> dict[str, Any]:
    """Write a tool configuration in the shape of another one."""
    flat = flat_tool_config(config)
    return {NESTED: flat} if isinstance(model, dict) and NESTED in model else flat


def _merge_tool_config(base: object, override: Mapping[str, Any]) -> dict[str, Any]:
    merged = {**flat_tool_config(base), **flat_tool_config(override)}
    if merged.get("mode") == "NONE":
        merged.pop("allowedFunctionNames", None)
    return like_tool_config(merged, base)


def offered_tools(request: object) -> tuple[str, ...]:
    """Return the names of the tools that a request names."""
    if not isinstance(request, dict):
        return ()
    names = flat_tool_config(request.get("toolConfig")).get("allowedFunctionNames")
    return tuple(name for name in names if isinstance(name, str)) if isinstance(names, list) else ()


def only_instructions(messages: Iterable[Message]) -> bool:
    """Tell whether messages are additional instructions rather than a conversation."""
    roles = {message.get("role") for message in messages}
    return roles == {"system"}


def _merge_messages(base: list[Message], override: list[Message]) -> list[Message]:
    if not only_instructions(override):
        return override
    leading = next((i for i, m in enumerate(base) if _role(m) != "system"), len(base))
    return [*base[:leading], *override, *base[leading:]]


def _role(message: object) -> object:
    return message.get("role") if isinstance(message, dict) else None


def merge_response(base: LLMResponse, override: LLMResponse) -> LLMResponse:
    """Lay a partial response over a whole one.

    Candidates are merged by position. Text is said twice in a response, as `text` and in the parts
    of the first candidate; of the two, the one that the override changes drives the other, so that
    what a hook removed is gone from both. If it changes both, the parts stand.

    Args:
        base: The response as the model gave it; not modified.
        override: The members to change, as `check_response` passed them.

    Returns:
        A new response whose `text` and first candidate agree where the override touched them.
    """
    base = check_response(base, of_hook=False)[0]
    merged: dict[str, Any] = {**base, **override}
    before = base.get("candidates") or []
    if "candidates" in override:
        merged["candidates"] = _merge_candidates(before, override["candidates"])
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
    """Fill in what a synthetic response left out: candidates from `text`, `text`, `finishReason`.

    Args:
        response: A response written by a hook, as `check_response` passed it.

    Returns:
        A response with at least one candidate.
    """
    whole: dict[str, Any] = dict(merge_response({}, response))
    candidates = whole.get("candidates") or _with_text([], whole.get("text") or "")
    whole["candidates"] = [{"finishReason": "STOP", **candidate} for candidate in candidates]
    whole.setdefault("text", _first_text(whole["candidates"]))
    return whole  # type: ignore[return-value]


def _merge_candidates(base: list[Candidate], override: list[Candidate]) -> list[Candidate]:
    merged: list[Any] = []
    for i, candidate in enumerate(override):
        before: dict[str, Any] = dict(base[i]) if i < len(base) else {}
        whole = {**before, **candidate}
        if "content" in before and "content" in candidate:
            whole["content"] = {**before["content"], **candidate["content"]}
        merged.append(whole)
    return merged


def _first_parts(candidates: list[Candidate]) -> list[str]:
    return (candidates[0].get("content") or {}).get("parts") or [] if candidates else []


def _first_text(candidates: list[Candidate]) -> str:
    return "".join(_first_parts(candidates))


def _with_text(candidates: list[Candidate], text: str) -> list[Candidate]:
    first: dict[str, Any] = dict(candidates[0]) if candidates else {"index": 0}
    first["content"] = {"role": "model", **(first.get("content") or {}), "parts": [text]}
    return [first, *candidates[1:]]  # type: ignore[list-item]


def union_tool_configs(configs: Iterable[ToolConfig]) -> ToolConfig:
    """Combine what several hooks say about tools: union of names; NONE wins, then ANY, then AUTO.

    Names are sorted, so that the request that follows does not depend on the order of hooks.
    """
    given = list(configs)
    mode = max((config.get("mode", "AUTO") for config in given), key=MODES.index, default="AUTO")
    names = sorted({name for config in given for name in config.get("allowedFunctionNames", ())})
    united: Any = {"mode": mode, "allowedFunctionNames": [] if mode == "NONE" else names}
    return united  # type: ignore[no-any-return]


def check_request(value: Mapping[str, Any]) -> tuple[LLMRequest, list[str]]:
    """Keep the members of a partial request that have the right type.

    Returns:
        The usable members, and for each dropped one what is wrong with it.
    """
    problems: list[str] = []
    kept: dict[str, Any] = {}
    for key, item in value.items():
        if item is None:
            continue
        problem = _request_problem(key, item)
        if problem:
            problems.append(problem)
        elif key == "config":
            kept[key], found = _check_config(item)
            problems += found
        elif key == "toolConfig":
            kept[key], found = check_tool_config(item)
            problems += found
        else:
            kept[key] = item
    return kept, problems  # type: ignore[return-value]


def _check_config(config: Mapping[str, Any]) -> tuple[dict[str, Any], list[str]]:
    kept: dict[str, Any] = {}
    problems: list[str] = []
    for key, value in config.items():
        if value is None:
            continue
        wanted = SAMPLING.get(key)
        if wanted is None or _is_number(value, whole=wanted == "a whole number"):
            kept[key] = value
        else:
            problems.append(f"config.{key} must be {wanted}, not {_json(value)}")
    return kept, problems


def _is_number(value: object, *, whole: bool) -> bool:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return not whole or isinstance(value, int) or value.is_integer()


def _json(value: object) -> str:
    """Show a value of a hook's reply as JSON, shortened."""
    import json

    try:
        text = json.dumps(value, ensure_ascii=False, default=str)
    except (ValueError, RecursionError):
        text = "a nested value"
    return text if len(text) <= 80 else text[:79] + "…"


def unknown_members(value: Mapping[str, Any], known: Iterable[str]) -> list[str]:
    """Describe members that resemble a known one; they are kept and have no effect."""
    names = tuple(known)
    problems = []
    for key in value:
        if key not in names:
            from anyhook.model.suggest import closest

            meant = closest(key, names)
            if meant is not None:
                problems.append(f"unknown member `{key}`; did you mean `{meant}`?")
    return problems


REQUEST_MEMBERS = ("model", "messages", "config", "toolConfig")
RESPONSE_MEMBERS = ("text", "candidates", "usageMetadata")
CANDIDATE_MEMBERS = ("content", "finishReason", "index", "safetyRatings", "functionCalls")


def mistaken_members(value: Mapping[str, Any], known: Iterable[str]) -> list[str]:
    """Describe members of a request or a response of a hook that were probably mistyped."""
    problems = unknown_members(value, known)
    config, candidates = value.get("config"), value.get("candidates")
    if isinstance(config, dict):
        problems += [f"config: {problem}" for problem in unknown_members(config, SAMPLING)]
    for candidate in candidates if isinstance(candidates, list) else ():
        if isinstance(candidate, dict):
            found = unknown_members(candidate, CANDIDATE_MEMBERS)
            problems += [f"candidates: {problem}" for problem in found]
    return problems


def _request_problem(key: str, item: object) -> str | None:
    if key == "model" and not isinstance(item, str):
        return "model must be a string"
    if key in ("config", "toolConfig") and not isinstance(item, dict):
        return f"{key} must be an object"
    if key == "messages":
        return _messages_problem(item)
    return None


def _messages_problem(messages: object) -> str | None:
    if not isinstance(messages, list):
        return "messages must be a list of objects with role and content"
    for i, message in enumerate(messages):
        if not isinstance(message, dict):
            return f"messages[{i}] must be an object with role and content"
        if message.get("role") not in ROLES:
            hint = "; write 'model'" if message.get("role") == "assistant" else ""
            role = message.get("role")
            return f"messages[{i}].role must be user, model or system, not {role!r}{hint}"
        content = message.get("content")
        if not isinstance(content, str) and not (
            isinstance(content, list) and all(isinstance(part, dict) for part in content)
        ):
            return f"messages[{i}].content must be a string or a list of objects"
    return None


def check_response(
    value: Mapping[str, Any], *, of_hook: bool = True
) -> tuple[LLMResponse, list[str]]:
    """Keep the members of a response that have the right type; unwrap parts like `{"text": …}`.

    Args:
        value: The response.
        of_hook: A hook wrote it, so that words which the reference does not have are left out; a
            model's own response keeps them.

    Returns:
        The usable members, and for each dropped one what is wrong with it.
    """
    problems: list[str] = []
    kept: dict[str, Any] = {}
    for key, item in value.items():
        if item is None:
            continue
        if key == "text" and not isinstance(item, str):
            problems.append("text must be a string")
        elif key == "usageMetadata" and not isinstance(item, dict):
            problems.append("usageMetadata must be an object")
        elif key == "candidates":
            candidates, problem = _check_candidates(item)
            if problem:
                problems.append(problem)
            else:
                kept[key] = candidates
                for candidate in candidates if of_hook else ():
                    problems += _drop_wrong_members(candidate)
        else:
            kept[key] = item
    return kept, problems  # type: ignore[return-value]


def _drop_wrong_members(candidate: dict[str, Any]) -> list[str]:
    """Remove members of a candidate that the reference does not allow, and describe them."""
    wanted = {
        "finishReason": f"one of {', '.join(FINISH_REASONS)}",
        "index": "a whole number",
        "safetyRatings": "a list",
    }
    is_right = {
        "finishReason": candidate.get("finishReason", "STOP") in FINISH_REASONS,
        "index": "index" not in candidate or _is_number(candidate["index"], whole=True),
        "safetyRatings": isinstance(candidate.get("safetyRatings", []), list),
    }
    return [
        f"{key} must be {what}, not {_json(candidate.pop(key))}"
        for key, what in wanted.items()
        if not is_right[key]
    ]


def _check_candidates(candidates: object) -> tuple[list[dict[str, Any]], str | None]:
    shape = 'must be like {"content": {"role": "model", "parts": ["text"]}}'
    if not isinstance(candidates, list):
        return [], "candidates must be a list"
    checked = []
    for i, candidate in enumerate(candidates):
        content = candidate.get("content", {}) if isinstance(candidate, dict) else None
        if not isinstance(content, dict) or not isinstance(content.get("parts", []), list):
            return [], f"candidates[{i}] {shape}"
        parts = content.get("parts", [])
        texts = [part.get("text") if isinstance(part, dict) else part for part in parts]
        if not all(isinstance(text, str) for text in texts):
            return [], f"candidates[{i}].content.parts must be a list of strings"
        whole = dict(candidate)
        if "parts" in content:
            whole["content"] = {**content, "parts": texts}
        checked.append(whole)
    return checked, None


def check_tool_config(value: Mapping[str, Any]) -> tuple[ToolConfig, list[str]]:
    """Read a tool configuration, flat or under `functionCallingConfig`.

    Returns:
        The usable members (empty if there are none), and what is wrong with the others.
    """
    nested = value.get("functionCallingConfig")
    flat = nested if isinstance(nested, dict) else value
    kept: dict[str, Any] = {}
    problems: list[str] = []
    mode = flat.get("mode")
    if mode is not None:
        if mode in MODES:
            kept["mode"] = mode
        else:
            upper = mode.upper() if isinstance(mode, str) else None
            hint = f"; did you mean {upper!r}?" if upper in MODES else ""
            problems.append(f"toolConfig.mode must be AUTO, ANY or NONE, not {mode!r}{hint}")
    names = flat.get("allowedFunctionNames")
    if names is not None:
        if isinstance(names, list) and all(isinstance(name, str) for name in names):
            kept["allowedFunctionNames"] = names
        else:
            problems.append(
                f"toolConfig.allowedFunctionNames must be a list of strings, not {names!r}"
            )
    return kept, problems  # type: ignore[return-value]
