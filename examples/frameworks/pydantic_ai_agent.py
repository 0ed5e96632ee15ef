"""Guard an agent of Pydantic AI with the hooks of a project; the model is scripted.

Run it in a copy of `examples/guarded-project`.
"""

from pathlib import Path

from pydantic_ai import Agent
from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import FunctionModel

from anyhook.integrations import Question
from anyhook.integrations.pydantic_ai import AnyhookHooks

FIXED = "def total(prices: list[float]) -> float:\n    return 1.2 * sum(prices)\n"
script = iter(
    [
        ToolCallPart("bash", {"command": "rm -rf build"}),
        ToolCallPart("bash", {"command": "git push"}),
        TextPart("I am done."),
        ToolCallPart("write_file", {"file_path": "src/shop.py", "content": FIXED}),
        TextPart("Now I really am."),
    ]
)


def model(messages, info):
    """Stand in for a model; shows what it is sent."""
    for part in messages[-1].parts:
        print("model gets:", part.content)
    return ModelResponse(parts=[next(script)])


async def ask(question: Question) -> bool:
    """Ask the user; this one refuses."""
    print("may", question.tool, "run?", question.reason)
    return False


hooks = AnyhookHooks.load(tools={"bash": "shell"}, ask=ask, on_message=print, trust_once=True)
agent = Agent(FunctionModel(model), capabilities=[hooks])


@agent.tool_plain
def bash(command: str) -> str:
    """Run a command."""
    return f"ran {command}"


@agent.tool_plain
def write_file(file_path: str, content: str) -> str:
    """Write a file."""
    Path(file_path).write_text(content)
    return f"wrote {file_path}"


print(agent.run_sync("Publish the shop.").output)
