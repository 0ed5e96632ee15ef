"""The hook file that `anyhook init` writes."""

from __future__ import annotations

from pathlib import Path

STARTER_PATH = Path(".anyhook") / "guard.py"
"""Path in the project."""
STARTER_TEXT = '''"""Hooks of this project, for every agent. Try: anyhook test .anyhook/guard.py"""

from anyhook.authoring import Hooks, ask, context, deny

# A crash denies the call: a guard with a mistake in it must not let everything pass.
hooks = Hooks(on_crash="deny")

SECRETS = ("AKIA", "-----BEGIN PRIVATE KEY-----", "ghp_")


@hooks.before_tool("write_file", "edit_file", "shell")
def keep_secrets_out(event):
    """Deny files and commands that contain a secret."""
    for secret in SECRETS:
        if secret in event.text:
            return deny(f"this looks like a secret ({secret}…); read it from the environment")


@hooks.before_tool("shell")
def keep_files(event):
    """Deny deleting the home or the history of the project; ask where only the shell knows."""
    if match := event.deletes("~", ".git/**"):
        return deny(match.why) if match.certain else ask(match.why)


@hooks.session_start
def introduce(event):
    """Add how this project is tested to the context."""
    return context("Run the tests before you say that you are done.")


hooks.example(
    tool="write_file",
    input={"file_path": "settings.py", "content": "KEY = 'AKIAIOSFODNN7EXAMPLE'"},
    expect="deny",
)
hooks.example(tool="shell", input={"command": "find ~ -delete"}, expect="deny")
hooks.example(tool="shell", input={"command": "ls"}, expect="none")
hooks.example("session_start", source="startup", expect="context")

if __name__ == "__main__":
    hooks.run()
'''
