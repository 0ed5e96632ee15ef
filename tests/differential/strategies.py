"""Cases for both sides: pieces that hooks print, weighted towards what they really print."""

from __future__ import annotations

import json
import string

from hypothesis import strategies as st

from tests.differential.sides import FIELDS

TOOLS = ("write_file", "read_file", "run_shell_command", "mcp_git_push", "replace", "write")


def weighted(*pairs):
    """Choose a strategy, each as often as its weight says."""
    return st.sampled_from([s for weight, s in pairs for _ in range(weight)]).flatmap(lambda s: s)


def mostly(usual, *odd):
    """Choose usual values, and now and then one that no hook should print."""
    return weighted((9, usual), (1, st.sampled_from(odd)))


texts = st.sampled_from(
    [
        "no",
        "why not",
        "a\nb",
        " padded ",
        "<b>tag</b>",
        "größer ✓ 🎉",
        'it\'s "quoted"',
        "C:\\x",
        "",
    ]
) | st.text(string.ascii_letters + string.digits + " .,;:-/{}[]\"'\\\nß€", max_size=12)
strings = mostly(texts, None, 5, 1.5, True, False, ["x", "y"], {"a": 1}, 0)
objects = st.sampled_from(
    [{}, {"content": "x"}, {"path": "c", "mode": 1}, {"a": {"b": [1, None]}}, {"content": None}]
)

words = weighted(
    (5, st.sampled_from(["deny", "block"])),
    (3, st.just("allow")),
    (2, st.just("ask")),
    (2, st.sampled_from(["approve", "DENY", "Block", "maybe", "", " deny"])),
    (1, st.sampled_from([None, True, False, 5, {}, ["deny"]])),
)

messages = st.lists(
    st.fixed_dictionaries(
        {
            "role": st.sampled_from(["user", "model", "system"]),
            "content": texts,
        }
    ),
    max_size=4,
)
sampling = st.fixed_dictionaries(
    {},
    optional={
        "temperature": st.sampled_from([0, 0.5, 1]),
        "topP": st.just(0.9),
        "topK": st.sampled_from([1, 40]),
        "maxOutputTokens": st.just(100),
        "other": st.just(1),
    },
)
tool_configs = mostly(
    st.fixed_dictionaries(
        {},
        optional={
            "mode": mostly(st.sampled_from(["AUTO", "ANY", "NONE"]), "any", None, 5),
            "allowedFunctionNames": mostly(
                st.lists(st.sampled_from(["b", "a", "read_file", "Z"]), max_size=3),
                "ab",
                None,
                ["a", 5],
            ),
        },
    ),
    {"functionCallingConfig": {"mode": "ANY", "allowedFunctionNames": ["a"]}},
    None,
    [],
    "ANY",
    5,
)
requests = mostly(
    st.fixed_dictionaries(
        {},
        optional={
            "model": mostly(st.sampled_from(["m", "other"]), None),
            "messages": mostly(messages, None),
            "config": mostly(sampling, None),
            "toolConfig": st.just({"mode": "ANY"}),
            "extra": st.just(1),
        },
    ),
    None,
    [],
    "text",
    5,
)
candidates = st.fixed_dictionaries(
    {
        "content": st.fixed_dictionaries(
            {"parts": mostly(st.lists(texts, max_size=2), [])},
            optional={"role": st.sampled_from(["model", "user"])},
        )
    },
    optional={
        "finishReason": st.sampled_from(["STOP", "SAFETY"]),
        "index": st.sampled_from([0, 1]),
    },
)
responses = mostly(
    st.fixed_dictionaries(
        {"candidates": st.lists(candidates, min_size=1, max_size=2)}, optional={"text": texts}
    )
    | st.fixed_dictionaries(
        {},
        optional={
            "candidates": mostly(st.lists(candidates, max_size=2), None),
            "text": texts,
            "usageMetadata": st.just({"totalTokenCount": 3}),
        },
    ),
    None,
    [],
    "text",
)
tail_calls = mostly(
    st.sampled_from(
        [{"name": "read_file", "args": {"path": "a"}}, {"name": "glob", "args": {}}, {"name": "ls"}]
    ),
    {},
    None,
    "read_file",
    [],
    {"name": 5, "args": []},
)
SPECIFIC = {
    "additionalContext": mostly(texts, None, 5, ["x"]),
    "tool_input": mostly(objects, None, "text", 5),
    "clearContext": mostly(st.booleans(), "true", 1, None),
    "tailToolCallRequest": tail_calls,
    "llm_request": requests,
    "llm_response": responses,
    "toolConfig": tool_configs,
}
OWN = {
    "SessionStart": ["additionalContext"],
    "BeforeAgent": ["additionalContext"],
    "AfterAgent": ["clearContext"],
    "BeforeModel": ["llm_request", "llm_response"],
    "AfterModel": ["llm_response"],
    "BeforeToolSelection": ["toolConfig"],
    "BeforeTool": ["tool_input"],
    "AfterTool": ["additionalContext", "tailToolCallRequest"],
}


