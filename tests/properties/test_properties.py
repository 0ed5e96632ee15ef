"""What holds for all inputs."""

from __future__ import annotations

import asyncio
import json
import re

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from anyhook import Answer, BeforeTool, Outcome
from anyhook.agents import get_agent
from anyhook.agents.encode import encode_answer
from anyhook.agents.gemini.model_api import (
    request_from_api,
    request_to_api,
    response_from_api,
    response_to_api,
)
from anyhook.agents.output import ProcessExit, decode_exit, decode_reply
from anyhook.agents.payloads import decode_event, encode_event
from anyhook.authoring.degrade import fit_decision
from anyhook.engine.combine import combine
from anyhook.engine.plan import make_plan
from anyhook.matching.matchers import compile_matcher
from anyhook.model.answers import STRENGTH
from anyhook.model.json import dump_json, parse_json
from anyhook.model.llm import complete_response, merge_request, merge_response
from anyhook.model.sequence import advance
from anyhook.settings.edit import add_item, remove_item
from anyhook.settings.jsonc import JsonSyntaxError, parse
from anyhook.shell.path_variables import quote_path_variables
from tests.conftest import DATA
from tests.properties import strategies as make
from tests.world import World

pytestmark = pytest.mark.slow

GEMINI = get_agent("gemini")
RULES = GEMINI.rules("documented")
SPECS = st.sampled_from(GEMINI.events)
RECORDED = [
    pytest.param(json.loads(line), id=f"{file.stem}-{i}")
    for file in sorted((DATA / "gemini").glob("*.jsonl"))
    for i, line in enumerate(file.read_text(encoding="utf-8").splitlines())
]
DISABLED = ("hooksConfig", "disabled")
WIRE_FIELDS = ("tool_name", "tool_input", "prompt", "llm_request", "source", "session_id")


def event_for(spec):
    payload = {
        "hook_event_name": spec.wire,
        "tool_name": "write_file",
        "tool_input": {"a": 1},
        "llm_request": {"model": "m", "messages": [{"role": "user", "content": "x"}]},
        "llm_response": {"text": "t", "candidates": []},
    }
    return decode_event(GEMINI, payload)[0]


# -- combining


@given(SPECS, make.results())
def test_combining_takes_anything_and_its_reply_is_json(spec, results):
    event = event_for(spec)
    decision = combine(RULES, spec, event, results)

    dump_json(encode_answer(GEMINI, spec, fit_decision(GEMINI, event, decision)[0]))
    decision.explain()
    assert all(blames for blames in decision.blame.values())


@given(SPECS, make.results(), make.answers, st.integers(0, 5))
def test_one_more_handler_never_relaxes_a_decision(spec, results, answer, place):
    event = event_for(spec)
    before = combine(RULES, spec, event, results)
    more = list(results)
    more.insert(min(place, len(more)), (make.result(99, answer),))

    after = combine(RULES, spec, event, tuple(more))

    assert STRENGTH[after.outcome] >= STRENGTH[before.outcome]
    assert after.stop >= before.stop
    assert after.denied >= before.denied
    if after.outcome is not Outcome.DEFER:  # a call that is left open is asked again, whole
        assert set(before.context) <= set(after.context)
    assert set(before.system_messages) <= set(after.system_messages)
    if before.outcome is Outcome.DENY and not after.stop:
        assert set((before.reason or "").split("\n")) <= set((after.reason or "").split("\n"))


@given(SPECS, make.results())
def test_the_verdict_does_not_depend_on_the_order_of_handlers(spec, results):
    event = event_for(spec)
    decision = combine(RULES, spec, event, results)
    mirrored = combine(RULES, spec, event, tuple(reversed(results)))

    assert (decision.outcome, decision.stop) == (mirrored.outcome, mirrored.stop)
    assert decision.tool_config == mirrored.tool_config
    assert sorted(decision.context) == sorted(mirrored.context)


@given(make.results())
def test_a_decision_that_is_not_the_strongest_is_blamed_on_nobody(results):
    spec = GEMINI.event("before_tool")
    decision = combine(RULES, spec, event_for(spec), results)
    said = [r.answer.outcome for group in results for r in group]

    carriers = [b.value for b in decision.blame.get("outcome", ())]
    assert carriers == [str(o) for o in said if o is decision.outcome is not Outcome.NONE]


