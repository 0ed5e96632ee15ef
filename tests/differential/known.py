"""What is known to differ, as `known.json` says, and which random cases it touches."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from anyhook.model.json import parse_json, trim
from tests.differential.sides import Case, definitions_of

KNOWN: list[dict[str, Any]] = json.loads(
    Path(__file__).with_name("known.json").read_text(encoding="utf-8")
)
PLAIN_MERGE = ("SessionEnd", "PreCompress", "Notification", "AfterModel", "BeforeToolSelection")


def covering(case: Case) -> str | None:
    """Return the entry that covers a random case, if one does."""
    return next((name for name, covers in PREDICATES.items() if covers(case)), None)


def specific_is_no_object(case: Case) -> bool:
    """A hook prints text, a number or `true` as its `hookSpecificOutput`."""
    if case["event"] in PLAIN_MERGE:
        return False
    found = (printed.get("hookSpecificOutput") for printed in _printed(case))
    return any(value and not isinstance(value, dict | list) for value in found)


def chained_input_is_no_object(case: Case) -> bool:
    """Hooks run one after another, and one prints text or a list as `tool_input`."""
    found = [value for value in _specific(case, "BeforeTool", "tool_input") if value]
    return _is_sequential(case) and any(isinstance(value, str | list) for value in found)


def chained_request_is_no_object(case: Case) -> bool:
    """Hooks run one after another, and one prints text or a list as `llm_request`."""
    found = [value for value in _specific(case, "BeforeModel", "llm_request") if value]
    return _is_sequential(case) and any(isinstance(value, str | list) for value in found)


def names_are_no_texts(case: Case) -> bool:
    """A hook allows functions whose names are no texts."""
    configs = _specific(case, "BeforeToolSelection", "toolConfig")
    names = [config.get("allowedFunctionNames") for config in configs if isinstance(config, dict)]
    return any(
        isinstance(some, list) and not all(isinstance(name, str) for name in some) for some in names
    )


def repeats_boundary(case: Case) -> bool:
    """A matcher repeats a word boundary."""
    return any(re.search(r"\\[bB][*+?{]", matcher) for matcher in _matchers(case))


def repeats_group_name(case: Case) -> bool:
    """A matcher names two groups alike."""
    return any(matcher.count("(?<n>") > 1 for matcher in _matchers(case))


PREDICATES: dict[str, Callable[[Case], bool]] = {
    "specific-output-no-object": specific_is_no_object,
    "chained-input-no-object": chained_input_is_no_object,
    "chained-request-no-object": chained_request_is_no_object,
    "function-names-no-texts": names_are_no_texts,
    "matcher-quantified-boundary": repeats_boundary,
    "matcher-repeated-group-name": repeats_group_name,
}
"""Entry of `known.json` to the random cases that it covers; the others are not made at random."""


def _matchers(case: Case) -> list[str]:
    found = (definition.get("matcher") for definition in definitions_of(case))
    return [matcher for matcher in found if isinstance(matcher, str)]


def _is_sequential(case: Case) -> bool:
    return any(definition.get("sequential") is True for definition in definitions_of(case))


def _specific(case: Case, event: str, member: str) -> list[Any]:
    if case["event"] != event:
        return []
    found = (printed.get("hookSpecificOutput") for printed in _printed(case))
    return [value[member] for value in found if isinstance(value, dict) and member in value]


def _printed(case: Case) -> Iterator[dict[str, Any]]:
    """Yield the objects that the hooks print."""
    for hook in (hook for definition in definitions_of(case) for hook in definition["hooks"]):
        says = (hook[stream] for stream in ("stdout", "stderr") if stream in hook)
        texts = (said if isinstance(said, str) else json.dumps(said) for said in says)
        text = next((trimmed for text in texts if (trimmed := trim(text))), "")
        try:
            value = parse_json(text)
            value = parse_json(value) if isinstance(value, str) else value
        except ValueError:
            continue
        if isinstance(value, dict):
            yield value
