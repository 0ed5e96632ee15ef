"""Guard an agent of LangChain with the hooks of a project; the model is scripted.

Run it in a copy of `examples/guarded-project`.
"""

from langchain.agents import create_agent
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage
from langchain_core.tools import tool

from anyhook.integrations.langchain import AnyhookMiddleware


@tool
def bash(command: str) -> str:
    """Run a command."""
    return f"ran {command}"


class Scripted(GenericFakeChatModel):
    """Stand in for a model; your own goes here."""

    def bind_tools(self, tools, **_options):
        return self


def call(number, command):
    return AIMessage("", tool_calls=[{"name": "bash", "args": {"command": command}, "id": number}])


model = Scripted(
    messages=iter([call("1", "rm -rf build"), call("2", "ls"), "Done.", "Really done."])
)

hooks = AnyhookMiddleware.load(
    ".", tools={"bash": "shell"}, on_message=print, max_continuations=1, trust_once=True
)
agent = create_agent(model, [bash], middleware=[hooks])

for message in agent.invoke({"messages": [("user", "Clean up.")]})["messages"]:
    print(f"{message.type:5}", message.content or [c["args"] for c in message.tool_calls])