@given(SPECS, make.answers, make.request_like, make.request_like)
def test_advancing_and_combining_take_any_event(spec, answer, request, response):
    payload = {"hook_event_name": spec.wire, "llm_request": request, "llm_response": response}
    event, _ = decode_event(GEMINI, payload)
    checked, _ = decode_reply(
        GEMINI,
        RULES,
        spec,
        make.handler(1),
        {"hookSpecificOutput": {"llm_request": request, "llm_response": response}},
    )

    for said in (answer, checked):
        advance(spec.chained_fields, event, said)
        deny = make.result(2, Answer(outcome=Outcome.DENY, reason="no"))
        decision = combine(RULES, spec, event, ((make.result(1, said),), (deny,)))
        assert decision.outcome is Outcome.DENY


@given(make.definitions())
def test_layers_come_in_the_order_of_a_plan(definitions):
    plan = make_plan(GEMINI, RULES, definitions, "before_tool", "write_file")

    ranks = [GEMINI.settings.layer_order.index(handler.layer) for handler in plan.handlers]
    assert ranks == sorted(ranks)


@given(make.responses, make.responses)
def test_a_changed_text_is_gone_from_the_whole_response(base, override):
    base = complete_response(base)
    merged = merge_response(base, override)

    first = "".join(merged["candidates"][0]["content"]["parts"]) if merged["candidates"] else ""
    if override.get("text", base["text"]) != base["text"] or "candidates" in override:
        assert merged["text"] == first


@given(orders=st.permutations([0.0, 0.02, 0.04]))
@settings(max_examples=6)
def test_a_decision_does_not_depend_on_the_order_in_which_hooks_finish(tmp_path_factory, orders):
    world = World(tmp_path_factory.mktemp("orders"))
    replies = [
        {"decision": "deny", "reason": f"r{i}", "hookSpecificOutput": {"tool_input": {"k": i}}}
        for i in range(3)
    ]
    hooks = [
        {
            "type": "command",
            "name": f"h{i}",
            "command": f"sleep {delay}; echo '{json.dumps(reply)}'",
        }
        for i, (delay, reply) in enumerate(zip(orders, replies, strict=True))
    ]
    world.settings("project", {"hooks": {"BeforeTool": [{"hooks": hooks}]}})
    event = BeforeTool(tool_name="t", tool_input={})

    decision = asyncio.run(world.load().dispatch(event))

    assert decision.reason == "r0\nr1\nr2"
    assert decision.tool_input == {"k": 2}


# -- decoding and encoding


@pytest.mark.parametrize("payload", RECORDED)
def test_a_recorded_payload_is_decoded_without_loss(payload):
    event, problems = decode_event(GEMINI, payload)

    assert problems == ()
    assert event.raw is payload
    assert encode_event(GEMINI, event) == payload
    assert list(encode_event(GEMINI, event)) == list(payload)


@given(make.json_objects, st.sampled_from([*GEMINI.by_wire, "Other", 5, None]))
def test_decoding_then_encoding_is_the_identity(payload, name):
    payload = {**payload, "hook_event_name": name}

    event, _ = decode_event(GEMINI, payload)

    assert encode_event(GEMINI, event) == payload


@given(
    SPECS,
    st.fixed_dictionaries(
        {},
        optional=dict.fromkeys(
            (
                "tool_name",
                "tool_input",
                "prompt",
                "llm_request",
                "source",
                "stop_hook_active",
                "session_id",
            ),
            make.json_values,
        ),
    ),
)
def test_fields_of_any_type_are_decoded(spec, fields):
    payload = {"hook_event_name": spec.wire, **fields}

    event, _ = decode_event(GEMINI, payload)

    assert encode_event(GEMINI, event) == payload


@given(
    SPECS,
    st.binary(max_size=40) | make.replies.map(lambda r: json.dumps(r).encode()),
    st.integers(-1, 300),
    st.binary(max_size=10),
    st.booleans(),
)
def test_any_output_and_any_exit_is_a_result(spec, stdout, code, stderr, truncated):
    end = ProcessExit(
        None if code < 0 else code,
        "SIGKILL" if code < 0 else None,
        stdout.decode("utf-8", "replace"),
        stderr.decode("utf-8", "replace"),
        truncated,
    )

    said = decode_exit(GEMINI, RULES, spec, make.handler(1), end)
    answer, problems = said.answer, said.diagnostics

    combine(RULES, spec, event_for(spec), ((make.result(1, answer),),))
    assert all(str(problem) for problem in problems)
    if code == 2:
        assert answer.outcome is Outcome.DENY
        assert answer.reason


