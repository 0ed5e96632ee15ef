"""Random replies of hooks, in the real program and under the observed rules.

One run of the program has many calls of its shell tool, and the hook answers each with another
reply: 20 replies take as long as one. Compared are whether the tool ran, whether its command was
changed, whether the loop ended, and which of the texts in the reply the model got.
"""

from __future__ import annotations

import json
import os
import random
import re
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from anyhook import SyncEngine
from anyhook.agents import get_agent
from anyhook.agents.payloads import decode_event
from anyhook.agents.program import Workplace, get_program
from anyhook.model.answers import Audience, Outcome
from anyhook.probe.models.server import ModelScript, ModelTurn
from anyhook.probe.start import run_program
from anyhook.testing import make_payload
from tools.drift.cases import Difference, Played

if TYPE_CHECKING:
    from collections.abc import Sequence

    from anyhook.agents.program import AgentProgram
    from anyhook.model.decisions import Decision

BATCH = 20
"""Replies of one run of the program."""
SECONDS = 240.0
EVENTS = ("before_tool", "after_tool")
END = ModelTurn("Done.")
HOOK = """\
cat > /dev/null
cd "$(dirname "$0")"
n=$(cat count 2> /dev/null || echo 0)
echo $((n + 1)) > count
cat $n.stdout
cat $n.stderr >&2
exit $(cat $n.exit)
"""
"""Gives the next reply on each call."""
TEXT_MARK = re.compile(r"\b([A-Z]+)-of-(\d+)\b")
"""A text of a reply: the member that it stands in, and the number of the reply."""


class Reply(NamedTuple):
    """What a hook prints, and how it ends."""

    exit_code: int
    stdout: str
    stderr: str


@dataclass(frozen=True, slots=True)
class Effect:
    """What a reply led to.

    Attributes:
        ran: Whether the tool ran.
        changed: Whether it ran with a changed command.
        ended: Whether the loop ended.
        texts: Members of the reply whose texts the model got.
    """

    ran: bool
    changed: bool
    ended: bool
    texts: frozenset[str]


class _Settings(NamedTuple):
    """How hooks of an agent are configured, and its shell tool.

    Attributes:
        path: The settings file, below the home or the project.
        below: `home` or `project`.
        tool: The shell tool.
        arguments: Its arguments beside the command.
        is_flat: Whether definitions and replies have no inner objects.
    """

    path: str
    below: str
    tool: str
    arguments: dict[str, object]
    is_flat: bool = False


_SETTINGS = {
    "claude": _Settings(".claude/settings.json", "home", "Bash", {"description": "run"}),
    "codex": _Settings(".codex/hooks.json", "home", "Bash", {}),
    "copilot": _Settings(
        ".github/hooks/hooks.json", "project", "bash", {"description": "run"}, True
    ),
    "qwen": _Settings(".qwen/settings.json", "home", "run_shell_command", {"is_background": False}),
}
"""Agents whose replies are compared. Gemini CLI's are by `make differential`."""


def can_play(agent: str) -> bool:
    """Return whether random replies can be played in the program of an agent."""
    return agent in _SETTINGS and get_program(agent) is not None


def play_replies(agent: str, command: Sequence[str], count: int, seed: int) -> Played:
    """Play random replies, and compare their effects with what the observed rules say.

    Args:
        agent: Name of the agent.
        command: What starts its program.
        count: Replies for each event.
        seed: Seed of the replies.
    """
    program = get_program(agent)
    if program is None or agent not in _SETTINGS:
        return Played(0)
    played = 0
    found: list[Difference] = []
    for event in EVENTS:
        replies = RandomReplies(agent, event, seed)
        for first in range(0, count, BATCH):
            batch = [replies.next(number) for number in range(min(BATCH, count - first))]
            with tempfile.TemporaryDirectory(prefix="drift-") as scratch:
                real = _play(program, command, event, batch, Path(scratch) / "real")
                ours = decide(agent, event, batch[: len(real)], Path(scratch) / "ours")
            played += len(real)
            for number, (seen, said) in enumerate(zip(real, ours, strict=True)):
                text = difference(seen, said)
                if text:
                    name = f"{event}, seed {seed}, reply {first + number}"
                    found.append(Difference(name, f"{text}: {batch[number]}"))
    return Played(played, tuple(found))


