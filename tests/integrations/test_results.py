"""A hook gets the very output of a program's tool, and what it puts in its place is what counts."""

from __future__ import annotations

import asyncio
import sys

import pytest

from anyhook.authoring import Hooks, replace_result
from anyhook.integrations import Session
from anyhook.model.tools import TOOLS
from tests.world import World

OUTPUT = "done; SECRET=1"
HOOK_FILE = """
from anyhook.authoring import Hooks, replace_result

hooks = Hooks()


@hooks.after_tool
def redact(event):
    if "SECRET" in event.result.text:
        return replace_result(event.result.text.replace("SECRET=1", "[redacted]"))


if __name__ == "__main__":
    hooks.run()
"""


def returned(world, tool, register=lambda _engine: None, output=OUTPUT):
    """Return what the model gets of a tool that is mapped to a canonical one, and the messages."""
    messages = []

    async def run():
        async with world.load(on_message=messages.append) as engine:
            register(engine)
            async with Session(engine, tools={"own": tool}) as session:
                arguments = {"file_path": "a.txt"} if "file_path" in TOOLS[tool] else {}
                return await session.after_tool("own", arguments, output)

    return asyncio.run(run()).full_output, messages


@pytest.mark.parametrize("tool", TOOLS)
@pytest.mark.parametrize(
    "agent", ["claude", "gemini", "generic", "qwen", "copilot", "cursor", "opencode"]
)
def test_a_function_sees_the_output_of_every_kind_of_tool_and_replaces_it(agent, tool, tmp_path):
    seen = []
    hooks = Hooks()

    @hooks.after_tool
    def redact(event):
        seen.append(event.result.text)
        return replace_result("[redacted]")

    output, messages = returned(World(tmp_path, agent=agent), tool, hooks.register)

    assert seen == [OUTPUT]
    assert (output, messages) == ("[redacted]", [])


@pytest.mark.parametrize("tool", ["shell", "write_file", "glob", "write_todos"])
@pytest.mark.parametrize("agent", ["claude", "gemini"])
def test_a_hook_file_replaces_a_result_as_a_command_as_it_does_as_functions(agent, tool, tmp_path):
    world = World(tmp_path, agent=agent)
    path = world.write(world.project / "redact.py", HOOK_FILE)

    as_functions = returned(world, tool, lambda engine: engine.register_file(path))
    handler = {"type": "command", "command": f"{sys.executable} {path}"}
    event = world.agent.by_canonical["after_tool"].wire
    world.settings("project", {"hooks": {event: [{"matcher": "*", "hooks": [handler]}]}})
    as_command = returned(world, tool)

    assert as_command == as_functions == ("done; [redacted]", [])


@pytest.mark.parametrize("output", ["Output: one", "", '{"stdout": "x"}'])
@pytest.mark.parametrize("agent", ["claude", "gemini"])
def test_an_output_that_no_hook_replaces_stays_as_it_is(agent, output, tmp_path):
    hooks = Hooks()

    @hooks.after_tool
    def watch(event):
        return None

    assert returned(World(tmp_path, agent=agent), "shell", hooks.register, output) == (output, [])


def test_an_empty_text_in_place_of_a_result_is_empty(tmp_path):
    hooks = Hooks()

    @hooks.after_tool
    def hide(event):
        return replace_result("")

    assert returned(World(tmp_path, agent="claude"), "shell", hooks.register) == ("", [])
