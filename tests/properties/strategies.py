"""The one home of strategies."""

from __future__ import annotations

from hypothesis import strategies as st

from anyhook import (
    Answer,
    HandlerResult,
    HandlerSpec,
    HookDefinition,
    Layer,
    Outcome,
    Place,
    Status,
)

scalars = (
    st.none()
    | st.booleans()
    | st.integers(-5, 5)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=8)
)
json_values = st.recursive(
    scalars,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3)
    ),
    max_leaves=8,
)
json_objects = st.dictionaries(st.text(max_size=6), json_values, max_size=4)

reply_keys = st.sampled_from(
    [
        "decision",
        "reason",
        "continue",
        "stopReason",
        "systemMessage",
        "suppressOutput",
        "hookSpecificOutput",
        "permissionDecision",
        "tool_input",
        "x",
    ]
)
specific_keys = st.sampled_from(
    [
        "hookEventName",
        "additionalContext",
        "tool_input",
        "llm_request",
        "llm_response",
        "toolConfig",
        "clearContext",
        "tailToolCallRequest",
        "updatedInput",
        "candidates",
    ]
)
words = st.sampled_from(["allow", "deny", "block", "ask", "approve", "DENY", "maybe"])
request_like = st.dictionaries(
    st.sampled_from(
        [
            "model",
            "messages",
            "config",
            "toolConfig",
            "text",
            "candidates",
            "mode",
            "allowedFunctionNames",
            "functionCallingConfig",
            "usageMetadata",
        ]
    ),
    json_values
    | st.lists(
        st.fixed_dictionaries(
            {"role": st.sampled_from(["user", "system", "x"]), "content": json_values}
        ),
        max_size=2,
    )
    | st.lists(
        st.fixed_dictionaries({"content": st.fixed_dictionaries({"parts": json_values})}),
        max_size=2,
    ),
    max_size=4,
)
replies = st.dictionaries(
    reply_keys,
    json_values | words | st.dictionaries(specific_keys, json_values | request_like, max_size=4),
    max_size=5,
)

requests = st.fixed_dictionaries(
    {},
    optional={
        "model": st.text(max_size=4),
        "messages": st.lists(
            st.fixed_dictionaries(
                {
                    "role": st.sampled_from(["user", "model", "system"]),
                    "content": st.text(max_size=5),
                }
            ),
            max_size=3,
        ),
        "config": st.dictionaries(
            st.sampled_from(["temperature", "topP", "topK"]), st.integers(0, 3)
        ),
        "toolConfig": st.just({"mode": "ANY", "allowedFunctionNames": ["a"]}),
    },
)
responses = st.fixed_dictionaries(
    {},
    optional={
        "text": st.text(max_size=5),
        "candidates": st.lists(
            st.fixed_dictionaries(
                {
                    "content": st.fixed_dictionaries(
                        {
                            "role": st.just("model"),
                            "parts": st.lists(st.text(max_size=4), max_size=3),
                        }
                    )
                }
            ),
            max_size=2,
        ),
    },
)
answers = st.builds(
    Answer,
    outcome=st.sampled_from(list(Outcome)),
    approve=st.booleans(),
    reason=st.none() | st.text(max_size=5),
    stop=st.booleans(),
    stop_reason=st.none() | st.text(max_size=5),
    system_message=st.none() | st.text(max_size=5),
    suppress_output=st.booleans(),
    context=st.none() | st.text(max_size=5),
    tool_input=st.none() | json_objects,
    llm_request=st.none() | requests,
    llm_response=st.none() | responses,
    tool_config=st.none()
    | st.fixed_dictionaries(
        {},
        optional={
            "mode": st.sampled_from(["AUTO", "ANY", "NONE"]),
            "allowedFunctionNames": st.lists(st.sampled_from("abc"), max_size=2),
        },
    ),
    clear_context=st.booleans(),
)


@st.composite
def results(draw, size=4):
    """Results in groups, each handler with a name of its own."""
    found = []
    number = 0
    for _ in range(draw(st.integers(0, size))):
        group = []
        for _ in range(draw(st.integers(1, 2))):
            number += 1
            group.append(result(number, draw(answers)))
        found.append(tuple(group))
    return tuple(found)


def result(number: int, answer: Answer) -> HandlerResult:
    """Make a result."""
    return HandlerResult(handler(number), Status.RAN, answer)


def handler(number: int, layer: Layer = Layer.PROJECT, **fields: object) -> HandlerSpec:
    """Make a handler."""
    options = {"name": f"h{number}", "command": f"c{number}", **fields}
    return HandlerSpec("command", layer, Place("s.json", number), **options)


