"""JSON Schemas of settings, payloads and replies, from the tables by which they are read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from anyhook.agents.decode import ACTIONS, TYPES
from anyhook.agents.payloads import NOT_IN_PAYLOAD, payload_key
from anyhook.agents.spec import EVENT_NAME, Denial
from anyhook.agents.spec.settings import HOOKS_PATH, MIN_TIMEOUT
from anyhook.agents.values import ARRAY, BOOLEAN, NUMBER, OBJECT, STRING
from anyhook.model.answers import Outcome
from anyhook.model.events import event_class, json_kind
from anyhook.model.llm import COUNTS, FINISH_REASONS, MODES, ROLES

if TYPE_CHECKING:
    from anyhook.agents.spec import AgentSpec, EventSpec
    from anyhook.agents.spec.settings import HandlerType

DRAFT = "https://json-schema.org/draft/2020-12/schema"

_TOOL_CONFIG: dict[str, Any] = {
    "type": "object",
    "properties": {
        "mode": {"enum": list(MODES)},
        "allowedFunctionNames": {"type": "array", "items": {"type": "string"}},
    },
}
_LLM_REQUEST: dict[str, Any] = {
    "type": "object",
    "properties": {
        "model": {"type": "string"},
        "messages": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["role", "content"],
                "properties": {
                    "role": {"enum": list(ROLES)},
                    "content": {
                        "oneOf": [
                            {"type": "string"},
                            {
                                "type": "array",
                                "items": {
                                    "type": "object",
                                    "required": ["type"],
                                    "properties": {"type": {"type": "string"}},
                                },
                            },
                        ]
                    },
                },
            },
        },
        "config": {
            "type": "object",
            "properties": {
                "temperature": {"type": "number"},
                "maxOutputTokens": {"type": "integer"},
                "topP": {"type": "number"},
                "topK": {"type": "number"},
            },
        },
        "toolConfig": _TOOL_CONFIG,
    },
}
_SAFETY_RATING: dict[str, Any] = {
    "type": "object",
    "required": ["category", "probability"],
    "properties": {
        "category": {"type": "string"},
        "probability": {"type": "string"},
        "blocked": {"type": "boolean"},
    },
}
_LLM_RESPONSE: dict[str, Any] = {
    "type": "object",
    "properties": {
        "text": {"type": "string"},
        "candidates": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    "content": {
                        "type": "object",
                        "properties": {
                            "role": {"const": "model"},
                            "parts": {"type": "array", "items": {"type": "string"}},
                        },
                    },
                    "finishReason": {"enum": list(FINISH_REASONS)},
                    "index": {"type": "integer"},
                    "safetyRatings": {"type": "array", "items": _SAFETY_RATING},
                },
            },
        },
        "usageMetadata": {
            "type": "object",
            "properties": {name: {"type": "integer", "minimum": 0} for name in COUNTS},
        },
    },
}
_TOOL_CALL: dict[str, Any] = {
    "type": "object",
    "required": ["name"],
    "properties": {"name": {"type": "string"}, "args": {"type": "object"}},
}
_BY_FIELD = {
    "llm_request": {**_LLM_REQUEST, "required": ["model", "messages"]},
    "llm_response": {**_LLM_RESPONSE, "required": ["candidates"]},
}
"""Members of payloads, which are whole; in replies they may be partial."""
_BASE = frozenset({"session_id", "transcript_path", "cwd"})
"""Fields that every agent sends with every event."""
_JSON_TYPES = {
    STRING.types: {"type": "string"},
    BOOLEAN.types: {"type": "boolean"},
    NUMBER.types: {"type": "number"},
    OBJECT.types: {"type": "object"},
    ARRAY.types: {"type": "array"},
}
_BY_KIND: dict[str, dict[str, Any]] = {
    **{name: _JSON_TYPES.get(kind.types, {}) for name, kind in TYPES.items()},
    "action": {"enum": list(ACTIONS)},
    "text": {"type": "string"},
    "arguments": {"type": "object"},
    "arguments_or_null": {"type": "object"},
    "result_object": {
        "type": "object",
        "properties": {
            "resultType": {"enum": ["success", "failure"]},
            "textResultForLlm": {"type": "string"},
        },
        "required": ["textResultForLlm"],
    },
    "llm_request": _LLM_REQUEST,
    "llm_response": _LLM_RESPONSE,
    "tool_config": _TOOL_CONFIG,
    "tool_call": _TOOL_CALL,
}


def settings_schema(agent: AgentSpec) -> dict[str, Any]:
    """Return the schema of the parts of a settings file that are about hooks."""
    handlers = [
        _handler_schema(agent, word, kind) for word, kind in agent.settings.handler_types.items()
    ]
    handler = handlers[0] if len(handlers) == 1 else {"oneOf": handlers}
    shapes = [{"$ref": f"#/$defs/{entry}"} for entry in agent.settings.entries]
    items = shapes[0] if len(shapes) == 1 else {"anyOf": shapes}
    definitions = {"type": "array", "items": items}
    names = [name for name in _DEFINITION if name in agent.settings.definition_fields]
    definition = {
        "type": "object",
        "required": ["hooks"],
        "properties": {name: _DEFINITION[name] for name in names},
        "additionalProperties": False,
    }
    events: dict[str, Any] = {spec.wire: definitions for spec in agent.events}
    root: dict[str, Any] = {
        "$schema": DRAFT,
        "title": f"Hooks of {agent.title}",
        "type": "object",
        "properties": {},
        "$defs": {"handler": handler, "definition": definition},
    }
    for name, value in agent.settings.members.items():
        root["properties"][name] = {"const": value}
        own_files = [file for file in agent.settings.files if not file.is_foreign]
        if all(name in file.required_members for file in own_files):
            root.setdefault("required", []).append(name)
    _put(root, HOOKS_PATH, {"type": "object", "properties": events})
    for toggle in agent.settings.hook_toggles:
        schema: dict[str, Any] = {"type": "boolean"}
        if toggle.kind == "disabled" or toggle.value is not None:
            schema = {"type": "array", "items": {"type": "string"}}
        if toggle.legacy:
            schema["deprecated"] = True
        _put(root, toggle.path, schema)
    hooks = root["properties"][HOOKS_PATH[0]]
    hooks["additionalProperties"] = False
    for name in (*events, *agent.settings.non_event_keys):
        hooks["properties"].setdefault(name, {})
    return root


_MATCHER = {
    "type": "string",
    "description": "Exact names (a|b), * for all, or an ECMAScript regular expression.",
}
_DEFINITION: dict[str, Any] = {
    "matcher": _MATCHER,
    "sequential": {"type": "boolean", "default": False},
    "description": {"type": "string"},
    "hooks": {"type": "array", "items": {"$ref": "#/$defs/handler"}, "minItems": 1},
}


_OPTIONS: dict[str, dict[str, Any]] = {
    **_BY_KIND,
    "count": {"type": "integer", "minimum": 0},
    "strings": {"type": "array", "items": {"type": "string"}},
    "texts": {"type": "object", "additionalProperties": {"type": "string"}},
    "web_url": {"type": "string", "pattern": "^https?://"},
}
_COMMAND: dict[str, Any] = {
    "command": {
        "description": "A command line for the shell. anyhook also takes a list of program and "
        "arguments.",
        "oneOf": [
            {"type": "string", "minLength": 1},
            {"type": "array", "items": {"type": "string"}, "minItems": 1},
        ],
    },
    "args": {"type": "array", "items": {"type": "string"}},
}
_SHARED: dict[str, dict[str, Any]] = {
    "name": {"type": "string", "description": "For enable, disable and explanations."},
    "description": {"type": "string"},
    "env": {"type": "object", "additionalProperties": {"type": "string"}},
}


def _handler_schema(agent: AgentSpec, word: str, kind: HandlerType) -> dict[str, Any]:
    properties: dict[str, Any] = {"type": {"const": word, "description": "Kind of handler."}}
    required = ["type"] if agent.settings.default_type is None else []
    if kind.kind == "command":
        properties |= _COMMAND
        if "program" in agent.settings.member_names:
            properties["program"] = {"type": "string", "minLength": 1}
        elif len(agent.settings.member_names.get("command", "1")) == 1:
            required.append("command")
    for name, field in kind.fields.items():
        properties[name] = dict(_OPTIONS[field.kind])
        if field.nullable:
            properties[name]["type"] = [properties[name]["type"], "null"]
        if field.words:
            properties[name]["enum"] = list(field.words)
        if field.required:
            required.append(name)
    for name, schema in _SHARED.items():
        if name in agent.settings.handler_fields:
            properties[name] = schema
    properties["timeout"] = {
        "type": "number",
        "minimum": MIN_TIMEOUT / agent.settings.timeout_unit,
        "default": kind.timeout / agent.settings.timeout_unit,
        "description": f"In units of {agent.settings.timeout_unit:g} s.",
    }
    if "handler" in agent.settings.entries:
        properties["matcher"] = _MATCHER
    return {
        "type": "object",
        "required": required,
        "properties": _with_own_names(agent, properties),
        "additionalProperties": False,
    }


def _with_own_names(agent: AgentSpec, properties: dict[str, Any]) -> dict[str, Any]:
    """Return the members of a handler under all names that the agent has for them."""
    named: dict[str, Any] = {}
    for member, schema in properties.items():
        for name in agent.settings.member_names.get(member, (member,)):
            named[name] = schema
    return named


def event_schema(agent: AgentSpec, spec: EventSpec) -> dict[str, Any]:
    """Return the schema of an event's payload, as a hook gets it on standard input."""
    cls = event_class(spec.canonical)
    properties: dict[str, Any] = {}
    always = cls.record_required | _BASE
    if agent.field_defaults.get("timestamp"):  # what this agent itself sends always
        always |= {"timestamp"}
    required = {agent.event_key} if agent.event_key else set()
    for name in cls.record_fields:
        key = None if name in NOT_IN_PAYLOAD else payload_key(agent, spec, name)
        if key is None:
            continue
        if name in always and name not in spec.optional_fields:
            required.add(key)
        schema = dict(_BY_FIELD.get(name) or _BY_KIND[json_kind(cls, name)])
        if name not in cls.record_required and getattr(cls, name) is None and "type" in schema:
            schema["type"] = [schema["type"], "null"]
        if name == spec.subject and spec.subjects:
            schema["enum"] = list(spec.subjects)
        properties[key] = schema
    if agent.event_key:
        properties[agent.event_key] = {"const": spec.wire}
    return {
        "$schema": DRAFT,
        "title": f"{spec.wire} of {agent.title}",
        "description": (cls.__doc__ or "").strip().partition("\n")[0],
        "type": "object",
        "required": sorted(required),
        "properties": properties,
    }


