"""The simplest agent there is, on a bare session: the reference for every framework."""

from __future__ import annotations

import json
from typing import Any

from anyhook.integrations import Session, StoppedError
from tests.integrations.contract import Scenario, Seen, engine_of, options_of, run_tool
from tests.world import World


async def live(scenario: Scenario, world: World) -> Seen:
    """Live a scenario."""
    seen = Seen()
    agent = _Agent(scenario, seen)
    with engine_of(scenario, world, seen) as engine:
        session = Session(engine, **options_of(scenario, world, seen))
        try:
            async with session:
                for prompt in scenario.prompts:
                    await agent.turn(session, prompt)
        except StoppedError as error:
            seen.stopped = error.reason
    seen.history = agent.text(agent.history)
    return seen


class _Agent:
    def __init__(self, scenario: Scenario, seen: Seen) -> None:
        self.scenario = scenario
        self.seen = seen
        self.turns = iter(scenario.says)
        self.history: list[dict[str, Any]] = []

    def text(self, messages: list[dict[str, Any]]) -> str:
        return "\n".join(str(message["content"]) for message in messages)

    async def turn(self, session: Session, prompt: str) -> None:
        given = await session.prompt(prompt)
        if given.denied is not None:
            self.seen.shown.append("")
            session.messages.send(given.denied)
            return
        self.history.append({"role": "user", "content": given.full_text})
        while True:
            answer = await self.rounds(session)
            end = await session.finish(answer)
            if end.clear_context:
                self.history.clear()
            if end.next_prompt is None:
                self.seen.shown.append(answer)
                return
            self.history.append({"role": "user", "content": end.next_prompt})

    async def rounds(self, session: Session) -> str:
        """Ask the model and run its tools until it says something else."""
        while True:
            messages = [{**message} for message in self.history]
            request: Any = {"model": "m", "messages": messages, "config": {}}
            call = await session.before_model(request, tools=self.scenario.tool_names)
            if call.response is not None:
                answer = call.response["text"]
                self.history.append({"role": "model", "content": answer})
                return answer
            if call.denied is not None:
                session.messages.send(call.denied)
                return ""
            turn = self.ask(call)
            text = turn if isinstance(turn, str) else ""
            calls = [] if text else turn if isinstance(turn, list) else [turn]
            content: Any = {"role": "model", "parts": [text] if text else []}
            candidate = {"content": content, "index": 0, "functionCalls": calls}
            response: Any = {"text": text, "candidates": [candidate]}
            reply = await session.after_model(call.request, response)
            if reply.response is None:
                session.messages.send(str(reply.denied))
                return ""
            if isinstance(turn, str):
                answer = reply.response["text"]
                self.history.append({"role": "model", "content": answer})
                return answer
            for call in calls:
                await self.use(session, call["tool"], call["args"])

    def ask(self, call: Any) -> Any:
        self.seen.sent.append(self.text(call.request["messages"]))
        config = call.tools or {}
        names = config.get("allowedFunctionNames") or self.scenario.tool_names
        none = config.get("mode") == "NONE"
        self.seen.offered.append(
            [] if none else [n for n in self.scenario.tool_names if n in names]
        )
        return next(self.turns)

    async def use(self, session: Session, name: str, arguments: dict[str, Any]) -> None:
        self.history.append({"role": "model", "content": f"{name} {json.dumps(arguments)}"})
        requested = None
        for _ in range(8):
            run = await session.before_tool(name, arguments, requested=requested)
            if not run.allowed:
                self.history.append({"role": "user", "content": f"not run: {run.reason}"})
                return
            output, error = "", None
            try:
                output = run_tool(self.scenario, self.seen, name, run.arguments)
            except RuntimeError as failure:
                error = str(failure)
            back = await session.after_tool(
                name, run.arguments, output or error, error=error, requested=requested
            )
            if back.tail_call is None:
                break
            requested = requested or name
            name, arguments = back.tail_call
        texts = [*run.context, str(back.full_output)]
        self.history.append({"role": "user", "content": "\n".join(texts)})