@st.composite
def definitions(draw):
    """Definitions of several layers, each layer's in file order."""
    found = []
    for number in range(draw(st.integers(0, 6))):
        layer = draw(st.sampled_from([Layer.PROJECT, Layer.USER, Layer.SYSTEM, Layer.EXTENSION]))
        identities = draw(st.lists(st.integers(0, 3), min_size=1, max_size=3))
        handlers = tuple(
            HandlerSpec("command", layer, Place("s.json", number), name=f"n{i}", command=f"c{i}")
            for i in identities
        )
        found.append(
            HookDefinition(
                draw(st.sampled_from(["before_tool", "after_tool"])),
                layer,
                Place("s.json", number),
                draw(st.sampled_from([None, "*", "write_file", "read_.*", "replace|write_file"])),
                draw(st.booleans()),
                handlers,
            )
        )
    return found


parts = st.one_of(
    st.fixed_dictionaries({"text": st.text(max_size=4)}),
    st.fixed_dictionaries({"text": st.text(max_size=4), "thought": st.just(True)}),
    st.fixed_dictionaries({"functionCall": json_objects}),
    st.fixed_dictionaries({"functionResponse": json_objects, "type": st.just("odd")}),
    st.fixed_dictionaries({"inlineData": json_objects, "text": st.text(max_size=2)}),
    st.fixed_dictionaries({"strange": json_values}),
)
contents = st.one_of(
    st.text(max_size=4),
    parts.filter(lambda part: "role" not in part),
    st.fixed_dictionaries(
        {"parts": st.lists(parts, max_size=3)},
        optional={"role": st.sampled_from(["user", "model", "system", "function"])},
    ),
)
api_requests = st.fixed_dictionaries(
    {"contents": st.lists(contents, max_size=4) | contents},
    optional={
        "model": st.text(min_size=1, max_size=4),
        "config": st.fixed_dictionaries(
            {},
            optional={
                "temperature": st.floats(0, 2),
                "topK": st.integers(1, 5),
                "tools": st.lists(json_objects, max_size=1),
                "systemInstruction": st.text(max_size=4),
                "toolConfig": st.just({"functionCallingConfig": {"mode": "ANY"}, "x": 1}),
            },
        ),
    },
) | st.fixed_dictionaries(
    {"contents": st.lists(contents, max_size=3)},
    optional={
        "generationConfig": st.fixed_dictionaries({}, optional={"topP": st.floats(0, 1)}),
        "systemInstruction": st.fixed_dictionaries({"parts": st.lists(parts, max_size=1)}),
    },
)
api_responses = st.fixed_dictionaries(
    {},
    optional={
        "candidates": st.lists(
            st.fixed_dictionaries(
                {},
                optional={
                    "content": st.fixed_dictionaries(
                        {"role": st.just("model"), "parts": st.lists(parts, max_size=4)}
                    ),
                    "finishReason": st.sampled_from(["STOP", "SAFETY"]),
                    "safetyRatings": st.lists(json_objects, max_size=1),
                    "citationMetadata": json_objects,
                },
            ),
            max_size=2,
        ),
        "usageMetadata": st.dictionaries(
            st.sampled_from(["promptTokenCount", "other"]), st.integers()
        ),
    },
)

comments = st.sampled_from(["", " ", "\n", "// c{}\n", "/* c{} */", "\n  // c{}\n  ", "\n"])


@st.composite
def commented_json(draw, value):
    """Write a value as JSON with comments, trailing commas and any layout."""
    count = 0

    def gap():
        nonlocal count
        count += 1
        return draw(comments).format(count)

    def write(item):
        import json

        if isinstance(item, dict):
            members = [
                f"{gap()}{json.dumps(k)}{gap()}:{gap()}{write(v)}{gap()}" for k, v in item.items()
            ]
        elif isinstance(item, list):
            members = [f"{gap()}{write(v)}{gap()}" for v in item]
        else:
            return json.dumps(item)
        open_, close = "{}" if isinstance(item, dict) else "[]"
        tail = draw(st.sampled_from(["", ","])) if members else ""
        return open_ + ",".join(members) + tail + gap() + close

    return gap() + write(value) + gap()


settings_objects = st.fixed_dictionaries(
    {},
    optional={
        "a": json_values,
        "hooksConfig": st.fixed_dictionaries(
            {},
            optional={
                "disabled": st.lists(st.sampled_from(["x", "y", "z"]), max_size=4),
                "enabled": st.booleans(),
            },
        ),
        "hooks": json_objects,
    },
)
