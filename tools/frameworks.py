"""Test each integration with the lowest and the newest release of its framework that it allows.

    python -m tools.frameworks [EXTRA[:lowest|:newest]]...

The bounds are those of the extras in `pyproject.toml`. Each has an environment of its own.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]
ENVIRONMENTS = ROOT / ".cache" / "frameworks"
TESTS = {
    "adk": "test_adk.py",
    "langchain": "test_langchain.py",
    "openai-agents": "test_openai_agents.py",
    "pydantic-ai": "test_pydantic_ai.py",
    "claude-agent-sdk": "test_claude_sdk.py",
}
"""Extra to the tests of its integration."""
BOUNDS = ("lowest", "newest")
TEST_PACKAGES = ("mcp", "pytest", "pytest-timeout", "trio")


def requirement(extra: str, bound: str) -> str:
    """Return what to install for a bound of an extra."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    (allowed,) = project["optional-dependencies"][extra]
    return re.sub(r">=([\d.]+).*", r"==\1", allowed) if bound == "lowest" else str(allowed)


def passes(extra: str, bound: str) -> bool:
    """Return whether the tests of an integration pass with a release of its framework."""
    environment = ENVIRONMENTS / f"{extra}-{bound}"
    python = environment / "bin" / "python"
    uv = Path(sys.executable).with_name("uv")
    if not python.exists():
        subprocess.run([uv, "venv", "--quiet", "--python", sys.executable, environment], check=True)
    packages = [*TEST_PACKAGES, "--upgrade", "--editable", str(ROOT), requirement(extra, bound)]
    subprocess.run([uv, "pip", "install", "--quiet", "--python", python, *packages], check=True)
    tests = [f"tests/integrations/{name}" for name in (TESTS[extra], "test_private_names.py")]
    # The warnings of old releases are not errors.
    options = ["-m", "not slow", "-W", "default", "-p", "no:cacheprovider"]
    run = subprocess.run([python, "-m", "pytest", *options, *tests], cwd=ROOT, check=False)
    return run.returncode == 0


def main(arguments: list[str]) -> int:
    """Test the bounds that the arguments name; all of them by default."""
    results = []
    for argument in arguments or TESTS:
        extra, _, bound = argument.partition(":")
        for each in [bound] if bound else BOUNDS:
            word = "works" if passes(extra, each) else "fails"
            results.append(f"{word}  {extra}  {requirement(extra, each)}")
    print("\n".join(results))  # noqa: T201
    return int(any(result.startswith("fails") for result in results))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
