"""The real agents: which release of each, how it is installed, and what starting it takes."""

from __future__ import annotations

import json
import os
import platform
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from anyhook.agents import get_agent
from anyhook.agents.program import AgentProgram, get_program

# Read here, because no test sees ANYHOOK_* of the developer.
CACHE = Path(
    os.environ.get("ANYHOOK_E2E_CACHE") or Path(__file__).parents[2] / ".cache" / "e2e"
).absolute()

LATEST = "latest"
"""Stands for the newest release in the npm registry."""
VERSIONS = {
    "gemini": (os.environ.get("GEMINI_VERSION") or "0.61.0").split(),
    "claude": (os.environ.get("CLAUDE_VERSION") or "2.1.197 2.1.332").split(),
    "qwen": (os.environ.get("QWEN_VERSION") or "0.24.4").split(),
    "opencode": (os.environ.get("OPENCODE_VERSION") or "1.18.33").split(),
    "codex": (os.environ.get("CODEX_VERSION") or "0.171.0").split(),
    "copilot": (os.environ.get("COPILOT_VERSION") or "1.0.102").split(),
}
"""Agent to the releases that are tested; `make e2e CLAUDE_VERSION=latest` tests another one."""

OLDEST_NODE = 20
INSTALL_SECONDS = 600
# What npm calls a registry that it cannot reach.
UNREACHABLE = ("EAI_AGAIN", "ECONNREFUSED", "ECONNRESET", "EHOSTUNREACH", "ENETUNREACH",
               "ENOTFOUND", "ERR_SOCKET_TIMEOUT", "ETIMEDOUT")  # fmt: skip

Call = tuple[str, dict[str, object]]


@dataclass(frozen=True)
class Agent:
    """One release of one agent.

    Attributes:
        name: What anyhook calls its agent.
        package: Its name in the npm registry.
        version: The release that these tests speak about, or `LATEST`.
        entry: What node runs, below the package; or a program of its own, without a suffix.
        settings_path: Its settings file, below a project or a home.
        events: Its names of our events.
        repeats_prompt: Whether it also sends the event of a prompt after each round of tools.
    """

    name: str
    package: str
    version: str
    entry: str
    settings_path: str
    events: Mapping[str, str]
    repeats_prompt: bool = False

    def __str__(self) -> str:
        return f"{self.name} {self.version}"

    @property
    def rules(self) -> str:
        """The rule set of this release; of one that nobody observed, that of the newest."""
        own = f"observed@{self.version}"
        return own if own in get_agent(self.name).rule_set_names else "observed"

    @property
    def directory(self) -> Path:
        """Where this release is installed."""
        return CACHE / f"{self.name}-{self.version}"

    @property
    def program(self) -> AgentProgram:
        """What starting it takes."""
        return get_program(self.name)

    def start(self) -> list[str]:
        """Return the command line that starts it, without arguments."""
        return self._start(self.directory)

    def call(self, tool: str, **arguments: object) -> Call:
        """Return a call of one of its tools, from canonical names."""
        vocabulary = get_agent(self.name).vocabulary
        seen = vocabulary.name(tool), vocabulary.arguments(tool, arguments)
        return self.program.model_call(seen)

    def shell(self, command: str) -> Call:
        """Return a call of its shell tool."""
        return self.call("shell", command=command)

    def write(self, path: Path, text: str) -> Call:
        """Return a call of its tool that writes a file."""
        return self.call("write_file", file_path=str(path), content=text)

    def _start(self, directory: Path) -> list[str]:
        entry = directory / "node_modules" / self.package / self.entry
        return ["node", str(entry)] if entry.suffix else [str(entry)]

    def settings(self, commands: Mapping[str, str]) -> dict[str, Any]:
        """Write settings in the agent's own form: a command for each of our events."""
        return {
            "hooks": {
                self.events[event]: [{"hooks": [{"type": "command", "command": command}]}]
                for event, command in commands.items()
            }
        }

    def install(self) -> Agent:
        """Install this release unless it is there; skip the test where that is not possible.

        Returns:
            The agent, with the version that was installed.
        """
        _need_node()
        if self.version == LATEST:
            return replace(self, version=_newest_version(self.package)).install()
        if self.directory.exists():
            return self
        CACHE.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=CACHE, prefix="installing-") as scratch:
            tree = Path(scratch) / "tree"
            tree.mkdir()
            _npm_install(f"{self.package}@{self.version}", tree)
            # npm is content without an optional package, but Claude Code's program is in one.
            if not _says_version([*self._start(tree), "--version"], self.version, scratch):
                pytest.skip(f"{self} has no program for this platform, or npm left it out")
            try:
                # Whole or not at all, also when two test runs install at once.
                tree.rename(self.directory)
            except OSError:
                if not self.directory.exists():
                    raise
        return self


def _need_node() -> None:
    for program in ("node", "npm"):
        if shutil.which(program) is None:
            pytest.skip(f"the real agents need {program}, which is not on PATH")
    version = subprocess.run(["node", "--version"], capture_output=True, text=True, check=True)
    if int(version.stdout.strip().lstrip("v").split(".")[0]) < OLDEST_NODE:
        pytest.skip(
            f"the real agents need node {OLDEST_NODE} or newer, this is {version.stdout.strip()}"
        )