def reply_schema(agent: AgentSpec, spec: EventSpec) -> dict[str, Any]:
    """Return the schema of what a hook of an event may print; only what has an effect on it."""
    root: dict[str, Any] = {
        "$schema": DRAFT,
        "title": f"Reply to {spec.wire} of {agent.title}",
        "type": "object",
        "properties": {},
    }
    for item in agent.output_fields:
        if item.field in spec.effective_fields and item.belongs_to(spec.canonical):
            if item.kind in ("decision", "explained_decision"):
                member: dict[str, Any] = {"enum": list(item.words or agent.decision_words)}
            else:
                member = dict(_BY_KIND[item.kind])
            _put(root, item.path, member)
    if agent.event_name_rule:
        _put(root, EVENT_NAME, {"const": spec.wire})
    _refuse_mistaken(agent, spec, root)
    if spec.denial is Denial.CONTINUES:
        # Such a denial sends the agent on, and needs a reason.
        for item in agent.written_fields(spec.canonical):
            if item.kind == "decision" and len(item.path) == 1:
                words = item.words or agent.decision_words
                denials = [word for word, (outcome, _) in words.items() if outcome is Outcome.DENY]
                key = item.path[0]
                root["if"] = {"required": [key], "properties": {key: {"enum": denials}}}
                root["then"] = {
                    "required": ["reason"],
                    "properties": {"reason": {"type": "string", "minLength": 1}},
                }
    return root


