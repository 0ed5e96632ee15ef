"""Guard an agent of Google ADK with the hooks of a project; the model is scripted.

Run it in a copy of `examples/guarded-project`.
"""

import asyncio

from google.adk.agents import LlmAgent
from google.adk.apps import App
from google.adk.models import BaseLlm, LlmResponse
from google.adk.runners import InMemoryRunner
from google.genai import types

from anyhook.integrations.adk import AnyhookPlugin


def call(command):
    return types.Part.from_function_call(name="bash", args={"command": command})


class Script(BaseLlm):
    says: list = [call("rm -rf build"), call("git push"), "All done.", "Really done."]

    async def generate_content_async(self, llm_request, stream=False):
        part = self.says.pop(0)
        part = types.Part(text=part) if isinstance(part, str) else part
        content = types.Content(role="model", parts=[part])
        used = types.GenerateContentResponseUsageMetadata(
            prompt_token_count=1, candidates_token_count=1, total_token_count=2
        )
        yield LlmResponse(content=content, usage_metadata=used)


def bash(command: str) -> str:
    """Run a command."""
    print("ran:", command)
    return "ok"


async def ask(question):
    print("asked:", question.tool, question.arguments, question.reason)
    return True  # ask your user here


async def main():
    agent = LlmAgent(name="helper", model=Script(model="script"), tools=[bash])
    plugin = AnyhookPlugin.load(
        ".",
        tools={"bash": "shell"},  # what your tools are, in the words of everybody's hooks
        ask=ask,
        on_message=print,
        max_continuations=1,  # hooks may continue this agent once in a turn
        trust_once=True,
    )
    async with InMemoryRunner(app=App(name="demo", root_agent=agent, plugins=[plugin])) as runner:
        await runner.session_service.create_session(app_name="demo", user_id="u", session_id="s")
        message = types.Content(role="user", parts=[types.Part(text="Publish this.")])
        async for event in runner.run_async(user_id="u", session_id="s", new_message=message):
            if event.error_code:
                print("ended:", event.error_code, event.error_message)
            for part in (event.content and event.content.parts) or ():
                if part.function_response:
                    print("result:", part.function_response.response)
                elif part.text:
                    print(f"{event.author}:", part.text)


asyncio.run(main())
