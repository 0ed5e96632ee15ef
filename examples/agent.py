"""An agent with file and shell tools, guarded by the hooks of `guarded-project`.

python examples/agent.py     (or: make agent)

It is built with Google ADK and needs neither a key nor a network: its model is ADK's own scripted
one. With GOOGLE_API_KEY in the environment a real model takes its place. The agent works in a copy
of the project.
"""

import asyncio
import os
import shutil
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path

from google.adk.agents import LlmAgent
from google.adk.apps import App
from google.adk.apps.app import EventsCompactionConfig
from google.adk.apps.base_events_summarizer import BaseEventsSummarizer
from google.adk.cli.agent_test_runner import MockModel
from google.adk.models import LlmResponse
from google.adk.runners import InMemoryRunner
from google.genai import types
from rich.text import Text

from anyhook.cli.output import console
from anyhook.cli.timeline import print_timeline
from anyhook.engine.messages import discard
from anyhook.integrations.adk import AnyhookPlugin
from anyhook.manage.agent_effect import fired_event

PROJECT = Path(__file__).parent / "guarded-project"
PROMPT = "Add a settings file, clean up, and publish."
NAMES = ("GOOGLE_API_KEY", "GEMINI_API_KEY")


def call(name, **arguments):
    return types.Part.from_function_call(name=name, args=arguments)


SCRIPT = [
    call("read_file", file_path="src/shop.py"),
    call("write_file", file_path="settings.py", content="KEY = 'AKIAIOSFODNN7EXAMPLE'\n"),
    call("write_file", file_path="settings.py", content="import os   \nKEY = os.environ['KEY']\n"),
    call("run_shell_command", command="rm -rf build"),
    call("run_shell_command", command="git push"),
    "Everything is done.",
    call("write_file", file_path="src/shop.py", content="def price(net):\n    return net * 1.19\n"),
    "Now everything is done.",
]


class NoSummary(BaseEventsSummarizer):
    """Summarizes nothing: the hooks on compression run before it."""

    async def maybe_summarize_events(self, *, events):
        return None


def model():
    """Return a real model if there is a key for one, else the scripted one."""
    if any(name in os.environ for name in NAMES):
        return "gemini-2.5-flash"
    used = types.GenerateContentResponseUsageMetadata(
        prompt_token_count=1, candidates_token_count=1, total_token_count=2
    )
    parts = [types.Part(text=step) if isinstance(step, str) else step for step in SCRIPT]
    contents = [types.Content(role="model", parts=[part]) for part in parts]
    return MockModel(responses=[LlmResponse(content=c, usage_metadata=used) for c in contents])


def tools(project):
    """Return the agent's tools, which work in a directory."""

    def run_shell_command(command: str) -> str:
        """Run a command in the project."""
        done = subprocess.run(
            command, shell=True, cwd=project, capture_output=True, text=True, check=False
        )
        return done.stdout + done.stderr or f"exit code {done.returncode}"

    def write_file(file_path: str, content: str) -> str:
        """Write a file of the project."""
        (project / file_path).write_text(content)
        return f"wrote {file_path}"

    def read_file(file_path: str) -> str:
        """Read a file of the project."""
        return (project / file_path).read_text()

    return [run_shell_command, write_file, read_file]


async def main():
    out = console()
    seen = []

    def say(who, text):
        out.print(Text.assemble((f"{who:7}", "bold"), text))

    def on_decision(event, decision):
        seen.append(event.name)
        if decision.results:
            print_timeline(out, plugin.engine, fired_event(plugin.engine, event, decision))
        else:
            out.print(Text(plugin.engine.agent.by_canonical[event.name].wire, style="dim"))

    async def ask(question):
        say("asked", f"{question.tool} {question.arguments}: no")
        return False

    with tempfile.TemporaryDirectory() as directory:
        project = Path(directory) / PROJECT.name
        shutil.copytree(PROJECT, project)
        plugin = AnyhookPlugin.load(
            project,
            home=directory,
            trust_once=True,
            ask=ask,
            on_decision=on_decision,
            on_message=discard,
        )
        agent = LlmAgent(name="helper", model=model(), tools=tools(project))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # ADK says that compaction may change
            compaction = EventsCompactionConfig(
                compaction_interval=1, overlap_size=0, summarizer=NoSummary()
            )
        app = App(
            name="demo", root_agent=agent, plugins=[plugin], events_compaction_config=compaction
        )
        say("user", PROMPT)
        async with InMemoryRunner(app=app) as runner:
            await runner.session_service.create_session(
                app_name="demo", user_id="you", session_id="s"
            )
            message = types.Content(role="user", parts=[types.Part(text=PROMPT)])
            async for event in runner.run_async(user_id="you", session_id="s", new_message=message):
                for part in (event.content and event.content.parts) or ():
                    if part.text:
                        say("agent", part.text)
    out.print(f"\n{len(seen)} events of {len(set(seen))} kinds", style="bold")
    return 0


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