def _refuse_mistaken(agent: AgentSpec, spec: EventSpec, root: dict[str, Any]) -> None:
    """Refuse names that are mistaken for a member; other unknown members are allowed."""
    objects = agent.reply_objects(spec.canonical)
    all_names = {name for names in objects.values() for name in names}
    for parent, names in objects.items():
        schema: dict[str, Any] = root
        for key in parent:
            schema = schema.get("properties", {}).get(key, {})
        # An object without effect on the event has no schema.
        if "properties" not in schema:
            continue
        siblings = {item.path[-1] for item in agent.output_fields if item.path[:-1] == parent}
        foreign = {path[-1] for path in agent.foreign_members if path[:-1] == parent}
        misplaced = all_names - names - siblings
        misspelled = "|".join([_alike(name) for name in sorted(names)])
        mistaken = [{"enum": sorted(misplaced | foreign)}, {"pattern": f"^(?:{misspelled})$"}]
        if agent.needs_event_name and parent == EVENT_NAME[:-1]:
            schema["required"] = [EVENT_NAME[-1]]
        schema["propertyNames"] = {
            "anyOf": [{"enum": sorted(names | siblings)}, {"not": {"anyOf": mistaken}}]
        }


def _alike(name: str) -> str:
    """Return a pattern of names that are easily written instead of another one.

    One character more, less or another; or the same letters from the same first one on, in any
    order and case and with underscores, of about the same number.
    """
    letters = "".join(sorted({*name.lower(), *name.upper()} - {"_"}))
    first = f"[{name[0].lower()}{name[0].upper()}]"
    slips = [f"{name[:at]}.{{0,2}}{name[at + 1 :]}" for at in range(len(name))]
    shuffled = f"{first}[_{letters}-]{{{max(len(name) - 3, 1)},{len(name) + 3}}}"
    return "|".join([*slips, shuffled])


def _put(root: dict[str, Any], path: tuple[str, ...], schema: dict[str, Any]) -> None:
    for key in path[:-1]:
        root = root["properties"].setdefault(key, {"type": "object", "properties": {}})
    root["properties"].setdefault(path[-1], schema)