@st.composite
def specifics(draw, event):
    """What a hook may print for its event alone, and sometimes what belongs to another."""
    own = OWN.get(event, [])
    keys = [key for key in own if draw(st.integers(0, 9)) < 8]
    if draw(st.integers(0, 9)) > 7:
        keys.append(draw(st.sampled_from(list(SPECIFIC))))
    found = {key: draw(SPECIFIC[key]) for key in dict.fromkeys(keys)}
    if draw(st.booleans()):
        found["hookEventName"] = draw(mostly(st.just(event), "Stop", None))
    return found


MEMBERS = {
    "decision": words,
    "reason": strings,
    "continue": mostly(st.booleans(), "false", 0, None),
    "stopReason": strings,
    "systemMessage": strings,
    "suppressOutput": mostly(st.booleans(), "yes", None),
    "hookSpecificOutput": None,
    "other": st.just({"x": 1}),
}
USUAL = ("decision", "decision", "reason", "hookSpecificOutput", "hookSpecificOutput", *MEMBERS)
NO_OBJECTS = (None, {}, [], ["x"], "", "abc", 5, 0, True, False)


@st.composite
def replies(draw, event):
    """Objects that a hook may print."""
    found = {}
    for key in dict.fromkeys(draw(st.lists(st.sampled_from(USUAL), min_size=1, max_size=6))):
        specific = key == "hookSpecificOutput"
        found[key] = draw(mostly(specifics(event), *NO_OBJECTS) if specific else MEMBERS[key])
    return found


def write(value):
    """Write JSON as hooks do."""
    return json.dumps(value, ensure_ascii=False)


def twice(value):
    """Write JSON that is encoded once more."""
    return write(write(value))


WRAPS = (
    *(6 * [write]),
    lambda value: json.dumps(value, indent=2) + "\n",
    lambda value: "\ufeff" + write(value),
    lambda value: f"  \r\n{write(value)}\r\n",
    twice,
)
SPOILS = (
    lambda value: "checking…\n" + write(value),
    lambda value: write(value) + " // done",
    lambda value: write(value) + "\n" + write(value),
    lambda value: write(write(write(value))),
    lambda value: write(value)[:-1],
    lambda value: write([value]),
    str,
)
ODD = (
    *("", " ", "\n\t", "\ufeff", "5", "-1.5", "0", "null", "true", "false", "NaN", "[]", "[1, 2]"),
    *('"hello"', '"5"', '"null"', '" "', '""', '"{\\"decision\\": \\"deny\\"}"', "{}", "a,b", "{"),
    '{"decision": "deny", "decision": "allow"}',
)


