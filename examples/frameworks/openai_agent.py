"""Guard an agent of the OpenAI Agents SDK with the hooks of a project; the model is scripted.

Run it in a copy of `examples/guarded-project`.
"""

import asyncio
from pathlib import Path

from agents.testing import ScriptedModel, assistant_message, function_call

from agents import Agent, function_tool, set_tracing_disabled
from anyhook.integrations import HostTool
from anyhook.integrations.openai_agents import AnyhookRunner

set_tracing_disabled(True)


@function_tool
def bash(command: str) -> str:
    """Run a command."""
    return f"ran {command}"


@function_tool
def write(path: str, text: str) -> str:
    """Write a file."""
    Path(path).write_text(text)
    return f"{path} is written"


TOOLS = {
    "bash": "shell",
    "write": HostTool("write_file", {"path": "file_path", "text": "content"}),
}
SHOP = {"path": "src/shop.py", "text": "total = sum   "}
model = ScriptedModel(  # takes the place of a model, so that this runs without a key
    [
        [function_call("bash", {"command": "rm -rf build"}, call_id="1")],
        [assistant_message("All done.")],
        [function_call("write", SHOP, call_id="2")],
        [assistant_message("Now it is done.")],
    ]
)
agent = Agent(name="Assistant", instructions="Be brief.", tools=[bash, write], model=model)


async def main():
    runner = AnyhookRunner.load(".", tools=TOOLS, on_message=print, trust_once=True)
    result = await runner.run(agent, "Clean up, please.")
    print(result.final_output)
    for call in model.calls:
        print("to the model:", call.input[-1].get("output") or call.input[-1]["content"])


asyncio.run(main())