def _newest_version(package: str) -> str:
    command = ["npm", "view", package, "version", "--no-update-notifier", "--fetch-retries=1"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    if done.returncode != 0:
        pytest.skip(f"the npm registry does not say which release of {package} is the newest")
    return done.stdout.strip()


def _npm_install(package: str, tree: Path) -> None:
    (tree / "package.json").write_text(json.dumps({"private": True}))
    # No scripts of packages: both agents run without, and they would fetch more than packages.
    # One retry, soon: where there is no network, nobody wants to wait for minutes to hear it.
    command = ["npm", "install", "--prefix", str(tree), "--ignore-scripts", "--no-audit",
               "--no-fund", "--no-update-notifier", "--fetch-retries=1",
               "--fetch-retry-mintimeout=1000", "--fetch-retry-maxtimeout=1000",
               package]  # fmt: skip
    try:
        done = subprocess.run(
            command, cwd=tree, capture_output=True, text=True, timeout=INSTALL_SECONDS, check=False
        )
    except subprocess.TimeoutExpired:
        pytest.skip(f"{package} is not installed, and the npm registry does not deliver it")
    if done.returncode == 0:
        return
    if any(code in done.stderr for code in UNREACHABLE):
        pytest.skip(f"{package} is not installed, and the npm registry cannot be reached")
    pytest.fail(f"npm cannot install {package}:\n{done.stderr}", pytrace=False)


def _says_version(command: list[str], version: str, home: str) -> bool:
    environment = {"PATH": os.environ["PATH"], "HOME": home}
    done = subprocess.run(
        command, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True,
        timeout=60, check=False
    )  # fmt: skip
    return done.returncode == 0 and version in done.stdout


GEMINI = Agent(
    name="gemini",
    package="@google/gemini-cli",
    version=VERSIONS["gemini"][0],
    entry="bundle/gemini.js",
    settings_path=".gemini/settings.json",
    events={
        "before_prompt": "BeforeAgent",
        "before_tool": "BeforeTool",
        "after_tool": "AfterTool",
        "after_agent": "AfterAgent",
    },
)

CLAUDE = Agent(
    name="claude",
    package="@anthropic-ai/claude-code",
    version=VERSIONS["claude"][0],
    entry="cli-wrapper.cjs",
    settings_path=".claude/settings.json",
    events={
        "before_prompt": "UserPromptSubmit",
        "before_tool": "PreToolUse",
        "after_tool": "PostToolUse",
        "after_agent": "Stop",
    },
)

QWEN = Agent(
    name="qwen",
    package="@qwen-code/qwen-code",
    version=VERSIONS["qwen"][0],
    entry="cli-entry.js",
    settings_path=".qwen/settings.json",
    events={
        "before_prompt": "UserPromptSubmit",
        "before_tool": "PreToolUse",
        "after_tool": "PostToolUse",
        "after_agent": "Stop",
    },
    repeats_prompt=True,
)

CODEX = Agent(
    name="codex",
    package="@openai/codex",
    version=VERSIONS["codex"][0],
    entry="bin/codex.js",
    settings_path=".codex/hooks.json",
    events=QWEN.events,
)

MACHINE = {"x86_64": "x64", "aarch64": "arm64"}.get(platform.machine(), platform.machine())
COPILOT = Agent(
    name="copilot",
    package=f"@github/copilot-{sys.platform}-{MACHINE}",
    version=VERSIONS["copilot"][0],
    entry="copilot",
    settings_path=".github/hooks/hooks.json",
    events={
        "session_start": "sessionStart",
        "before_prompt": "userPromptSubmitted",
        "before_tool": "preToolUse",
        "after_tool": "postToolUse",
        "after_agent": "agentStop",
    },
)

OPENCODE = Agent(
    name="opencode",
    package=f"opencode-{sys.platform}-{MACHINE}",
    version=VERSIONS["opencode"][0],
    entry="bin/opencode",
    settings_path=".opencode/anyhook.json",
    events={
        "before_prompt": "chat.message",
        "before_tool": "tool.execute.before",
        "after_tool": "tool.execute.after",
        "after_agent": "session.idle",
    },
)


def releases(agent: Agent) -> tuple[Agent, ...]:
    """Return an agent in each release that is tested."""
    return tuple(replace(agent, version=version) for version in VERSIONS[agent.name])


def release_id(agent: Agent) -> str:
    """Return the part of a test's name by which the tests of a release are chosen.

    `make drift` runs the tests whose names hold it, so each test with a real agent has it.
    """
    return f"{agent.name}-{agent.version}"


AGENTS = (*releases(GEMINI), *releases(CLAUDE), *releases(QWEN))

PROBED = (*AGENTS, *releases(CODEX), *releases(COPILOT))
"""The agents of the tests of `anyhook probe`."""

DRIVEN = (*PROBED, *releases(OPENCODE))
"""Every program that can be driven."""
