"""A project, a home and an administrator, made of what a test says about them."""

from __future__ import annotations

import json
import os
import shlex
from pathlib import Path

from anyhook import Engine
from anyhook.agents import get_agent
from anyhook.settings.sources import Location, places


class World:
    """Directories and files around one engine.

    Args:
        root: An empty directory.
        project: Name of the project's directory below it.
        agent: Whose settings they are.
    """

    def __init__(self, root: Path, project: str = "project", agent: str = "gemini") -> None:
        self.root = root
        self.agent = get_agent(agent)
        self.home = root / "home"
        self.project = root / project
        self.system = root / "system"
        for directory in (self.home, self.project, self.system):
            directory.mkdir(parents=True, exist_ok=True)
        self.environ = {
            "PATH": os.environ["PATH"],
            "HOME": str(self.home),
            "GEMINI_CLI_SYSTEM_SETTINGS_PATH": str(self.system / "settings.json"),
            "QWEN_CODE_SYSTEM_SETTINGS_PATH": str(self.system / "settings.json"),
            "ANYHOOK_MANAGED_SETTINGS": str(self.system / "managed-settings.json"),
            "ANYHOOK_WORKER": "off",
        }
        own = f".{agent if agent != 'generic' else 'anyhook'}"
        if agent == "cursor":
            self.files = {
                "project": self.project / own / "hooks.json",
                "user": self.home / own / "hooks.json",
                "managed": self.system / "managed-settings.json",
                "local:claude": self.project / ".claude" / "settings.local.json",
                "project:claude": self.project / ".claude" / "settings.json",
                "user:claude": self.home / ".claude" / "settings.json",
            }
            return
        self.files = {
            "project": self.project / own / "settings.json",
            "local": self.project / own / "settings.local.json",
            "user": self.home / own / "settings.json",
            "system": self.system / "settings.json",
            "system-defaults": self.system / "system-defaults.json",
            "managed": self.system / "managed-settings.json",
        }
        location = Location(self.project, self.home, self.environ)
        for layer, path in places(self.agent, location):
            if path.suffix != ".toml":  # rows hold JSON
                self.files[str(layer)] = path

    def settings(self, layer: str, content: object) -> Path:
        """Write a settings file: an object, or its text.

        Args:
            layer: Its layer; `project:AGENT` for the one of another agent.
            content: What it holds.
        """
        text = content if isinstance(content, str) else json.dumps(content, indent=2)
        _, _, agent = layer.partition(":")
        other = self.project / f".{agent}" / "settings.json"
        path = self.files.get(layer) or other
        return self.write(path, text)

    def write(self, path: Path, text: str) -> Path:
        """Write a file; one that starts with `#!` may be executed."""
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode("utf-8", "surrogatepass"))
        if text.startswith("#!"):
            path.chmod(0o755)
        return path

    def extension(self, name: str, hooks: object, **files: str) -> Path:
        """Install an extension with hooks."""
        base = self.home / ".gemini" / "extensions" / name
        self.write(base / "gemini-extension.json", json.dumps({"name": name, "version": "1.0.0"}))
        text = hooks if isinstance(hooks, str) else json.dumps(hooks)
        self.write(base / "hooks" / "hooks.json", text)
        for path, content in files.items():
            self.write(base / path, content)
        return base

    def plugin(self, name: str, hooks: object, enabled: str = "user", **files: str) -> Path:
        """Install a plugin with hooks and enable it in a layer's settings."""
        base = self.home / ".claude" / "plugins" / "cache" / name.replace("@", "-") / "1.0.0"
        record = self.home / ".claude" / "plugins" / "installed_plugins.json"
        known = json.loads(record.read_text()) if record.exists() else {"version": 2, "plugins": {}}
        known["plugins"][name] = [{"scope": "user", "installPath": str(base), "version": "1.0.0"}]
        self.write(record, json.dumps(known))
        manifest = {"name": name.partition("@")[0], "version": "1.0.0"}
        self.write(base / ".claude-plugin" / "plugin.json", json.dumps(manifest))
        self.write(base / "hooks" / "hooks.json", json.dumps(hooks))
        for path, content in files.items():
            self.write(base / path, content)
        if enabled:
            file = self.files[enabled]
            settings = json.loads(file.read_text()) if file.exists() else {}
            settings.setdefault("enabledPlugins", {})[name] = True
            self.write(file, json.dumps(settings, indent=2))
        return base

    def load(self, **options: object) -> Engine:
        """Load an engine; trusting the project this once unless told otherwise."""
        options.setdefault("trust_once", True)
        options.setdefault("agent", self.agent.name)
        return Engine.load(self.project, home=self.home, environ=self.environ, **options)


def command(says: dict) -> str:
    """Write a command line that says something: `stdout`, `stderr`, `exit`, `record`."""
    parts = []
    if "record" in says:
        parts.append(f"cat > {shlex.quote(says['record'])}")
    for stream, redirect in (("stdout", ""), ("stderr", " >&2")):
        if stream in says:
            said = says[stream]
            text = said if isinstance(said, str) else json.dumps(said)
            parts.append(f"printf %s {shlex.quote(text)}{redirect}")
    parts.append(f"exit {says.get('exit', 0)}")
    return "; ".join(parts)