def difference(seen: Effect, said: Effect) -> str:
    """Return what is different; empty if nothing is."""
    if seen.ran != said.ran:
        return f"the tool {'ran' if seen.ran else 'did not run'}"
    if seen.changed != said.changed:
        return f"the command was {'changed' if seen.changed else 'not changed'}"
    if seen.ended != said.ended:
        return f"the loop {'ended' if seen.ended else 'went on'}"
    if seen.texts != said.texts and not seen.ended:
        return f"the model got {sorted(seen.texts)} instead of {sorted(said.texts)}"
    return ""


# -- replies


class RandomReplies:
    """Makes replies of all kinds: right, wrong, of other agents, and no JSON at all.

    `ask` and `defer` are left out: a program without a user denies them or ends.

    Args:
        agent: Name of the agent.
        event: Canonical name of the event.
        seed: Seed.
    """

    def __init__(self, agent: str, event: str, seed: int) -> None:
        self._wire = get_agent(agent).event(event).wire
        self._event = event
        self._is_flat = _SETTINGS[agent].is_flat
        self._random = random.Random(seed)  # noqa: S311 - not for secrets

    def next(self, number: int) -> Reply:
        """Return the next reply; its texts hold a number."""
        reply: dict[str, Any] = {}
        if self._is_flat and self._chance(0.75):
            reply |= self._verdict(number, {"modifiedArgs": self._command(number)})
        else:
            reply |= self._sometimes(0.5, decision=self._word())
            reply |= self._sometimes(0.5, reason=self._text("REASON", number))
            reply |= self._sometimes(0.6, hookSpecificOutput=self._specific(number))
        reply |= self._sometimes(0.05, **{"continue": self._one(False, True, "false", 0, None)})
        reply |= self._sometimes(0.15, stopReason=self._text("STOPREASON", number))
        reply |= self._sometimes(0.2, systemMessage=self._text("MESSAGE", number))
        reply |= self._sometimes(0.1, suppressOutput=self._one(True, False, "x"))
        reply |= self._sometimes(0.05, unknownMember=1)
        exit_code = self._random.choices([0, 2, 1, 3, 127], [70, 15, 8, 4, 3])[0]
        stderr = self._one("", "", f"STDERR-of-{number}")
        return Reply(exit_code, self._printed(reply, number), stderr)

    def _specific(self, number: int) -> Any:
        if self._chance(0.1):
            return self._one("x", 5, None, [])
        names = [self._wire] * 12 + ["Other", "PostToolUse", 5, ["x"], None]
        reply: dict[str, Any] = self._sometimes(0.85, hookEventName=self._one(*names))
        return reply | self._verdict(number, {"updatedInput": self._command(number)})

    def _verdict(self, number: int, change: dict[str, Any]) -> dict[str, Any]:
        reply: dict[str, Any] = {}
        if self._event == "before_tool":
            reply |= self._sometimes(0.7, permissionDecision=self._word())
            reply |= self._sometimes(0.7, permissionDecisionReason=self._text("WHY", number))
            reply |= self._sometimes(0.4, **change)
        return reply | self._sometimes(0.4, additionalContext=self._text("CONTEXT", number))

    def _word(self) -> Any:
        return self._one("allow", "deny", "deny", "block", "approve", "DENY", "x", "", 5, None)

    def _command(self, number: int) -> dict[str, Any]:
        return {"command": f"echo changed > ran-{number}", **self._sometimes(0.2, extra=1)}

    def _text(self, member: str, number: int) -> Any:
        return self._one(*[f"{member}-of-{number}"] * 16, 5, "", None, ["a"])

    def _printed(self, reply: dict[str, Any], number: int) -> str:
        text, log = json.dumps(reply), f"STDOUT-of-{number}"
        usual = [text] * 16 + [json.dumps(reply, indent=1), f"\n  {text}\n\n"]
        odd = [f"{text}\n{log}", f"{log}\n{text}", f"[{text}]", json.dumps(log), "5", "null", "",
               log, f"{text}\n{text}", f"{text[:-1]},}}", f"\ufeff{text}"]  # fmt: skip
        return str(self._one(*usual, *odd))

    def _sometimes(self, share: float, **members: Any) -> dict[str, Any]:
        return members if self._chance(share) else {}

    def _chance(self, share: float) -> bool:
        return self._random.random() < share

    def _one(self, *values: Any) -> Any:
        return self._random.choice(values)


# -- the two sides