def printed(event):
    """Text on a stream."""
    reply = replies(event)
    return weighted(
        (12, st.builds(lambda value, wrap: wrap(value), reply, st.sampled_from(WRAPS))),
        (1, st.builds(lambda value, spoil: spoil(value), reply, st.sampled_from(SPOILS))),
        (2, st.sampled_from(ODD)),
        (2, texts),
    )


ends = weighted(
    (8, st.just({})),
    (3, st.just({"exit": 2})),
    (2, st.just({"exit": 1})),
    (2, st.sampled_from([{"exit": code} for code in (3, 126, 127, 255)])),
    (1, st.sampled_from([{"signal": "KILL"}, {"signal": "TERM"}])),
)
names = st.sampled_from(["", "a", "b", "guard", "a:b"])


@st.composite
def hooks(draw, event, number):
    """One hook."""
    hook = {"record": f"{number}" if draw(st.integers(0, 9)) < 7 else "", **draw(ends)}
    if draw(st.booleans()):
        hook["name"] = draw(names)
    if draw(st.integers(0, 9)) < 9:
        hook["stdout"] = draw(printed(event))
    if draw(st.integers(0, 9)) > 7:
        hook["stderr"] = draw(printed(event))
    return hook


fragments = st.sampled_from(
    r"""write read _file mcp W x ^ $ . .* | ( ) [ ] * + ? {2} { } \w \b \B \d+ \ (?!write) (?i)
    (?:write|read) (?<n>w)\k<n> \A \Z a-z / , (?=r) (?<=w) \u0077 \x77 \1 \cA \p{L} [\w-z] [z-a] []
    [^] [^a-z] ?? *? (?# (?P<n>w) (?>w)""".split()
)
PATTERNS = r"""write_file write ^write$ WRITE_FILE write_file|replace write_* write_file,read_file
    /write_file/ [bad (?i)write ** *foo (?!write) !write_file mcp__git__push mcp_.* read_.* Bash
    Edit|Write startup resume startup|resume exit auto manual|auto zzz""".split()
matchers = weighted(
    (4, st.sampled_from([None, "*", "", " ", "  *  ", ".*", "^.*$"])),
    (4, st.sampled_from([*PATTERNS, "write_file ", " startup ", "write_file, replace"])),
    (2, st.lists(fragments, min_size=1, max_size=4).map("".join)),
)


def fields(event):
    """What differs from one event of a kind to the next."""
    return {
        "SessionStart": st.sampled_from([{"source": s} for s in ("startup", "resume", "clear")]),
        "SessionEnd": st.sampled_from([{"reason": s} for s in ("exit", "clear", "other")]),
        "PreCompress": st.sampled_from([{"trigger": s} for s in ("auto", "manual")]),
        "BeforeTool": st.sampled_from([{"tool_name": name} for name in TOOLS]),
        "AfterTool": st.sampled_from([{"tool_name": name} for name in TOOLS]),
    }.get(event, st.just({}))


EVENTS = [event for event in FIELDS for _ in range(3 if event in OWN else 1)]


@st.composite
def cases(draw):
    """Settings, an event, and what every hook says."""
    event = draw(st.sampled_from(EVENTS))
    definitions, known = [], []
    for _ in range(draw(st.integers(1, 3))):
        own = []
        for _ in range(draw(st.sampled_from([1, 1, 2]))):
            again = bool(known) and draw(st.integers(0, 9)) > 8
            own.append(draw(st.sampled_from(known) if again else hooks(event, len(known))))
            known.append(own[-1])
        definition = {"hooks": own}
        if draw(st.booleans()):
            definition["matcher"] = draw(matchers)
        if draw(st.integers(0, 9)) > 6:
            definition["sequential"] = draw(st.booleans())
        definitions.append(definition)
    case = {"event": event, "definitions": definitions}
    changed = draw(fields(event))
    if changed:
        case["fields"] = changed
    if draw(st.integers(0, 9)) > 7:
        case["disabled"] = draw(st.lists(names, max_size=2))
    return case