@given(SPECS, make.replies)
def test_a_reply_is_read_alike_from_a_function(spec, reply):
    answer, _ = decode_reply(GEMINI, RULES, spec, make.handler(1), reply)

    assert isinstance(answer, Answer)


@given(make.json_values)
def test_json_comes_back(value):
    assert parse_json(dump_json(value).decode()) == value


# -- the model API


@given(make.api_requests)
def test_an_unchanged_request_comes_back_unchanged(api):
    before = json.dumps(api)

    assert request_to_api(api, request_from_api(api)) == api
    assert json.dumps(api) == before


@given(make.api_responses)
def test_an_unchanged_response_comes_back_unchanged(api):
    assert response_to_api(api, response_from_api(api)) == api


@given(make.api_requests, make.requests)
def test_no_override_loses_a_non_text_part(api, override):
    stable = request_from_api(api)
    changed = request_to_api(api, merge_request(stable, override))

    for part in non_text(api):
        assert part in non_text(changed)


@given(make.api_responses, make.responses)
def test_no_override_loses_a_non_text_part_of_the_response(api, override):
    assume(
        len(override.get("candidates", api.get("candidates", []))) >= len(api.get("candidates", []))
    )
    stable = response_from_api(api)
    changed = response_to_api(api, merge_response(stable, override))

    for candidate, after in zip(
        api.get("candidates", []), changed.get("candidates", []), strict=False
    ):
        assert parts_of(candidate, text=False) == parts_of(after, text=False)


@given(make.requests, make.requests)
def test_an_override_of_a_request_keeps_what_it_leaves_out(base, override):
    merged = merge_request(base, override)

    assert merged.keys() == base.keys() | override.keys()
    for key in base.keys() - override.keys():
        assert merged[key] == base[key]


@given(make.responses)
def test_a_completed_response_has_a_candidate_and_says_its_text(response):
    whole = complete_response(response)

    assert whole["candidates"]
    assert all(candidate["finishReason"] for candidate in whole["candidates"])


def non_text(api):
    contents = api["contents"] if isinstance(api["contents"], list) else [api["contents"]]
    return [
        part
        for entry in contents
        if not isinstance(entry, str)
        for part in (entry["parts"] if "parts" in entry else [entry])
        if not isinstance(part.get("text"), str)
    ]


def parts_of(candidate, *, text):
    parts = candidate.get("content", {}).get("parts", [])
    return [part for part in parts if isinstance(part.get("text"), str) is text]


# -- planning


@given(make.definitions(), make.definitions())
def test_a_plan_is_stable_under_unrelated_definitions(definitions, others):
    unrelated = [d for d in others if d.event != "before_tool"]

    plan = make_plan(GEMINI, RULES, definitions, "before_tool", "write_file")

    assert make_plan(GEMINI, RULES, [*unrelated, *definitions], "before_tool", "write_file") == plan
    assert make_plan(GEMINI, RULES, [*definitions, *unrelated], "before_tool", "write_file") == plan


@given(make.definitions())
def test_every_identity_that_matches_runs_once_and_by_the_strongest_layer(definitions):
    plan = make_plan(GEMINI, RULES, definitions, "before_tool", "write_file")
    matched = [
        handler
        for d in definitions
        if d.event == "before_tool" and compile_matcher(d.matcher).matches("write_file")
        for handler in d.handlers
    ]

    identities = [handler.identity for handler in plan.handlers]
    assert len(identities) == len(set(identities))
    assert set(identities) == {handler.identity for handler in matched}
    for handler in plan.handlers:
        rivals = [h for h in matched if h.identity == handler.identity]
        assert GEMINI.settings.authority[handler.layer] == max(
            GEMINI.settings.authority[h.layer] for h in rivals
        )


@given(make.settings_objects, make.settings_objects)
@settings(max_examples=40)
def test_a_plan_is_stable_under_edits_of_unrelated_settings(tmp_path_factory, before, after):
    world = World(tmp_path_factory.mktemp("edits"))
    hooks = {"BeforeTool": [{"hooks": [{"type": "command", "name": "h", "command": "true"}]}]}
    event = BeforeTool(tool_name="t", tool_input={})
    plans = []
    for unrelated in (before, after):
        world.settings("project", {**unrelated, "hooks": hooks, "hooksConfig": {}})
        plans.append([h.identity[:5] for h in world.load().plan(event).handlers])

    assert plans[0] == plans[1] == [("command", "h", "true", frozenset(), None)]