def _prepare(agent: str, event: str, replies: Sequence[Reply], root: Path) -> Workplace:
    """Write the settings and the hook of a run."""
    settings = _SETTINGS[agent]
    home, project = root / "home", root / "project"
    hook = project / "hook"
    home.mkdir(parents=True)
    hook.mkdir(parents=True)
    (hook / "hook.sh").write_text(HOOK, encoding="utf-8")
    for number, reply in enumerate(replies):
        (hook / f"{number}.stdout").write_text(reply.stdout, encoding="utf-8")
        (hook / f"{number}.stderr").write_text(reply.stderr, encoding="utf-8")
        (hook / f"{number}.exit").write_text(str(reply.exit_code), encoding="utf-8")
    handler = {"type": "command", "command": f"sh {hook}/hook.sh"}
    definition: dict[str, Any] = {"hooks": [handler]}
    value: dict[str, Any] = {}
    if settings.is_flat:
        definition = {"type": "command", "bash": handler["command"]}
        value = {"version": 1}
    path = (home if settings.below == "home" else project) / settings.path
    path.parent.mkdir(parents=True)
    wire = get_agent(agent).event(event).wire
    path.write_text(json.dumps({**value, "hooks": {wire: [definition]}}), encoding="utf-8")
    environ = {"PATH": os.environ["PATH"], "LANG": "C.UTF-8", "SHELL": "/bin/sh"}
    return Workplace(home, project, environ)


def _call(agent: str, number: int) -> tuple[str, dict[str, object]]:
    """Return a call of the shell tool, as hooks see it."""
    settings = _SETTINGS[agent]
    command = f"echo usual > ran-{number}"
    return settings.tool, {"command": command, **settings.arguments}


def _play(
    program: AgentProgram,
    command: Sequence[str],
    event: str,
    replies: Sequence[Reply],
    root: Path,
) -> list[Effect]:
    """Return the effects in the program; fewer than replies if the loop ended before."""
    place = _prepare(program.name, event, replies, root)
    calls = [program.model_call(_call(program.name, number)) for number in range(len(replies))]
    script = ModelScript([ModelTurn(tools=[call]) for call in calls], end=END)
    run = run_program(program, command, place, script, "go", seconds=SECONDS)
    count = place.project / "hook" / "count"
    fired = int(count.read_text(encoding="utf-8")) if count.exists() else 0
    heard = run.heard(len(run.requests) - 1) if run.requests else ""
    effects: list[Effect] = []
    for number in range(min(fired, len(replies))):
        written = place.project / f"ran-{number}"
        content = written.read_text(encoding="utf-8").strip() if written.exists() else ""
        ended = len(run.requests) <= number + 1  # the model was not asked after the call
        is_changed = content == "changed"
        effects.append(Effect(bool(content), is_changed, ended, _texts_of(heard, number)))
    return effects


def decide(agent: str, event: str, replies: Sequence[Reply], root: Path) -> list[Effect]:
    """Return the effects under the observed rules."""
    place = _prepare(agent, event, replies, root)
    tables = get_agent(agent)
    fields: dict[str, Any] = {"tool_response": {}} if event == "after_tool" else {}
    effects: list[Effect] = []
    with SyncEngine.load(
        place.project,
        agent=agent,
        rules="observed",
        home=place.home,
        environ=place.environ,
        trust_once=True,
        on_message=lambda _message: None,
    ) as engine:
        for number in range(len(replies)):
            tool, arguments = _call(agent, number)
            payload = make_payload(
                event, agent=agent, tool=tool, input=arguments, cwd=str(place.project),
                session_id="s", **fields,
            )  # fmt: skip
            decoded, _ = decode_event(tables.form_of(payload), payload)
            effects.append(_effect_of(engine.dispatch(decoded), event, number))
    return effects


def _effect_of(decision: Decision, event: str, number: int) -> Effect:
    is_prevented = decision.outcome is Outcome.DENY or (decision.stop and not decision.stops_after)
    ran = event == "after_tool" or not is_prevented
    for_agent = [m.text for m in decision.messages if m.audience is Audience.AGENT]
    is_changed = ran and decision.tool_input is not None
    return Effect(ran, is_changed, decision.stop, _texts_of("\n".join(for_agent), number))


def _texts_of(text: str, number: int) -> frozenset[str]:
    found = TEXT_MARK.findall(text)
    return frozenset(member for member, of in found if int(of) == number)
