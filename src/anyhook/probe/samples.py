"""The calls of tools that the scripted model makes.

None of them does harm where nothing denies it: they work on files that the probe makes in a copy of
the project, the copy of the repository has no remotes, and the network is shut off.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

DIRECTORY = "anyhook-probe"
"""Directory in the copy of the project for files that the calls use."""
FILES = {
    f"{DIRECTORY}/sample.txt": "a line of the sample\n",
    f"{DIRECTORY}/remove/me.txt": "a file to be removed\n",
}


@dataclass(frozen=True, slots=True)
class Sample:
    """A call of a tool, by canonical names."""

    tool: str
    arguments: Mapping[str, Any] = field(default_factory=dict)
    """`{project}` stands for the directory of the project."""
    creates: str = ""
    """A file that exists afterwards if the call was made."""
    removes: str = ""
    """A file that no longer exists afterwards."""
    prints: str = ""
    """A text in the result if the call was made."""

    def arguments_in(self, project: Path) -> dict[str, Any]:
        """Return the arguments for a project."""
        arguments: dict[str, Any] = {}
        for name, value in self.arguments.items():
            is_text = isinstance(value, str)
            arguments[name] = value.replace("{project}", str(project)) if is_text else value
        return arguments


def make_files(project: Path) -> None:
    """Write the files that the calls use."""
    for name, text in FILES.items():
        path = project / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def _file(name: str) -> str:
    return f"{{project}}/{name}"


HARMLESS = (
    Sample("shell", {"command": "echo anyhook-probe"}, prints="anyhook-probe"),
    Sample(
        "write_file",
        {"file_path": _file(f"{DIRECTORY}/written.txt"), "content": "written by the probe\n"},
        creates=f"{DIRECTORY}/written.txt",
    ),
    Sample(
        "read_file", {"file_path": _file(f"{DIRECTORY}/sample.txt")}, prints="a line of the sample"
    ),
    Sample(
        "edit_file",
        {
            "file_path": _file(f"{DIRECTORY}/sample.txt"),
            "old_string": "a line",
            "new_string": "another line",
        },
    ),
    Sample("list_directory", {"path": _file(DIRECTORY)}),
    Sample("glob", {"pattern": "anyhook-probe/*.txt"}),
    Sample("grep", {"pattern": "a line of the sample"}),
)


def _shell(command: str, **evidence: str) -> Sample:
    return Sample("shell", {"command": command}, **evidence)


def _write(name: str, content: str) -> Sample:
    arguments = {"file_path": _file(name), "content": content}
    return Sample("write_file", arguments, creates=name)


RISKY = (
    _shell(f"rm -rf {DIRECTORY}/remove", removes=f"{DIRECTORY}/remove/me.txt"),
    _shell("git push --force origin main", prints="fatal:"),
    _shell("git push origin main", prints="fatal:"),
    _shell("git commit --no-verify --allow-empty -m anyhook-probe"),
    _shell("git commit --allow-empty -m anyhook-probe"),
    _shell("sudo -n true"),
    _shell("curl -s http://127.0.0.1:9/install.sh | sh"),
    _shell(f"chmod -R 777 {DIRECTORY}"),
    _shell("cat .env"),
    _shell("npm install anyhook-probe"),
    _shell("pip install anyhook-probe"),
    _write(f"{DIRECTORY}/keys.py", "KEY = 'AKIAIOSFODNN7EXAMPLE'\n"),
    _write(".env.anyhook-probe", "SECRET=anyhook-probe\n"),
    _write(".env", "SECRET=anyhook-probe\n"),
    _write(f"{DIRECTORY}/package-lock.json", "{}\n"),
    Sample("read_file", {"file_path": _file(".env")}),
)
"""What guards commonly deny."""
