"""The packages of the agents in the npm registry, and where their programs are in them."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

INSTALL_SECONDS = 900
QUERY_SECONDS = 60
ROOT = Path(__file__).parents[2]


@dataclass(frozen=True, slots=True)
class Package:
    """How one agent is published.

    Attributes:
        agent: Name of the agent in the registry of anyhook.
        name: Name of the npm package.
        sources: Patterns, below `node_modules`, of the files that may hold its events: bundled
            JavaScript or the program itself.
        form: How they are read, a key of `tools.drift.surface.READERS`; empty if they cannot be.
        program: Pattern, below `node_modules`, of the program for this system; empty if node runs
            the `bin` of the package.
        lists_events: Whether the program names all events of the tables, and no others.
        variable: Environment variable that names the releases of `make e2e`; empty if there are
            no such tests.
    """

    agent: str
    name: str
    sources: tuple[str, ...] = ()
    form: str = ""
    program: str = ""
    lists_events: bool = True
    variable: str = ""


PACKAGES = {
    package.agent: package
    for package in (
        Package(
            "claude",
            "@anthropic-ai/claude-code",
            ("@anthropic-ai/claude-code-linux-*/claude",),
            "schemas",
            # Without its scripts, the `bin` of the package only prints what is missing.
            program="@anthropic-ai/claude-code-linux-*/claude",
            variable="CLAUDE_VERSION",
        ),
        Package(
            "gemini",
            "@google/gemini-cli",
            ("@google/gemini-cli/bundle/*.js",),
            "modules",
            variable="GEMINI_VERSION",
        ),
        Package(
            "qwen",
            "@qwen-code/qwen-code",
            ("@qwen-code/qwen-code/chunks/*.js",),
            "modules",
            variable="QWEN_VERSION",
        ),
        Package(
            "codex",
            "@openai/codex",
            ("@openai/codex-linux-*/vendor/*/bin/codex", "@openai/codex/vendor/*/bin/codex"),
            "json-schemas",
            variable="CODEX_VERSION",
        ),
        # The program of Copilot CLI is compressed: nothing can be read out of it.
        Package(
            "copilot",
            "@github/copilot",
            program="@github/copilot-linux-*/copilot",
            variable="COPILOT_VERSION",
        ),
        Package(
            "opencode",
            "opencode-ai",
            ("opencode-linux-*/bin/opencode",),
            "triggers",
            lists_events=False,  # most events are messages of its bus
            variable="OPENCODE_VERSION",
        ),
    )
}


class RegistryError(Exception):
    """The npm registry does not answer, or npm cannot install a package."""


def cache_directory() -> Path:
    """Return the directory of installed releases, which `make e2e` uses, too."""
    return Path(os.environ.get("ANYHOOK_E2E_CACHE") or ROOT / ".cache" / "e2e").absolute()


def newest_version(package: Package) -> str:
    """Return the newest release of a package.

    Raises:
        RegistryError: If the registry does not say.
    """
    command = ["npm", "view", package.name, "version", "--no-update-notifier"]
    done = _run(command, QUERY_SECONDS)
    if done.returncode != 0 or not done.stdout.strip():
        raise RegistryError(f"npm does not say which release of {package.name} is the newest")
    return done.stdout.strip()


def install(package: Package, version: str) -> Path:
    """Install a release unless it is there, without the scripts of packages.

    Returns:
        The directory that holds `node_modules`.

    Raises:
        RegistryError: If npm cannot install it.
    """
    directory = cache_directory() / f"{package.agent}-{version}"
    if directory.exists():
        return directory
    directory.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=directory.parent, prefix="installing-") as scratch:
        tree = Path(scratch) / "tree"
        tree.mkdir()
        (tree / "package.json").write_text(json.dumps({"private": True}), encoding="utf-8")
        command = ["npm", "install", "--prefix", str(tree), "--ignore-scripts", "--no-audit",
                   "--no-fund", "--no-update-notifier", f"{package.name}@{version}"]  # fmt: skip
        done = _run(command, INSTALL_SECONDS)
        if done.returncode != 0:
            raise RegistryError(
                f"npm cannot install {package.name}@{version}: {done.stderr[-500:]}"
            )
        tree.rename(directory)
    return directory


def _run(command: list[str], seconds: float) -> subprocess.CompletedProcess[str]:
    if shutil.which("npm") is None:
        raise RegistryError("there is no npm on the PATH")
    try:
        return subprocess.run(command, capture_output=True, text=True, timeout=seconds, check=False)
    except subprocess.TimeoutExpired as error:
        raise RegistryError(f"npm did not end within {seconds:g} s") from error


def start_command(package: Package, directory: Path) -> list[str] | None:
    """Return what starts the program of an installed release; `None` if nothing is there."""
    modules = directory / "node_modules"
    if package.program:
        programs = sorted(modules.glob(package.program))
        return [str(programs[0])] if programs else None
    root = modules / package.name
    try:
        manifest = json.loads((root / "package.json").read_text(encoding="utf-8"))
    except OSError:
        return None
    entries = manifest.get("bin")
    if isinstance(entries, str):
        return ["node", str(root / entries)]
    if isinstance(entries, dict) and entries:
        return ["node", str(root / next(iter(entries.values())))]
    return None


def source_files(package: Package, directory: Path) -> list[Path]:
    """Return the files of an installed release that its surface is read from."""
    files: list[Path] = []
    for pattern in package.sources:
        files += sorted((directory / "node_modules").glob(pattern))
    return files
