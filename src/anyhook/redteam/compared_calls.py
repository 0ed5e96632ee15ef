"""Calls on which a changed hook file may answer differently from the file itself."""

from __future__ import annotations

import ast
import re
from collections import Counter
from typing import TYPE_CHECKING, Any

from anyhook.authoring.hooks import Example
from anyhook.model.tools import TOOLS
from anyhook.redteam.labelled import OWN_SET, read_set

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

MAX_NUMBER = 100_000
"""The longest text that is made for a number in a condition."""
MAX_SIGN, MAX_TIMES = 4, 100
"""The longest text that is repeated for a number, and how often."""
MAX_PLACES = 3
"""Examples with the same answer in which an item of a list is put."""
_ALTERNATIVE = re.compile(r"(?<=[|(:])[\w-]{2,}(?=[|)])")


def calls_to_compare(source: str, examples: Sequence[Example]) -> Iterator[Example]:
    """Yield calls on which a change may show, each once; in its own session if the file has any."""
    calls: list[Example] = []
    for call in read_set(OWN_SET).calls:
        event = call.event
        calls.append(_call(event["event"], event["tool"], event["input"]))
    tools = dict.fromkeys(str(e.fields["tool_name"]) for e in examples if "tool_name" in e.fields)
    texts = _texts_of(source)
    tools |= dict.fromkeys(text for text in texts if text in TOOLS)
    for example in examples:
        calls += _variants(example, tools, texts)
    calls += _with_other_items(source, examples)
    for text in texts:
        calls.append(_call("before_tool", "shell", {"command": text}))
        calls.append(_call("before_tool", "write_file", {"file_path": text, "content": "x"}))
        calls.append(_call("before_tool", "write_file", {"file_path": "x", "content": text}))
        calls.append(_call("before_tool", "read_file", {"file_path": text}))
    unique = {repr(example): example for example in calls}
    for number, example in enumerate(unique.values()):
        fields = {**example.fields, "session_id": f"call-{number}"}
        yield example.replace(fields=fields) if "session_id" in source else example


def _texts_of(source: str) -> list[str]:
    """Return the texts of a file with something around them, and texts as long as its numbers."""
    texts: dict[str, None] = {}
    numbers: list[int] = []
    for node in ast.walk(ast.parse(source)):
        value = node.value if isinstance(node, ast.Constant) else None
        if isinstance(value, str) and value and "\n" not in value:
            texts[value] = None
        elif isinstance(value, int) and not isinstance(value, bool) and 0 < value < MAX_NUMBER:
            numbers += [value, value + 1]
    variants: list[str] = []
    for text in texts:
        variants += [text, f"{text} x", f"x {text}"]
        if len(text) <= MAX_SIGN:
            variants += [text * number for number in numbers if number <= MAX_TIMES]
    return list(dict.fromkeys([*variants, *("x" * number for number in numbers)]))


def _variants(example: Example, tools: dict[str, None], texts: Sequence[str]) -> Iterator[Example]:
    """Yield an example with other texts in the place of its own, and for other tools."""
    arguments = example.fields.get("tool_input")
    if not isinstance(arguments, dict):
        for name, value in example.fields.items():
            if isinstance(value, str):
                for text in (*_near(value), *texts):
                    fields = {**example.fields, name: text}
                    yield example.replace(fields=fields, expect="none", says="")
        return
    tool = str(example.fields["tool_name"])
    values = {name: value for name, value in arguments.items() if isinstance(value, str)}
    for name, value in values.items():
        for text in _near(value):
            yield _call(example.event, tool, {**arguments, name: text})
    for other in (*tools, "web_fetch", "grep", "mcp__server__tool"):
        name = next(iter(TOOLS.get(other, ("text",))))
        for value in values.values():
            yield _call(example.event, other, {name: value})


def _with_other_items(source: str, examples: Sequence[Example]) -> Iterator[Example]:
    """Yield examples with an item of a list or pattern of the file in the place of another one."""
    texts: list[tuple[Example, str, str]] = []
    for example in examples:
        arguments = example.fields.get("tool_input") or {}
        texts += [(example, n, value) for n, value in arguments.items() if isinstance(value, str)]
    for node in ast.walk(ast.parse(source)):
        items = _items_of(node)
        for item in items:
            expected: Counter[str] = Counter()
            for example, name, text in texts:
                other = next((other for other in items if other in text), item)
                if other == item or expected[example.expect] == MAX_PLACES:
                    continue
                expected[example.expect] += 1
                arguments = {**example.fields["tool_input"], name: text.replace(other, item)}
                yield _call(example.event, str(example.fields["tool_name"]), arguments)


def _items_of(node: ast.AST) -> list[str]:
    """Return the texts of a list, or the alternatives of a pattern."""
    parts: list[ast.expr] = []
    if isinstance(node, ast.Set | ast.List | ast.Tuple):
        parts = node.elts
    elif isinstance(node, ast.Constant):
        parts = [node]
    values = [str(part.value) for part in parts if isinstance(part, ast.Constant)]
    if len(values) > 1:
        return list(filter(None, values))
    return _ALTERNATIVE.findall("".join(values))


def _near(text: str) -> tuple[str, ...]:
    return (f"x {text}", f"{text} x", f"{text}x", text[:-1], text[1:])


def _call(event: str, tool: str, arguments: dict[str, Any]) -> Example:
    fields = {"tool_name": tool, "tool_input": arguments}
    return Example(event=event, fields=fields, expect="none")