@given(
    st.text(alphabet="abw_|, -*.^$[](){}+?\\", max_size=8),
    st.sampled_from(["write_file", "a", "b_c", ""]),
)
def test_any_matcher_compiles_and_names_are_exact(pattern, subject):
    matcher = compile_matcher(pattern)
    hit = matcher.matches(subject)

    stripped = pattern.strip()
    if stripped not in ("", "*") and re.fullmatch(r"[A-Za-z0-9_\- ,|]+", stripped):
        assert hit is (subject in {n.strip() for n in re.split("[,|]", stripped)} - {""})


# -- settings files


@given(st.data(), make.settings_objects)
def test_json_with_comments_is_read_as_without(data, value):
    text = data.draw(make.commented_json(value))

    document = parse(text)

    assert document.value == value
    for path, item in leaves(value):
        start, missing = document.locate(path)
        assert missing == ()
        assert document.plain[start:].startswith(json.dumps(item)[:1])


@given(st.data(), make.settings_objects, st.sampled_from(["x", "n", 'qu"ote', "ü"]))
def test_an_edit_keeps_every_comment_and_means_what_it_says(data, value, item):
    text = data.draw(make.commented_json(value))

    added = add_item(text, DISABLED, item)
    removed = remove_item(added, DISABLED, item)

    before = list(value.get("hooksConfig", {}).get("disabled", []))
    wanted = before if item in before else [*before, item]
    assert parse(added).value["hooksConfig"]["disabled"] == wanted
    assert parse(removed).value["hooksConfig"]["disabled"] == [x for x in wanted if x != item]
    found = re.findall(r"(?://|/\*) c\d+", text)
    assert re.findall(r"(?://|/\*) c\d+", added) == found
    assert re.findall(r"(?://|/\*) c\d+", removed) == found
    assert add_item(added, DISABLED, item) == added


@given(st.text(alphabet='{}[]",:/* \nax1\\', max_size=30))
def test_any_text_is_a_document_or_a_problem_with_a_place(text):
    try:
        parse(text)
    except JsonSyntaxError as problem:
        assert 0 <= problem.offset <= len(text)
        assert str(problem)


@given(make.json_values, st.sampled_from(["project", "user"]))
@settings(max_examples=60)
def test_any_settings_load(tmp_path_factory, value, layer):
    world = World(tmp_path_factory.mktemp("any"))
    hook = {"type": "command", "name": value, "command": value, "timeout": value, "env": value}
    shapes = [
        value,
        {"hooks": value, "hooksConfig": value, "tools": value},
        {"hooks": {"BeforeTool": value}, "hooksConfig": {"enabled": value, "disabled": value}},
        {"hooks": {"BeforeTool": [value, {"hooks": value, "matcher": value}]}},
        {"hooks": {"BeforeTool": [{"hooks": [value, hook], "sequential": value}]}},
        {"security": {"environmentVariableRedaction": value}},
        {"security": {"environmentVariableRedaction": {"enabled": value, "allowed": value}}},
    ]
    for shape in shapes:
        world.settings(layer, shape)
        for diagnostic in world.load().diagnostics:
            assert str(diagnostic)


def leaves(value, path=()):
    yield path, value
    children = (
        value.items()
        if isinstance(value, dict)
        else enumerate(value)
        if isinstance(value, list)
        else ()
    )
    for key, item in children:
        yield from leaves(item, (*path, key))


# -- command lines


@given(st.sampled_from(["a b", "it's", '"q"', "$(echo no)", "`no`", "new\nline", "*", "plain"]))
@settings(max_examples=8)
def test_a_path_variable_stands_for_the_path_in_every_kind_of_quotes(path):
    import subprocess

    for quoted in ("${v}", '"${v}"', "'${v}'", "x${v}y", "\"a'${v}'\"", "'a\"'${v}"):
        line = quote_path_variables(f"printf '%s\\n' {quoted}", {"v"})
        done = subprocess.run(
            ["bash", "-c", line],
            env={"v": path, "PATH": "/usr/bin:/bin"},
            capture_output=True,
            text=True,
            check=True,
        )
        assert path in done.stdout
        assert done.stdout.count("\n") == 1 + path.count("\n")
