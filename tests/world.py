"""A project, a home and an administrator, made of what a test says about them."""

from __future__ import annotations

import json
import os
import shlex
from pathlib import Path

from anyhook import Engine
from anyhook.dialects import get_dialect

NAMES = {spec.canonical: spec.wire for spec in get_dialect("gemini").events}


class World:
    """Directories and files around one engine.

    Args:
        root: An empty directory.
        project: Name of the project's directory below it.
    """

    def __init__(self, root: Path, project: str = "project") -> None:
        self.root = root
        self.home = root / "home"
        self.project = root / project
        self.system = root / "system"
        for directory in (self.home, self.project, self.system):
            directory.mkdir(parents=True, exist_ok=True)
        self.environ = {
            "PATH": os.environ["PATH"],
            "HOME": str(self.home),
            "GEMINI_CLI_SYSTEM_SETTINGS_PATH": str(self.system / "settings.json"),
        }
        self.files = {
            "project": self.project / ".gemini" / "settings.json",
            "user": self.home / ".gemini" / "settings.json",
            "system": self.system / "settings.json",
            "system-defaults": self.system / "system-defaults.json",
        }

    def settings(self, layer: str, content: object) -> Path:
        """Write a settings file: an object, or its text."""
        text = content if isinstance(content, str) else json.dumps(content, indent=2)
        return self.write(self.files[layer], text)

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

    def load(self, **options: object) -> Engine:
        """Load an engine; trusting the project this once unless told otherwise."""
        options.setdefault("trust_once", True)
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
